package dumps

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const text = `{"format":1,"hub":"hub-1","appUID":"app-1","namespace":"shops","app":"shop","cluster":"eu-1",` +
	`"backup":"shop-eu-1-20260302-0200","scheduledTime":"2026-03-02T02:00:00Z","provider":"other","region":"berlin",` +
	`"engine":"postgresql","version":"15.4","snapshotTime":"2026-03-02T02:01:00Z","completionTime":"2026-03-02T02:09:00Z",` +
	`"deleteLockDays":7,"claim":"shop-database-backup","file":"backup-20260302T020100Z.dump","bytes":1073741829,"sha256":"` + sum + `",` +
	`"parts":[1073741824,5]}` + "\n"

func complete() Manifest {
	m := ManifestOf("hub-1", newBackup(gib+5))
	m.CompletionTime = time.Date(2026, 3, 2, 2, 9, 0, 0, time.UTC)
	return m
}

// TestAManifestIsWritten checks that the encoding of a manifest is deterministic, and
// decodes to the same value.
func TestAManifestIsWritten(t *testing.T) {
	t.Parallel()
	got, err := complete().Write()
	if diff := cmp.Diff(text, string(got)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	m, err := ReadManifest(got)
	if diff := cmp.Diff(complete(), m); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	// The manifest of a manual backup, without provider and region.
	b := newBackup(5)
	b.Spec.ScheduledTime, b.Status.Provider, b.Status.Region, b.Status.Version, b.Status.DeleteLockDays = nil, "", "", "", 0
	m = ManifestOf("hub-1", b)
	m.CompletionTime = m.SnapshotTime
	if got, err = m.Write(); err != nil || strings.Contains(string(got), "scheduledTime") || strings.Contains(string(got), "deleteLockDays") {
		t.Errorf("%v: %s", err, got)
	}
	if _, err := ReadManifest(got); err != nil {
		t.Error(err)
	}
	b.Status.SnapshotTime, b.Status.Dump = nil, nil
	if _, err := ManifestOf("hub-1", b).Write(); !errors.Is(err, ErrManifest) {
		t.Errorf("of no dump: %v", err)
	}
}

func TestManifestsThatAreNone(t *testing.T) {
	t.Parallel()
	for _, change := range [][2]string{
		{`{"format":1,`, ``}, {`"format":1`, `"format":2`}, {`{"format":1`, `{"secret":"x","format":1`}, {"}\n", "}{}"}, {"}\n", "} x"},
		{`"hub-1"`, `""`}, {`"hub-1"`, `"a/b"`}, {`"app-1"`, `".."`}, {`"app-1"`, `"` + strings.Repeat("a", 65) + `"`},
		{`"shops"`, `"Shops"`}, {`"shop"`, `"shop/x"`}, {`"shop"`, `""`}, {`"eu-1"`, `"` + strings.Repeat("e", 64) + `"`},
		{`"backup":"shop-eu-1`, `"backup":"-shop-eu-1`}, {`"other"`, `"Other!"`}, {`"berlin"`, `"ber/lin"`},
		{`"postgresql"`, `"oracle"`}, {`"15.4"`, `"15 4"`}, {`"15.4"`, `"` + strings.Repeat("1", 65) + `"`},
		{`"scheduledTime":"2026`, `"scheduledTime":"0001`}, {`"snapshotTime":"2026`, `"snapshotTime":"1999`}, {`02:09:00Z`, `02:09:00.5Z`}, {`"completionTime":"2026-03-02T02:09:00Z",`, ``},
		{`"deleteLockDays":7`, `"deleteLockDays":-1`}, {`"deleteLockDays":7`, `"deleteLockDays":366`},
		{`"claim":"shop`, `"claim":"../shop`}, {`"file":"backup-`, `"file":"../backup-`}, {`"file":"backup-`, `"file":"notes-`},
		{sum, sum[1:]}, {sum, strings.ToUpper(sum)}, {`1073741829`, `1073741828`}, {`[1073741824,5]`, `[]`}, {`[1073741824,5]`, `[1073741829]`},
		{`[1073741824,5]`, `[1073741824,6,-1]`}, {`[1073741824,5]`, `[1073741824,5,0]`}, {`[1073741824,5]`, `[` + strings.Repeat("1,", 400) + `1]`},
		{`"bytes":1073741829`, `"bytes":"many"`}, {text, ""}, {text, "null"}, {text, text + strings.Repeat(" ", MaxManifest)},
	} {
		changed := strings.Replace(text, change[0], change[1], 1)
		if changed == text {
			t.Fatalf("%q is not in it", change[0])
		}
		m, err := ReadManifest([]byte(changed))
		if !errors.Is(err, ErrManifest) {
			t.Errorf("%s for %s: read as %+v, %v", change[1], change[0], m, err)
		}
	}
}

// FuzzReadManifest checks that a manifest that was read can be written, and read again
// unchanged.
func FuzzReadManifest(f *testing.F) {
	f.Add([]byte(text))
	f.Add([]byte(strings.Replace(text, `"scheduledTime":"2026-03-02T02:00:00Z",`, "", 1)))
	f.Add([]byte(strings.Replace(text, `02:00:00Z`, `02:00:00+14:00`, 1)))
	f.Add([]byte("{}"))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ReadManifest(text)
		if err != nil {
			if !errors.Is(err, ErrManifest) || !cmp.Equal(m, Manifest{}) {
				t.Fatalf("%v, and %+v", err, m)
			}
			return
		}
		again, err := m.Write()
		if err != nil {
			t.Fatal(err)
		}
		if back, err := ReadManifest(again); err != nil || !cmp.Equal(m, back) {
			t.Fatalf("%v (-first +again):\n%s", err, cmp.Diff(m, back))
		}
		if strings.Contains(m.File, "/") || strings.Contains(m.Backup, "/") || m.Bytes <= 0 || m.Engine == v1.Engine("") {
			t.Fatalf("accepted %+v", m)
		}
	})
}

package recovery

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func record(name string, app types.UID) Residue {
	return Residue{
		Namespace: "shops", Name: name, App: app, ClusterUID: "c",
		Recorded: metav1.NewTime(time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Local()),
	}
}

// apply applies a merge patch of data, as an API server does.
func apply(t *testing.T, data map[string]string, encoded []byte) {
	t.Helper()
	var decoded struct{ Data map[string]*string }
	if err := json.Unmarshal(encoded, &decoded); err != nil {
		t.Fatal(err)
	}
	for key, value := range decoded.Data {
		if value == nil {
			delete(data, key)
			continue
		}
		data[key] = *value
	}
}

func add(t *testing.T, data map[string]string, r Residue) {
	t.Helper()
	encoded, err := AddPatch(data, r)
	if err != nil {
		t.Fatal(err)
	}
	apply(t, data, encoded)
}

// TestRecords adds records to one ConfigMap and removes one of them.
func TestRecords(t *testing.T) {
	t.Parallel()
	data := map[string]string{}
	b, a, again := record("b", "1"), record("a", "2"), record("b", "3")
	for _, r := range []Residue{again, b, a} {
		add(t, data, r)
	}
	got, invalid := Decode(data)
	if diff := cmp.Diff([]Residue{a, b, again}, got); diff != "" || invalid != nil {
		t.Errorf("invalid %v, records (-want +got):\n%s", invalid, diff)
	}
	later := b
	later.Recorded = metav1.NewTime(b.Recorded.Add(time.Hour))
	if encoded, err := AddPatch(data, later); encoded != nil || err != nil {
		t.Errorf("recording again: patch %s, error %v; want neither", encoded, err)
	}
	encoded, err := RemovePatch(b.ID())
	if err != nil {
		t.Fatal(err)
	}
	apply(t, data, encoded)
	got, _ = Decode(data)
	if diff := cmp.Diff([]Residue{a, again}, got); diff != "" {
		t.Errorf("after the removal (-want +got):\n%s", diff)
	}
}

// TestDecodeEdited checks that a value that was edited by hand names no copy to delete.
func TestDecodeEdited(t *testing.T) {
	t.Parallel()
	data := map[string]string{"1": "shop", "2": `{"namespace":"shops"}`, "3": `{}`, "5": `{"namespace":"shops","name":"shop","app":"6"}`}
	add(t, data, record("a", "4"))
	got, invalid := Decode(data)
	if diff := cmp.Diff([]Residue{record("a", "4")}, got); diff != "" {
		t.Errorf("records (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"1", "2", "3", "5"}, invalid); diff != "" {
		t.Errorf("invalid (-want +got):\n%s", diff)
	}
}

// TestFull fills a ConfigMap with the longest names.
func TestFull(t *testing.T) {
	t.Parallel()
	data := map[string]string{}
	n := 0
	for ; ; n++ {
		r := record(strings.Repeat("n", 63), types.UID(fmt.Sprintf("%036d", n)))
		r.Namespace, r.ClusterUID = strings.Repeat("s", 63), strings.Repeat("c", 36)
		encoded, err := AddPatch(data, r)
		if errors.Is(err, ErrFull) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		apply(t, data, encoded)
	}
	if n < 2500 || size(data) > MaxBytes {
		t.Errorf("%d records of %d bytes, want at least 2500 in %d", n, size(data), MaxBytes)
	}
}

func TestNames(t *testing.T) {
	t.Parallel()
	stayed := record("a", "u")
	requested, lost := record("a", "u"), record("a", "")
	requested.Copy, lost.Copy = "c", "c"
	for name, tt := range map[string]struct {
		app, uid                string
		stayed, requested, lost bool
	}{
		"the copy":                            {"u", "c", true, true, false},
		"made again for the same application": {"u", "d", true, false, false},
		"taken over by another application":   {"v", "c", false, false, false},
		"without its mark":                    {"", "c", false, false, true},
	} {
		c := &metav1.ObjectMeta{UID: types.UID(tt.uid), Annotations: map[string]string{v1.HubAppUIDAnnotation: tt.app}}
		if stayed.Names(c) != tt.stayed || requested.Names(c) != tt.requested || lost.Names(c) != tt.lost {
			t.Errorf("%s: %t, %t and %t; want %+v", name, stayed.Names(c), requested.Names(c), lost.Names(c), tt)
		}
	}
}

func TestIn(t *testing.T) {
	t.Parallel()
	known, unknown := record("a", "1"), record("a", "1")
	unknown.ClusterUID = ""
	for name, tt := range map[string]struct {
		record  Residue
		cluster string
		want    bool
	}{
		"the cluster":     {known, "c", true},
		"another cluster": {known, "d", false},
		"not known yet":   {known, "", false},
		"any":             {unknown, "d", true},
	} {
		if got := tt.record.In(tt.cluster); got != tt.want {
			t.Errorf("%s: %t, want %t", name, got, tt.want)
		}
	}
}

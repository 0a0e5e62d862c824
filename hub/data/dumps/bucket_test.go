package dumps

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

func TestWhereThingsAre(t *testing.T) {
	t.Parallel()
	owner, b := cloud.Owner{Hub: "hub-1", App: "app-1"}, newBackup(1)
	if got := Prefix(owner, b); got != prefix {
		t.Errorf("prefix %q, want %q", got, prefix)
	}
	b.UID = "backup-2"
	if got := Prefix(owner, b); got == prefix || !strings.HasPrefix(got, Root(owner)+b.Name+"-") {
		t.Errorf("another Backup of the name has the prefix %q", got)
	}
	if got := []string{PartKey("p", 7), ManifestKey("p")}; !slices.Equal(got, []string{"p/part-00007", "p/manifest.json"}) {
		t.Errorf("keys %q", got)
	}
	b.Name, owner.Hub, owner.App = strings.Repeat("n", 63), strings.Repeat("h", 64), strings.Repeat("a", 64)
	if err := cloud.CheckKey(PartKey(Prefix(owner, b), order.MaxParts)); err != nil {
		t.Error(err)
	}
	for key, want := range map[string]string{"p/manifest.json": "p", "p/part-00000": "", "manifest.json": "", "p/xmanifest.json": ""} {
		if got, is := IsManifest(key); is != (want != "") || is && got != want {
			t.Errorf("%q is the manifest of %q, %t", key, got, is)
		}
	}
	for _, tt := range []struct {
		owner cloud.Owner
		want  bool
	}{
		{cloud.Owner{Hub: "hub-1", App: "app-1"}, true}, {cloud.Owner{Hub: "hub-1"}, true},
		{cloud.Owner{Hub: "hub-2", App: "app-1"}, false}, {cloud.Owner{Hub: "hub-1", App: "app"}, false}, {cloud.Owner{}, false},
	} {
		if got := Owns(tt.owner, prefix); got != tt.want {
			t.Errorf("%+v owns it: %t", tt.owner, got)
		}
	}
}

func TestWhatIsSent(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		bytes int64
		store *dumpStore
		// signed lists the parts with a request, log the requests to the bucket.
		signed []int
		log    []string
		class  cloud.Class
	}{
		"nothing is there": {2*gib + 5, newDumpStore(nil), []int{0, 1, 2}, []string{"SIGN part-00000", "SIGN part-00001", "SIGN part-00002"}, ""},
		"some is there":    {2*gib + 5, newDumpStore(map[int]int64{0: gib, 2: 5}), []int{1}, []string{"SIGN part-00001"}, ""},
		"all is there":     {gib, newDumpStore(map[int]int64{0: gib}), nil, nil, ""},
		"of another size":  {gib + 5, newDumpStore(map[int]int64{0: gib, 1: 4}), []int{1}, []string{"DELETE part-00001", "SIGN part-00001"}, ""},
		"and locked":       {5, newDumpStore(map[int]int64{0: 4}).refusing("DELETE ", cloud.ClassLocked), nil, nil, cloud.ClassLocked},
		"not listed":       {5, newDumpStore(map[int]int64{0: 5}).refusing("LIST "+PartKey(prefix, 0), cloud.ClassDenied), nil, nil, cloud.ClassDenied},
		"not signed":       {5, newDumpStore(nil).refusing("SIGN ", cloud.ClassDenied), nil, nil, cloud.ClassDenied},
		"too large":        {order.MaxParts*gib + 1, newDumpStore(nil), nil, nil, cloud.ClassInvalid},
		"empty":            {0, newDumpStore(nil), nil, nil, cloud.ClassInvalid},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o, err := ToSend(t.Context(), tt.store, newBackup(tt.bytes).Status.Dump, []byte("pem"), now())
			if cloud.ClassOf(err) != tt.class || err != nil && tt.class == "" {
				t.Fatalf("error %v, want one of class %q", err, tt.class)
			}
			if err != nil {
				return
			}
			if diff := cmp.Diff(tt.log, tt.store.log); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(orderToSend(tt.bytes, tt.signed), o); diff != "" {
				t.Errorf("order (-want +got):\n%s", diff)
			}
			if _, err := o.Write(); err != nil {
				t.Errorf("it cannot be delivered: %v", err)
			}
		})
	}
}

// orderToSend returns the order for a dump of this size, with requests for these parts.
func orderToSend(bytes int64, signed []int) order.Order {
	want := order.Order{
		Direction: order.Send, File: "backup-20260302T020100Z.dump", Bytes: bytes, SHA256: sum,
		ExpiresAt: now().Add(Life), CABundle: []byte("pem"),
	}
	for i, size := range order.Sizes(bytes) {
		part := order.Part{Bytes: size}
		if slices.Contains(signed, i) {
			part.Request = &order.Request{Method: http.MethodPut, URL: "https://b.example.com/" + PartKey(prefix, i), Header: map[string]string{"X": "PUT"}}
		}
		want.Parts = append(want.Parts, part)
	}
	return want
}

// TestALargeDump checks that the largest dump fits an order, a larger one does not.
func TestALargeDump(t *testing.T) {
	t.Parallel()
	s, d := newDumpStore(nil), newBackup(order.MaxParts*gib).Status.Dump
	o, err := ToSend(t.Context(), s, d, nil, now())
	if err != nil || len(o.Parts) != order.MaxParts || o.Parts[order.MaxParts-1].Request == nil {
		t.Errorf("%d parts, %v", len(o.Parts), err)
	}
	d.Bytes++
	if _, err := ToSend(t.Context(), s, d, nil, now()); cloud.ClassOf(err) != cloud.ClassInvalid {
		t.Errorf("a larger one: %v", err)
	}
}

func TestOrdersSayWhenTheyExpire(t *testing.T) {
	t.Parallel()
	s := newDumpStore(nil)
	s.life = 10 * time.Minute
	if o, err := ToSend(t.Context(), s, newBackup(5).Status.Dump, nil, now()); err != nil || !o.ExpiresAt.Equal(now().Add(10*time.Minute)) {
		t.Errorf("expires at %s, %v", o.ExpiresAt, err)
	}
}

// sealed returns a bucket with a dump of two parts, as Seal leaves it.
func sealed(t *testing.T) (*dumpStore, *v1.Backup) {
	t.Helper()
	s, b := newDumpStore(map[int]int64{0: gib, 1: 5}), newBackup(gib+5)
	if done, err := Seal(t.Context(), s, "hub-1", b); err != nil || !done {
		t.Fatalf("sealed %t, %v", done, err)
	}
	s.log = nil
	return s, b
}

func TestSeal(t *testing.T) {
	t.Parallel()
	s, b := sealed(t)
	want := ManifestOf("hub-1", b)
	want.CompletionTime = now().Add(time.Minute) // Of the newest part.
	if got, err := Find(t.Context(), s, prefix); err != nil || !cmp.Equal(got, want) {
		t.Errorf("%v, manifest (-want +got):\n%s", err, cmp.Diff(want, got))
	}
	if done, err := Seal(t.Context(), s, "hub-1", b); err != nil || !done {
		t.Errorf("once more: sealed %t, %v", done, err)
	}
	// A manifest with another encoding is accepted, one of another file is not.
	s.texts[ManifestKey(prefix)] = append(s.texts[ManifestKey(prefix)], '\n')
	if done, err := Seal(t.Context(), s, "hub-1", b); err != nil || !done {
		t.Errorf("another encoding: sealed %t, %v", done, err)
	}
	other := want
	other.SHA256 = strings.Repeat("0", 64)
	s.texts[ManifestKey(prefix)], _ = other.Write()
	if done, err := Seal(t.Context(), s, "hub-1", b); !errors.Is(err, ErrManifest) || done {
		t.Errorf("of another file: sealed %t, %v", done, err)
	}
	for name, parts := range map[string]map[int]int64{
		"nothing": nil, "a part is missing": {0: gib}, "a part is short": {0: gib, 1: 4}, "of another backup": {2: 5},
	} {
		s := newDumpStore(parts)
		if done, err := Seal(t.Context(), s, "hub-1", b); err != nil || done || len(s.texts) != 0 {
			t.Errorf("%s: sealed %t, %v", name, done, err)
		}
	}
	b.Status.Version = "what is this"
	if _, err := Seal(t.Context(), newDumpStore(map[int]int64{0: gib, 1: 5}), "hub-1", b); cloud.ClassOf(err) != cloud.ClassInvalid {
		t.Errorf("a manifest that could not be parsed was written: %v", err)
	}
}

func TestWhatIsFetched(t *testing.T) {
	t.Parallel()
	s, b := sealed(t)
	o, err := ToFetch(t.Context(), s, b.Status.Dump, nil, now())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"GET manifest.json", "SIGN part-00000", "SIGN part-00001"}, s.log); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if o.Direction != order.Fetch || len(o.Parts) != 2 || o.Parts[1].Bytes != 5 || o.Parts[1].Request.Method != http.MethodGet {
		t.Errorf("order %+v", o)
	}
	if _, err := o.Write(); err != nil {
		t.Error(err)
	}
	other := b.Status.Dump.DeepCopy()
	other.SHA256 = strings.Repeat("0", 64)
	if _, err := ToFetch(t.Context(), s, other, nil, now()); !errors.Is(err, ErrManifest) {
		t.Errorf("another file: %v", err)
	}
	s.texts[ManifestKey(prefix)] = []byte("{}")
	if _, err := ToFetch(t.Context(), s, b.Status.Dump, nil, now()); !errors.Is(err, ErrManifest) {
		t.Errorf("no manifest: %v", err)
	}
	if _, err := ToFetch(t.Context(), newDumpStore(nil), b.Status.Dump, nil, now()); cloud.ClassOf(err) != cloud.ClassNotFound {
		t.Errorf("nothing there: %v", err)
	}
	for name, dump := range map[string]*v1.DumpFile{
		"no dump": nil, "no place": {File: "f", Bytes: 1}, "not complete": {Bytes: 1, Object: &v1.DumpObject{Prefix: "p"}},
		"no prefix": {File: "f", Bytes: 1, Object: &v1.DumpObject{}}, "a strange one": {File: "f", Bytes: 1, Object: &v1.DumpObject{Prefix: "../x"}},
	} {
		if _, err := ToFetch(t.Context(), s, dump, nil, now()); cloud.ClassOf(err) != cloud.ClassInvalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestIsWhole checks that a dump is whole with all parts of its manifest, in their sizes, and that an error is returned.
func TestIsWhole(t *testing.T) {
	t.Parallel()
	m := Manifest{Parts: []int64{gib, 5}}
	for name, tt := range map[string]struct {
		store *dumpStore
		want  bool
		class cloud.Class
	}{
		"all is there":      {newDumpStore(map[int]int64{0: gib, 1: 5}), true, ""},
		"a part is missing": {newDumpStore(map[int]int64{0: gib}), false, ""},
		"a part is short":   {newDumpStore(map[int]int64{0: gib, 1: 4}), false, ""},
		"not listed":        {newDumpStore(map[int]int64{0: gib, 1: 5}).refusing("LIST "+PartKey(prefix, 0), cloud.ClassDenied), false, cloud.ClassDenied},
	} {
		if got, err := IsWhole(t.Context(), tt.store, prefix, m); got != tt.want || cloud.ClassOf(err) != tt.class {
			t.Errorf("%s: %t, %v", name, got, err)
		}
	}
}

func TestErase(t *testing.T) {
	t.Parallel()
	s, b := sealed(t)
	s.sizes[prefix+"/left-over"], s.sizes[prefix+"-other/part-00000"] = 1, 1
	var passes [][]string
	for more := true; more && len(passes) < 5; {
		s.log = nil
		var err error
		if more, err = Erase(t.Context(), s, b.Status.Dump.Object.Prefix, 2); err != nil {
			t.Fatal(err)
		}
		passes = append(passes, s.log)
	}
	want := [][]string{{"DELETE manifest.json", "DELETE left-over"}, {"DELETE part-00000", "DELETE part-00001"}}
	if diff := cmp.Diff(want, passes); diff != "" {
		t.Errorf("asked (-want +got):\n%s", diff)
	}
	if left := slices.Collect(maps.Keys(s.sizes)); !slices.Equal(left, []string{prefix + "-other/part-00000"}) {
		t.Errorf("left %v", left)
	}
	if more, err := Erase(t.Context(), s, prefix, 2); err != nil || more {
		t.Errorf("of nothing: more %t, %v", more, err)
	}
}

// TestEraseEndsWithWhatIsHeld checks that Erase returns an error for objects that a
// policy of the bucket holds.
func TestEraseEndsWithWhatIsHeld(t *testing.T) {
	t.Parallel()
	s, _ := sealed(t)
	s.refuses["DELETE "+PartKey(prefix, 1)] = &cloud.Error{Class: cloud.ClassLocked}
	if _, err := Erase(t.Context(), s, prefix, 100); cloud.ClassOf(err) != cloud.ClassLocked {
		t.Errorf("error %v", err)
	}
	if diff := cmp.Diff([]string{PartKey(prefix, 1)}, slices.Collect(maps.Keys(s.sizes))); diff != "" {
		t.Errorf("left (-want +got):\n%s", diff)
	}
}

// TestEraseTakesManyPasses checks that the first pass deletes the manifest.
func TestEraseTakesManyPasses(t *testing.T) {
	t.Parallel()
	s := newDumpStore(nil)
	s.sizes[ManifestKey(prefix)] = 1
	for i := range 25 {
		s.sizes[fmt.Sprintf("%s/a-%02d", prefix, i)] = 1
	}
	passes := 0
	for more := true; more; passes++ {
		var err error
		if more, err = Erase(t.Context(), s, prefix, 10); err != nil || passes > 5 {
			t.Fatalf("pass %d: %v", passes, err)
		}
		if _, there := s.sizes[ManifestKey(prefix)]; there {
			t.Fatal("the manifest outlives its parts")
		}
	}
	if passes != 3 || len(s.sizes) != 0 {
		t.Errorf("%d passes, left %v", passes, s.sizes)
	}
}

func TestFromError(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		err    error
		reason string
		fatal  bool
	}{
		"another manifest": {fmt.Errorf("reading: %w", ErrManifest), v1.ReasonDumpMissing, true},
		"not there":        {&cloud.Error{Class: cloud.ClassNotFound}, v1.ReasonDumpMissing, true},
		"taken":            {&cloud.Error{Class: cloud.ClassConflict}, v1.ReasonSendFailed, true},
		"no such account":  {&cloud.Error{Class: cloud.ClassNotFound, Code: "UnknownAccount"}, v1.ReasonAccountNotFound, false},
		"away":             {&cloud.Error{Class: cloud.ClassTransient}, v1.ReasonCloudUnavailable, false},
		"no error of ours": {errors.New("x"), v1.ReasonCloudUnavailable, false},
	} {
		if got := FromError(tt.err, "reading"); got.Reason != tt.reason || got.Fatal != tt.fatal {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

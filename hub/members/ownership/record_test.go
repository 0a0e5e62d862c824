package ownership

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// now returns a time in whole seconds.
func now() time.Time { return time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC) }

func TestDataAndBack(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Record{
		"none":    {},
		"claimed": {Hub: "h", Epoch: 7, Process: "p"},
		"deleted": {Hub: "h", Epoch: 7, Deleted: []Deletion{{"a", 0, now()}, {"b", 7, now().Add(time.Hour)}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			back, err := Parse(r.Data())
			if diff := cmp.Diff(r, back); diff != "" || err != nil {
				t.Errorf("error %v (-want +got):\n%s", err, diff)
			}
		})
	}
	for name, data := range map[string]map[string]string{
		"epoch":    {keyEpoch: "soon"},
		"deletion": {keyDeleted: "a\n"},
		"time":     {keyDeleted: "a yesterday\n"},
		"leaving":  {keyDeleted: "a/soon 2026-11-23T08:00:00Z\n"},
	} {
		if r, err := Parse(data); err == nil {
			t.Errorf("a malformed %s is read as %+v", name, r)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		record   Record
		epoch    int64
		replaces string
		want     Standing
	}{
		"no record":                      {Record{}, 0, "", Unclaimed},
		"first connection":               {Record{Hub: "h", Epoch: 3}, 0, "", Unclaimed},
		"reconnection":                   {Record{Hub: "h", Epoch: 3}, 3, "", Current},
		"after a takeover":               {Record{Hub: "h", Epoch: 4}, 3, "", Superseded},
		"deleted by hand":                {Record{}, 3, "", Unclaimed},
		"other hub":                      {Record{Hub: "o", Epoch: 3}, 0, "", Foreign},
		"other hub since it was ours":    {Record{Hub: "o", Epoch: 1}, 3, "", Foreign},
		"deleted, and claimed by hand":   {Record{Hub: "h", Epoch: 1}, 3, "", Unclaimed},
		"other hub, to be replaced":      {Record{Hub: "o", Epoch: 3}, 0, "o/3", Unclaimed},
		"another hub is to be replaced":  {Record{Hub: "o", Epoch: 3}, 0, "p/3", Foreign},
		"the other hub claimed it again": {Record{Hub: "o", Epoch: 5}, 4, "o/3", Foreign},
		"ours, replaced before":          {Record{Hub: "h", Epoch: 4}, 4, "o/3", Current},
		"replaced without an epoch":      {Record{Hub: "o", Epoch: 3}, 0, "o", Foreign},
		"by its ID":                      {Record{Hub: "h", Epoch: 3, Process: "p"}, 3, "", Current},
		"the response was lost":          {Record{Hub: "h", Epoch: 4, Process: "p"}, 3, "", Current},
		"after another process":          {Record{Hub: "h", Epoch: 4, Process: "q"}, 3, "", Superseded},
		"claimed twice after a deletion": {Record{Hub: "h", Epoch: 3, Process: "q"}, 3, "", Superseded},
		"other hub after a lost one":     {Record{Hub: "o", Epoch: 4, Process: "p"}, 3, "", Foreign},
		"ours, restored by hand":         {Record{Hub: "h", Epoch: 1, Process: "p"}, 3, "", Unclaimed},
		"ours, without its hub":          {Record{Epoch: 3, Process: "p"}, 3, "", Unclaimed},
		"the same, response was lost":    {Record{Epoch: 4, Process: "p"}, 3, "", Unclaimed},
		"ours, only with an epoch":       {Record{Epoch: 3}, 3, "", Unclaimed},
		"any hub's, to a new process":    {Record{Epoch: 3, Process: "q"}, 0, "", Foreign},
		"any hub's, without an epoch":    {Record{Process: "q"}, 0, "", Foreign},
		"any hub's, only with an epoch":  {Record{Epoch: 3}, 0, "", Foreign},
		"any hub's, of a later epoch":    {Record{Epoch: 4}, 3, "", Foreign},
		"any hub's, to a former process": {Record{Epoch: 4, Process: "q"}, 3, "", Foreign},
		"any hub's, to be replaced":      {Record{Epoch: 3, Process: "q"}, 0, "/3", Unclaimed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.record.Check(Process{Hub: "h", ID: "p", Epoch: tt.epoch, Replaces: tt.replaces}); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	last := Record{Hub: "h", Epoch: 3, Process: "q", Deleted: []Deletion{{"old", 0, now().Add(-MaxAge - time.Second)}, {"young", 0, now().Add(-MaxAge)}}}
	want := Record{Hub: "h", Epoch: 4, Process: "p", Deleted: []Deletion{{"young", 0, now().Add(-MaxAge)}}}
	if diff := cmp.Diff(want, last.Claim(Process{Hub: "h", ID: "p"}, now())); diff != "" {
		t.Errorf("after a takeover (-want +got):\n%s", diff)
	}
	if got := (Record{}).Claim(Process{Hub: "h", Epoch: 3}, now()); got.Epoch != 4 {
		t.Errorf("epoch %d after the record was deleted, want a later one than before", got.Epoch)
	}
}

// TestRestore checks that removed entries are restored within the bounds, and replaced ones are not.
func TestRestore(t *testing.T) {
	t.Parallel()
	early, late := Deletion{"a", 0, now()}, Deletion{"a", 0, now().Add(time.Hour)}
	left, other := Deletion{"a", 4, now()}, Deletion{"b", 0, now()}
	old := Deletion{"old", 0, now().Add(-MaxAge)}
	for name, tt := range map[string]struct {
		known, read, want []Deletion
		lost              bool
	}{
		"nothing lost":   {[]Deletion{early}, []Deletion{early}, []Deletion{early}, false},
		"all lost":       {[]Deletion{early, left}, nil, []Deletion{early, left}, true},
		"one lost":       {[]Deletion{early, other}, []Deletion{other}, []Deletion{early, other}, true},
		"one is new":     {[]Deletion{early}, []Deletion{early, other}, []Deletion{early, other}, false},
		"deleted again":  {[]Deletion{early, other}, []Deletion{late}, []Deletion{other, late}, true},
		"lost, and aged": {[]Deletion{old}, nil, nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, lost := Record{Hub: "h", Deleted: tt.read}.Restore(tt.known, now().Add(time.Second))
			if diff := cmp.Diff(Record{Hub: "h", Deleted: tt.want}, got); diff != "" || lost != tt.lost {
				t.Errorf("lost %t, want %t (-want +got):\n%s", lost, tt.lost, diff)
			}
		})
	}
}

func TestDeletionsAreBounded(t *testing.T) {
	t.Parallel()
	r := Record{}
	for i := range MaxDeleted + 1 {
		r = r.Delete(Deletion{App: types.UID(strconv.Itoa(i)), At: now().Add(500 * time.Millisecond)})
	}
	if !r.DeletedAt("0").IsZero() || r.DeletedAt("1").IsZero() || r.DeletedAt(types.UID(strconv.Itoa(MaxDeleted))).IsZero() || len(r.Deleted) != MaxDeleted {
		t.Errorf("%d are kept", len(r.Deleted))
	}
	if r.Deleted[0].At != now() {
		t.Errorf("the time is %s, want whole seconds", r.Deleted[0].At)
	}
	if next := r.Delete(Deletion{App: "last", At: now().Add(MaxAge + time.Second)}); len(next.Deleted) != 1 {
		t.Errorf("%d are kept after %s, want the last", len(next.Deleted), MaxAge)
	}
}

// TestLeavingsMakeRoom checks that departures are dropped before deletions: a drained member must not let a restored
// hub create what was deleted.
func TestLeavingsMakeRoom(t *testing.T) {
	t.Parallel()
	r := Record{}.Delete(Deletion{App: "deleted", At: now()})
	for i := range MaxDeleted + 1 {
		r = r.Delete(Deletion{App: types.UID(strconv.Itoa(i)), Left: 2, At: now()})
	}
	if r.DeletedAt("deleted").IsZero() || r.Left("0") != 0 || r.Left("1") != 0 || r.Left("2") != 2 || len(r.Deleted) != MaxDeleted {
		t.Errorf("%d are kept, with the deletion: %t", len(r.Deleted), !r.DeletedAt("deleted").IsZero())
	}
}

func TestLeavings(t *testing.T) {
	t.Parallel()
	r := Record{}.Delete(Deletion{"a", 3, now()}).Delete(Deletion{"b", 4, now()}).Delete(Deletion{"a", 5, now()})
	if r.Left("a") != 5 || r.Left("b") != 4 || r.Left("c") != 0 || !r.DeletedAt("a").IsZero() || len(r.Deleted) != 2 {
		t.Errorf("recorded %+v", r.Deleted)
	}
	if !r.Includes(Deletion{App: "a", Left: 4}) || r.Includes(Deletion{App: "a", Left: 6}) || r.Includes(Deletion{App: "a", At: now()}) || r.Includes(Deletion{App: "c", Left: 1}) {
		t.Errorf("it is wrong what %+v includes", r.Deleted)
	}
	if r = r.Delete(Deletion{App: "a", At: now()}); r.DeletedAt("a").IsZero() || r.Left("a") != 0 {
		t.Errorf("recorded %+v after a deletion", r.Deleted)
	}
}

// TestDeletedTwice checks that an application that was created again from a backup may be deleted again, or leave the
// member.
func TestDeletedTwice(t *testing.T) {
	t.Parallel()
	first, second := Deletion{App: "a", At: now().Add(time.Millisecond)}, Deletion{App: "a", At: now().Add(time.Hour)}
	r := Record{}.Delete(first)
	if !r.Includes(first) || r.Includes(second) {
		t.Errorf("it is wrong which deletion %+v includes", r.Deleted)
	}
	left := Deletion{App: "a", Left: 9, At: now()}
	if r.Includes(left) {
		t.Errorf("%+v includes that the application left the member later", r.Deleted)
	}
	if r = r.Delete(left); r.Left("a") != 9 || !r.Includes(first) {
		t.Errorf("recorded %+v after the application left the member", r.Deleted)
	}
	if next := r.Forget(Deletion{"a", 8, now()}); !next.DeletedAt("a").IsZero() || next.Left("a") != 9 || !r.Includes(first) {
		t.Errorf("recorded %+v after it was created again", next.Deleted)
	}
	if next := r.Forget(Deletion{"a", 9, now()}); len(next.Deleted) != 0 {
		t.Errorf("recorded %+v after it came back and was created again", next.Deleted)
	}
	if next := r.Forget(Deletion{"a", 9, second.At}); !next.Includes(first) || next.Left("a") != 0 {
		t.Errorf("recorded %+v after it was created again since another deletion", next.Deleted)
	}
	if r = r.Delete(second); !r.DeletedAt("a").Equal(second.At) || len(r.Deleted) != 1 {
		t.Errorf("recorded %+v after the second deletion", r.Deleted)
	}
}

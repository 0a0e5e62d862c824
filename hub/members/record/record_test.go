package record

import (
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
)

// now is a time in whole seconds.
func now() time.Time { return time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC) }

func TestDataAndBack(t *testing.T) {
	t.Parallel()
	for name, r := range map[string]Record{
		"none":    {},
		"claimed": {Hub: "h", Epoch: 7},
		"deleted": {Hub: "h", Epoch: 7, Deleted: []Deletion{{"a", now()}, {"b", now().Add(time.Hour)}}},
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
	} {
		if r, err := Parse(data); err == nil {
			t.Errorf("a malformed %s is read as %+v", name, r)
		}
	}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		record Record
		epoch  int64
		want   Standing
	}{
		"no record":                    {Record{}, 0, Unclaimed},
		"first connection":             {Record{Hub: "h", Epoch: 3}, 0, Unclaimed},
		"reconnection":                 {Record{Hub: "h", Epoch: 3}, 3, Current},
		"after a takeover":             {Record{Hub: "h", Epoch: 4}, 3, Superseded},
		"deleted by hand":              {Record{}, 3, Unclaimed},
		"other hub":                    {Record{Hub: "o", Epoch: 3}, 0, Foreign},
		"other hub since it was ours":  {Record{Hub: "o", Epoch: 1}, 3, Foreign},
		"deleted, and claimed by hand": {Record{Hub: "h", Epoch: 1}, 3, Unclaimed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tt.record.Check("h", tt.epoch); got != tt.want {
				t.Errorf("got %s, want %s", got, tt.want)
			}
		})
	}
}

func TestClaim(t *testing.T) {
	t.Parallel()
	last := Record{Hub: "h", Epoch: 3, Deleted: []Deletion{{"old", now().Add(-MaxAge - time.Second)}, {"young", now().Add(-MaxAge)}}}
	want := Record{Hub: "h", Epoch: 4, Deleted: []Deletion{{"young", now().Add(-MaxAge)}}}
	if diff := cmp.Diff(want, last.Claim("h", 0, now())); diff != "" {
		t.Errorf("after a takeover (-want +got):\n%s", diff)
	}
	if got := (Record{}).Claim("h", 3, now()); got.Epoch != 4 {
		t.Errorf("epoch %d after the record was deleted, want a later one than before", got.Epoch)
	}
}

func TestDeletionsAreBounded(t *testing.T) {
	t.Parallel()
	r := Record{}
	for i := range MaxDeleted + 1 {
		r = r.Delete(types.UID(strconv.Itoa(i)), now().Add(500*time.Millisecond))
	}
	if r.Has("0") || !r.Has("1") || !r.Has(types.UID(strconv.Itoa(MaxDeleted))) || len(r.Deleted) != MaxDeleted {
		t.Errorf("%d are kept", len(r.Deleted))
	}
	if r.Deleted[0].At != now() {
		t.Errorf("the time is %s, want whole seconds", r.Deleted[0].At)
	}
	if next := r.Delete("last", now().Add(MaxAge+time.Second)); len(next.Deleted) != 1 {
		t.Errorf("%d are kept after %s, want the last", len(next.Deleted), MaxAge)
	}
}

package dump

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestGone checks that a dump that was removed early is gone unless it was in a bucket: one that a bucket does not have any
// more, as far as it says so, is no failure, whose data would be deleted.
func TestGone(t *testing.T) {
	t.Parallel()
	removed := metav1.NewTime(time.Date(2026, 2, 2, 2, 0, 0, 0, time.UTC))
	backup := func(uid, file string) *v1.Backup {
		b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{UID: types.UID(uid)}}
		b.Status.Phase, b.Status.Dump = v1.BackupCompleted, &v1.DumpFile{Claim: "dumps", File: file}
		return b
	}
	later := backup("later", "backup-20260203T020000Z.dump")
	later.Status.Dump.RemovedUpToTime = &removed
	for name, tt := range map[string]struct {
		file   string
		object *v1.DumpObject
		want   bool
	}{
		"removed":                   {"backup-20260201T020000Z.dump", nil, true},
		"half of it is in a bucket": {"backup-20260201T020000Z.dump", &v1.DumpObject{State: v1.DumpSending}, true},
		"in a bucket":               {"backup-20260201T020000Z.dump", &v1.DumpObject{State: v1.DumpSent}, false},
		"missing in its bucket":     {"backup-20260201T020000Z.dump", &v1.DumpObject{State: v1.DumpMissing}, false},
		"kept":                      {"backup-20260203T010000Z.dump", nil, false},
	} {
		b := backup("b", tt.file)
		b.Status.Dump.Object = tt.object
		if got := Gone(b, later); got != tt.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

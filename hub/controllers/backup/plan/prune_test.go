package plan

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestMarks covers Backups that retention had marked when the hub stopped: those that are
// still due are deleted, the others get their data's protection back.
func TestMarks(t *testing.T) {
	t.Parallel()
	in := situation("2026-06-01T03:00:00Z")
	in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(5))}
	for days := range 9 {
		in.backups = append(in.backups, backup(at("2026-06-01T02:00:00Z").AddDate(0, 0, -days).Format(time.RFC3339), v1.BackupCompleted))
	}
	annotate := func(days int, key string) { in.backups[days].Annotations = map[string]string{key: "true"} }
	annotate(2, v1.PrunedAnnotation)
	annotate(7, v1.PrunedAnnotation)
	annotate(8, v1.RediscoveredAnnotation)
	plan := decide(in)
	var deleted, unmarked []string
	for _, d := range plan.Delete {
		deleted = append(deleted, d.Name)
	}
	for _, b := range plan.Unmark {
		unmarked = append(unmarked, b.Name)
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260525-0200", "shop-eu-1-20260526-0200", "shop-eu-1-20260527-0200"}, deleted); diff != "" {
		t.Errorf("deleted (-want +got), all but what was found again:\n%s", diff)
	}
	if diff := cmp.Diff([]string{"shop-eu-1-20260530-0200"}, unmarked); diff != "" {
		t.Errorf("unmarked (-want +got):\n%s", diff)
	}
}

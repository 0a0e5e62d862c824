package scheduler

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestWhatCannotBeRestored checks that a backup that cannot be restored is not successful, and is not verified in
// vain.
func TestWhatCannotBeRestored(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		reason    string
		attaches  bool
		older     bool
		condition string
		verified  int
	}{
		"restorable":                         {"", false, false, v1.ReasonBackupsRecent, 1},
		"not restorable":                     {v1.ReasonNotRestorable, false, false, v1.ReasonNotRestorable, 0},
		"not attachable":                     {v1.ReasonNotAttachable, false, false, v1.ReasonNotAttachable, 0},
		"attachable since":                   {v1.ReasonNotAttachable, true, false, v1.ReasonBackupsRecent, 1},
		"not restorable, attachable or not":  {v1.ReasonNotRestorable, true, false, v1.ReasonNotRestorable, 0},
		"an older one that was not, and now": {v1.ReasonNotRestorable, false, true, v1.ReasonBackupsRecent, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-03-03T05:00:00Z")
			in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
			in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted), backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
			if of := map[bool]int{true: 0, false: 1}[tt.older]; tt.reason != "" {
				in.backups[of].Status.Conditions = []metav1.Condition{{Type: v1.ConditionRestorable, Status: metav1.ConditionFalse, Reason: tt.reason, Message: "do this"}}
			}
			if tt.attaches {
				in.members["eu-1"].Annotations = map[string]string{v1.AttachesVolumesAnnotation: "true"}
			}
			decision := decide(in)
			if c := decision.Condition; c.Reason != tt.condition || (c.Status == metav1.ConditionTrue) != (tt.condition == v1.ReasonBackupsRecent) {
				t.Errorf("condition %+v, want the reason %s", c, tt.condition)
			}
			told := strings.Contains(decision.Condition.Message, "eu-1: the newest successful backup, shop-eu-1-20260303-0200: do this")
			if told != (tt.verified == 0) {
				t.Errorf("message %q", decision.Condition.Message)
			}
			if len(decision.Verify) != tt.verified {
				t.Errorf("%d are to be verified, want %d", len(decision.Verify), tt.verified)
			}
		})
	}
}

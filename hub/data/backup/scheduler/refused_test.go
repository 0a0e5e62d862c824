package scheduler

import (
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// TestRefused checks that a Backup that cannot be created is reported, and the age of the last one too.
func TestRefused(t *testing.T) {
	t.Parallel()
	denied := apierrors.NewForbidden(schema.GroupResource{Resource: "backups"}, "b", nil)
	for name, tt := range map[string]struct {
		err    error
		before metav1.Condition
		reason string
	}{
		"denied":              {denied, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent, Message: "recent"}, v1.ReasonForbidden},
		"denied, and too old": {denied, metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonBackupTooOld, Message: "too old"}, v1.ReasonBackupTooOld},
		"for a moment":        {apierrors.NewInternalError(denied), metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonBackupsRecent, Message: "recent"}, v1.ReasonBackupsRecent},
	} {
		d := Decision{Condition: tt.before}
		d.refused(apierror.Decide(tt.err))
		is := d.Condition.Status == metav1.ConditionTrue
		if d.Condition.Reason != tt.reason || is != (tt.reason == v1.ReasonBackupsRecent) || !strings.Contains(d.Condition.Message, tt.before.Message) {
			t.Errorf("%s: %s, %s: %s", name, d.Condition.Status, d.Condition.Reason, d.Condition.Message)
		}
	}
}

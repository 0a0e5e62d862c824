package doctor

import (
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

func TestIsCommand(t *testing.T) {
	t.Parallel()
	for remedy, want := range map[string]bool{
		"kubectl shopfleet renew eu-1":                                                             true,
		"kubectl get ecommerceapps -A":                                                             true,
		"kubectl shopfleet renew eu-1 --member-kubeconfig FILE":                                    false,
		"kubectl shopfleet backup create APP -n shops":                                             false,
		"kubectl exec -n shops shop-database-N -- id":                                              false,
		"kubectl rollout restart -n shopfleet-system deployment/shopfleet-spoke   # in the member": false,
		"If it is gone for good: kubectl shopfleet recover take-over eu-1":                         false,
		"": false,
	} {
		if got := IsCommand(remedy); got != want {
			t.Errorf("%q: %t, want %t", remedy, got, want)
		}
	}
}

// TestRemediesOfAllReasons: whatever the reason, no kind gets a command with the name of something else to fill in, and
// FILE is left only to members.
func TestRemediesOfAllReasons(t *testing.T) {
	t.Parallel()
	for _, e := range runbook.Entries() {
		failed := condition(v1.ConditionReady, metav1.ConditionFalse, e.Reason)
		degraded := condition(v1.ConditionDegraded, metav1.ConditionTrue, e.Reason)
		backup := backupWith("b", v1.BackupFailed, time.Time{})
		backup.Status.Conditions = []metav1.Condition{failed}
		account := v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
		account.Status.Conditions = backup.Status.Conditions
		_, checks := Fleet(FleetFacts{Apps: []v1.EcommerceApp{appWith("shop", degraded)}, Backups: []v1.Backup{backup}, Accounts: []v1.CloudAccount{account}})
		if e.Reason != v1.ReasonNoBackupYet && len(checks) != 3 {
			t.Errorf("%s: %d checks, want one of each kind", e.Reason, len(checks))
		}
		members := len(checks)
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
		m.Status.Conditions = []metav1.Condition{failed}
		for i, c := range append(checks, Member(m, "")...) {
			_, command, _ := strings.Cut(c.Remedy, "kubectl ")
			if i == members {
				command = strings.ReplaceAll(command, "FILE", "")
			}
			if c.Remedy == "" || hasPlaceholder(command) {
				t.Errorf("%s of %s: remedy %q", e.Reason, c.Object, c.Remedy)
			}
		}
	}
}

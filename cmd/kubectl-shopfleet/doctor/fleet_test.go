package doctor

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func appWith(name string, conditions ...metav1.Condition) v1.EcommerceApp {
	app := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	app.Status.Conditions = conditions
	return app
}

func backupWith(name string, phase v1.BackupPhase, created time.Time) v1.Backup {
	b := v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, CreationTimestamp: metav1.NewTime(created)}}
	b.Spec.AppRef.Name, b.Spec.ClusterRef.Name, b.Status.Phase = "shop", "eu-1", phase
	if phase == v1.BackupFailed {
		b.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotFailed}}
	}
	return b
}

// stalledRestore returns a Restore that has replaced a volume and cannot go on, with more steps that were begun.
func stalledRestore(name, reason string, more ...string) v1.Restore {
	r := v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name}}
	r.Status.Volumes = []v1.RestoredVolume{{Claim: "data-0", PersistentVolume: "new", Replaced: "old"}}
	for _, step := range append([]string{v1.RestoreStepRetire}, more...) {
		r.Status.Steps = append(r.Status.Steps, v1.StepStatus{Name: step})
	}
	r.Status.Conditions = []metav1.Condition{{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, Reason: reason}}
	return r
}

// TestFleet: problems of applications, of newest Backups and of accounts are named, and what only takes time does not fail.
func TestFleet(t *testing.T) {
	t.Parallel()
	day := time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC)
	condition := func(kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: kind, Status: status, Reason: reason}
	}
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "backups"}, "", errors.New("no"))
	account := v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: "prod"}}
	account.Status.Conditions = []metav1.Condition{condition(v1.ConditionReady, metav1.ConditionFalse, v1.ReasonUnauthorized)}
	for name, tt := range map[string]struct {
		facts  FleetFacts
		want   []string
		remedy string
	}{
		"nothing": {FleetFacts{}, nil, ""},
		"healthy": {FleetFacts{Apps: []v1.EcommerceApp{appWith("a", condition(v1.ConditionDegraded, metav1.ConditionFalse, v1.ReasonRunning),
			condition(v1.ConditionAvailable, metav1.ConditionTrue, v1.ReasonAvailable), condition(v1.ConditionProgressing, metav1.ConditionTrue, v1.ReasonRollingOut))}}, nil, ""},
		"degraded, and stalled by the same": {FleetFacts{Apps: []v1.EcommerceApp{appWith("a", condition(v1.ConditionDegraded, metav1.ConditionTrue, v1.ReasonForbidden),
			condition(v1.ConditionStalled, metav1.ConditionTrue, v1.ReasonForbidden))}}, []string{"Degraded True Forbidden"}, "kubectl shopfleet explain Forbidden"},
		"no backup yet":  {FleetFacts{Apps: []v1.EcommerceApp{appWith("a", condition(v1.ConditionBackupReady, metav1.ConditionFalse, v1.ReasonNoBackupYet))}}, nil, ""},
		"an old failure": {FleetFacts{Backups: []v1.Backup{backupWith("b", v1.BackupFailed, day), backupWith("c", v1.BackupCompleted, day.Add(time.Hour))}}, nil, ""},
		"a new failure": {FleetFacts{Backups: []v1.Backup{backupWith("b", v1.BackupCompleted, day), backupWith("c", v1.BackupFailed, day.Add(time.Hour))}},
			[]string{"Ready False SnapshotFailed"}, "kubectl shopfleet backup create shop -n shops"},
		"a stalled restore": {FleetFacts{Restores: []v1.Restore{stalledRestore("a", v1.ReasonCloudUnavailable)}},
			[]string{"Stalled True CloudUnavailable"}, "kubectl shopfleet restore undo a -n shops"},
		"a stalled undo": {FleetFacts{Restores: []v1.Restore{stalledRestore("a", v1.ReasonVolumeChanged, v1.RestoreStepHalt)}},
			[]string{"Stalled True VolumeChanged"}, "If the Restore is Stalled: put back what it has replaced, or delete it, as the message says."},
		"an account":  {FleetFacts{Accounts: []v1.CloudAccount{account}}, []string{"Ready False Unauthorized"}, "kubectl shopfleet explain Unauthorized"},
		"not allowed": {FleetFacts{Unreadable: map[string]error{CheckBackups: forbidden}}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			kinds, problems := Fleet(tt.facts)
			all := slices.Concat(kinds, problems)
			if len(all) < 4 {
				t.Errorf("%d checks, want at least one of each kind", len(all))
			}
			if diff := cmp.Diff(tt.want, failing(all)); diff != "" {
				t.Errorf("failed checks (-want +got):\n%s", diff)
			}
			for _, c := range Failures(all) {
				if c.Remedy != tt.remedy || strings.Contains(c.Remedy, "NAMESPACE") || !strings.Contains(c.Object, "a") && !strings.Contains(c.Object, "c") && c.Object != "prod" {
					t.Errorf("check %+v of another object, or with another remedy than %q", c, tt.remedy)
				}
			}
		})
	}
}

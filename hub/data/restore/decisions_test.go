package restore

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// situation returns a Restore of a complete backup of eu-1 into us-1, with a copy there.
func situation() *work {
	return &work{
		Reconciler: &Reconciler{},
		restore:    &v1.Restore{ObjectMeta: metav1.ObjectMeta{Name: "r", UID: "r-uid"}, Spec: v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "b"}, ClusterRef: v1.ObjectReference{Name: "us-1"}}},
		backup: &v1.Backup{
			ObjectMeta: metav1.ObjectMeta{Name: "b"},
			Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupSnapshot, CopyToRegions: []string{"us-east-1"}},
			Status: v1.BackupStatus{
				Phase: v1.BackupCompleted, Provider: v1.ProviderAWS, Account: "prod", Engine: v1.EnginePostgreSQL, Version: "13.4",
				Snapshots: []v1.VolumeSnapshot{{
					Claim:         "data-0",
					CloudSnapshot: v1.CloudSnapshot{Region: "eu-west-1", ID: "snap-1", State: "Ready"},
					Copies:        []v1.CloudSnapshot{{Region: "us-east-1", ID: "snap-2", State: "Ready"}},
				}},
			},
		},
		member: &v1.MemberCluster{
			ObjectMeta: metav1.ObjectMeta{Name: "us-1"},
			Spec:       v1.MemberClusterSpec{CloudAccountRef: &v1.ObjectReference{Name: "prod"}},
			Status:     v1.MemberClusterStatus{Provider: v1.ProviderAWS, Region: "us-east-1", Zones: []string{"us-east-1a", "us-east-1b"}},
		},
		app: &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Database: &v1.Database{Engine: v1.EnginePostgreSQL, Version: "13.9"}}},
	}
}

func TestPossible(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*work)
		reason string
		fatal  bool
	}{
		"as it is":          {func(*work) {}, "", false},
		"still travelling":  {func(w *work) { w.backup.Status.Phase = v1.BackupFinalizing }, "", false},
		"a lost database":   {func(w *work) { w.app.Status.Clusters = []v1.ClusterStatus{{Name: "us-1", DatabaseLost: true}} }, "", false},
		"its copies failed": {func(w *work) { w.backup.Status.Phase = v1.BackupPartiallyCompleted }, "", false},
		"not taken":         {func(w *work) { w.backup.Status.Phase = v1.BackupInProgress }, v1.ReasonBackupNotReady, false},
		"failed":            {func(w *work) { w.backup.Status.Phase = v1.BackupFailed }, v1.ReasonBackupNotReady, true},
		"going": {func(w *work) {
			w.backup.DeletionTimestamp = &metav1.Time{Time: time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)}
		}, v1.ReasonBackupNotFound, true},
		"another provider":  {func(w *work) { w.member.Status.Provider = v1.ProviderGCP }, v1.ReasonProviderMismatch, true},
		"another account":   {func(w *work) { w.member.Spec.CloudAccountRef.Name = "test" }, v1.ReasonProviderMismatch, true},
		"no account":        {func(w *work) { w.member.Spec.CloudAccountRef = nil }, v1.ReasonProviderMismatch, true},
		"region not known":  {func(w *work) { w.member.Status.Region = "" }, v1.ReasonProviderUnknown, false},
		"another engine":    {func(w *work) { w.app.Spec.Database.Engine = v1.EngineMySQL }, v1.ReasonEngineMismatch, true},
		"another major":     {func(w *work) { w.app.Spec.Database.Version = "14.1" }, v1.ReasonEngineMismatch, true},
		"no effective spec": {func(w *work) { w.invalid = errors.New("spec.overrides[0].jsonPatches[0]") }, v1.ReasonInvalidSpec, false},
		"too late for an effective spec": {func(w *work) {
			w.invalid = errors.New("spec.overrides[0].jsonPatches[0]")
			w.restore.Status.Steps = []v1.StepStatus{{Name: stepRetire}}
		}, "", false},
		"no application": {func(w *work) { w.app = nil }, "", false},
		"too late to refuse": {func(w *work) {
			w.backup.Status.Phase = v1.BackupFailed
			w.restore.Status.Steps = []v1.StepStatus{{Name: stepRetire}}
		}, "", false},
		"verify with an agent": {func(w *work) { w.restore.Spec.Verify = true; w.member.Spec.Mode = v1.ModeAgent }, "", false},
		"verify another major": {func(w *work) { w.restore.Spec.Verify = true; w.app.Spec.Database.Version = "14.1" }, "", false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := situation()
			tt.change(w)
			if got := w.canRestore(); got.Reason != tt.reason || got.Fatal != tt.fatal {
				t.Errorf("%+v, want the reason %q, fatal %t", got, tt.reason, tt.fatal)
			}
		})
	}
}

// TestNoWayBack checks that a failed Restore does not start a database whose claim was deleted, unless another
// Restore has replaced the claim.
func TestNoWayBack(t *testing.T) {
	t.Parallel()
	refused, conflict := steps.Fail(v1.ReasonRegionNotAllowed, "not any more"), steps.Fail(v1.ReasonConflict, "another volume")
	for name, tt := range map[string]struct {
		begun  string
		result steps.Result
		fatal  bool
	}{
		"before anything is replaced": {stepImport, refused, true},
		"a claim may be deleted":      {stepRetire, refused, false},
		"another took the place":      {stepRetire, conflict, true},
	} {
		w := situation()
		w.restore.Status.Steps = []v1.StepStatus{{Name: tt.begun}}
		if got := w.onward(tt.result); got.Fatal != tt.fatal || got.Reason != tt.result.Reason || !tt.fatal && got.Wait == 0 {
			t.Errorf("%s: %+v, want fatal %t", name, got, tt.fatal)
		}
	}
}

// ofDump returns a Restore of a complete dump of eu-1 into us-1, of another provider.
func ofDump() *work {
	w := situation()
	w.backup.Spec.Method, w.backup.Status.Snapshots = v1.BackupDump, nil
	w.backup.Status.Dump = &v1.DumpFile{Claim: "c", File: "f", Bytes: 3 << 30}
	w.member.Spec.CloudAccountRef, w.member.Status.Provider, w.member.Status.Region = nil, v1.ProviderOther, ""
	return w
}

// TestPossibleForDumps checks that provider and account do not matter for dumps, and that versions are compared
// later.
func TestPossibleForDumps(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*work)
		reason string
		fatal  bool
	}{
		"as it is":         {func(*work) {}, "", false},
		"another major":    {func(w *work) { w.app.Spec.Database.Version = "12.1" }, "", false},
		"still travelling": {func(w *work) { w.backup.Status.Phase = v1.BackupFinalizing }, "", false},
		"not sent":         {func(w *work) { w.backup.Status.Phase = v1.BackupPartiallyCompleted }, "", false},
		"not made":         {func(w *work) { w.backup.Status.Phase = v1.BackupInProgress }, v1.ReasonBackupNotReady, false},
		"failed":           {func(w *work) { w.backup.Status.Phase = v1.BackupFailed }, v1.ReasonBackupNotReady, true},
		"its dump was removed": {func(w *work) {
			w.backup.Status.Phase, w.backup.Status.SnapshotTime, w.backup.Status.Conditions = v1.BackupFailed, &metav1.Time{}, []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing}}
		}, v1.ReasonDumpMissing, true},
		"its dump was removed before all of it was sent": {func(w *work) {
			w.backup.Status.Phase, w.backup.Status.SnapshotTime, w.backup.Status.Conditions = v1.BackupFailed, &metav1.Time{}, []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDumpMissing}}
			w.backup.Status.Dump.Object = &v1.DumpObject{State: v1.DumpSending}
		}, v1.ReasonDumpMissing, true},
		"failed, too late":     {func(w *work) { w.backup.Status.Phase = v1.BackupFailed; w.started() }, "", false},
		"verify":               {func(w *work) { w.restore.Spec.Verify = true }, "", false},
		"verify with an agent": {func(w *work) { w.restore.Spec.Verify = true; w.member.Spec.Mode = v1.ModeAgent }, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := ofDump()
			tt.change(w)
			if got := w.canRestore(); got.Reason != tt.reason || got.Fatal != tt.fatal {
				t.Errorf("%+v, want the reason %q, fatal %t", got, tt.reason, tt.fatal)
			}
		})
	}
}

// started records that a Job may have started.
func (w *work) started() { w.restore.Status.Dump = &v1.RestoredDump{Started: true} }

// TestPatience checks that a Job has a limit of its own, and that a Restore that has replaced data has none.
func TestPatience(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*work)
		want   time.Duration
	}{
		"nothing is done":  {func(*work) {}, preparationLimit},
		"chosen":           {func(w *work) { w.restore.Status.Dump = &v1.RestoredDump{} }, preparationLimit},
		"between attempts": {(*work).started, loadLimit},
		"a Job is requested": {func(w *work) {
			w.started()
			w.restore.Status.Dump.Job, w.restore.Status.Dump.RequestTime = "j", v1.Seconds(time.Unix(1, 0))
		}, loadLimit},
		"a Job is at work": {func(w *work) { w.started(); w.restore.Status.Dump.Job = "j" }, 0},
		"loaded":           {func(w *work) { w.started(); w.restore.Status.Dump.Loaded = true }, 0},
		"replaced":         {func(w *work) { w.restore.Status.Steps = []v1.StepStatus{{Name: stepRetire}} }, 0},
	} {
		w := ofDump()
		tt.change(w)
		if got := w.timeLimit(); got != tt.want {
			t.Errorf("%s: %s, want %s", name, got, tt.want)
		}
	}
}

func TestPhasesOfDumps(t *testing.T) {
	t.Parallel()
	hold := steps.RetryAfter(time.Second, v1.ReasonLoading, "loading")
	for name, tt := range map[string]struct {
		dump *v1.RestoredDump
		v    steps.Result
		want v1.RestorePhase
	}{
		"waits":   {nil, hold, v1.RestorePending},
		"loads":   {&v1.RestoredDump{}, hold, v1.RestoreInProgress},
		"loaded":  {&v1.RestoredDump{Loaded: true}, hold, v1.RestoreStarting},
		"serves":  {&v1.RestoredDump{Loaded: true}, steps.Result{}, v1.RestoreCompleted},
		"refused": {nil, steps.Fail(v1.ReasonDumpMissing, "no"), v1.RestoreFailed},
	} {
		w := ofDump()
		w.restore.Status.Dump = tt.dump
		if w.conclude(tt.v); w.restore.Status.Phase != tt.want {
			t.Errorf("%s: %s, want %s", name, w.restore.Status.Phase, tt.want)
		}
	}
}

// TestWhatADumpIsProvenWith checks that a dump is verified with a database of its own, without objects of the
// application.
func TestWhatADumpIsProvenWith(t *testing.T) {
	t.Parallel()
	w := ofDump()
	db := w.app.Spec.Database
	db.Storage, db.CredentialsSecretRef = "20Gi", &v1.LocalSecretReference{Name: "ours"}
	w.targetFacts = &targetFacts{class: storageClass{name: "fast"}}
	d := w.verification()
	if d.CredentialsSecret != "" || d.Username == "" || d.Owner.Namespace != VerificationNamespace || d.Storage.String() != "20Gi" || d.StorageClass == nil || *d.StorageClass != "fast" {
		t.Errorf("%+v", d)
	}
	w.app, w.targetFacts = nil, nil
	if d := w.verification(); d.Storage.String() != "12Gi" || d.StorageClass != nil {
		t.Errorf("without an application: %+v", d)
	}
}

func TestSuperseded(t *testing.T) {
	t.Parallel()
	w := situation()
	w.restore.Status.Volumes = []v1.RestoredVolume{{Claim: "data-0", PersistentVolume: "ours", State: v1.RestoredVolumeBound}}
	pvc := &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: "ours"}}
	w.targetFacts = &targetFacts{claims: map[string]*claim{"data-0": {pvc: pvc}}}
	if got := w.superseded(); got != "" {
		t.Errorf("%s is said to be another's", got)
	}
	pvc.Spec.VolumeName = "another"
	if got := w.superseded(); got != "data-0" {
		t.Errorf("%q is another's, want data-0", got)
	}
	// What another put there is left alone.
	if result := w.bindClaims(t.Context()); result.Stops() {
		t.Errorf("%+v", result)
	}
}

// TestWhatABackupIsProvenWith checks that a verification uses the image with the version, but not the credentials.
func TestWhatABackupIsProvenWith(t *testing.T) {
	t.Parallel()
	w := situation()
	db := w.app.Spec.Database
	db.Image, db.CredentialsSecretRef = "registry.example.com/postgres:mine", &v1.LocalSecretReference{Name: "ours"}
	if d := w.verification(); d.Image != "" || d.Version != "13.4" || d.CredentialsSecret != "shop-database-credentials" {
		t.Errorf("of another version: %+v", d)
	}
	db.Version = "13.4"
	if d := w.verification(); d.Image != db.Image {
		t.Errorf("of the same version: %+v", d)
	}
	db.CredentialsSecretRef = nil
	if d := w.verification(); d.CredentialsSecret != "" {
		t.Errorf("with names that are known: %+v", d)
	}
	w.app = nil
	if d := w.verification(); d.CredentialsSecret == "" || d.Image != "" {
		t.Errorf("without an application: %+v", d)
	}
}

// TestAVerificationReadsEverything checks that the Job of a verification proves data, beside the application, and that of another
// Restore does not. Both compare it with what the Backup has recorded.
func TestAVerificationReadsEverything(t *testing.T) {
	t.Parallel()
	for _, verify := range []bool{true, false} {
		w := situation()
		w.restore.Spec.Verify, w.targetFacts, w.app.Spec.Database.Storage = verify, &targetFacts{}, "1Gi"
		w.backup.Status.Position = "7412345678901234567 1 0/16B3748"
		got, err := w.target(&v1.RestoredVolume{Claim: "data-0"})
		if err != nil {
			t.Fatal(err)
		}
		if got.Prove != verify || (got.Namespace == VerificationNamespace) != verify || (got.Database.Version == w.backup.Status.Version) != verify {
			t.Errorf("verifying is %v, and the Job is %+v", verify, got)
		}
		if got.Position != w.backup.Status.Position {
			t.Errorf("verifying is %v, and the position of the Job is %q", verify, got.Position)
		}
	}
}

// TestAVerificationRunsWhereTheDatabaseMay checks that a verification has the database's resources and nodes, and no
// affinity to pods that its namespace lacks.
func TestAVerificationRunsWhereTheDatabaseMay(t *testing.T) {
	t.Parallel()
	nodes := &v1.NodeAffinity{}
	resources := v1.Resources{Requests: v1.Amounts{v1.ResourceCPU: resource.MustParse("2")}}
	want := v1.PodSettings{
		NodeSelector: map[string]string{"pool": "shops"}, Tolerations: []v1.Toleration{{Operator: v1.TolerationExists}},
		ImagePullSecrets: []v1.LocalSecretReference{{Name: "registry"}}, PriorityClassName: "low", Affinity: &v1.Affinity{NodeAffinity: nodes},
	}
	given := *want.DeepCopy()
	given.Affinity.PodAffinity = &v1.PodAffinity{}
	given.ServiceAccountAnnotations = map[string]string{"eks.amazonaws.com/role-arn": "ours"}
	given.PodLabels, given.PodAnnotations = map[string]string{"team": "data"}, map[string]string{"inject": "true"}
	for name, w := range map[string]*work{"snapshot": situation(), "dump": ofDump()} {
		db := w.app.Spec.Database
		db.PodSettings, db.Resources = *given.DeepCopy(), resources
		w.app.Spec.Security.PodUserIDs = v1.PodUserIDsNamespace
		spec := w.verification()
		if diff := cmp.Diff(want, spec.Pods); diff != "" {
			t.Errorf("%s: settings of the pod (-want +got):\n%s", name, diff)
		}
		if spec.UserIDs != v1.PodUserIDsNamespace {
			t.Errorf("%s: the user is %q, and not that of the namespace", name, spec.UserIDs)
		}
		if diff := cmp.Diff(resources, spec.Resources); diff != "" {
			t.Errorf("%s: resources (-want +got):\n%s", name, diff)
		}
		if diff := cmp.Diff(given, db.PodSettings); diff != "" {
			t.Errorf("%s: the settings of the application changed (-want +got):\n%s", name, diff)
		}
	}
}

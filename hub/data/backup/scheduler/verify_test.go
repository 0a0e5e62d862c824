package scheduler

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

// TestBackupsAreProven goes through verifications: due, under way, failed, good, and deleted.
func TestBackupsAreProven(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T09:00:00Z")
	in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
	pass := func(now string) Decision {
		in.now = at(now)
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		for _, r := range decision.Verify {
			r.CreationTimestamp = metav1.NewTime(in.now)
			in.restores = append(in.restores, *r)
		}
		return decision
	}
	if decision := pass("2026-03-02T04:10:00Z"); len(decision.Verify) != 0 {
		t.Errorf("without a backup there is nothing to prove, but %s", decision.Verify[0].Name)
	}
	in.backups = []v1.Backup{backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
	decision := pass("2026-03-03T04:10:00Z")
	if len(decision.Verify) != 1 {
		t.Fatalf("%d verifications are due, want one", len(decision.Verify))
	}
	want := v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "shop-eu-1-20260303-0200"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Verify: true}
	if diff := cmp.Diff(want, decision.Verify[0].Spec); diff != "" || decision.Verify[0].Name != "shop-eu-1-20260303-0400-verify" {
		t.Errorf("%s (-want +got):\n%s", decision.Verify[0].Name, diff)
	}
	if decision := pass("2026-03-04T04:10:00Z"); len(decision.Verify) != 0 {
		t.Error("a second one while the first is under way")
	}
	in.restores[0].Status = v1.RestoreStatus{Phase: v1.RestoreFailed, Message: "not verified"}
	decision = pass("2026-03-04T04:20:00Z")
	if decision.Condition.Reason != v1.ReasonVerificationFailed || decision.Condition.Message != "eu-1: backup shop-eu-1-20260303-0200 could not be verified: not verified" {
		t.Errorf("condition %+v", decision.Condition)
	}
	if len(decision.Verify) != 1 {
		t.Fatalf("%d verifications after one that failed, want the next one", len(decision.Verify))
	}
	if history := decision.Clusters[0]; !history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:00:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	in.restores[1].Status.Phase = v1.RestoreCompleted
	in.backups[0].Status.LastVerifiedTime = &metav1.Time{Time: at("2026-03-04T04:21:00Z")}
	decision = pass("2026-03-04T05:00:00Z")
	if decision.Condition.Status != metav1.ConditionTrue || len(decision.DeleteVerify) != 1 || decision.DeleteVerify[0].Name != in.restores[0].Name {
		t.Errorf("condition %+v, deleted %v", decision.Condition, decision.DeleteVerify)
	}
	if history := decision.Clusters[0]; history.VerifyFailed || !history.VerifyDeadline.Equal(at("2026-03-05T16:21:00Z")) {
		t.Errorf("failed %t, the next proof is late at %s", history.VerifyFailed, history.VerifyDeadline)
	}
	if got := in.app.Status.Backups[0].LastVerifiedTime; got == nil || !got.Time.Equal(at("2026-03-04T04:21:00Z")) {
		t.Errorf("last verified %v", got)
	}
}

// regionMember returns a member of an account that can restore snapshots in a region.
func regionMember(name, region string, change ...func(*v1.MemberCluster)) *v1.MemberCluster {
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	m.Spec.CloudAccountRef = &v1.ObjectReference{Name: "account"}
	m.Status.Provider, m.Status.Region, m.Status.Capabilities = v1.ProviderAWS, region, []string{csi.CapabilitySnapshots}
	for _, c := range change {
		c(m)
	}
	return m
}

// TestWhereBackupsAreProven compares the cluster in which a backup is verified.
func TestWhereBackupsAreProven(t *testing.T) {
	t.Parallel()
	ready := []v1.CloudSnapshot{{Region: "us-east-1", ID: "snap-us", State: string(cloud.StateReady)}}
	paused := func(m *v1.MemberCluster) { m.Spec.Paused = true }
	agent := func(m *v1.MemberCluster) { m.Spec.Mode = v1.ModeAgent }
	bare := func(m *v1.MemberCluster) { m.Status.Capabilities = nil }
	another := func(m *v1.MemberCluster) { m.Spec.CloudAccountRef.Name = "another" }
	for name, tt := range map[string]struct {
		own    *v1.MemberCluster
		copies []v1.CloudSnapshot
		others []*v1.MemberCluster
		method v1.BackupMethod
		want   string
		// asks changes what the database asks of a cluster.
		asks func(*v1.EcommerceApp)
	}{
		"without a copy":           {own: regionMember("eu-1", "eu-west-1"), want: "eu-1"},
		"in mode Agent":            {own: regionMember("eu-1", "eu-west-1", agent), want: "eu-1"},
		"from its copy":            {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-1", "us-east-1"), regionMember("us-2", "us-east-1")}, "", "us-1", nil},
		"where the application is": {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-0", "us-east-1"), regionMember("us-1", "us-east-1")}, "", "us-1", nil},
		"the copy is being made":   {regionMember("eu-1", "eu-west-1"), []v1.CloudSnapshot{{Region: "us-east-1"}}, []*v1.MemberCluster{regionMember("us-1", "us-east-1")}, "", "eu-1", nil},
		"the copy is lost":         {regionMember("eu-1", "eu-west-1"), []v1.CloudSnapshot{{Region: "us-east-1", ID: "snap-us", State: v1.SnapshotMissing}}, []*v1.MemberCluster{regionMember("us-1", "us-east-1")}, "", "eu-1", nil},
		"the member is paused":     {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-1", "us-east-1", paused)}, "", "eu-1", nil},
		"without snapshots there":  {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-1", "us-east-1", bare)}, "", "eu-1", nil},
		"of another account":       {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-1", "us-east-1", another)}, "", "eu-1", nil},
		"in another region":        {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-1", "us-west-2")}, "", "eu-1", nil},
		"only from its copy":       {regionMember("eu-1", "eu-west-1", bare), ready, []*v1.MemberCluster{regionMember("us-1", "us-east-1")}, "", "us-1", nil},
		"with a class of its own": {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-0", "us-east-1")}, "", "eu-1", func(app *v1.EcommerceApp) {
			app.Spec.Database.StorageClassName = new("fast")
		}},
		"with nodes of its own": {regionMember("eu-1", "eu-west-1"), ready, []*v1.MemberCluster{regionMember("us-0", "us-east-1"), regionMember("us-1", "us-east-1")}, "", "us-1", func(app *v1.EcommerceApp) {
			app.Spec.Database.NodeSelector = map[string]string{"pool": "data"}
		}},
		"without snapshots": {own: regionMember("eu-1", "eu-west-1", bare)},
		"a dump":            {own: regionMember("eu-1", "eu-west-1"), method: v1.BackupDump, want: "eu-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := backup("2026-03-03T02:00:00Z", v1.BackupCompleted)
			b.Spec.Method, b.Spec.CopyToRegions = tt.method, []string{"ap-south-1", "us-east-1"}
			b.Status.Provider, b.Status.Account = v1.ProviderAWS, "account"
			b.Status.Snapshots = []v1.VolumeSnapshot{{CloudSnapshot: v1.CloudSnapshot{ID: "snap-eu", Region: "eu-west-1"}, Copies: tt.copies}}
			in := situation("2026-03-03T04:10:00Z")
			in.app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1"}, {Name: "us-1"}}
			in.members["eu-1"], in.withCopies = tt.own, tt.others
			if tt.asks != nil {
				tt.asks(in.app)
			}
			got := ""
			if in.canVerify(&b) {
				got = in.verifiesIn(&b)
			}
			if got != tt.want {
				t.Errorf("it is verified in %q, want %q", got, tt.want)
			}
		})
	}
}

// TestVerificationInModeAgent checks that snapshots and dumps are verified where the hub may start no database: a Job does.
func TestVerificationInModeAgent(t *testing.T) {
	t.Parallel()
	for _, method := range []v1.BackupMethod{v1.BackupSnapshot, v1.BackupDump} {
		in := situation("2026-03-03T04:10:00Z")
		in.members["eu-1"].Spec.Mode = v1.ModeAgent
		policy := &in.app.Spec.Database.Backup
		policy.Method, policy.Verify.Schedule = method, "0 4 * * *"
		b := backup("2026-03-03T02:00:00Z", v1.BackupCompleted)
		b.Spec.Method, b.Status.Dump = method, &v1.DumpFile{Object: &v1.DumpObject{State: v1.DumpSent}}
		in.backups = []v1.Backup{b}
		decision := decide(in)
		if n := len(decision.Verify); n != 1 || decision.Clusters[0].VerifyDeadline.IsZero() {
			t.Errorf("%s: %d verifications, want 1, and the next is overdue at %s", method, n, decision.Clusters[0].VerifyDeadline)
		}
	}
}

// TestAProofOfACopyIsNamed checks what BackupReady says of a backup that was verified in another region.
func TestAProofOfACopyIsNamed(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-03T05:00:00Z")
	in.app.Spec.Database.Backup.Verify.Schedule = "0 4 * * *"
	in.backups = []v1.Backup{backup("2026-03-03T02:00:00Z", v1.BackupCompleted)}
	in.restores = []v1.Restore{*in.verification("eu-1", &in.backups[0], at("2026-03-03T04:00:00Z"))}
	in.restores[0].Spec.ClusterRef.Name, in.restores[0].Status = "us-1", v1.RestoreStatus{Phase: v1.RestoreFailed, Message: "damaged"}
	if c := decide(in).Condition; c.Reason != v1.ReasonVerificationFailed || !strings.Contains(c.Message, "eu-1: backup shop-eu-1-20260303-0200 could not be verified: damaged") {
		t.Errorf("%+v", c)
	}
	in.restores[0].Status.Phase = v1.RestoreCompleted
	in.backups[0].Status.Verified = &v1.Verified{From: v1.VerifiedFrom{Region: "us-east-1", Cluster: "us-1"}}
	if c := decide(in).Condition; c.Status != metav1.ConditionTrue || !strings.HasSuffix(c.Message, "; eu-1: verified from the copy in us-east-1, in cluster us-1") {
		t.Errorf("%+v", c)
	}
	in.backups[0].Status.Verified.From.Cluster = "eu-1"
	if c := decide(in).Condition; strings.Contains(c.Message, "verified from") {
		t.Errorf("%+v", c)
	}
}

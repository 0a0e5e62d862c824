package page_test

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// taken returns a completed backup of the snapshots of one volume, with copies in other regions.
func taken(app, cluster, region string, age time.Duration, copies ...string) *apitest.BackupBuilder {
	return apitest.Backup(app+"-"+cluster).Namespace("production").Of(app, cluster).With(func(b *v1.Backup) {
		volume := v1.VolumeSnapshot{Claim: "data", CloudSnapshot: v1.CloudSnapshot{Region: region, State: string(cloud.StateReady)}}
		for _, to := range copies {
			volume.Copies = append(volume.Copies, v1.CloudSnapshot{Region: to, State: string(cloud.StateReady)})
		}
		b.Status = v1.BackupStatus{
			Phase: v1.BackupCompleted, Region: region, Provider: v1.ProviderAWS, SnapshotTime: at(age),
			Snapshots: []v1.VolumeSnapshot{volume},
		}
	})
}

// withDatabase adds a database that is backed up once a day.
func withDatabase(app *v1.EcommerceApp) {
	app.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "16.4", Storage: "100Gi", Backup: v1.BackupPolicy{
		Enabled: true, Schedule: "0 2 * * *", MaxRPO: &metav1.Duration{Duration: 26 * time.Hour},
	}}
}

// rollingOut lets an application be updated from revision 6 to 7: eu-1 has it, and eu-2 is on its way.
func rollingOut(app *v1.EcommerceApp) {
	app.Spec.Rollout = &v1.Rollout{Order: []string{"eu-west-1", "us-central1"}, Approval: v1.ApprovalBetweenRegions}
	app.Status.Rollout = &v1.RolloutStatus{
		Revision: 7, PreviousRevision: 6, State: v1.RolloutProgressing, Region: "eu-west-1", Updated: 1, Total: 4, Message: "updating eu-2",
		Updating: []v1.ClusterUpdate{{Name: "eu-2", ReadyTime: at(40 * time.Second)}},
	}
	for i := range app.Status.Clusters {
		if c := &app.Status.Clusters[i]; c.Region != "eu-west-1" {
			c.Revision = 6
		}
	}
}

// rendered adds a version of the pod templates to a shop: eu-1 has it, us-1 has no pod that waits for it, and it waits for
// the revision.
func rendered(app *v1.EcommerceApp) {
	app.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: v1.RolloutPaused, Region: "eu-west-1", Updated: 1, Total: 3,
		Message: "waiting for the rollout of revision 7"}
	for i := range app.Status.Clusters {
		switch c := &app.Status.Clusters[i]; c.Name {
		case "eu-1":
			c.RenderingVersion = "2"
		case "us-1":
			c.RenderingVersion = "1"
		default:
			c.RenderingVersion, c.HeldTemplates = "1", true
		}
	}
}

// withMoves changes a fleet so that something of each kind moves, and that its databases are at different risks.
func withMoves(s *hubstate.Snapshot) *hubstate.Snapshot {
	for i := range s.Apps {
		switch app := &s.Apps[i]; app.Name {
		case "shop":
			withDatabase(app)
			rollingOut(app)
			rendered(app)
			lag := int64(20)
			app.Status.Clusters[0].ReplicationLagSeconds = &lag
			app.Spec.Overrides = []v1.Override{{Selector: v1.ClusterCriteria{Regions: []string{"eu-west-1"}}}}
		case "parcels":
			withDatabase(app)
			app.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Region: "eu-west-1", Total: 2,
				Updating: []v1.ClusterUpdate{{Name: "eu-2", StartTime: at(70 * time.Second)}}}
			app.Status.Clusters[0].RenderingVersion, app.Status.Clusters[0].HeldTemplates = "2", true
		case "login":
			app.Status.Rollout = &v1.RolloutStatus{Revision: 3, PreviousRevision: 2, State: v1.RolloutWaitingForApproval, Region: "us-central1",
				Updated: 1, Total: 2, Message: "waiting for approval of us-central1"}
			app.Status.Clusters[0].Revision, app.Status.Clusters[1].Revision = 3, 2
		case "wine":
			app.Spec.Placement.Regions = []string{"us-central1"}
			app.Status.PendingChangeCount = 4
			app.Status.PendingChanges = []v1.PendingChange{{Cluster: "us-1", Kind: "Deployment", Name: "wine-frontend", Action: v1.PendingUpdate,
				Fields: []string{"spec.replicas: 3 -> 5"}}}
			app.Status.Clusters[0].PendingChangeCount = 4
		}
	}
	for i := range s.Members {
		if m := &s.Members[i]; m.Name == "eu-2" {
			m.Spec.Scheduling, m.Spec.Mode, m.Status.AgentVersion = v1.SchedulingDrained, v1.ModeAgent, "v1.0.0"
		}
	}
	dump := apitest.Backup("shop-us-1").Namespace("production").Of("shop", "us-1").With(func(b *v1.Backup) {
		b.Spec.Method = v1.BackupDump
		b.Status = v1.BackupStatus{
			Phase: v1.BackupCompleted, Region: "us-central1", Provider: v1.ProviderGCP, Account: "prod-gcp", SnapshotTime: at(30 * time.Hour),
			LastVerifiedTime: at(28 * time.Hour), Verified: &v1.Verified{From: v1.VerifiedFrom{Region: "us-central1", Cluster: "us-1"}}, Dump: &v1.DumpFile{Object: &v1.DumpObject{Bucket: "shop-dumps", State: v1.DumpSent}},
		}
	})
	running := apitest.Backup("parcels-eu-2-now").Namespace("production").Of("parcels", "eu-2").With(func(b *v1.Backup) {
		b.CreationTimestamp = ago(4 * time.Minute)
		b.Status = v1.BackupStatus{Phase: v1.BackupInProgress, Message: "creating snapshots: 40 %", Steps: []v1.StepStatus{{Name: "Begin"}, {Name: "Snapshot"}}, StartTime: at(3 * time.Minute)}
	})
	partly := taken("shop", "eu-2", "eu-west-1", 5*time.Hour).With(func(b *v1.Backup) {
		b.Status.Phase = v1.BackupPartiallyCompleted
		b.Status.Conditions = []metav1.Condition{{
			Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonPartiallyCompleted,
			Message: "The backup can be restored where it is: the copy in eu-central-1 failed",
		}}
	})
	s.Backups = []v1.Backup{
		*running.Obj(), *taken("shop", "eu-1", "eu-west-1", 5*time.Hour, "eu-central-1").Obj(),
		*partly.Obj(), *dump.Obj(),
	}
	restore := apitest.Restore("shop-back").Namespace("production").From("shop-us-1").To("us-1").Obj()
	restore.Status = v1.RestoreStatus{Phase: v1.RestoreInProgress, Message: "downloading the dump", Steps: []v1.StepStatus{{Name: "Resolve"}, {Name: "Load"}}, StartTime: at(90 * time.Second)}
	s.Restores = []v1.Restore{*restore}
	account := apitest.CloudAccount("prod-gcp").Obj()
	account.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: "shop-dumps"} // The API refuses a region of one that is not of AWS.
	s.Accounts = []v1.CloudAccount{*account}
	return s
}

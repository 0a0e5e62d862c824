package largefleet

import (
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// Sizes of the fleet.
const (
	Members = 500
	Shops   = 2000
	// PerShop is the number of clusters of each shop.
	PerShop = 3
	regions = 20
	// Of so many shops one has a problem, another revision, and a backup under way.
	share = 10
	// restores is the number of restores under way.
	restores = 10
	// drained is the member that is drained.
	drained = 1
)

// Namespace contains all shops of the fleet.
const Namespace = "production"

// builder makes the objects as they are at a time.
type builder struct {
	now    time.Time
	sample *v1.EcommerceApp
	out    *hubstate.Snapshot
}

// New returns the fleet as it is at a time.
func New(now time.Time) *hubstate.Snapshot {
	b := &builder{now: now, sample: apitest.Seed(), out: &hubstate.Snapshot{Hub: hubstate.Hub{
		Server: "https://hub.example.com:6443", Version: "v1.2.9",
		Lease: hubstate.Lease{Source: hubstate.Source{Kind: "Lease", Read: true}, Renewed: now, Until: now.Add(time.Hour)},
	}}}
	for _, kind := range hubstate.Kinds() {
		b.out.Sources = append(b.out.Sources, hubstate.Source{Kind: kind, Read: true})
	}
	for i := range Members {
		b.addMember(i)
	}
	for i := range Shops {
		b.addShop(i)
	}
	for i := range restores {
		of := b.out.Backups[i]
		restore := apitest.Restore("back-" + of.Name).Namespace(Namespace).From(of.Name).To(of.Spec.ClusterRef.Name).Obj()
		restore.Status = v1.RestoreStatus{Phase: v1.RestoreInProgress, Message: "creating volumes", StartTime: b.ago(time.Duration(i) * time.Minute)}
		b.out.Restores = append(b.out.Restores, *restore)
	}
	return b.out
}

func (b *builder) ago(d time.Duration) *metav1.Time { return new(metav1.NewTime(b.now.Add(-d))) }

func memberName(i int) string { return fmt.Sprintf("member-%03d", i) }

func region(i int) string { return fmt.Sprintf("region-%02d", i%regions) }

// isLost reports whether a member is in the region that does not answer.
func isLost(member int) bool { return member%regions == 0 }

func (b *builder) addMember(i int) {
	status, reason, message, since := metav1.ConditionTrue, v1.ReasonConnected, "", 48*time.Hour
	if isLost(i) {
		status, reason, message, since = metav1.ConditionFalse, v1.ReasonProbeFailed, "the cluster does not answer: context deadline exceeded", time.Minute
	}
	m := apitest.MemberCluster(memberName(i)).With(func(m *v1.MemberCluster) {
		m.Spec.Mode = v1.ModeAgentless
		if i == drained {
			m.Spec.Scheduling = v1.SchedulingDrained
		}
		m.Status = v1.MemberClusterStatus{
			Region: region(i), Provider: v1.ProviderAWS, ClusterUID: memberName(i), KubernetesVersion: "v1.36.3", Nodes: 3, ReadyNodes: 3,
			Apps: Shops * PerShop / Members, LastObservedTime: b.ago(since),
		}
	})
	for _, kind := range []string{v1.ConditionReady, v1.ConditionConnected} {
		m.Condition(metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: *b.ago(since)})
	}
	b.out.Members = append(b.out.Members, *m.Obj())
}

// addShop adds a shop and its Backups.
func (b *builder) addShop(i int) {
	app := b.sample.DeepCopy()
	app.Name, app.Namespace, app.Generation = fmt.Sprintf("shop-%04d", i), Namespace, 3
	available := metav1.Condition{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1.ReasonAvailable, LastTransitionTime: *b.ago(48 * time.Hour)}
	if i%share == 0 {
		available.Status, available.Reason, available.Message = metav1.ConditionFalse, v1.ReasonUnavailable, "customers are not served in a cluster"
		available.LastTransitionTime = *b.ago(time.Duration(i) * time.Second)
	}
	app.Status = v1.EcommerceAppStatus{
		Phase: v1.PhaseRunning, ObservedGeneration: 3, ClusterCount: PerShop, RegionCount: PerShop, Ready: fmt.Sprintf("%d/%d", PerShop, PerShop),
		Message: "Application is Running", Conditions: []metav1.Condition{available}, LastUpdated: b.ago(time.Minute),
	}
	for j := range PerShop {
		at := (i*PerShop + j) % Members
		c := b.entry(at, i%share == 0)
		app.Status.Clusters = append(app.Status.Clusters, c)
		app.Status.Regions = append(app.Status.Regions, v1.RegionStatus{Name: c.Region, Phase: c.Phase, Clusters: 1, ReadyClusters: 1, Replicas: c.Replicas, ReadyReplicas: c.ReadyReplicas})
		b.addBackups(app.Name, c, i%share == 0 && j == 0)
	}
	b.rollOut(app, i)
	b.out.Apps = append(b.out.Apps, *app)
}

// entry returns what is known of a shop in a cluster.
func (b *builder) entry(member int, isDown bool) v1.ClusterStatus {
	c := v1.ClusterStatus{
		Name: memberName(member), Region: region(member), Provider: v1.ProviderAWS, Phase: v1.PhaseRunning, Ready: true, Available: true, Replicas: 3, ReadyReplicas: 3,
		Revision: 6, RenderingVersion: "1", HeldTemplates: true, AppliedGeneration: 3, LastObservedTime: b.ago(25 * time.Minute),
		Components: []v1.ClusterComponentStatus{{Name: "database", Phase: v1.PhaseRunning, Ready: true}, {Name: "frontend", Phase: v1.PhaseRunning, Ready: true}},
	}
	switch {
	case isLost(member):
		c.Ready, c.Available, c.Stale, c.LastObservedTime = false, false, true, b.ago(time.Minute)
		c.Phase, c.Reason = v1.PhaseUnknown, v1.ReasonClusterUnreachable
	case isDown:
		c.Ready, c.Available, c.ReadyReplicas, c.Phase = false, false, 0, v1.PhaseUpdating
		c.Reason, c.Message = v1.ReasonCrashLoopBackOff, "frontend: the container shop ended 7 times"
	}
	return c
}

// addBackups adds two Backups of a database with copies in another region, and one under way.
func (b *builder) addBackups(app string, c v1.ClusterStatus, isUnderWay bool) {
	for i, age := range []time.Duration{29 * time.Hour, 5 * time.Hour} {
		b.out.Backups = append(b.out.Backups, *b.backup(app, c, i).With(func(backup *v1.Backup) {
			backup.Status = v1.BackupStatus{Phase: v1.BackupCompleted, Region: c.Region, Provider: c.Provider, SnapshotTime: b.ago(age), Snapshots: []v1.VolumeSnapshot{{
				Claim: "data-" + app + "-database-0", Size: "100Gi", CloudSnapshot: v1.CloudSnapshot{Region: c.Region, ID: "snap-" + app, State: string(cloud.StateReady)},
				Copies: []v1.CloudSnapshot{{Region: "elsewhere", ID: "copy-" + app, State: string(cloud.StateReady)}},
			}}}
		}).Obj())
	}
	if isUnderWay {
		b.out.Backups = append(b.out.Backups, *b.backup(app, c, 2).With(func(backup *v1.Backup) {
			backup.Status = v1.BackupStatus{Phase: v1.BackupInProgress, Message: "creating snapshots: 40 %", StartTime: b.ago(3 * time.Minute)}
		}).Obj())
	}
}

func (b *builder) backup(app string, c v1.ClusterStatus, number int) *apitest.BackupBuilder {
	return apitest.Backup(fmt.Sprintf("%s-%s-%d", app, c.Name, number)).Namespace(Namespace).Of(app, c.Name)
}

// rollOut begins with the pod templates of a release in the first cluster, and in each tenth shop with another revision,
// for which they wait.
func (b *builder) rollOut(app *v1.EcommerceApp, i int) {
	first := &app.Status.Clusters[0]
	begun := []v1.ClusterUpdate{{Name: first.Name, ReadyTime: b.ago(20 * time.Second)}}
	app.Status.Rendering = &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, Region: first.Region, Total: PerShop, Message: "waiting for " + first.Name, Updating: begun}
	if i%share != 0 {
		first.RenderingVersion = "2"
		return
	}
	app.Spec.Rollout = &v1.Rollout{Order: []string{first.Region}, Approval: v1.ApprovalBetweenRegions}
	app.Status.Rendering.State, app.Status.Rendering.Message, app.Status.Rendering.Updating = v1.RolloutPaused, "waiting for the rollout of revision 7", nil
	first.Revision = 7
	app.Status.Rollout = &v1.RolloutStatus{
		Revision: 7, SpecHash: "hash", PreviousRevision: 6, State: v1.RolloutProgressing, Region: first.Region, Total: PerShop,
		Message: "waiting for " + first.Name, Updating: begun,
	}
}

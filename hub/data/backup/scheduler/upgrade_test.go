package scheduler

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestEachClusterIsBackedUpBeforeAnUpgrade checks that one pass requests the backups of all clusters before an
// upgrade.
func TestEachClusterIsBackedUpBeforeAnUpgrade(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T18:00:00Z")
	in.app.Status.Clusters = append(in.app.Status.Clusters, v1.ClusterStatus{Name: "eu-2"})
	in.members["eu-2"] = in.members["eu-1"]
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4", Image: "postgres:13.4"}, {Name: "eu-2", Version: "13.4", Image: "postgres:13.4"}}
	in.app.Spec.Database.Version = "13.5"
	if made := decide(in).Create; len(made) != 2 || made[0].Spec.ClusterRef.Name == made[1].Spec.ClusterRef.Name {
		t.Errorf("made %v, want one for each cluster", made)
	}
}

// TestAnUpgradeInTheEditThatEnablesBackups waits too: the copy says which version there is.
func TestAnUpgradeInTheEditThatEnablesBackups(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-01T18:00:00Z")
	in.app.Spec.Database.Version = "13.5"
	pass := func(when, want string, backups int) {
		t.Helper()
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		if got := in.app.RecordedServer("eu-1").Version; got != want || len(decision.Create) != backups {
			t.Errorf("%s: version %q and %d backups, want %q and %d", when, got, len(decision.Create), want, backups)
		}
	}
	in.compared = nil
	pass("away", "", 0)
	in.compared, in.copied = map[string]bool{"eu-1": true}, map[string]v1.CopiedServer{"eu-1": {DatabaseServer: v1.DatabaseServer{Version: "13.4", Image: "postgres:13.4"}}}
	pass("before the version is recorded", "13.4", 0)
	pass("after it", "13.4", 1)
	in.app.Status.Backups, in.backups = nil, []v1.Backup{backup("2026-03-01T17:59:30Z", v1.BackupCompleted)}
	pass("with a backup, before the version is recorded", "13.4", 0)
	pass("with a backup, after it", "13.5", 0)
	in.app.Status.Backups, in.copied = nil, nil
	pass("without a copy", "13.5", 0)
}

// TestAnUpgradeWaitsForABackup goes through one: asked for, held, failed once, let go. It waits whatever changes of
// the server, and from where.
func TestAnUpgradeWaitsForABackup(t *testing.T) {
	t.Parallel()
	image := func(image string) []v1.Override {
		return []v1.Override{{Database: v1.DatabaseOverride{ContainerOverride: v1.ContainerOverride{Image: image}}}}
	}
	for name, tt := range map[string]struct {
		engine        v1.Engine
		before, after func(*v1.EcommerceAppSpec)
		from, to      v1.DatabaseServer
	}{
		"by version": {
			engine: v1.EnginePostgreSQL,
			after:  func(s *v1.EcommerceAppSpec) { s.Database.Version = "13.5" },
			from:   v1.DatabaseServer{Version: "13.4", Image: "postgres:13.4"}, to: v1.DatabaseServer{Version: "13.5", Image: "postgres:13.5"},
		},
		"by image": {
			engine: v1.EngineMySQL,
			before: func(s *v1.EcommerceAppSpec) { s.Database.Version, s.Database.Image = "8.4", "mirror/mysql:8.4.2" },
			after:  func(s *v1.EcommerceAppSpec) { s.Database.Image = "mirror/mysql:8.4.3" },
			from:   v1.DatabaseServer{Version: "8.4", Image: "mirror/mysql:8.4.2"}, to: v1.DatabaseServer{Version: "8.4", Image: "mirror/mysql:8.4.3"},
		},
		"by digest": {
			engine: v1.EnginePostgreSQL,
			before: func(s *v1.EcommerceAppSpec) { s.Database.Image = "pg@sha256:aa" },
			after:  func(s *v1.EcommerceAppSpec) { s.Database.Image = "pg@sha256:bb" },
			from:   v1.DatabaseServer{Version: "13.4", Image: "pg@sha256:aa"}, to: v1.DatabaseServer{Version: "13.4", Image: "pg@sha256:bb"},
		},
		"by an override": {
			engine: v1.EnginePostgreSQL,
			after:  func(s *v1.EcommerceAppSpec) { s.Overrides = image("mirror/postgres:13.5") },
			from:   v1.DatabaseServer{Version: "13.4", Image: "postgres:13.4"}, to: v1.DatabaseServer{Version: "13.4", Image: "mirror/postgres:13.5"},
		},
		"by a JSON patch": {
			engine: v1.EnginePostgreSQL,
			after: func(s *v1.EcommerceAppSpec) {
				s.Overrides = []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "add", Path: "/database/image", Value: runtime.RawExtension{Raw: []byte(`"pg:13.5"`)}}}}}
			},
			from: v1.DatabaseServer{Version: "13.4", Image: "postgres:13.4"}, to: v1.DatabaseServer{Version: "13.4", Image: "pg:13.5"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-03-02T09:00:00Z")
			in.app.Spec.Database.Engine = tt.engine
			if tt.before != nil {
				tt.before(&in.app.Spec)
			}
			checkUpgrade(t, in, tt.after, tt.from, tt.to)
		})
	}
}

// checkUpgrade goes through an upgrade from one server to another one.
func checkUpgrade(t *testing.T, in input, upgrade func(*v1.EcommerceAppSpec), from, to v1.DatabaseServer) {
	t.Helper()
	in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)}
	pass := func(now string) Decision {
		in.now = at(now)
		decision := decide(in)
		in.app.Status.Backups = entries(decision.Clusters)
		return decision
	}
	held := func(step string, want v1.DatabaseServer) {
		t.Helper()
		if got := in.app.DatabaseServer("eu-1", to, v1.CopiedServer{}); got != want {
			t.Errorf("%s: the cluster has %s, want %s", step, got, want)
		}
	}
	pass("2026-03-02T09:00:00Z")
	held("before", from)
	upgrade(&in.app.Spec)
	decision := pass("2026-03-02T09:10:00Z")
	held("asked for", from)
	if len(decision.Create) != 1 || decision.Create[0].Name != "shop-eu-1-manual-20260302-091000" || decision.Create[0].Spec.ScheduledTime != nil {
		t.Fatalf("made %v", decision.Create)
	}
	before := backup("2026-03-02T09:10:00Z", v1.BackupFailed)
	before.Name, before.Spec.ScheduledTime = decision.Create[0].Name, nil
	in.backups = append(in.backups, before)
	decision = pass("2026-03-02T09:20:00Z")
	held("after one that failed", from)
	if decision.Condition.Status != metav1.ConditionFalse || decision.Condition.Reason != v1.ReasonSnapshotFailed || len(decision.Create) != 0 {
		t.Errorf("condition %+v, made %v", decision.Condition, decision.Create)
	}
	in.backups = append(in.backups, backup("2026-03-03T02:00:00Z", v1.BackupCompleted))
	decision = pass("2026-03-03T02:10:00Z")
	held("after a good one", to)
	if decision.Condition.Status != metav1.ConditionTrue || !decision.Clusters[0].UpgradeTime.IsZero() {
		t.Errorf("condition %+v, upgrade time %s", decision.Condition, decision.Clusters[0].UpgradeTime)
	}
}

// TestAServerThatWaitsForARollout checks that the backup is for the next server of the cluster, and not for that of
// the spec, to which the cluster cannot upgrade directly.
func TestAServerThatWaitsForARollout(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T09:00:00Z")
	in.app.Spec.Rollout = &v1.Rollout{}
	in.app.Spec.Database.Engine, in.app.Spec.Database.Version, in.app.Spec.Database.AllowUpgradeTo = v1.EngineMySQL, "9.1.0", "9"
	next := v1.DatabaseServer{Version: "8.4.2", Image: "mysql:8.4.2"}
	in.app.Status.Rollout = &v1.RolloutStatus{State: v1.RolloutProgressing, DatabaseServer: &next}
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "8.0.36", Image: "mysql:8.0.36"}}
	in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)}
	if decision := decide(in); len(decision.Create) != 1 || decision.Clusters[0].Server.Version != "8.0.36" {
		t.Errorf("made %v, recorded %v; want a backup, and the server before it", decision.Create, decision.Clusters[0].Server)
	}
	in.app.Status.Rollout.DatabaseServer = nil
	if decision := decide(in); len(decision.Create) != 0 {
		t.Errorf("made %v for a server that is refused", decision.Create)
	}
}

// TestAServerThatIsRefused checks that a refused server gets no backup and is not recorded: the copy keeps its
// server.
func TestAServerThatIsRefused(t *testing.T) {
	t.Parallel()
	in := situation("2026-03-02T09:00:00Z")
	recorded := v1.DatabaseServer{Version: "13.4", Image: "postgres:13.4"}
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: recorded.Version, Image: recorded.Image}}
	in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)}
	for name, overrides := range map[string]v1.Override{
		"alpine":            {Database: v1.DatabaseOverride{ContainerOverride: v1.ContainerOverride{Image: "postgres:13.4-alpine"}}},
		"cannot be applied": {JSONPatches: []v1.JSONPatch{{Op: "remove", Path: "/database/nothing"}}},
	} {
		in.app.Spec.Overrides = []v1.Override{overrides}
		if decision := decide(in); len(decision.Create) != 0 || decision.Clusters[0].Server != recorded {
			t.Errorf("%s: made %v, recorded %v", name, decision.Create, decision.Clusters[0].Server)
		}
	}
}

// TestAVersionWithoutImage was recorded by an earlier release: the image is that of the copy, and not a change.
func TestAVersionWithoutImage(t *testing.T) {
	t.Parallel()
	own := v1.DatabaseServer{Version: "13.4", Image: "pg:13.4"}
	for name, tt := range map[string]struct {
		copied   map[string]v1.CopiedServer
		compared bool
		want     v1.DatabaseServer
	}{
		"of the copy": {map[string]v1.CopiedServer{"eu-1": {DatabaseServer: own}}, true, own},
		"away":        {nil, false, v1.DatabaseServer{Version: "13.4"}},
		"no copy":     {nil, true, v1.DatabaseServer{Version: "13.4", Image: "pg:13.5"}},
	} {
		in := situation("2026-03-02T09:00:00Z")
		in.app.Spec.Database.Image = "pg:13.5"
		in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4"}}
		in.copied, in.compared = tt.copied, map[string]bool{"eu-1": tt.compared}
		if got := decide(in).Clusters[0].Server; got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	// It is neither that of the copy nor the wanted one.
	in, former := situation("2026-03-02T09:00:00Z"), v1.DatabaseServer{Version: "13.3", Image: "pg:13.3"}
	in.app.Spec.Database.Version = "13.5"
	in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: "13.4"}}
	in.copied, in.compared = map[string]v1.CopiedServer{"eu-1": {DatabaseServer: former}}, map[string]bool{"eu-1": true}
	if got := decide(in).Clusters[0].Server; got != former {
		t.Errorf("of neither: %+v, want %+v", got, former)
	}
}

// TestAServerThatNeverStarted checks that a server that never started is replaced at once by the one that the data is
// of: no backup can be made of it. An upgrade of the data of MySQL waits all the same.
func TestAServerThatNeverStarted(t *testing.T) {
	t.Parallel()
	typo := v1.DatabaseServer{Version: "8.4", Image: "mirror/mysql:8.4.9"}
	started := v1.DatabaseServer{Version: "8.4", Image: "mirror/mysql:8.4.3"}
	for name, tt := range map[string]struct {
		image   string
		started v1.DatabaseServer
		want    string
		backups int
	}{
		"started":                         {"mirror/mysql:8.4.3", v1.DatabaseServer{}, typo.Image, 0},
		"never started":                   {"mirror/mysql:8.4.3", started, "mirror/mysql:8.4.3", 0},
		"never started, another registry": {"mysql:8.4.3", started, "mysql:8.4.3", 0},
		"upgraded, to less than the typo": {"mirror/mysql:8.4.4", started, typo.Image, 1},
		"lowered, and refused":            {"mirror/mysql:8.4.2", started, typo.Image, 0},
		"upgraded":                        {"mirror/mysql:8.4.10", started, typo.Image, 1},
	} {
		in := situation("2026-03-02T09:00:00Z")
		in.app.Spec.Database.Engine, in.app.Spec.Database.Version, in.app.Spec.Database.Image = v1.EngineMySQL, "8.4", tt.image
		in.app.Status.Backups = []v1.ClusterBackups{{Name: "eu-1", Version: typo.Version, Image: typo.Image}}
		in.backups = []v1.Backup{backup("2026-03-02T02:00:00Z", v1.BackupCompleted)}
		in.copied = map[string]v1.CopiedServer{"eu-1": {DatabaseServer: typo, Started: tt.started}}
		decision := decide(in)
		if got := decision.Clusters[0].Server.Image; got != tt.want || len(decision.Create) != tt.backups {
			t.Errorf("%s: %s and %d backups, want %s and %d", name, got, len(decision.Create), tt.want, tt.backups)
		}
	}
}

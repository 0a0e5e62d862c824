package copies

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// withDatabase gives an application a database with backups.
func withDatabase(a *v1.EcommerceApp) {
	a.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "14.5", Backup: v1.BackupPolicy{Enabled: true}}
}

// withRecorded adds the server that is recorded for the cluster b.
func withRecorded(version, image string) func(*v1.EcommerceApp) {
	return func(a *v1.EcommerceApp) {
		withDatabase(a)
		a.Status.Backups = []v1.ClusterBackups{{Name: "b", Version: version, Image: image}}
	}
}

// withoutBackups disables backups after a change.
func withoutBackups(change func(*v1.EcommerceApp)) func(*v1.EcommerceApp) {
	return func(a *v1.EcommerceApp) {
		change(a)
		a.Spec.Database.Backup.Enabled = false
	}
}

// TestOrders checks that an order has another hash if what a queue does with it may be another, and only then.
func TestOrders(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		before, after func(*v1.EcommerceApp)
		sources       state.Sources
		want          []string
	}{
		"nothing changed":         {want: nil},
		"a known generation":      {after: func(a *v1.EcommerceApp) { a.Status.Clusters[0].AppliedGeneration = 1 }},
		"progress":                {after: func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseRunning; a.Status.Ready = "1/2" }},
		"the spec":                {after: func(a *v1.EcommerceApp) { a.Generation++ }, want: []string{"a", "b"}},
		"the deletion":            {after: func(a *v1.EcommerceApp) { a.DeletionTimestamp = &metav1.Time{} }, want: []string{"a", "b"}},
		"a forced reconciliation": {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.ReconcileAtAnnotation: "1"} }, want: []string{"a", "b"}},
		"a restart":               {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.RestartedAtAnnotation: "1"} }, want: []string{"a", "b"}},
		"an empty database":       {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.StartEmptyAnnotation: "1"} }, want: []string{"a", "b"}},
		"a propagated Secret":     {sources: state.Sources{Listed: []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}}, want: []string{"a", "b"}},
		"another annotation":      {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{"team": "a"} }},
		"a cluster is chosen": {
			after: func(a *v1.EcommerceApp) { a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: "c"}) }, want: []string{"c"},
		},
		"a cluster is left":                  {after: func(a *v1.EcommerceApp) { a.Status.Clusters[1].Phase = v1.PhaseDeleting }, want: []string{"b"}},
		"a cluster was left":                 {after: func(a *v1.EcommerceApp) { a.Status.Clusters = a.Status.Clusters[:1] }, want: []string{"b"}},
		"a share changes":                    {after: func(a *v1.EcommerceApp) { a.Status.Clusters[1].Share = &v1.ReplicaShare{Frontend: new(int32(2))} }, want: []string{"b"}},
		"the server of the spec is recorded": {before: withDatabase, after: withRecorded("14.5", "postgres:14.5")},
		"another server is recorded":         {before: withDatabase, after: withRecorded("13.4", "postgres:13.4"), want: []string{"b"}},
		"the record ends with the backups":   {before: withoutBackups(withRecorded("14.5", "postgres:14.5")), after: withoutBackups(withDatabase), want: []string{"b"}},
		"a version alone is recorded":        {before: withDatabase, after: withRecorded("14.5", ""), want: []string{"b"}},
		"an upgrade no longer waits":         {before: withRecorded("13.4", "postgres:13.4"), after: withRecorded("14.5", "postgres:14.5"), want: []string{"b"}},
		"another server":                     {before: withDatabase, after: func(a *v1.EcommerceApp) { withDatabase(a); a.Spec.Database.Version = "15.1" }, want: []string{"a", "b"}},
		"another application instead":        {after: func(a *v1.EcommerceApp) { a.UID = "u-2" }, want: []string{"a", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := shop(1, 1, "a", "b"), shop(1, 1, "a", "b")
			if tt.before != nil {
				tt.before(before)
			}
			if tt.after != nil {
				tt.after(after)
			}
			first, next := DecisionOf(before, &before.Status, state.Sources{}), DecisionOf(after, &after.Status, tt.sources)
			var changed []string
			for _, name := range []string{"a", "b", "c"} {
				if was, is := first.Order(name), next.Order(name); (was == nil) != (is == nil) || was != nil && was.Hash != is.Hash {
					changed = append(changed, name)
				}
			}
			if diff := cmp.Diff(tt.want, changed); diff != "" {
				t.Errorf("the change (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEditsPrecedeTheirStatus checks that an edit reaches the queues before its status is stored, unless members have
// more to do than to take over the spec.
func TestEditsPrecedeTheirStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(app *v1.EcommerceApp, next *v1.EcommerceAppStatus)
		want bool
	}{
		"an edit":           {func(*v1.EcommerceApp, *v1.EcommerceAppStatus) {}, true},
		"progress":          {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].Phase = v1.PhaseUpdating }, true},
		"no edit":           {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) { a.Status.ObservedGeneration = a.Generation }, true},
		"a new application": {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) { a.Status = v1.EcommerceAppStatus{} }, false},
		"a cluster is left": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].Phase = v1.PhaseDeleting }, false},
		"a cluster is new": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			next.Clusters = append(next.Clusters, v1.ClusterStatus{Name: "c"})
		}, false},
		"a share changes": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			next.Clusters[0].Share = &v1.ReplicaShare{Frontend: new(int32(2))}
		}, false},
		"a wave of a rollout": {func(a *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			a.Spec.Rollout, a.Status.Rollout, next.Rollout = &v1.Rollout{}, &v1.RolloutStatus{Revision: 2}, &v1.RolloutStatus{Revision: 2}
			a.Status.Clusters[0].Revision, next.Clusters[0].Revision = 1, 2
		}, false},
		"a rollout is complete": {func(a *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			_, hash, _ := rollout.Template(&a.Spec)
			a.Spec.Rollout, a.Status.Rollout = &v1.Rollout{}, &v1.RolloutStatus{SpecHash: hash, State: v1.RolloutProgressing}
			next.Rollout = &v1.RolloutStatus{SpecHash: hash, State: v1.RolloutComplete}
		}, false},
		"a share of nothing ends": {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) {
			a.Status.Clusters[0].Share = &v1.ReplicaShare{Frontend: new(int32(0))}
		}, false},
		"an upgrade that waits for a backup": {func(a *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			a.Spec.Database = &v1.Database{Engine: v1.EnginePostgreSQL, Version: "14.5"}
			next.Backups = []v1.ClusterBackups{{Name: "b", Version: "13.4"}}
		}, false},
		"an origin that a user has to settle": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].UnknownOrigin = "x" }, false},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(2, 1, "a", "b")
			next := *app.Status.DeepCopy()
			next.ObservedGeneration = 2
			tt.edit(app, &next)
			d := New(nil, Options{})
			if got := d.IsStored(app, d.DecisionOf(app, &next)); got != tt.want {
				t.Errorf("its copies wait: %t", tt.want)
			}
		})
	}
}

// TestDecisionListsWhatIsNeeded checks that the queues propagate what the revisions of clusters list, and prune
// nothing while that of one is not known.
func TestDecisionListsWhatIsNeeded(t *testing.T) {
	t.Parallel()
	secret := func(name string) v1.PropagatedObject {
		return v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: name}
	}
	app := shop(1, 1, "a")
	app.Spec.Propagate = []v1.PropagatedObject{secret("new")}
	d := New(nil, Options{})
	if got := d.DecisionOf(app, &app.Status); got.MayReturn || !slices.Equal(got.App.Spec.Propagate, app.Spec.Propagate) {
		t.Errorf("before a read: %v, may return %t", got.App.Spec.Propagate, got.MayReturn)
	}
	listed := []v1.PropagatedObject{secret("new"), secret("old")}
	d.state.ListSources(keyOf(app), app.UID, listed, false)
	all := d.DecisionOf(app, &app.Status)
	if all.MayReturn || !slices.Equal(all.App.Spec.Propagate, listed) {
		t.Errorf("the Decision lists %v, want %v", all.App.Spec.Propagate, listed)
	}
	d.state.ListSources(keyOf(app), app.UID, listed, true)
	if got := d.DecisionOf(app, &app.Status); !got.MayReturn || got.Orders["a"].Hash == all.Orders["a"].Hash {
		t.Error("the same is pruned although an earlier revision was not read")
	}
	other := app.DeepCopy()
	other.UID = "another"
	if got := d.DecisionOf(other, &other.Status); len(got.App.Spec.Propagate) != 1 {
		t.Errorf("another application of the name propagates %v", got.App.Spec.Propagate)
	}
}

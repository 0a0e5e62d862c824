package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestDispatchConcernsOnlyChangedCopies(t *testing.T) {
	t.Parallel()
	database := func(a *v1.EcommerceApp) { a.Spec.Database = &v1.Database{Version: "14.5"} }
	held := func(a *v1.EcommerceApp) {
		database(a)
		a.Status.Backups = []v1.ClusterBackups{{Name: "b", Version: "13.4"}}
	}
	tests := map[string]struct {
		before, after func(*v1.EcommerceApp)
		sources       string
		want          []string
	}{
		"nothing changed":         {want: nil},
		"progress":                {after: func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseRunning; a.Status.Ready = "1/2" }},
		"the spec":                {after: func(a *v1.EcommerceApp) { a.Generation++ }, want: []string{"a", "b"}},
		"the deletion":            {after: func(a *v1.EcommerceApp) { a.DeletionTimestamp = &metav1.Time{} }, want: []string{"a", "b"}},
		"a forced reconciliation": {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.ReconcileAtAnnotation: "1"} }, want: []string{"a", "b"}},
		"a restart":               {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.RestartedAtAnnotation: "1"} }, want: []string{"a", "b"}},
		"an empty database":       {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{v1.StartEmptyAnnotation: "1"} }, want: []string{"a", "b"}},
		"a propagated Secret":     {sources: "Secret/registry=1", want: []string{"a", "b"}},
		"another annotation":      {after: func(a *v1.EcommerceApp) { a.Annotations = map[string]string{"team": "a"} }},
		"a cluster is chosen": {
			after: func(a *v1.EcommerceApp) { a.Status.Clusters = append(a.Status.Clusters, v1.ClusterStatus{Name: "c"}) }, want: []string{"c"},
		},
		"a cluster is left":           {after: func(a *v1.EcommerceApp) { a.Status.Clusters[1].Phase = v1.PhaseDeleting }, want: []string{"b"}},
		"a cluster was left":          {after: func(a *v1.EcommerceApp) { a.Status.Clusters = a.Status.Clusters[:1] }, want: []string{"b"}},
		"a share changes":             {after: func(a *v1.EcommerceApp) { a.Status.Clusters[1].Share = &v1.ReplicaShare{Frontend: new(int32(2))} }, want: []string{"b"}},
		"an upgrade no longer waits":  {before: held, after: database, want: []string{"b"}},
		"another application instead": {after: func(a *v1.EcommerceApp) { a.UID = "u-2" }, want: []string{"a", "b"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDecisions()
			before, after := shop(1, 1, "a", "b"), shop(1, 1, "a", "b")
			if tt.before != nil {
				tt.before(before)
			}
			if tt.after != nil {
				tt.after(after)
			}
			if diff := cmp.Diff([]string{"a", "b"}, d.replace(before, "")); diff != "" {
				t.Errorf("the first decision (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(tt.want, d.replace(after, tt.sources)); diff != "" {
				t.Errorf("the change (-want +got):\n%s", diff)
			}
		})
	}
}

func TestQueuesWorkWithWhatWasWritten(t *testing.T) {
	t.Parallel()
	w := newWritten()
	at := func(version string) *v1.EcommerceApp {
		app := shop(1, 1)
		app.ResourceVersion = version
		return app
	}
	expect := func(cached, want string, ahead bool) {
		t.Helper()
		if got, is := w.newest(at(cached)); got.ResourceVersion != want || is != ahead {
			t.Errorf("the cache has version %s: got %s, ahead %t; want %s, %t", cached, got.ResourceVersion, is, want, ahead)
		}
	}
	expect("1", "1", false)
	// The finalizer replaces 1, and the status 2.
	w.record(at("2"), "1", false)
	w.record(at("3"), "2", false)
	expect("1", "3", true)
	expect("2", "3", true)
	expect("3", "3", false)
	expect("1", "1", false)       // What was delivered is forgotten.
	w.record(at("3"), "3", false) // A write that changed nothing.
	expect("3", "3", false)
	w.record(at("5"), "4", false)
	other := at("4")
	other.UID = "u-2"
	if got, ahead := w.newest(other); ahead || got != other {
		t.Errorf("an application that was created anew: got %s, ahead %t", got.ResourceVersion, ahead)
	}
}

// TestEditsPrecedeTheirStatus: an edit reaches the queues before its status is stored, unless members
// have more to do than to take over the spec.
func TestEditsPrecedeTheirStatus(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		edit func(app *v1.EcommerceApp, next *v1.EcommerceAppStatus)
		want bool
	}{
		"an edit":           {func(*v1.EcommerceApp, *v1.EcommerceAppStatus) {}, true},
		"progress":          {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].Phase = v1.PhaseUpdating }, true},
		"no edit":           {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) { a.Status.ObservedGeneration = a.Generation }, false},
		"a new application": {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) { a.Status = v1.EcommerceAppStatus{} }, false},
		"a cluster is left": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].Phase = v1.PhaseDeleting }, false},
		"a cluster is new": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			next.Clusters = append(next.Clusters, v1.ClusterStatus{Name: "c"})
		}, false},
		"a share changes": {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			next.Clusters[0].Share = &v1.ReplicaShare{Frontend: new(int32(2))}
		}, false},
		"a wave of a rollout":   {func(_ *v1.EcommerceApp, next *v1.EcommerceAppStatus) { next.Clusters[0].Revision = 2 }, false},
		"a rollout is complete": {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) { a.Status.Rollout = &v1.RolloutStatus{} }, false},
		"a share of nothing ends": {func(a *v1.EcommerceApp, _ *v1.EcommerceAppStatus) {
			a.Status.Clusters[0].Share = &v1.ReplicaShare{Frontend: new(int32(0))}
		}, false},
		"an upgrade that waits for a backup": {func(a *v1.EcommerceApp, next *v1.EcommerceAppStatus) {
			a.Spec.Database = &v1.Database{Version: "14.5"}
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
			if tt.edit(app, &next); keepsMembers(app, next) != tt.want {
				t.Errorf("its copies wait: %t", tt.want)
			}
		})
	}
}

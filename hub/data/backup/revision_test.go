package backup

import (
	"errors"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
)

// TestVersionOfARevision checks that a backup has the version of its cluster, which after a rollback differs from the
// spec's.
func TestVersionOfARevision(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	w := &work{Reconciler: &Reconciler{options: Options{Revisions: revisions.New(hub, hub, nil)}}}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "u"}}
	app.Spec.Rollout, app.Spec.Database = &v1.Rollout{}, &v1.Database{Engine: v1.EnginePostgreSQL, Version: "17.2"}
	first, err := w.options.Revisions.Resolve(t.Context(), app)
	if err = errors.Join(err, w.options.Revisions.Store(t.Context(), app, first)); err != nil {
		t.Fatal(err)
	}
	app.Spec.Database.Version = "17.3"
	app.Status.Rollout = &v1.RolloutStatus{State: v1.RolloutRolledBack, Revision: first.Revision + 1, PreviousRevision: first.Revision}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Revision: first.Revision}}
	for _, want := range []string{"17.2", "17.3"} {
		got, err := w.versionIn(t.Context(), app, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}})
		if err != nil || got != want {
			t.Errorf("version %s, error %v; want %s", got, err, want)
		}
		app.Spec.Rollout = nil // Then the cluster has the spec.
	}
	app.Spec.Rollout, app.Status.Clusters[0].Revision = &v1.Rollout{}, 7
	if got, err := w.versionIn(t.Context(), app, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}); err != nil || got != "17.3" {
		t.Errorf("of a revision that does not exist: version %s, error %v; want that of the spec", got, err)
	}
}

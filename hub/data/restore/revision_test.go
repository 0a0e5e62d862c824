package restore

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

// TestSpecOfARevision checks that a Restore uses the database spec of its cluster, which after a rollback differs
// from the application's. A spec that is not known is said, and stops nothing else.
func TestSpecOfARevision(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	if err := errors.Join(appsv1.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", UID: "u"}}
	app.Spec.Rollout, app.Spec.Database = &v1.Rollout{}, &v1.Database{Engine: v1.EnginePostgreSQL, StorageClassName: new("first")}
	hub := fake.NewClientBuilder().WithScheme(scheme).Build()
	store := revisions.New(hub, hub, nil)
	first, err := store.Resolve(t.Context(), app)
	if err = errors.Join(err, store.Store(t.Context(), app, first)); err != nil {
		t.Fatal(err)
	}
	app.Spec.Database.StorageClassName = new("second")
	app.Status.Rollout = &v1.RolloutStatus{State: v1.RolloutRolledBack, Revision: first.Revision + 1, PreviousRevision: first.Revision}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "eu-1", Revision: first.Revision}, {Name: "us-1", Revision: 7}}
	if err := hub.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"eu-1": "first", "us-1": ""} {
		w := &work{
			Reconciler: &Reconciler{client: hub, options: Options{Revisions: store}}, app: &v1.EcommerceApp{},
			restore: &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: "shops"}},
			backup:  &v1.Backup{Spec: v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}}},
			member:  &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}},
		}
		if err := w.getApp(t.Context()); err != nil || (w.invalid != nil) != (want == "") {
			t.Errorf("%s: error %v, invalid %v", name, err, w.invalid)
		} else if want != "" && *w.database().StorageClassName != want {
			t.Errorf("%s: class %s, want %s", name, *w.database().StorageClassName, want)
		}
	}
}

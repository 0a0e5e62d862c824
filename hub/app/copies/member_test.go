package copies

import (
	"context"
	"errors"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/controller"
)

// member is a member whose queue runs when a test says so. Its cache holds what a test
// puts there.
type member struct {
	cluster.Cluster
	client.WithWatch
	dispatcher *Dispatcher
	queue      *MemberQueue
	// app is the application on the hub.
	app *v1.EcommerceApp
	// cached is the copy in the member's cache: nil if it has none.
	cached *v1.EcommerceApp
	// denied is the error of each read from the API server; nil if they succeed.
	denied error
	// refused is the error of each creation; nil if they succeed. They are counted.
	refused   error
	creations int
	// kept holds what the member has recorded.
	kept fakeRecord
	// uid is the UID of the cluster in the status of the MemberCluster.
	uid string
}

// schemeOf returns the types that a member has.
func schemeOf(t *testing.T) *runtime.Scheme {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	return scheme
}

// newMember returns a member that has nothing yet, and an application that is to have a copy there.
func newMember(t *testing.T, name string, admin client.WithWatch) *member {
	t.Helper()
	m := &member{WithWatch: admin, app: shop(1, 1, "a"), uid: "u"}
	m.app.Name = name
	m.app.Spec.Image = "shop:v1"
	d := New(m, Options{
		Recorder: events.NewFakeRecorder(100), Record: func(string) Record { return &m.kept },
		FanOut: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "fanout_seconds", Help: "Fan-out."}, []string{"cluster"}),
	})
	// The dispatcher is not started.
	if err := d.Engage(t.Context(), "a", m); err != nil {
		t.Fatal(err)
	}
	m.dispatcher, m.queue = d, d.Get("a")
	return m
}

// reconcile runs the queue once for the application, as it was decided.
func (m *member) reconcile(t *testing.T) reconcile.Result {
	t.Helper()
	m.handOver()
	result, err := m.queue.Reconcile(t.Context(), controller.RequestFor(m.app))
	if err != nil {
		t.Fatal(err)
	}
	return result
}

// live reads the copy from the API server.
func (m *member) live(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	found := &v1.EcommerceApp{}
	if err := m.WithWatch.Get(t.Context(), keyOf(m.app), found); err != nil {
		t.Fatal(err)
	}
	return found
}

// Get reads from the cache of the hub.
func (m *member) Get(_ context.Context, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
	switch o := into.(type) {
	case *v1.EcommerceApp:
		if m.app.UID == "" {
			return apierrors.NewNotFound(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), key.Name)
		}
		m.app.DeepCopyInto(o)
	case *v1.MemberCluster:
		o.Name, o.Status.ClusterUID = key.Name, m.uid
	}
	return nil
}

// List finds nothing: applications are not listed while no queue runs.
func (m *member) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

// GetAPIReader returns a client of the API server.
func (m *member) GetAPIReader() client.Reader {
	return interceptor.NewClient(m.WithWatch, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, into client.Object, opts ...client.GetOption) error {
			if m.denied != nil {
				return m.denied
			}
			return c.Get(ctx, key, into, opts...)
		},
	})
}

package member

import (
	"errors"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/members"
)

// TestWrites has the reconciler write to a real API server.
func TestWrites(t *testing.T) {
	hub := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}}).Hub()
	scheme := runtime.NewScheme()
	if err := errors.Join(
		hub.ApplyFolder(t.Context(), "../../../config/crd/bases"), v1.AddToScheme(scheme), clientgoscheme.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	c, err := client.New(hub.AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]func(*testing.T, *Reconciler, *v1.MemberCluster){
		"statuses are locked":        testStatusLock,
		"finalizers of others":       testFinalizerLock,
		"metrics of a former member": testFormerMetrics,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "member-"}}
			if err := c.Create(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			test(t, &Reconciler{
				client: c, direct: c, fleet: members.New(members.Options{Scheme: scheme}), namespace: config.Namespace,
				clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), recorder: events.NewFakeRecorder(100),
				metrics: newMetrics(), orphans: NewOrphans(),
			}, cluster)
		})
	}
}

// other is a finalizer of somebody else.
const other = "example.com/hold"

// changeFinalizers changes a member as somebody else, and returns it.
func changeFinalizers(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) *v1.MemberCluster {
	t.Helper()
	changed := cluster.DeepCopy()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+other+`"]}}`))
	if err := r.client.Patch(t.Context(), changed, patch); err != nil {
		t.Fatal(err)
	}
	return changed
}

// testStatusLock: a status that was computed from an older version is not written.
func testStatusLock(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) {
	t.Helper()
	changed := changeFinalizers(t, r, cluster)
	if err := r.writeStatus(t.Context(), cluster, v1.MemberClusterStatus{Nodes: 3}); !apierrors.IsConflict(err) {
		t.Errorf("writing the status of an older version: %v, want a conflict", err)
	}
	if err := r.writeStatus(t.Context(), changed, v1.MemberClusterStatus{Nodes: 4}); err != nil {
		t.Error(err)
	}
}

// testFinalizerLock: a patch replaces the list of finalizers as a whole.
func testFinalizerLock(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) {
	t.Helper()
	changed := changeFinalizers(t, r, cluster)
	if err := r.ensureFinalizer(t.Context(), cluster); !apierrors.IsConflict(err) {
		t.Errorf("adding the finalizer to an older version: %v, want a conflict", err)
	}
	if err := r.ensureFinalizer(t.Context(), changed); err != nil {
		t.Error(err)
	}
	for _, finalizer := range []string{other, v1.MemberFinalizer} {
		if !controllerutil.ContainsFinalizer(changed, finalizer) {
			t.Errorf("finalizers %q, want %s among them", changed.Finalizers, finalizer)
		}
	}
}

// testFormerMetrics: a member that is being deleted, or whose MemberCluster is gone, is
// not counted any more.
func testFormerMetrics(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) {
	t.Helper()
	for name, leave := range map[string]func() error{
		"deleted": func() error { return r.detach(t.Context(), cluster) },
		"gone":    func() error { return r.register(t.Context(), cluster.Name) },
	} {
		r.metrics.set(cluster.Name, &v1.MemberClusterStatus{})
		if err := leave(); err != nil {
			t.Fatal(err)
		}
		if len(r.metrics.states) > 0 || len(r.metrics.orphans) > 0 {
			t.Errorf("%s: states %v and orphans %v of a former member", name, r.metrics.states, r.metrics.orphans)
		}
	}
}

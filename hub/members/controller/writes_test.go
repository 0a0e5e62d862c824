package controller

import (
	"errors"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
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

// TestWrites makes the reconciler write to a real API server.
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
		"statuses are locked":     testStatusLock,
		"finalizers of others":    testFinalizerLock,
		"names that are too long": testLongName,
		"creation that is denied": testDeniedCreation,
		"renewed credentials":     testStoreRenewed,
	} {
		t.Run(name, func(t *testing.T) {
			cluster := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{GenerateName: "member-"}}
			if err := c.Create(t.Context(), cluster); err != nil {
				t.Fatal(err)
			}
			test(t, &Reconciler{
				client: c, direct: c, fleet: members.New(members.Options{Scheme: scheme}), namespace: config.Namespace,
				clock: clocktesting.NewFakeClock(time.Unix(1000, 0)), recorder: events.NewFakeRecorder(100),
				orphans: NewOrphans(),
			}, cluster)
		})
	}
}

// other is the finalizer of another controller.
const other = "example.com/hold"

// changeFinalizers changes a member as another client does, and returns it.
func changeFinalizers(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) *v1.MemberCluster {
	t.Helper()
	changed := cluster.DeepCopy()
	patch := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":["`+other+`"]}}`))
	if err := r.client.Patch(t.Context(), changed, patch); err != nil {
		t.Fatal(err)
	}
	return changed
}

// testStatusLock checks that a status that was computed from an older version is not written.
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

// testFinalizerLock checks that a patch replaces the list of finalizers as a whole.
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

// newRegistration creates a Secret that registers a member.
func newRegistration(t *testing.T, r *Reconciler, name string) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: r.namespace}}
	if err := r.client.Create(t.Context(), namespace); client.IgnoreAlreadyExists(err) != nil {
		t.Fatal(err)
	}
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: r.namespace, Name: name, Labels: map[string]string{v1.MemberClusterLabel: registered},
	}}
	if err := r.client.Create(t.Context(), secret); err != nil {
		t.Fatal(err)
	}
}

// testLongName checks that a name that is too long is not retried, and that an event says so.
func testLongName(t *testing.T, r *Reconciler, _ *v1.MemberCluster) {
	t.Helper()
	name := strings.Repeat("a", 64)
	newRegistration(t, r, name)
	if err := r.register(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	if recorded := <-r.recorder.(*events.FakeRecorder).Events; !strings.Contains(recorded, EventInvalidName) {
		t.Errorf("event %q, want %s", recorded, EventInvalidName)
	}
}

// testDeniedCreation checks that the API server answers as it does to a name that is too long, but the creation is
// tried again.
func testDeniedCreation(t *testing.T, r *Reconciler, _ *v1.MemberCluster) {
	t.Helper()
	const name = "denied"
	newRegistration(t, r, name)
	lift := fleettest.Deny(t, r.client, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "trial"}})
	if err := r.register(t.Context(), name); !apierrors.IsInvalid(err) {
		t.Errorf("error %v, want that of the policy", err)
	}
	if recorded := <-r.recorder.(*events.FakeRecorder).Events; !strings.Contains(recorded, EventDenied) || !strings.Contains(recorded, fleettest.Denial) {
		t.Errorf("event %q, want %s: %s", recorded, EventDenied, fleettest.Denial)
	}
	lift()
	if err := r.register(t.Context(), name); err != nil {
		t.Error(err)
	}
}

// testStoreRenewed checks that a renewed kubeconfig replaces the one that was renewed, and nothing that a user has
// stored or changed meanwhile.
func testStoreRenewed(t *testing.T, r *Reconciler, cluster *v1.MemberCluster) {
	t.Helper()
	const name = "renewed"
	newRegistration(t, r, name)
	cluster.Spec.KubeconfigSecretRef.Name = name
	edit := func(patch string) *corev1.Secret {
		t.Helper()
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: r.namespace, Name: name}}
		if err := r.client.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
			t.Fatal(err)
		}
		return secret
	}
	renewed := members.Renewed{Replaces: []byte("old"), Kubeconfig: []byte("new")}
	first := edit(`{"stringData":{"kubeconfig":"old","other":"kept"}}`)
	later := edit(`{"metadata":{"annotations":{"by":"a user"}}}`)
	if err := r.store(t.Context(), cluster, first, renewed); !apierrors.IsConflict(err) {
		t.Errorf("storing in an older version: %v, want a conflict", err)
	}
	if err := r.store(t.Context(), cluster, later, renewed); err != nil {
		t.Fatal(err)
	}
	kubeconfig := func() string {
		t.Helper()
		secret := &corev1.Secret{}
		if err := r.client.Get(t.Context(), client.ObjectKey{Namespace: r.namespace, Name: name}, secret); err != nil {
			t.Fatal(err)
		}
		if secret.Labels[v1.MemberClusterLabel] != registered || secret.Annotations["by"] != "a user" || string(secret.Data["other"]) != "kept" {
			t.Errorf("labels %v, annotations %v, other %q", secret.Labels, secret.Annotations, secret.Data["other"])
		}
		return string(secret.Data[v1.KubeconfigKey])
	}
	if got := kubeconfig(); got != "new" {
		t.Errorf("kubeconfig %q, want the renewed one", got)
	}
	rotated := edit(`{"stringData":{"kubeconfig":"of a user"}}`)
	if err := r.store(t.Context(), cluster, rotated, renewed); err != nil {
		t.Error(err)
	}
	if got := kubeconfig(); got != "of a user" {
		t.Errorf("kubeconfig %q, want that of the user", got)
	}
}

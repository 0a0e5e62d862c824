package members_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/controllers/member"
)

// lossBound is how long it may take until a member that does not answer is known to
// be lost. It is a promise of the API, far above what it takes.
const lossBound = 40 * time.Second

func TestMembers(t *testing.T) {
	e := newEnvironment(t)
	hub := e.startHub(t)
	for _, test := range []struct {
		name string
		run  func(*testing.T, *environment, *hubProcess)
	}{
		{"register", testRegister},
		{"bad kubeconfigs", testBadKubeconfigs},
		{"missing permission to write", testMissingWrite},
		{"missing permission to read", testMissingRead},
		{"same cluster twice", testDuplicate},
		{"hub itself", testHubItself},
		{"rotation", testRotation},
		{"another cluster behind the name", testIdentity},
		{"detach by Secret", testDetachBySecret},
		{"detach by MemberCluster", testDetachByMemberCluster},
		{"spec wins", testSpecWins},
		{"applications are counted", testApps},
		{"frozen", testFrozen},
	} {
		t.Run(test.name, func(t *testing.T) {
			e.awaitGone(t)
			test.run(t, e, hub)
		})
	}
	e.awaitGone(t)
	hub.stop()
	t.Run("restart", func(t *testing.T) { testRestart(t, e) })
	t.Run("restart beside a frozen member", func(t *testing.T) { testRestartFrozen(t, e) })
	t.Run("goroutines", func(t *testing.T) { testGoroutines(t, e) })
}

func testRegister(t *testing.T, e *environment, hub *hubProcess) {
	eu := e.Member("eu-1")
	e.register(t, "eu-1", e.kubeconfig(t, eu))
	m, took := e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	t.Logf("Ready after %s", took)
	for _, kind := range []string{v1.ConditionConnected, v1.ConditionAuthorized, v1.ConditionIdentityVerified, v1.ConditionCredentialsValid} {
		e.await(t, "eu-1", kind, metav1.ConditionTrue, "")
	}
	system := &corev1.Namespace{}
	if err := e.admin(t, eu).Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
		t.Fatal(err)
	}
	type summary struct {
		UID, Region      string
		Provider         v1.Provider
		Nodes, Ready     int32
		Zones            int
		Version, Expires bool
		CPU              string
	}
	want := summary{
		UID: string(system.UID), Region: "eu-west-1", Provider: v1.ProviderAWS,
		Nodes: 3, Ready: 3, Zones: 3, Version: true, Expires: true, CPU: "12",
	}
	got := summary{
		UID: m.Status.ClusterUID, Region: m.Status.Region, Provider: m.Status.Provider,
		Nodes: m.Status.Nodes, Ready: m.Status.ReadyNodes, Zones: len(m.Status.Zones),
		Version: m.Status.KubernetesVersion != "", Expires: m.Status.CredentialsExpireAt != nil,
		CPU: m.Status.Allocatable.Cpu().String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if !hub.engaged.has("eu-1") {
		t.Error("Ready, but the hub's reconcilers are not engaged")
	}
	c, err := hub.fleet.Get(t.Context(), "eu-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.GetClient().List(t.Context(), &v1.EcommerceAppList{}); err != nil {
		t.Errorf("reading a kind that the hub installed: %v", err)
	}
	fleettest.Eventually(t, "the event", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := e.hub.List(ctx, list); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.Name == "eu-1" && event.Reason == member.EventConnected && event.Type == corev1.EventTypeNormal {
				return nil
			}
		}
		return fmt.Errorf("none among %d", len(list.Items))
	})
	if _, err := hub.fleet.Get(t.Context(), "none"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("getting a member that does not exist: %v", err)
	}
}

func testDuplicate(t *testing.T, e *environment, hub *hubProcess) {
	eu := e.Member("eu-1")
	e.register(t, "eu-1", e.kubeconfig(t, eu))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	e.register(t, "copy", e.kubeconfig(t, eu))
	m, _ := e.await(t, "copy", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonDuplicateCluster)
	if hub.engaged.has("copy") || m.Status.ClusterUID != "" {
		t.Errorf("a duplicate is engaged (%v) or keeps UID %q", hub.engaged.has("copy"), m.Status.ClusterUID)
	}
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	// When the first goes, the cluster is free for the second.
	e.delete(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "eu-1"}})
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
	e.await(t, "copy", v1.ConditionReady, metav1.ConditionTrue, "")
}

func (e *environment) delete(t *testing.T, object client.Object) {
	t.Helper()
	if err := e.hub.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func testHubItself(t *testing.T, e *environment, hub *hubProcess) {
	e.register(t, "self", e.kubeconfig(t, e.Hub()))
	e.await(t, "self", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonHubItself)
	e.await(t, "self", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHubItself)
	if hub.engaged.has("self") {
		t.Error("the hub is engaged as its own member")
	}
}

func testRotation(t *testing.T, e *environment, hub *hubProcess) {
	eu := e.Member("eu-1")
	good := e.kubeconfig(t, eu)
	e.register(t, "eu-1", good)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	engaged := hub.engaged.times("eu-1")

	e.register(t, "eu-1", e.kubeconfig(t, eu))
	fleettest.Eventually(t, "the new kubeconfig to be swapped in", func(context.Context) error {
		if n := hub.engaged.times("eu-1"); n != engaged+1 {
			return fmt.Errorf("engaged %d times, want %d", n, engaged+1)
		}
		return nil
	})
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")

	e.register(t, "eu-1", badKubeconfigs(t, e)["exec"].kubeconfig)
	m, _ := e.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonUnsafeKubeconfig)
	if want := "user.exec is not allowed, because the hub runs no programs: use user.token, or user.client-certificate-data with user.client-key-data" +
		"; the previous kubeconfig is still in use"; message(m, v1.ConditionCredentialsValid) != want {
		t.Errorf("message %q, want %q", message(m, v1.ConditionCredentialsValid), want)
	}
	e.register(t, "eu-1", badKubeconfigs(t, e)["unauthorized"].kubeconfig)
	e.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonUnauthorized)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if !hub.engaged.has("eu-1") || hub.engaged.times("eu-1") != engaged+1 {
		t.Error("a bad kubeconfig ended the connection of the good one")
	}
	e.register(t, "eu-1", good)
	e.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionTrue, "")
	// One that is taken away is a withdrawal.
	e.register(t, "eu-1", nil)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonKubeconfigMissing)
	if hub.engaged.has("eu-1") {
		t.Error("the kubeconfig was taken away, and the hub goes on with it")
	}
}

func testIdentity(t *testing.T, e *environment, hub *hubProcess) {
	e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	other := e.kubeconfig(t, e.Member("us-1"))
	mark, err := e.Member("us-1").AuditMark(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	// While the first is connected, it stays.
	e.register(t, "eu-1", other)
	e.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	// Without one, there is none.
	e.register(t, "eu-1", nil)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonKubeconfigMissing)
	e.register(t, "eu-1", other)
	e.await(t, "eu-1", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	if hub.engaged.has("eu-1") {
		t.Error("another cluster is engaged under the name")
	}
	log, _, err := e.Member("us-1").AuditSince(t.Context(), mark)
	if err != nil {
		t.Fatal(err)
	}
	if writes := log.ByServiceAccount(namespace, config.HubServiceAccount).Writes(); len(writes) > 0 {
		t.Errorf("the other cluster was written to:\n%s", writes)
	}
	// Deleting the MemberCluster and registering again is the approval.
	e.delete(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}})
	e.awaitGone(t)
	e.register(t, "eu-1", other)
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
}

func testDetachBySecret(t *testing.T, e *environment, hub *hubProcess) {
	for _, way := range []string{"unlabelled", "deleted"} {
		e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
		e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
		mark, err := e.Member("eu-1").AuditMark(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		secret := &corev1.Secret{}
		if err := e.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "eu-1"}, secret); err != nil {
			t.Fatal(err)
		}
		if way == "unlabelled" {
			secret.Labels = nil
			if err := e.hub.Update(t.Context(), secret); err != nil {
				t.Fatal(err)
			}
		} else {
			e.delete(t, secret)
		}
		m, _ := e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
		if m.Status.ClusterUID == "" || m.Status.Region != "eu-west-1" {
			t.Errorf("%s: what was known is forgotten: %+v", way, m.Status)
		}
		fleettest.Eventually(t, "the hub to let go", func(context.Context) error {
			if hub.engaged.has("eu-1") {
				return errors.New("still engaged")
			}
			return nil
		})
		log, _, err := e.Member("eu-1").AuditSince(t.Context(), mark)
		if err != nil {
			t.Fatal(err)
		}
		if writes := log.ByServiceAccount(namespace, config.HubServiceAccount).Writes(); len(writes) > 0 {
			t.Errorf("%s: the member was written to:\n%s", way, writes)
		}
	}
}

func testDetachByMemberCluster(t *testing.T, e *environment, hub *hubProcess) {
	e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
	m, _ := e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if !slices.Contains(m.Finalizers, v1.MemberFinalizer) {
		t.Errorf("finalizers %v", m.Finalizers)
	}
	e.delete(t, m)
	e.awaitGone(t)
	secret := &corev1.Secret{}
	if err := e.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "eu-1"}, secret); err != nil {
		t.Fatal(err)
	}
	if got := secret.Labels[v1.MemberClusterLabel]; got != "false" {
		t.Errorf("label of the Secret is %q, want false", got)
	}
	if _, ok := hub.fleet.State("eu-1"); ok {
		t.Error("the fleet still knows the member")
	}
	// Asking for it again brings it back.
	e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
}

func testSpecWins(t *testing.T, e *environment, _ *hubProcess) {
	m := &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "named"},
		Spec: v1.MemberClusterSpec{
			Provider: v1.ProviderLocal, Region: "cellar",
			KubeconfigSecretRef: v1.KubeconfigSecretReference{Name: "us-1"},
		},
	}
	if err := e.hub.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := e.hub.Delete(context.WithoutCancel(t.Context()), m); err != nil {
			t.Error(err)
		}
	})
	e.await(t, "named", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
	e.register(t, "us-1", e.kubeconfig(t, e.Member("us-1")))
	got, _ := e.await(t, "named", v1.ConditionReady, metav1.ConditionTrue, "")
	if got.Status.Provider != v1.ProviderLocal || got.Status.Region != "cellar" || got.Status.Nodes != 2 {
		t.Errorf("status %+v", got.Status)
	}
	if _, err := e.member(t.Context(), "us-1"); client.IgnoreNotFound(err) != nil || err == nil {
		t.Errorf("the Secret of one MemberCluster made another: %v", err)
	}
}

func testApps(t *testing.T, e *environment, _ *hubProcess) {
	e.register(t, "eu-1", e.kubeconfig(t, e.Member("eu-1")))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "shop"}, Spec: shop(t)}
	if err := e.hub.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	place := func(clusters ...v1.ClusterStatus) {
		t.Helper()
		before := app.DeepCopy()
		app.Status.Clusters = clusters
		if err := e.hub.Status().Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
			t.Fatal(err)
		}
	}
	counted := func(want int32) {
		t.Helper()
		fleettest.Eventually(t, fmt.Sprintf("%d applications", want), func(ctx context.Context) error {
			m, err := e.member(ctx, "eu-1")
			if err == nil && m.Status.Apps != want {
				err = fmt.Errorf("status says %d", m.Status.Apps)
			}
			return err
		})
	}
	place(v1.ClusterStatus{Name: "eu-1"}, v1.ClusterStatus{Name: "elsewhere"})
	counted(1)
	place(v1.ClusterStatus{Name: "elsewhere"})
	counted(0)
	place(v1.ClusterStatus{Name: "eu-1"})
	counted(1)
	e.delete(t, app)
	counted(0)
}

// shop is the spec of the sample.
func shop(t *testing.T) v1.EcommerceAppSpec {
	t.Helper()
	raw, err := os.ReadFile("../../config/samples/ecommerceapp.yaml")
	if err != nil {
		t.Fatal(err)
	}
	app := &v1.EcommerceApp{}
	if err := yaml.Unmarshal(raw, app); err != nil {
		t.Fatal(err)
	}
	return app.Spec
}

func testFrozen(t *testing.T, e *environment, hub *hubProcess) {
	eu := e.Member("eu-1")
	e.register(t, "eu-1", e.kubeconfig(t, eu))
	e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if err := eu.Freeze(t.Context()); err != nil {
		t.Fatal(err)
	}
	frozen := time.Now()
	t.Cleanup(func() {
		if err := eu.Thaw(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	// The other one is none the worse for it.
	e.register(t, "us-1", e.kubeconfig(t, e.Member("us-1")))
	_, took := e.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("another member was Ready after %s", took)
	if !hub.engaged.has("eu-1") {
		t.Error("the frozen member was lost before the other one was registered: the test shows nothing")
	}

	m, _ := e.await(t, "eu-1", v1.ConditionConnected, metav1.ConditionFalse, v1.ReasonProbeFailed)
	lost := time.Since(frozen)
	t.Logf("lost after %s", lost)
	if lost > lossBound {
		t.Errorf("lost after %s, more than %s", lost, lossBound)
	}
	if got, want := message(m, v1.ConditionReady), "the cluster does not answer in time"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if m.Status.LastObservedTime == nil || m.Status.LastObservedTime.After(frozen) {
		t.Errorf("last observed %v, frozen at %s", m.Status.LastObservedTime, frozen)
	}
	if hub.engaged.has("eu-1") {
		t.Error("the hub goes on with a member that is lost")
	}
	e.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")

	if err := eu.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, took = e.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("Ready %s after the thaw", took)
}

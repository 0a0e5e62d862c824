package members_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members/controller"
)

// lossBound is how long it may take until a member that does not answer is known to
// be lost. It is a promise of the API, far above what it takes.
const lossBound = 40 * time.Second

// suite holds the environment and the hub process that the tests share.
type suite struct {
	*environment
	process *hubProcess
}

func TestMembers(t *testing.T) {
	e := newEnvironment(t)
	s := &suite{environment: e, process: e.startHub(t)}
	t.Run("register", s.testRegister)
	t.Run("bad kubeconfigs", s.testBadKubeconfigs)
	t.Run("missing permission to write", s.testMissingWrite)
	t.Run("missing permission to read", s.testMissingRead)
	t.Run("missing permission for an API that is not served", s.testNotServed)
	t.Run("same cluster twice", s.testDuplicate)
	t.Run("hub itself", s.testHubItself)
	t.Run("rotation", s.testRotation)
	t.Run("another cluster behind the name", s.testIdentity)
	t.Run("detach by Secret", s.testDetachBySecret)
	t.Run("detach by MemberCluster", s.testDetachByMemberCluster)
	t.Run("spec wins", s.testSpecWins)
	t.Run("applications are counted", s.testApps)
	t.Run("frozen", s.testFrozen)
	t.Run("killed", s.testKilled)
	t.Run("definition deleted", s.testDefinition)
	t.Run("definition held up", s.testDefinitionHeld)
	t.Run("definition changed", s.testDefinitionChanged)
	t.Run("paused", s.testPaused)
	e.awaitGone(t)
	s.process.stop()
	t.Run("record", e.testRecord)
	t.Run("rivals at once", e.testRivalsAtOnce)
	t.Run("engagement fails", e.testEngageFails)
	t.Run("renewal", s.testRenewal)
	t.Run("restart", s.testRestart)
	t.Run("restart beside a frozen member", s.testRestartFrozen)
	t.Run("goroutines", s.testGoroutines)
	t.Run("cycles", s.testCycles)
}

func (s *suite) testRegister(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	m, took := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	t.Logf("Ready after %s", took)
	for _, kind := range []string{v1.ConditionConnected, v1.ConditionAuthorized, v1.ConditionIdentityVerified, v1.ConditionCredentialsValid} {
		s.await(t, "eu-1", kind, metav1.ConditionTrue, "")
	}
	system := &corev1.Namespace{}
	if err := framework.Admin(t, eu).Get(t.Context(), client.ObjectKey{Name: metav1.NamespaceSystem}, system); err != nil {
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
	allocatable := m.Status.Allocatable[v1.ResourceCPU]
	got := summary{
		UID: m.Status.ClusterUID, Region: m.Status.Region, Provider: m.Status.Provider,
		Nodes: m.Status.Nodes, Ready: m.Status.ReadyNodes, Zones: len(m.Status.Zones),
		Version: m.Status.KubernetesVersion != "", Expires: m.Status.CredentialsExpirationTime != nil,
		CPU: allocatable.String(),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("status (-want +got):\n%s", diff)
	}
	if !s.process.engaged.has("eu-1") {
		t.Error("Ready, but the hub's reconcilers are not engaged")
	}
	c, err := s.process.fleet.Get(t.Context(), "eu-1")
	if err != nil {
		t.Fatal(err)
	}
	if err := c.GetClient().List(t.Context(), &v1.EcommerceAppList{}); err != nil {
		t.Errorf("reading a kind that the hub installed: %v", err)
	}
	s.awaitEvent(t, m, corev1.EventTypeNormal, controller.EventConnected)
	if _, err := s.process.fleet.Get(t.Context(), "none"); !errors.Is(err, multicluster.ErrClusterNotFound) {
		t.Errorf("getting a member that does not exist: %v", err)
	}
}

// awaitEvent waits until there is an event about a MemberCluster, and not about an earlier one of its name.
func (e *environment) awaitEvent(t *testing.T, m *v1.MemberCluster, kind, reason string) {
	t.Helper()
	fleettest.Eventually(t, "the event "+reason+" of "+m.Name, func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := e.hub.List(ctx, list); err != nil {
			return err
		}
		for _, event := range list.Items {
			if event.Regarding.UID == m.UID && event.Reason == reason && event.Type == kind {
				return nil
			}
		}
		return fmt.Errorf("none among %d", len(list.Items))
	})
}

func (s *suite) testDuplicate(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	s.register(t, "eu-1", s.kubeconfig(t, eu))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	s.register(t, "copy", s.kubeconfig(t, eu))
	m, _ := s.await(t, "copy", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonDuplicateCluster)
	if s.process.engaged.has("copy") || m.Status.ClusterUID != "" {
		t.Errorf("a duplicate is engaged (%v) or keeps UID %q", s.process.engaged.has("copy"), m.Status.ClusterUID)
	}
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	// When the first goes, the cluster is free for the second.
	s.delete(t, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "eu-1"}})
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
	s.await(t, "copy", v1.ConditionReady, metav1.ConditionTrue, "")
}

func (e *environment) delete(t *testing.T, object client.Object) {
	t.Helper()
	if err := e.hub.Delete(t.Context(), object); err != nil {
		t.Fatal(err)
	}
}

func (s *suite) testHubItself(t *testing.T) {
	s.awaitGone(t)
	s.register(t, "self", s.kubeconfig(t, s.Hub()))
	s.await(t, "self", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonHubItself)
	s.await(t, "self", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonHubItself)
	if s.process.engaged.has("self") {
		t.Error("the hub is engaged as its own member")
	}
}

func (s *suite) testRotation(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	good := s.kubeconfig(t, eu)
	s.register(t, "eu-1", good)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	engaged := s.process.engaged.times("eu-1")

	s.swap(t)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")

	s.register(t, "eu-1", badKubeconfigs(t, s.environment)["exec"].kubeconfig)
	m, _ := s.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonUnsafeKubeconfig)
	if want := "user.exec is not allowed, because the hub runs no programs: use user.token, or user.client-certificate-data with user.client-key-data" +
		"; the previous kubeconfig is still in use"; message(m, v1.ConditionCredentialsValid) != want {
		t.Errorf("message %q, want %q", message(m, v1.ConditionCredentialsValid), want)
	}
	s.register(t, "eu-1", badKubeconfigs(t, s.environment)["unauthorized"].kubeconfig)
	s.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonUnauthorized)
	s.register(t, "eu-1", badKubeconfigs(t, s.environment)["connection refused"].kubeconfig)
	s.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonProbeFailed)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if !s.process.engaged.has("eu-1") || s.process.engaged.times("eu-1") != engaged+1 {
		t.Error("a bad kubeconfig ended the connection of the good one")
	}
	s.register(t, "eu-1", good)
	s.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionTrue, "")
	// One that is taken away is a withdrawal.
	s.register(t, "eu-1", nil)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonKubeconfigMissing)
	if s.process.engaged.has("eu-1") {
		t.Error("the kubeconfig was taken away, and the hub goes on with it")
	}
}

func (s *suite) testIdentity(t *testing.T) {
	s.awaitGone(t)
	s.register(t, "eu-1", s.kubeconfig(t, s.Member("eu-1")))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	other := s.kubeconfig(t, s.Member("us-1"))
	m := framework.Mark(t, s.Fleet)
	// While the first is connected, it stays.
	s.register(t, "eu-1", other)
	s.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	// Without one, there is none.
	s.register(t, "eu-1", nil)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonKubeconfigMissing)
	s.register(t, "eu-1", other)
	s.await(t, "eu-1", v1.ConditionIdentityVerified, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonClusterIdentityChanged)
	if s.process.engaged.has("eu-1") {
		t.Error("another cluster is engaged under the name")
	}
	if writes := m.By(t, s.Member("us-1"), config.HubServiceAccount).Writes(); len(writes) > 0 {
		t.Errorf("the other cluster was written to:\n%s", writes)
	}
	// Deleting the MemberCluster and registering again is the approval.
	s.delete(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}})
	s.awaitGone(t)
	s.register(t, "eu-1", other)
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
}

func (s *suite) testDetachBySecret(t *testing.T) {
	s.awaitGone(t)
	for way, detach := range map[string]func(*corev1.Secret) error{
		"unlabelled": func(secret *corev1.Secret) error {
			secret.Labels = nil
			return s.hub.Update(t.Context(), secret)
		},
		"deleted": func(secret *corev1.Secret) error { return s.hub.Delete(t.Context(), secret) },
	} {
		s.register(t, "eu-1", s.kubeconfig(t, s.Member("eu-1")))
		s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
		m := framework.Mark(t, s.Fleet)
		secret := &corev1.Secret{}
		if err := s.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "eu-1"}, secret); err != nil {
			t.Fatal(err)
		}
		if err := detach(secret); err != nil {
			t.Fatal(err)
		}
		got, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
		if got.Status.ClusterUID == "" || got.Status.Region != "eu-west-1" {
			t.Errorf("%s: what was known is forgotten: %+v", way, got.Status)
		}
		fleettest.Eventually(t, "the hub to let go", func(context.Context) error {
			if s.process.engaged.has("eu-1") {
				return errors.New("still engaged")
			}
			return nil
		})
		if writes := m.By(t, s.Member("eu-1"), config.HubServiceAccount).Writes(); len(writes) > 0 {
			t.Errorf("%s: the member was written to:\n%s", way, writes)
		}
	}
}

func (s *suite) testDetachByMemberCluster(t *testing.T) {
	s.awaitGone(t)
	s.register(t, "eu-1", s.kubeconfig(t, s.Member("eu-1")))
	m, _ := s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	if !slices.Contains(m.Finalizers, v1.MemberFinalizer) {
		t.Errorf("finalizers %v", m.Finalizers)
	}
	// Another MemberCluster that names the same Secret goes without it.
	double := &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "double"},
		Spec:       v1.MemberClusterSpec{KubeconfigSecretRef: v1.KubeconfigSecretReference{Name: "eu-1"}},
	}
	if err := s.hub.Create(t.Context(), double); err != nil {
		t.Fatal(err)
	}
	s.await(t, "double", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonDuplicateCluster)
	framework.Delete(t, s.hub, double)
	secret := &corev1.Secret{}
	if err := s.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "eu-1"}, secret); err != nil {
		t.Fatal(err)
	}
	if got := secret.Labels[v1.MemberClusterLabel]; got != "true" {
		t.Errorf("label of the Secret of two is %q after one went, want true", got)
	}
	s.delete(t, m)
	s.awaitGone(t)
	if err := s.hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: "eu-1"}, secret); err != nil {
		t.Fatal(err)
	}
	if got := secret.Labels[v1.MemberClusterLabel]; got != "false" {
		t.Errorf("label of the Secret is %q, want false", got)
	}
	if _, ok := s.process.fleet.State("eu-1"); ok {
		t.Error("the fleet still knows the member")
	}
	// Asking for it again brings it back.
	s.register(t, "eu-1", s.kubeconfig(t, s.Member("eu-1")))
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
}

func (s *suite) testSpecWins(t *testing.T) {
	s.awaitGone(t)
	m := &v1.MemberCluster{
		ObjectMeta: metav1.ObjectMeta{Name: "named"},
		Spec: v1.MemberClusterSpec{
			Provider: v1.ProviderOther, Region: "cellar",
			KubeconfigSecretRef: v1.KubeconfigSecretReference{Name: "us-1"},
		},
	}
	if err := s.hub.Create(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.hub.Delete(context.WithoutCancel(t.Context()), m); err != nil {
			t.Error(err)
		}
	})
	s.await(t, "named", v1.ConditionReady, metav1.ConditionFalse, v1.ReasonSecretNotFound)
	s.register(t, "us-1", s.kubeconfig(t, s.Member("us-1")))
	got, _ := s.await(t, "named", v1.ConditionReady, metav1.ConditionTrue, "")
	if got.Status.Provider != v1.ProviderOther || got.Status.Region != "cellar" || got.Status.Nodes != 2 {
		t.Errorf("status %+v", got.Status)
	}
	if err := framework.Gone(t.Context(), s.hub, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}); err != nil {
		t.Errorf("the Secret of one MemberCluster made another: %v", err)
	}
}

func (s *suite) testFrozen(t *testing.T) {
	s.awaitGone(t)
	eu := s.Member("eu-1")
	s.registerProbed(t, "eu-1")
	s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	other := s.kubeconfig(t, s.Member("us-1"))
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
	s.register(t, "us-1", other)
	_, took := s.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("another member was Ready after %s", took)
	if !s.process.engaged.has("eu-1") {
		t.Error("the frozen member was lost before the other one was registered: the test shows nothing")
	}

	m, _ := s.await(t, "eu-1", v1.ConditionConnected, metav1.ConditionFalse, v1.ReasonProbeFailed)
	lost := time.Since(frozen)
	t.Logf("lost after %s", lost)
	if lost > lossBound {
		t.Errorf("lost after %s, more than %s", lost, lossBound)
	}
	if got, want := message(m, v1.ConditionReady), "the cluster does not answer in time"; got != want {
		t.Errorf("message %q, want %q", got, want)
	}
	if m.Status.LastObservedTime == nil || m.Status.LastObservedTime.After(frozen.Add(framework.Lag)) {
		t.Errorf("last observed %v, frozen at %s", m.Status.LastObservedTime, frozen)
	}
	if s.process.engaged.has("eu-1") {
		t.Error("the hub goes on with a member that is lost")
	}
	s.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")

	if err := eu.Thaw(t.Context()); err != nil {
		t.Fatal(err)
	}
	_, took = s.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	t.Logf("Ready %s after the thaw", took)
}

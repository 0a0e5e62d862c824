package members_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members/controller"
)

// The tokens of these tests live for a day: they are renewed when half of it has passed,
// and reported when two thirds have.
const (
	pastHalf = 13 * time.Hour
	pastWarn = 17 * time.Hour
)

// shiftedClock is the real clock, set ahead.
type shiftedClock struct {
	clock.RealClock
	ahead atomic.Int64
}

// Now implements clock.PassiveClock.
func (c *shiftedClock) Now() time.Time { return c.RealClock.Now().Add(time.Duration(c.ahead.Load())) }

// Since implements clock.PassiveClock.
func (c *shiftedClock) Since(t time.Time) time.Duration { return c.Now().Sub(t) }

// renewals are the tests with a hub whose clock can be set.
type renewals struct {
	*suite
	clock *shiftedClock
	hub   *hubProcess
}

func (s *suite) testRenewal(t *testing.T) {
	s.awaitGone(t)
	r := &renewals{suite: s, clock: &shiftedClock{}}
	s.clock = r.clock
	t.Cleanup(func() { s.clock = nil })
	r.hub = s.startHub(t)
	for name, test := range map[string]func(*testing.T){
		"before the expiry and on request": r.testRenewed,
		"denied":                           r.testDenied,
		"by others":                        r.testWarning,
	} {
		t.Run(name, func(t *testing.T) {
			r.clock.ahead.Store(0)
			s.awaitGone(t)
			test(t)
		})
	}
	s.awaitGone(t)
	r.hub.stop()
}

// joined registers a member as kubectl shopfleet join does, and waits until it is Ready.
func (r *renewals) joined(t *testing.T, name string) {
	t.Helper()
	r.registerProbed(t, name)
	framework.Edit(t, r.env.Hub, r.secretOf(t, name), func(s *corev1.Secret) {
		s.Annotations = map[string]string{v1.RenewedAccountAnnotation: config.Namespace + "/" + config.HubServiceAccount}
	})
	r.await(t, name, v1.ConditionReady, metav1.ConditionTrue, "")
	r.await(t, name, v1.ConditionCredentialsRenewed, metav1.ConditionTrue, v1.ReasonNotDue)
}

func (r *renewals) secretOf(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := r.env.Hub.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

// request asks for a renewal, and returns a function that waits until it was handled.
func (r *renewals) request(t *testing.T, name, token string) (handled func()) {
	t.Helper()
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
	framework.Edit(t, r.env.Hub, m, func(m *v1.MemberCluster) { m.Annotations = map[string]string{v1.RenewAtAnnotation: token} })
	return func() {
		t.Helper()
		framework.Await(t, r.env.Hub, m, "the renewal to be handled", func(m *v1.MemberCluster) error {
			if m.Status.LastHandledRenewAt != token {
				return fmt.Errorf("handled %q; conditions %+v", m.Status.LastHandledRenewAt, m.Status.Conditions)
			}
			return nil
		})
	}
}

var errNone = errors.New("there is none")

func isToken(e audit.Event) bool { return e.Resource == "serviceaccounts" && e.Subresource == "token" }

func (r *renewals) testRenewed(t *testing.T) {
	t.Helper()
	r.joined(t, "eu-1")
	first := r.secretOf(t, "eu-1").Data[v1.KubeconfigKey]
	engaged := r.hub.engaged.times("eu-1")
	m := framework.Mark(t, r.Fleet)
	r.clock.ahead.Store(int64(pastHalf))
	fleettest.Eventually(t, "the renewed token to be in use", func(context.Context) error {
		if n := r.hub.engaged.times("eu-1"); n != engaged+1 {
			return fmt.Errorf("engaged %d times, want %d", n, engaged+1)
		}
		return nil
	})
	second := r.secretOf(t, "eu-1")
	if bytes.Equal(first, second.Data[v1.KubeconfigKey]) {
		t.Error("the Secret has the old token")
	}
	if second.Labels[v1.MemberClusterLabel] != "true" || second.Annotations[v1.RenewedAccountAnnotation] == "" {
		t.Errorf("labels %v, annotations %v", second.Labels, second.Annotations)
	}
	// To the clock of the hub the new token is past the half of its life too.
	r.request(t, "eu-1", "by hand")()
	r.await(t, "eu-1", v1.ConditionCredentialsValid, metav1.ConditionTrue, "")
	if bytes.Equal(second.Data[v1.KubeconfigKey], r.secretOf(t, "eu-1").Data[v1.KubeconfigKey]) {
		t.Error("the Secret has the token from before the request")
	}
	if !r.hub.engaged.has("eu-1") || r.hub.engaged.times("eu-1") != engaged+2 {
		t.Errorf("engaged %d times, want %d", r.hub.engaged.times("eu-1"), engaged+2)
	}
	tokens := m.By(t, r.Member("eu-1"), config.HubServiceAccount).Where(isToken)
	if len(tokens) != 2 || tokens[0].Name != config.HubServiceAccount {
		t.Errorf("%d tokens were requested, want 2:\n%s", len(tokens), tokens)
	}
}

// testDenied checks that a permission that is missing is reported long before the first renewal, and without one.
func (r *renewals) testDenied(t *testing.T) {
	t.Helper()
	r.joined(t, "us-1")
	admin := framework.Admin(t, r.Member("us-1"))
	binding := &rbacv1.RoleBinding{}
	if err := admin.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: config.MemberClusterRole}, binding); err != nil {
		t.Fatal(err)
	}
	if err := admin.Delete(t.Context(), binding); err != nil {
		t.Fatal(err)
	}
	allow := func() error {
		again := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: binding.Name}, RoleRef: binding.RoleRef, Subjects: binding.Subjects}
		return client.IgnoreAlreadyExists(admin.Create(context.WithoutCancel(t.Context()), again))
	}
	t.Cleanup(func() {
		if err := allow(); err != nil {
			t.Error(err)
		}
	})
	before, mark := r.secretOf(t, "us-1").Data[v1.KubeconfigKey], framework.Mark(t, r.Fleet)
	m, _ := r.await(t, "us-1", v1.ConditionCredentialsRenewed, metav1.ConditionFalse, v1.ReasonRenewalDenied)
	if got, want := message(m, v1.ConditionCredentialsRenewed), "run kubectl shopfleet join us-1 again"; !strings.Contains(got, want) {
		t.Errorf("message %q does not say %q", got, want)
	}
	r.await(t, "us-1", v1.ConditionReady, metav1.ConditionTrue, "")
	requested := func() bool { return len(mark.By(t, r.Member("us-1"), config.HubServiceAccount).Where(isToken)) > 0 }
	if requested() {
		t.Error("a token was requested")
	}
	handled := r.request(t, "us-1", "denied at first")
	framework.Eventually(t, "a request for a token", func(context.Context) error {
		if !requested() {
			return errNone
		}
		return nil
	})
	r.await(t, "us-1", v1.ConditionCredentialsRenewed, metav1.ConditionFalse, v1.ReasonRenewalDenied)
	if !bytes.Equal(before, r.secretOf(t, "us-1").Data[v1.KubeconfigKey]) {
		t.Error("the Secret was written without a new token")
	}
	if err := allow(); err != nil {
		t.Fatal(err)
	}
	handled()
	r.await(t, "us-1", v1.ConditionCredentialsRenewed, metav1.ConditionTrue, v1.ReasonNotDue)
}

// testWarning checks that the credentials of a Secret that a user maintains are reported and not renewed.
func (r *renewals) testWarning(t *testing.T) {
	t.Helper()
	r.registerProbed(t, "eu-1")
	r.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	before := r.secretOf(t, "eu-1")
	m := framework.Mark(t, r.Fleet)
	r.clock.ahead.Store(int64(pastWarn))
	found, _ := r.await(t, "eu-1", v1.ConditionCredentialsRenewed, metav1.ConditionFalse, v1.ReasonExpiring)
	if got, want := message(found, v1.ConditionCredentialsRenewed), "store new ones in the registration Secret"; !strings.Contains(got, want) {
		t.Errorf("message %q does not say %q", got, want)
	}
	r.await(t, "eu-1", v1.ConditionReady, metav1.ConditionTrue, "")
	fleettest.Eventually(t, "the event", func(ctx context.Context) error {
		list := &eventsv1.EventList{}
		if err := r.env.Hub.List(ctx, list); err != nil {
			return err
		}
		for i := range list.Items {
			if e := &list.Items[i]; e.Regarding.Name == "eu-1" && e.Reason == controller.EventCredentialsExpiring && e.Series == nil {
				return nil
			}
		}
		return errNone
	})
	if tokens := m.By(t, r.Member("eu-1"), config.HubServiceAccount).Where(isToken); len(tokens) > 0 {
		t.Errorf("tokens were requested:\n%s", tokens)
	}
	if after := r.secretOf(t, "eu-1"); after.ResourceVersion != before.ResourceVersion {
		t.Error("the Secret was written")
	}
	// A new kubeconfig ends the warning.
	r.clock.ahead.Store(0)
	r.register(t, "eu-1", r.kubeconfig(t, r.Member("eu-1")))
	r.await(t, "eu-1", v1.ConditionCredentialsRenewed, metav1.ConditionTrue, v1.ReasonNotDue)
}

package processes_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// takeover is when a standby should lead after its leader was killed: leaseDuration, and
// about a second between attempts. The rest is for a busy machine.
const takeover = 60 * time.Second

// hubSuite is two hubs, and the sample's shop in two members.
type hubSuite struct {
	*environment
}

func TestHub(t *testing.T) {
	s := newHubSuite(t)
	s.run(t, s.testShop, s.testLogKeys, func(steps *framework.Steps) {
		steps.Add("failures are counted", s.testFailureMetric, running)
		steps.Add("log level changes at run time", s.testLogLevel, running)
		steps.Add("killed leader is replaced", s.testLeaderKilled, running)
		steps.Add("rollout continues after its leader was killed", s.testLeaderKilledDuringRollout, running)
		steps.Add("leader exits when it loses the lease", s.testLostLease, elected)
	})
}

func newHubSuite(t *testing.T) *hubSuite {
	t.Helper()
	s := &hubSuite{newEnvironment(t, options{
		process: "hub", account: config.HubServiceAccount, lease: "shopfleet-hub", regions: []string{"eu-west-1", "us-central1"},
		fleet: framework.Options{Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: "hub"},
			Members: []fleet.ClusterSpec{
				{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 3},
				{Name: "us-1", Provider: fleet.GCP, Region: "us-central1", Nodes: 3},
			},
		}},
		knownSecrets: []string{
			"hub " + config.Namespace + "/eu-1 " + v1.KubeconfigKey,
			"eu-1 production/my-ecommerce-app-database-credentials password",
		},
	})}
	s.Register(t, "eu-1", "us-1")
	return s
}

// testShop creates the sample's shop, and waits until it runs.
func (s *hubSuite) testShop(t *testing.T) {
	t.Helper()
	s.AwaitMembers(t, "eu-1", "us-1")
	s.Create(t, s.shop)
	s.awaitRunning(t, s.shop)
}

// testFailureMetric makes a member not answer writes of Deployments, with a webhook whose server never
// answers, until the failures are counted.
func (s *hubSuite) testFailureMetric(t *testing.T) {
	t.Helper()
	r := newReader(t, s.leader)
	before, err := r.sum(t.Context(), s.who.prometheus, "reconcile_errors_total")
	if err != nil {
		t.Fatal(err)
	}
	webhook := silentWebhook(t)
	if err := s.Members["eu-1"].Create(t.Context(), webhook); err != nil {
		t.Fatal(err)
	}
	framework.Edit(t, s.admin, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(2)) })
	framework.Eventually(t, "the failure to be counted", func(ctx context.Context) error {
		now, err := r.sum(ctx, s.who.prometheus, "reconcile_errors_total")
		if err != nil || now <= before {
			return fmt.Errorf("%v failures (%w), %v before", now, err, before)
		}
		return nil
	})
	if err := s.Members["eu-1"].Delete(t.Context(), webhook); err != nil {
		t.Fatal(err)
	}
	s.awaitRunning(t, s.shop)
}

// silentWebhook returns a webhook on Deployments whose server takes connections and never answers.
func silentWebhook(t *testing.T) *admissionv1.ValidatingWebhookConfiguration {
	t.Helper()
	silent, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = silent.Close() })
	return &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: "silent"},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name:                    "silent.example.com",
			AdmissionReviewVersions: []string{"v1"},
			SideEffects:             new(admissionv1.SideEffectClassNone),
			TimeoutSeconds:          new(int32(30)), // Longer than the hub waits for an answer.
			ClientConfig:            admissionv1.WebhookClientConfig{URL: new("https://" + silent.Addr().String() + "/")},
			Rules: []admissionv1.RuleWithOperations{{
				Operations: []admissionv1.OperationType{admissionv1.OperationAll},
				Rule:       admissionv1.Rule{APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments"}},
			}},
		}},
	}
}

// testLogLevel sets the lowest log verbosity of the leader, and then the highest, which
// stays: testLogSecrets searches that log, too.
func (s *hubSuite) testLogLevel(t *testing.T) {
	t.Helper()
	r := newReader(t, s.leader)
	set := func(verbosity string) int {
		t.Helper()
		if got := r.want(t, 200, "PUT", "/debug/log-level", s.who.debugger, verbosity); got != verbosity+"\n" {
			t.Errorf("%s was set, and the response is %q", verbosity, got)
		}
		if got := r.want(t, 200, "GET", "/debug/log-level", s.who.debugger, ""); got != verbosity+"\n" {
			t.Errorf("%s was set, and %q is reported", verbosity, got)
		}
		return len(s.leader.log(t, 0))
	}
	reconcile := func(token string) {
		t.Helper()
		framework.Edit(t, s.admin, s.shop, func(app *v1.EcommerceApp) {
			metav1.SetMetaDataAnnotation(&app.ObjectMeta, v1.ReconcileAtAnnotation, token)
		})
		framework.Await(t, s.admin, s.shop, "the requested reconciliation", func(app *v1.EcommerceApp) error {
			if app.Status.LastHandledReconcileAt != token {
				return fmt.Errorf("lastHandledReconcileAt is %q", app.Status.LastHandledReconcileAt)
			}
			return nil
		})
	}
	details := func(after int) int {
		n := 0
		for _, l := range lines(t, s.leader.log(t, after)) {
			if strings.HasPrefix(l.Level, "V") {
				n++
			}
		}
		return n
	}
	after := set("0")
	reconcile("quietly")
	if n := details(after); n > 0 {
		t.Errorf("with verbosity 0, it logged %d details:\n%s", n, tail(s.leader.log(t, after)))
	}
	after = set("10")
	reconcile("loudly")
	if n := details(after); n == 0 {
		t.Error("with verbosity 10, it logged no details")
	}
	for _, bad := range []string{"", "loud", "11", "-1"} {
		r.want(t, 400, "PUT", "/debug/log-level", s.who.debugger, bad)
	}
	if log := s.leader.log(t, after); strings.Count(log, "Changed log verbosity") != 0 {
		t.Error("a bad verbosity changed something")
	}
}

// testLeaderKilled kills the leader, and changes the shop at once.
func (s *hubSuite) testLeaderKilled(t *testing.T) {
	t.Helper()
	before := s.Mark(t)
	began := time.Now()
	took := s.replaceLeader(t, func(p *program) {
		p.signal(t, syscall.SIGKILL)
		framework.Edit(t, s.admin, s.shop, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(4)) })
	})
	if took > takeover {
		t.Errorf("the standby led after %s, want %s at most", took, takeover)
	}
	for name, c := range s.Members {
		frontend := &appsv1.Deployment{}
		key := client.ObjectKey{Namespace: s.shop.Namespace, Name: s.shop.Name + "-frontend"}
		fleettest.Within(t, bound, "the change to arrive in "+name, func(ctx context.Context) error {
			if err := c.Get(ctx, key, frontend); err != nil {
				return err
			}
			if *frontend.Spec.Replicas != 4 {
				return fmt.Errorf("%d replicas, want 4", *frontend.Spec.Replicas)
			}
			return nil
		})
	}
	t.Logf("the standby led %s after the kill, and the change had arrived everywhere after %s",
		took.Round(time.Millisecond), time.Since(began).Round(time.Millisecond))
	s.awaitRunning(t, s.shop)
	for _, c := range s.Fleet.Clusters()[1:] {
		writes := s.writes(t, before, c).In(s.shop.Namespace).Except("events")
		checkOnce(t, c.Name(), writes)
		for _, e := range writes {
			changed := e.Resource == "ecommerceapps" || e.Resource == "deployments" && e.Name == s.shop.Name+"-frontend"
			if !changed || e.Code == 201 {
				t.Errorf("%s: a write about what did not change: %s", c.Name(), e)
			}
		}
	}
	// Nothing is written again.
	s.checkUnchanged(t, s.markSettled(t))
}

// testLeaderKilledDuringRollout kills the leader while it rolls out another shop.
func (s *hubSuite) testLeaderKilledDuringRollout(t *testing.T) {
	t.Helper()
	before := s.Mark(t)
	second := apitest.Seed()
	second.Namespace = "second"
	s.Create(t, second)
	s.awaitHalf(t, second)
	var midway framework.Marks
	took := s.replaceLeader(t, func(p *program) {
		p.signal(t, syscall.SIGKILL)
		<-p.ended
		midway = s.Mark(t)
	})
	s.awaitRunning(t, second)
	t.Logf("the standby led %s after the kill", took.Round(time.Millisecond))
	for _, c := range s.Fleet.Clusters()[1:] {
		all, late := s.writes(t, before, c).In(second.Namespace), s.writes(t, midway, c).In(second.Namespace)
		objects := checkOnce(t, c.Name(), all)
		t.Logf("%s: %d objects, %d of %d writes by the second leader", c.Name(), objects, len(late), len(all))
		if len(late) == 0 {
			t.Errorf("%s: the first leader had finished before it was killed", c.Name())
		}
		for _, e := range all {
			// What was under way at the kill may be answered with 5xx.
			if e.Code >= 400 && e.Code < 500 && e.Code != 409 {
				t.Errorf("%s: a write that was refused: %s", c.Name(), e)
			}
		}
	}
	s.checkUnchanged(t, s.markSettled(t))
}

// awaitHalf waits until a shop has its database in a member, and no backend yet.
func (s *hubSuite) awaitHalf(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.Eventually(t, "the first database", func(ctx context.Context) error {
		for _, c := range s.Members {
			list := &appsv1.StatefulSetList{}
			if err := c.List(ctx, list, client.InNamespace(app.Namespace)); err != nil || len(list.Items) > 0 {
				return err
			}
		}
		return errors.New("nowhere")
	})
}

// testLostLease gives the Lease to another holder, and then deletes it.
func (s *hubSuite) testLostLease(t *testing.T) {
	t.Helper()
	framework.TakeLease(t, s.admin, s.lease)
	began := time.Now()
	if code := s.leader.awaitEnd(t, bound); code == 0 {
		t.Error("a hub that lost its Lease exited with code 0")
	}
	t.Logf("it ended %s after it lost the lease", time.Since(began).Round(time.Millisecond))
	if code, err := s.standby.probe(t.Context(), "/readyz"); err != nil || code != 200 {
		t.Errorf("the standby answers %d (%v)", code, err)
	}
	if err := s.admin.Delete(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: s.lease}}); err != nil {
		t.Fatal(err)
	}
	s.awaitHolder(t, framework.OtherHolder)
	s.leader = s.standby
	s.standby = s.start(t)
	s.canary(t)
}

// testLogKeys checks that the logs name the members.
func (s *hubSuite) testLogKeys(t *testing.T) {
	t.Helper()
	clusters := s.loggedClusters(t)
	t.Logf("reconciliations, with clusters: %v", clusters)
	both := []string{"eu-1", "us-1"}
	for controller, want := range map[string][]string{
		"ecommerceapp": both, "ecommerceapp-copies": both, "ecommerceapp-fleet": nil, "membercluster": nil,
	} {
		if got, ok := clusters[controller]; !ok || !slices.Equal(got, want) {
			t.Errorf("controller %s logged: %t, with clusters %v, want %v", controller, ok, got, want)
		}
	}
}

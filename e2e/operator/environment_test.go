package operator_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// leaseDuration is that of the processes. It is shorter than by default, because several
// subtests wait until the Lease expires.
const leaseDuration = 10 * time.Second

// environment is a fleet with two processes of the same kind: a leader, and a standby.
type environment struct {
	fleet *fleet.Fleet
	// home is the cluster that the processes have their lease in, as an
	// administrator sees it.
	home client.Client
	// members are clients of administrators, by name.
	members map[string]client.Client
	// account is the ServiceAccount of the processes.
	account string
	lease   client.ObjectKey

	binary string
	args   []string
	// programs are all that were started; leader and standby are two of them.
	programs        []*program
	leader, standby *program
	who             tokens
	// shop is the seed's, where people would make it.
	shop *v1.EcommerceApp
	// toFind are some of the secrets that exist, so that a look at none is noticed.
	toFind []string
}

// start starts another process.
func (s *environment) start(t *testing.T, args ...string) *program {
	t.Helper()
	p := launch(t, s.binary, slices.Concat(s.args, []string{"--leader-elect-lease-duration", leaseDuration.String()}, args)...)
	s.programs = append(s.programs, p)
	p.awaitReady(t)
	return p
}

// end ends what still runs.
func (s *environment) end(t *testing.T) {
	t.Helper()
	for i, p := range s.programs {
		p.stop()
		if t.Failed() {
			t.Logf("the log of process %d ends with:\n%s", i, tail(p.log(t, 0)))
		}
	}
}

// holder returns who holds the lease, and nothing while nobody does.
func (s *environment) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	if err := s.home.Get(ctx, s.lease, lease); err != nil {
		return "", err
	}
	if lease.Spec.HolderIdentity == nil {
		return "", nil
	}
	return *lease.Spec.HolderIdentity, nil
}

// awaitHolder waits until somebody else holds the lease, and returns who.
func (s *environment) awaitHolder(t *testing.T, before string) string {
	t.Helper()
	var now string
	fleettest.Within(t, bound, "another leader", func(ctx context.Context) error {
		var err error
		if now, err = s.holder(ctx); err != nil {
			return err
		}
		if now == "" || now == before {
			return fmt.Errorf("the holder is %q", now)
		}
		return nil
	})
	return now
}

// elects starts a leader, and then a standby, and returns who holds the lease.
func (s *environment) elects(t *testing.T) {
	t.Helper()
	s.leader = s.start(t)
	first := s.awaitHolder(t, "")
	s.standby = s.start(t, "--profiling")
	// The standby has found the lease held, or else it would lead.
	if now, err := s.holder(t.Context()); err != nil || now != first {
		t.Errorf("the holder is %q (%v), want the first: %q", now, err, first)
	}
	for name, p := range map[string]*program{"leader": s.leader, "standby": s.standby} {
		want, r := map[string]float64{"leader": 1}[name], newReader(t, p)
		fleettest.Within(t, bound, "the metric of the "+name, func(ctx context.Context) error {
			if got, err := r.sum(ctx, s.who.prometheus, "leader_election_master_status"); err != nil || got != want {
				return fmt.Errorf("leader_election_master_status is %v (%w), want %v", got, err, want)
			}
			return nil
		})
	}
}

// guards checks what both serve, and to whom. Only the standby serves profiles.
func (s *environment) guards(t *testing.T) {
	t.Helper()
	newReader(t, s.leader).checkGuards(t, s.who, false)
	newReader(t, s.standby).checkGuards(t, s.who, true)
	newReader(t, s.leader).checkNames(t, s.who.prometheus)
}

// handsOver tells the leader to end. The Lease must not have to expire: that takes
// little less than its duration, because the leader renews it every second.
func (s *environment) handsOver(t *testing.T) {
	t.Helper()
	var ended time.Time
	before, began := s.mark(t), time.Now()
	took := s.succeed(t, func(p *program) {
		p.endWell(t)
		ended = time.Now()
	})
	if since := took - ended.Sub(began); since > leaseDuration-3*time.Second {
		t.Errorf("the standby led %s after the end of the leader, as if the lease had not been released", since)
	}
	t.Logf("the standby led %s after the signal", took.Round(time.Millisecond))
	s.unchanged(t, before)
}

// unchanged wants the new leader to have written nothing about what had not changed.
func (s *environment) unchanged(t *testing.T, before framework.Marks) {
	t.Helper()
	comeAndGo(t, s.home, "small")
	for _, c := range s.fleet.Clusters() {
		writes := s.writes(t, before, c)
		if about := writes.In(s.shop.Namespace); len(about) > 0 {
			t.Errorf("%s: writes about a shop that did not change:\n%s", c.Name(), about)
		}
		if about := writes.Of("customresourcedefinitions"); len(about) > 0 {
			t.Errorf("%s: definitions did not change:\n%s", c.Name(), about)
		}
		// The canary came and went: two changes of the number of applications.
		if about := writes.Of("memberclusters"); len(about) > 2*len(s.members) {
			t.Errorf("members did not change but for the canary:\n%s", about)
		}
	}
}

// tells looks for the keys of reconciliations in the logs, of which some were turned
// up. It returns the clusters that they name, by controller.
func (s *environment) tells(t *testing.T) map[string][]string {
	t.Helper()
	clusters := map[string][]string{}
	for _, p := range s.programs {
		for controller, named := range checkKeys(t, p.log(t, 0)) {
			clusters[controller] = append(clusters[controller], named...)
		}
	}
	for controller, named := range clusters {
		slices.Sort(named)
		clusters[controller] = slices.Compact(named)
	}
	return clusters
}

// keepsSecrets looks for what is in the Secrets of all clusters, and for the tokens
// that were shown.
func (s *environment) keepsSecrets(t *testing.T) {
	t.Helper()
	secrets := map[string][]string{"the tokens of readers": {s.who.nobody, s.who.prometheus, s.who.debugger, wrongToken}}
	for _, c := range s.fleet.Clusters() {
		for name, values := range secretsOf(t, framework.Admin(t, c)) {
			secrets[c.Name()+" "+name] = values
		}
	}
	own := readFile(t, s.args[slices.Index(s.args, "--kubeconfig")+1])
	secrets["the kubeconfig of the process"] = inKubeconfig(t, own)
	if len(s.toFind) == 0 {
		t.Error("nothing must be found")
	}
	for _, name := range s.toFind {
		if len(secrets[name]) == 0 {
			t.Errorf("nothing to look for in %q, of: %v", name, slices.Sorted(maps.Keys(secrets)))
		}
	}
	checkSecrecy(t, s.programs, secrets)
}

// succeed has the leader end, and returns how long it took until the standby led.
// Another standby is started, which logs all that it can.
func (s *environment) succeed(t *testing.T, end func(*program)) time.Duration {
	t.Helper()
	before, err := s.holder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	end(s.leader)
	s.awaitHolder(t, before)
	took := time.Since(began)
	s.leader = s.standby
	s.standby = s.start(t, "-v", "10")
	return took
}

func (s *environment) mark(t *testing.T) framework.Marks {
	t.Helper()
	return framework.Mark(t, s.fleet)
}

// writes returns what the processes wrote in a cluster since a mark.
func (s *environment) writes(t *testing.T, m framework.Marks, c *fleet.Cluster) audit.Log {
	t.Helper()
	return m.Since(t, c).ByServiceAccount(config.Namespace, s.account).Writes()
}

// checkOnce wants each object to be written once at most, status aside, and returns
// how many were. A write that a killed process was cut off from may have to be repeated.
func checkOnce(t *testing.T, cluster string, log audit.Log) int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range log.Succeeded().Except("events") {
		if e.Subresource != "status" {
			counts[e.Resource+" "+e.Name]++
		}
	}
	for object, n := range counts {
		if n > 1 {
			t.Errorf("%s: %s was written %d times:\n%s", cluster, object, n, log)
		}
	}
	return len(counts)
}

// shop returns the seed's shop, in a namespace of its own.
func shop(t *testing.T, namespace string) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := yaml.UnmarshalStrict(samples.EcommerceApp(), app); err != nil {
		t.Fatal(err)
	}
	app.Namespace = namespace
	return app
}

// small returns a shop that is a frontend and nothing else.
func small(namespace string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "canary"},
		Spec:       v1.EcommerceAppSpec{Image: "shop:v1"},
	}
}

func create(t *testing.T, c client.Client, app *v1.EcommerceApp) {
	t.Helper()
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: app.Namespace}}
	if err := client.IgnoreAlreadyExists(c.Create(t.Context(), namespace)); err != nil {
		t.Fatal(err)
	}
	if err := c.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

// edit changes an application as a person would.
func edit(t *testing.T, c client.Client, app *v1.EcommerceApp, change func(*v1.EcommerceApp)) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	before := app.DeepCopy()
	change(app)
	if err := c.Patch(t.Context(), app, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// awaitRunning waits until an application runs at its current generation.
func awaitRunning(t *testing.T, c client.Client, app *v1.EcommerceApp) {
	t.Helper()
	fleettest.Within(t, bound, app.Namespace+"/"+app.Name+" to run", func(ctx context.Context) error {
		if err := c.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if app.Status.Phase != v1.PhaseRunning || app.Status.ObservedGeneration != app.Generation {
			return fmt.Errorf("it is %s: %s; at %d of %d", app.Status.Phase, app.Status.Message, app.Status.ObservedGeneration, app.Generation)
		}
		return nil
	})
}

// comeAndGo has a small shop run and go, which shows that the leader is at work and
// has been through what was there before.
func comeAndGo(t *testing.T, c client.Client, namespace string) {
	t.Helper()
	canary := small(namespace)
	create(t, c, canary)
	awaitRunning(t, c, canary)
	if err := c.Delete(t.Context(), canary); err != nil {
		t.Fatal(err)
	}
	fleettest.Within(t, bound, "the canary to be gone", func(ctx context.Context) error {
		err := c.Get(ctx, client.ObjectKeyFromObject(canary), canary)
		if err == nil {
			return errors.New("it exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// install applies folders below config, and the roles that go with a process.
func install(t *testing.T, c *fleet.Cluster, process string, folders ...string) {
	t.Helper()
	for _, folder := range folders {
		if err := c.ApplyFolder(t.Context(), "../../config/"+folder); err != nil {
			t.Fatal(err)
		}
	}
	roles, err := filepath.Glob("../../config/manager/" + process + "/*clusterrole*.yaml")
	if err != nil || len(roles) == 0 {
		t.Fatalf("%d roles for metrics (%v)", len(roles), err)
	}
	for _, file := range roles {
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Apply(t.Context(), raw); err != nil {
			t.Fatal(err)
		}
	}
}

// kubeconfigOf writes a kubeconfig with the permissions that are shipped.
func kubeconfigOf(t *testing.T, c *fleet.Cluster, account string) string {
	t.Helper()
	raw, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, account)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

package processes_test

import (
	"context"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// leaseDuration is that of the processes. It is shorter than by default, because several
// subtests wait until the Lease expires.
const leaseDuration = 10 * time.Second

// environment is a fleet with two processes of the same kind: a leader, and a standby.
type environment struct {
	*framework.Environment
	options
	// admin is the administrator's client of the cluster with the Lease of the processes.
	admin client.WithWatch

	binary string
	args   []string
	// kubeconfigs are those of all processes so far.
	kubeconfigs [][]byte
	// programs are all that were started; leader and standby are two of them.
	programs        []*program
	leader, standby *program
	who             tokens
	// shop is the sample's EcommerceApp.
	shop *v1.EcommerceApp
}

// options describe the processes, which are either hubs or spokes.
type options struct {
	// process is the name of the command.
	process string
	fleet   framework.Options
	flags   []string
	// account is the ServiceAccount of the processes.
	account string
	lease   string
	// regions lists the regions in which the shop runs.
	regions []string
	// knownSecrets names some Secrets, so that a search for no values fails.
	knownSecrets []string
}

func newEnvironment(t *testing.T, o options) *environment {
	t.Helper()
	s := &environment{
		Environment: framework.New(t, o.fleet), options: o, shop: apitest.Seed(), binary: framework.Build(t, o.process),
	}
	s.shop.Namespace = "production"
	cluster := s.Fleet.Clusters()[0]
	s.admin = framework.Admin(t, cluster)
	applyRoles(t, cluster, o.process)
	s.who = newTokens(t, s.admin)
	s.args = append([]string{"-v", "4"}, o.flags...)
	t.Cleanup(func() { s.end(t) })
	return s
}

// The steps that others need.
const elected, running = "one leads and the other is ready", "application runs"

// run runs the steps that hubs and spokes have in common, and between them those of one kind.
func (e *environment) run(t *testing.T, testShop, testLogKeys func(*testing.T), add func(*framework.Steps)) {
	t.Helper()
	steps := &framework.Steps{}
	steps.Add(elected, e.testElection)
	steps.Add(running, testShop, elected)
	steps.Add("metrics and debugging require authentication", e.testAuthentication, elected)
	steps.Add("terminated leader hands over", e.testHandover, running)
	add(steps)
	steps.Add("logs have the keys of each reconciliation", testLogKeys, running)
	steps.Add("logs contain no secrets", e.testLogSecrets, running)
	steps.Add("both exit cleanly", func(t *testing.T) {
		t.Helper()
		e.standby.terminate(t)
		e.leader.terminate(t)
	}, elected)
	steps.Run(t)
}

// start starts another process.
func (e *environment) start(t *testing.T, args ...string) *program {
	t.Helper()
	// Each process has a token of its own, as a pod does.
	path := e.KubeconfigFile(t, e.Fleet.Clusters()[0], e.account)
	e.kubeconfigs = append(e.kubeconfigs, readFile(t, path))
	p := launch(t, e.binary, slices.Concat(e.args, []string{"--kubeconfig", path, "--leader-elect-lease-duration", leaseDuration.String()}, args)...)
	e.programs = append(e.programs, p)
	p.awaitReady(t)
	return p
}

// end ends the processes that still run.
func (e *environment) end(t *testing.T) {
	t.Helper()
	for i, p := range e.programs {
		p.stop()
		if log := p.log(t, 0); strings.Contains(log, "Observed a panic") {
			t.Errorf("process %d recovered a panic:\n%s", i, log)
		}
		if t.Failed() {
			t.Logf("the log of process %d ends with:\n%s", i, tail(p.log(t, 0)))
		}
	}
}

// holder returns the holder of the Lease, empty while there is none.
func (e *environment) holder(ctx context.Context) (string, error) {
	lease := &coordinationv1.Lease{}
	err := e.admin.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: e.lease}, lease)
	return ptr.Deref(lease.Spec.HolderIdentity, ""), err
}

// awaitHolder waits until the holder of the Lease is another than before, and returns it.
func (e *environment) awaitHolder(t *testing.T, before string) string {
	t.Helper()
	var now string
	framework.Eventually(t, "another leader", func(ctx context.Context) error {
		var err error
		if now, err = e.holder(ctx); err != nil {
			return err
		}
		if now == "" || now == before {
			return fmt.Errorf("the holder is %q", now)
		}
		return nil
	})
	return now
}

// testElection starts a leader, and then a standby.
func (e *environment) testElection(t *testing.T) {
	t.Helper()
	e.leader = e.start(t)
	first := e.awaitHolder(t, "")
	e.standby = e.start(t, "--profiling")
	// The standby has found the lease held, or else it would lead.
	if now, err := e.holder(t.Context()); err != nil || now != first {
		t.Errorf("the holder is %q (%v), want the first: %q", now, err, first)
	}
	for name, p := range map[string]*program{"leader": e.leader, "standby": e.standby} {
		want, r := map[string]float64{"leader": 1}[name], newReader(t, p)
		framework.Eventually(t, "the metric of the "+name, func(ctx context.Context) error {
			if got, err := r.sum(ctx, e.who.prometheus, "leader_election_master_status"); err != nil || got != want {
				return fmt.Errorf("leader_election_master_status is %v (%w), want %v", got, err, want)
			}
			return nil
		})
	}
}

// testAuthentication checks that both processes require authentication. Only the standby
// serves profiles.
func (e *environment) testAuthentication(t *testing.T) {
	t.Helper()
	newReader(t, e.leader).checkAuthentication(t, e.who, false)
	newReader(t, e.standby).checkAuthentication(t, e.who, true)
	newReader(t, e.leader).checkNames(t, e.who.prometheus)
}

// testHandover terminates the leader, which must release the Lease before it ends.
func (e *environment) testHandover(t *testing.T) {
	t.Helper()
	before := e.markSettled(t)
	took := e.replaceLeader(t, func(p *program) {
		leader, err := e.holder(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		p.terminate(t)
		if now, err := e.holder(t.Context()); err != nil || now == leader {
			t.Errorf("the leader ended, and the holder is %q: %v", now, err)
		}
	})
	t.Logf("the standby led %s after the signal", took.Round(time.Millisecond))
	e.checkUnchanged(t, before)
}

// checkUnchanged checks that the new leader has written no object that had not changed. It
// sees no resync, for which real processes wait ten minutes: e2e/hub and e2e/spoke do.
func (e *environment) checkUnchanged(t *testing.T, before framework.Marks) {
	t.Helper()
	e.canary(t)
	for _, c := range e.Fleet.Clusters() {
		writes := e.writes(t, before, c)
		if about := writes.In(e.shop.Namespace); len(about) > 0 {
			t.Errorf("%s: writes about a shop that did not change:\n%s", c.Name(), about)
		}
		if about := writes.Of("customresourcedefinitions"); len(about) > 0 {
			t.Errorf("%s: definitions did not change:\n%s", c.Name(), about)
		}
		// The canary came and went: two changes of the number of applications. What pods request is
		// summed from time to time, and may have changed since. A conflict with one of them, which the
		// cache did not have yet, changes nothing.
		if about := writes.Of("memberclusters").Succeeded(); len(about) > 3*len(e.Members) {
			t.Errorf("members did not change but for the canary:\n%s", about)
		}
	}
}

// loggedClusters checks the keys of reconciliations in all logs, and returns the clusters
// in them, by controller.
func (e *environment) loggedClusters(t *testing.T) map[string][]string {
	t.Helper()
	clusters := map[string][]string{}
	for _, p := range e.programs {
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

// testLogSecrets searches the logs for the values of the Secrets of all clusters, and for
// the tokens in requests.
func (e *environment) testLogSecrets(t *testing.T) {
	t.Helper()
	secrets := map[string][]string{"the tokens of readers": {e.who.unprivileged, e.who.prometheus, e.who.debugger, wrongToken}}
	for _, c := range e.Fleet.Clusters() {
		for name, values := range secretsOf(t, framework.Admin(t, c)) {
			secrets[c.Name()+" "+name] = values
		}
	}
	for _, own := range e.kubeconfigs {
		inside, err := invariants.InKubeconfig(own)
		if err != nil {
			t.Fatal(err)
		}
		secrets["the kubeconfigs of the processes"] = append(secrets["the kubeconfigs of the processes"], inside...)
	}
	if len(e.knownSecrets) == 0 {
		t.Error("no known secrets")
	}
	for _, name := range e.knownSecrets {
		if len(secrets[name]) == 0 {
			t.Errorf("nothing to look for in %q, of: %v", name, slices.Sorted(maps.Keys(secrets)))
		}
	}
	checkSecrecy(t, e.programs, secrets)
}

// replaceLeader ends the leader, and returns how long it took until the standby led. It
// starts another standby with the highest log verbosity.
func (e *environment) replaceLeader(t *testing.T, end func(*program)) time.Duration {
	t.Helper()
	before, err := e.holder(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	began := time.Now()
	end(e.leader)
	e.awaitHolder(t, before)
	took := time.Since(began)
	e.leader = e.standby
	e.standby = e.start(t, "-v", "10")
	return took
}

// markSettled returns a mark behind the last write about the shop.
func (e *environment) markSettled(t *testing.T) framework.Marks {
	t.Helper()
	return framework.MarkSettled(t, e.Fleet, e.shop.Namespace, e.account)
}

// writes returns what the processes wrote in a cluster since a mark.
func (e *environment) writes(t *testing.T, m framework.Marks, c *fleet.Cluster) audit.Log {
	t.Helper()
	return m.By(t, c, e.account).Writes()
}

// checkOnce checks that each object was written at most once, status and the mark of a database aside, and returns
// the number of objects. It ignores failed writes: the next leader repeats a write whose
// response a killed process did not get.
func checkOnce(t *testing.T, cluster string, log audit.Log) int {
	t.Helper()
	counts := map[string]int{}
	for _, e := range log.Succeeded().Except("events") {
		if e.Subresource != "status" {
			counts[e.Resource+" "+e.Name]++
		}
	}
	for object, n := range counts {
		most := 1
		if strings.HasSuffix(object, "-database-created") {
			most = 2 // Before the pods of the database, and when it was created.
		}
		if n > most {
			t.Errorf("%s: %s was written %d times:\n%s", cluster, object, n, log)
		}
	}
	return len(counts)
}

// canary creates and deletes a small shop, which shows that the leader works and has
// reconciled the existing objects.
func (e *environment) canary(t *testing.T) {
	t.Helper()
	framework.Canary(t, e.admin, e.regions...)
}

// awaitRunning waits until an application runs everywhere, at its current generation.
func (e *environment) awaitRunning(t *testing.T, app *v1.EcommerceApp) {
	t.Helper()
	framework.AwaitRunning(t, e.admin, app, e.regions...)
}

// applyRoles applies the roles that go with a process.
func applyRoles(t *testing.T, c *fleet.Cluster, process string) {
	t.Helper()
	roles, err := filepath.Glob("../../config/manager/" + process + "/*clusterrole*.yaml")
	if err != nil || len(roles) == 0 {
		t.Fatalf("%d roles for metrics (%v)", len(roles), err)
	}
	for _, file := range roles {
		if err := c.Apply(t.Context(), readFile(t, file)); err != nil {
			t.Fatal(err)
		}
	}
}

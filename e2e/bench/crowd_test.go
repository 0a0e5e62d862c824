package bench_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fakemembers"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// crowdNamespace has the shops of fake members.
	crowdNamespace = "crowd"
	// crowdTimeout bounds what all members do together.
	crowdTimeout = 20 * time.Minute
	// longestPause is the longest time between two looks at a fleet.
	longestPause = 3 * time.Second
	// createdAtOnce is the number of shops that are created at a time.
	createdAtOnce = 16
	// appController is the hub's controller of applications in metrics, and copyController that of the
	// copies in a member, whose name follows.
	appController  = "ecommerceapp-fleet"
	copyController = "ecommerceapp/"
)

var errMissing = errors.New("not all")

// crowd is a hub with fake members that have as many shops each. The hub is started by the
// caller.
type crowd struct {
	*framework.Environment
	fakes *fakemembers.Process
	names []string
	shops int
	// created is the number of shops that were created, in all members together.
	created int
	// reconciles returns how often each controller of the hub has reconciled something, by its name in
	// metrics.
	reconciles func(context.Context) (map[string]float64, error)
	// log is the file with the hub's log, and verbosity changes how much is logged.
	log       string
	verbosity func(testing.TB, int)
}

// newCrowd starts fake members and a hub's control plane.
func newCrowd(t testing.TB, members, shops int, o framework.Options) *crowd {
	t.Helper()
	o.Fleet = fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}}
	c := &crowd{Environment: framework.New(t, o), shops: shops}
	for i := range members {
		c.names = append(c.names, fmt.Sprintf("fake-%d", i))
	}
	c.fakes = fakemembers.Start(t, c.names...)
	return c
}

// register registers the members, and blocks until they are Ready.
func (c *crowd) register(t testing.TB, health v1.Health) {
	t.Helper()
	for _, name := range c.names {
		member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: v1.MemberClusterSpec{Health: health}}
		if err := c.Hub.Create(t.Context(), member); err != nil {
			t.Fatal(err)
		}
		if err := c.Hub.Create(t.Context(), framework.Registration(name, c.fakes.Kubeconfigs[name])); err != nil {
			t.Fatal(err)
		}
	}
	c.within(t, "the members to be Ready", func(ctx context.Context) error {
		all := &v1.MemberClusterList{}
		if err := c.Hub.List(ctx, all); err != nil {
			return err
		}
		n := 0
		for i := range all.Items {
			if framework.Condition(all.Items[i].Status.Conditions, v1.ConditionReady).Status == metav1.ConditionTrue {
				n++
			}
		}
		return counted(n, len(c.names))
	})
}

// createEach creates the shops, each in one member, and blocks until all are Running. Each member gets one
// after the other, since how the hub bears all at once is another figure.
func (c *crowd) createEach(t testing.TB) {
	t.Helper()
	for range c.shops {
		c.create(t, slices.Collect(slices.Chunk(c.names, 1)))
	}
}

// create creates a shop for each of the placements, which are names of members, and blocks until all
// shops are Running.
func (c *crowd) create(t testing.TB, placements [][]string) {
	t.Helper()
	framework.CreateNamespace(t, c.Hub, crowdNamespace)
	free := make(chan struct{}, createdAtOnce)
	var group sync.WaitGroup
	for _, members := range placements {
		app := apitest.Seed()
		app.ObjectMeta = metav1.ObjectMeta{Namespace: crowdNamespace, Name: fmt.Sprintf("shop-%d", c.created)}
		app.Spec.Replicas, app.Spec.Frontend.Replicas, app.Spec.Backend.Replicas = new(int32(1)), new(int32(1)), new(int32(1))
		app.Spec.Placement = v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: members}}
		c.created++
		free <- struct{}{}
		group.Go(func() {
			defer func() { <-free }()
			if err := c.Hub.Create(t.Context(), app); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	c.awaitApps(t, c.created, "the shops to be Running", func(app *v1.EcommerceApp) bool {
		return framework.Runs(app, "eu-west-1") == nil
	})
}

// awaitApps blocks until as many applications are as check says.
func (c *crowd) awaitApps(t testing.TB, want int, what string, check func(*v1.EcommerceApp) bool) {
	t.Helper()
	c.within(t, what, func(ctx context.Context) error {
		all := &v1.EcommerceAppList{}
		if err := c.Hub.List(ctx, all, client.InNamespace(crowdNamespace)); err != nil {
			return err
		}
		n, other := 0, ""
		for i := range all.Items {
			if check(&all.Items[i]) {
				n++
			} else {
				other = framework.Brief(&all.Items[i])
			}
		}
		if n != want {
			return fmt.Errorf("%w: %d of %d: %s", errMissing, n, want, other)
		}
		return nil
	})
}

// within repeats a check with a pause between, which is longer in a large fleet, where a check costs
// more.
func (c *crowd) within(t testing.TB, what string, check func(context.Context) error) {
	t.Helper()
	pause := min(longestPause, time.Duration(len(c.names)*c.shops)*time.Millisecond)
	fleettest.Within(t, crowdTimeout, what, func(ctx context.Context) error {
		err := check(ctx)
		if err != nil {
			framework.Pause(t, pause)
		}
		return err
	})
}

func counted(n, want int) error {
	if n != want {
		return fmt.Errorf("%w: %d of %d", errMissing, n, want)
	}
	return nil
}

// awaitReconciled blocks until a hub that was started has looked at all applications, and in each
// member at all copies, and returns the time.
func (c *crowd) awaitReconciled(t testing.TB) time.Time {
	t.Helper()
	c.within(t, "the hub to look at all shops", func(ctx context.Context) error {
		all, err := c.reconciles(ctx)
		if err != nil {
			return err
		}
		n := 0
		for _, name := range c.names {
			n += min(c.shops, int(all[copyController+name]))
		}
		n += min(len(c.names)*c.shops, int(all[appController]))
		return counted(n, 2*len(c.names)*c.shops)
	})
	return time.Now()
}

// settled blocks until controllers have reconciled nothing for some seconds, and returns how often
// they have.
func (c *crowd) settled(t testing.TB) map[string]float64 {
	t.Helper()
	var last map[string]float64
	c.within(t, "the hub to be idle", func(ctx context.Context) error {
		before := last
		var err error
		if last, err = c.reconciles(ctx); err != nil {
			return err
		}
		if before == nil || total(last) != total(before) {
			framework.Pause(t, quietTime)
			return errMissing
		}
		return nil
	})
	return last
}

func total(all map[string]float64) (sum float64) {
	for controller, n := range all {
		if controller == appController || strings.HasPrefix(controller, copyController) {
			sum += n
		}
	}
	return sum
}

// writes returns the writes to all members, except events and claims of the members' records, and
// those claims.
func (c *crowd) writes(t testing.TB) (writes map[string]int, claims int) {
	t.Helper()
	all, err := c.fakes.Requests(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	writes = map[string]int{}
	for _, requests := range all {
		for request, n := range requests {
			switch {
			case strings.HasPrefix(request, "GET "), strings.HasPrefix(request, "POST events"), strings.HasPrefix(request, "POST selfsubject"), strings.Contains(request, " dryRun "):
			case strings.Contains(request, "configmaps "+config.HubRecord+" "):
				claims += n
			default:
				writes[request] += n
			}
		}
	}
	return writes, claims
}

// more returns what was added to counts.
func more(before, after map[string]int) map[string]int {
	added := map[string]int{}
	for key, n := range after {
		if n -= before[key]; n > 0 {
			added[key] = n
		}
	}
	return added
}

// looked returns the names of the applications that the hub looks at meanwhile, sorted, from what
// controller-runtime logs before each look.
func (c *crowd) looked(t testing.TB, meanwhile func()) []string {
	t.Helper()
	const lookVerbosity = 5
	begin, err := os.Stat(c.log)
	if err != nil {
		t.Fatal(err)
	}
	c.verbosity(t, lookVerbosity)
	meanwhile()
	c.verbosity(t, 0)
	raw, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	names := map[string]bool{}
	for text := range bytes.Lines(raw[begin.Size():]) {
		var line struct{ Msg, Controller, Name string }
		if json.Unmarshal(text, &line) == nil && line.Msg == "Reconciling" && line.Controller == appController {
			names[line.Name] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// flapped holds what a hub did while a member was lost and returned.
type flapped struct {
	// placed are the names of the applications that run in the member, and looked of those that the hub
	// looked at, sorted.
	placed, looked []string
	// looks is how often it looked at applications, and elsewhere how often at copies in other members.
	looks, elsewhere int
}

// flap closes a member until its shops are known to be out of reach, opens it, and blocks until all is as
// before.
func (c *crowd) flap(t testing.TB, name string) (f flapped) {
	t.Helper()
	before, after := c.settled(t), map[string]float64{}
	f.looked = c.looked(t, func() {
		c.loseAndReturn(t, name)
		after = c.settled(t)
	})
	for _, other := range c.names {
		if other != name {
			f.elsewhere += int(after[copyController+other] - before[copyController+other])
		}
	}
	f.looks = int(after[appController] - before[appController])
	all := &v1.EcommerceAppList{}
	if err := c.Hub.List(t.Context(), all, client.InNamespace(crowdNamespace)); err != nil {
		t.Fatal(err)
	}
	for i := range all.Items {
		if framework.Cluster(&all.Items[i].Status, name).Name != "" {
			f.placed = append(f.placed, all.Items[i].Name)
		}
	}
	slices.Sort(f.placed)
	return f
}

// loseAndReturn closes a member and opens it again.
func (c *crowd) loseAndReturn(t testing.TB, name string) {
	t.Helper()
	stale := func(app *v1.EcommerceApp) bool { return framework.Cluster(&app.Status, name).Stale }
	if err := c.fakes.Close(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	c.awaitApps(t, c.shops, "the shops to be Unknown", stale)
	if err := c.fakes.Open(t.Context(), name); err != nil {
		t.Fatal(err)
	}
	c.awaitApps(t, len(c.names)*c.shops, "the shops to be known", func(app *v1.EcommerceApp) bool { return !stale(app) })
}

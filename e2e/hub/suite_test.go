package hub_test

import (
	"flag"
	"os"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config/samples"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/controller"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

func TestMain(m *testing.M) {
	framework.Silence()
	if kubeconfig := os.Getenv(formerVariable); kubeconfig != "" {
		os.Exit(runFormer(kubeconfig))
	}
	// The tests wait more than they compute: all run at the same time.
	flag.Parse()
	if err := flag.Set("test.parallel", "3"); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// The regions of the members.
const (
	asia = "southeastasia"
	eu   = "eu-west-1"
	us   = "us-central1"
)

// memberNames returns the members, sorted.
func memberNames() []string { return []string{"asia-1", "eu-1", "us-1"} }

// noResync switches the resync of copies off: no test may depend on it.
const noResync = 24 * time.Hour

// suite is an environment, and the sample's shop in it.
type suite struct {
	*framework.Environment
	shop *v1.EcommerceApp
	// progressPeriod is that of the next hub that is started.
	progressPeriod time.Duration
	// safeMode is that of the next hub that is started.
	safeMode bool
	// templates are those of the next hub that is started; nil are those of this build.
	templates *controller.Templates
}

// progressPeriod is that of hubs whose mere progress tests wait for.
const progressPeriod = time.Second

// newSuite returns a suite with a member in each region, and a hub that writes mere progress once in a period.
func newSuite(t *testing.T, progress time.Duration) *suite {
	t.Helper()
	s := &suite{shop: apitest.Seed(), progressPeriod: progress}
	s.Environment = framework.New(t, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: []fleet.ClusterSpec{
			{Name: "asia-1", Provider: fleet.Azure, Region: asia, Nodes: 2},
			{Name: "eu-1", Provider: fleet.AWS, Region: eu, Nodes: 2},
			{Name: "us-1", Provider: fleet.GCP, Region: us, Nodes: 2},
		}},
		Health: framework.Health(),
		Hub: func(o *setup.Options) {
			o.Waits, o.Timeouts = retry.Waits{Scale: 0.1, Longest: longestWait}, framework.Timeouts()
			o.ProgressPeriod, o.SafeMode, o.Resync = s.progressPeriod, s.safeMode, noResync
			o.Templates = s.templates
		},
	})
	s.StartHub(t)
	s.Register(t, memberNames()...)
	s.AwaitMembers(t, memberNames()...)
	return s
}

// TestHub follows one shop from its creation to its deletion, and others that are lost, left behind or restored.
func TestHub(t *testing.T) {
	t.Parallel()
	s := newSuite(t, time.Hour)
	// The first counts the writes of a creation, and mere progress, of which a slow machine
	// has more, is not written meanwhile. The others wait for progress. They create the shop
	// where it is missing, and so run alone too.
	t.Run("creation writes each object once", s.testCreation)
	s.progressPeriod = progressPeriod
	s.RestartHub(t)
	for _, each := range []struct {
		name string
		test func(*testing.T)
	}{
		{"restart and reapply write nothing", s.testUnchanged},
		{"edit reaches every member", s.testEdit},
		{"edit precedes its status", s.testEditFirst},
		{"drift of copies is corrected", s.testDrift},
		{"rotated credentials lose no edit", s.testRotation},
		{"wiped status is computed again", s.testWipedStatus},
		{"annotations are handled", s.testAnnotations},
		{"addresses of a member are reported", s.testAddresses},
		{"placement change moves the shop", s.testPlacement},
		{"unowned application is a conflict", s.testConflict},
		{"terminating namespace is waited for", s.testNamespaceTerminating},
		{"unreachable members are Unknown and recover", s.testOutage},
		{"detached member keeps its copy", s.testDetach},
		{"deletion is ordered and waits for unreachable members", s.testDeletion},
	} {
		t.Run(each.name, func(t *testing.T) {
			s.ensureShop(t)
			each.test(t)
		})
	}
	t.Run("paused", s.testPaused)
	t.Run("deletion in several states", s.testDeletionInStates)
	t.Run("inventory", s.testInventory)
	t.Run("residue", s.testResidue)
	t.Run("protection", s.testProtection)
	t.Run("restored", s.testRestored)
	t.Run("hub restored from a snapshot of etcd", s.testSnapshot)
}

// TestPlacement checks the clusters that applications run in, and what they have there.
func TestPlacement(t *testing.T) {
	t.Parallel()
	s := newSuite(t, progressPeriod)
	t.Run("new nodes move no application", s.testNodes)
	t.Run("draining", s.testDraining)
	t.Run("free capacity", s.testFreeCapacity)
	t.Run("spread", s.testSpread)
	t.Run("overrides", s.testOverrides)
	t.Run("rollout", s.testRollout)
	t.Run("pod templates of another build", s.testTemplates)
	t.Run("propagation", s.testPropagation)
}

// ensureShop creates the shop where it is missing, and blocks until it runs everywhere.
func (s *suite) ensureShop(t *testing.T) {
	t.Helper()
	err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(s.shop), s.shop)
	if apierrors.IsNotFound(err) {
		framework.CreateNamespace(t, s.Hub, s.shop.Namespace)
		err = s.Fleet.Hub().Apply(t.Context(), samples.EcommerceApp())
	}
	if err != nil {
		t.Fatal(err)
	}
	s.AwaitRunning(t, s.shop, eu, asia, us)
}

// small returns a shop that is a frontend and nothing else.
func small(name string, clusters ...string) *v1.EcommerceApp {
	return framework.Small("small", name, clusters...)
}

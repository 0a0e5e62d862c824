package stranger

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/images"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	// enabled is the variable that enables the test, keep the one that keeps the clusters.
	enabled = "SHOPFLEET_STRANGER"
	keep    = "KEEP"
	// before and now are the versions of the two releases.
	before, now = framework.Before, config.Release

	member    = "eu-1"
	namespace = "production"
	shop      = "coffee-shop"
	// patience is a generous timeout for containers on two cores.
	patience = 8 * time.Minute
)

var errWaiting = errors.New("not there yet")

// stranger is a user with a registry, two clusters and an empty folder.
type stranger struct {
	env *testenv.Environment
	// registry is the folder of the registry that both releases are in.
	registry string
	// helm is the path of the program.
	helm string
	// plugins are the paths of the unpacked plugins by version.
	plugins map[string]string
	// hub and member hold what was in the clusters at first.
	hub, member []string
	took        []string
}

// TestStranger goes the way from a registry to a shop and back.
func TestStranger(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a container engine and a quarter of an hour: run make stranger")
	}
	s := prepare(t)
	t.Cleanup(func() { t.Logf("how long it took:\n%s", strings.Join(s.took, "\n")) })
	var steps framework.Steps
	const installed, joined, applied, upgraded = "install by Helm", "join", "a shop", "upgrade"
	s.add(&steps, installed, s.testInstall)
	s.add(&steps, joined, s.testJoin, installed)
	s.add(&steps, applied, s.testShop, joined)
	s.add(&steps, "the page in a browser", s.testPage, applied)
	s.add(&steps, upgraded, s.testUpgrade, applied)
	s.add(&steps, "the page after the upgrade", s.testPage, upgraded)
	s.add(&steps, "uninstall", s.testUninstall, upgraded)
	steps.Run(t)
}

// add adds a step whose time is noted.
func (s *stranger) add(steps *framework.Steps, name string, test func(*testing.T), needs ...string) {
	steps.Add(name, func(t *testing.T) {
		t.Helper()
		begin := time.Now()
		defer func() { s.note(name, begin) }()
		test(t)
	}, needs...)
}

func (s *stranger) note(name string, begin time.Time) {
	s.took = append(s.took, fmt.Sprintf("%6.1fs  %s", time.Since(begin).Seconds(), name))
}

// testInstall installs the hub of the release before by its chart.
func (s *stranger) testInstall(t *testing.T) {
	t.Helper()
	s.hub, s.member = s.objects(t, s.env.Hub.Kubeconfig), s.objects(t, s.env.Members[0].Kubeconfig)
	s.install(t, before)
}

// install installs the chart of a version, and checks that the pods run its image.
func (s *stranger) install(t *testing.T, version string) {
	t.Helper()
	s.run(t, s.helm, "upgrade", "--install", "shopfleet-hub", "oci://"+s.registry+"/charts/shopfleet-hub", "--plain-http", "--version", strings.TrimPrefix(version, "v"),
		"--namespace", config.Namespace, "--create-namespace", "--wait", "--timeout", patience.String())
	s.checkImages(t, s.env.Hub.Kubeconfig, "shopfleet-hub:"+version)
}

// checkImages checks that all pods of Shopfleet in a cluster run an image of the registry.
func (s *stranger) checkImages(t *testing.T, kubeconfig, image string) {
	t.Helper()
	fleettest.Within(t, patience, "pods with the image "+image, func(ctx context.Context) error {
		out, err := testenv.Run(s.env.Command(ctx, "kubectl", "--kubeconfig", kubeconfig, "get", "pods", "--namespace", config.Namespace,
			"--output=jsonpath={range .items[*]}{.spec.containers[0].image} {.status.phase}{\"\\n\"}{end}"))
		if err != nil {
			return err
		}
		for line := range strings.Lines(out) {
			if line != s.registry+"/"+image+" Running\n" {
				return fmt.Errorf("%w: %s", errWaiting, line)
			}
		}
		return nil
	})
}

// testJoin joins a cluster, with an agent that its nodes pull.
func (s *stranger) testJoin(t *testing.T) {
	t.Helper()
	m := s.env.Members[0]
	s.run(t, s.plugins[before], "join", member, "--member-kubeconfig", m.Kubeconfig, "--member-server", m.InternalServer,
		"--mode", "agent", "--spoke-image", s.registry+"/shopfleet-spoke:"+before)
	s.checkImages(t, m.Kubeconfig, "shopfleet-spoke:"+before)
}

// testShop applies the sample for a trial with the images of the tests.
func (s *stranger) testShop(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(s.env.Root, "config", "samples", "shop.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	manifest := strings.NewReplacer("registry.example.com/shop/ecommerce-backend:v2.0.0", images.BackendOld,
		"registry.example.com/shop/ecommerce-frontend:v2.0.0", images.FrontendOld, `"17.7"`, `"`+strings.TrimPrefix(images.Postgres, "postgres:")+`"`).Replace(string(raw))
	file := filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(manifest), 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "kubectl", "create", "namespace", namespace)
	s.run(t, "kubectl", "apply", "--server-side", "--filename", file)
	s.awaitShop(t)
}

// awaitShop waits until the shop runs.
func (s *stranger) awaitShop(t *testing.T) {
	t.Helper()
	s.run(t, "kubectl", "wait", "ecommerceapp", shop, "--namespace", namespace, "--for=condition=Available", "--timeout", patience.String())
}

// testUpgrade upgrades hub and agent to this release; the shop's pods stay.
func (s *stranger) testUpgrade(t *testing.T) {
	t.Helper()
	m := s.env.Members[0]
	pods := s.run(t, "kubectl", "--kubeconfig", m.Kubeconfig, "get", "pods", "--namespace", namespace, "--output=name")
	s.install(t, now)
	s.run(t, s.plugins[now], "join", member, "--member-kubeconfig", m.Kubeconfig)
	s.run(t, s.plugins[now], "install", "spoke", "--kubeconfig", m.Kubeconfig)
	s.checkImages(t, m.Kubeconfig, "shopfleet-spoke:"+now)
	s.awaitShop(t)
	after := s.run(t, "kubectl", "--kubeconfig", m.Kubeconfig, "get", "pods", "--namespace", namespace, "--output=name")
	if diff := cmp.Diff(pods, after); diff != "" {
		t.Errorf("the upgrade replaced pods of the shop (-before +after):\n%s", diff)
	}
	s.run(t, s.plugins[now], "doctor")
}

// testUninstall removes everything, and compares the clusters with what they had at first.
func (s *stranger) testUninstall(t *testing.T) {
	t.Helper()
	m := s.env.Members[0]
	s.run(t, s.plugins[now], "delete", shop, "--namespace", namespace, "--yes")
	s.run(t, "kubectl", "--kubeconfig", m.Kubeconfig, "delete", "namespace", namespace)
	s.run(t, "kubectl", "delete", "namespace", namespace)
	s.run(t, s.plugins[now], "unjoin", member, "--revoke", "--member-kubeconfig", m.Kubeconfig, "--yes")
	s.run(t, s.plugins[now], "uninstall", "spoke", "--kubeconfig", m.Kubeconfig, "--delete-definitions", "--yes")
	s.run(t, s.helm, "uninstall", "shopfleet-hub", "--namespace", config.Namespace, "--wait")
	s.run(t, s.plugins[now], "uninstall", "hub", "--delete-definitions", "--yes")
	for _, kubeconfig := range []string{m.Kubeconfig, s.env.Hub.Kubeconfig} {
		s.run(t, "kubectl", "--kubeconfig", kubeconfig, "delete", "namespace", config.Namespace, "--ignore-not-found")
	}
	for kubeconfig, first := range map[string][]string{m.Kubeconfig: s.member, s.env.Hub.Kubeconfig: s.hub} {
		left := slices.DeleteFunc(s.objects(t, kubeconfig), func(object string) bool { return slices.Contains(first, object) })
		if len(left) > 0 {
			t.Errorf("left in the cluster:\n%s", strings.Join(left, "\n"))
		}
	}
}

// objects lists the objects of a cluster but those that Kubernetes makes by itself.
func (s *stranger) objects(t *testing.T, kubeconfig string) []string {
	t.Helper()
	kubectl := func(args ...string) string {
		return s.run(t, "kubectl", append([]string{"--kubeconfig", kubeconfig}, args...)...)
	}
	kinds := slices.DeleteFunc(strings.Fields(kubectl("api-resources", "--verbs=list,get", "--output=name")), func(kind string) bool {
		return slices.Contains([]string{"componentstatuses", "events", "events.events.k8s.io"}, kind)
	})
	return strings.Fields(kubectl("get", strings.Join(kinds, ","), "--all-namespaces", "--ignore-not-found",
		"--output=jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name}{\"\\n\"}{end}"))
}

// run runs a program on the hub's cluster, successfully.
func (s *stranger) run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := s.env.Command(t.Context(), program, args...)
	cmd.Dir = t.TempDir()
	out, err := testenv.Run(cmd)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

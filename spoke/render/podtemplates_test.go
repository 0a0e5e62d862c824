package render

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// baseTemplates holds a hash of each pod template of the build that the upgrade test begins with. What
// they contain is in the other golden files.
const baseTemplates = "podtemplates/base.txt"

// TestPodTemplates compares every pod template whose change replaces running pods with that of the
// build that upgrades begin with. Those that differ are the ones that CHANGELOG.md says are restarted,
// and the upgrade test on kind sees exactly their pods restart.
//
// The objects that are rendered are files of this test alone, so that a change of a sample is no
// change of a template. With UPDATE_BASE_TEMPLATES=1, after a release, the base is written anew.
func TestPodTemplates(t *testing.T) {
	rendered := renderedTemplates(t)
	if os.Getenv("UPDATE_BASE_TEMPLATES") != "" {
		writeTemplates(t, rendered)
	}
	base := readTemplates(t)
	changelog, err := os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md"))
	if err != nil {
		t.Fatal(err)
	}
	restarted := apitest.RestartedWorkloads(string(changelog))
	for _, workload := range slices.Sorted(maps.Keys(rendered)) {
		same, named := slices.Equal(base[workload], rendered[workload]), slices.Contains(restarted, workload)
		switch {
		case !same && !named:
			t.Errorf("an upgrade restarts the pods of %s, and CHANGELOG.md does not say so. The other golden files show the change. Undo it, or add the line %q",
				workload, "- Restarts pods of "+workload+": REASON")
		case same && named:
			t.Errorf("CHANGELOG.md says that an upgrade restarts the pods of %s, whose templates are as before", workload)
		}
	}
	for _, workload := range restarted {
		if _, known := rendered[workload]; !known {
			t.Errorf("CHANGELOG.md says that an upgrade restarts the pods of %q, which is none of %q", workload, slices.Sorted(maps.Keys(rendered)))
		}
	}
}

// renderingVersion has the version of the pod templates, and a hash of all of them.
const renderingVersion = "podtemplates/rendering.txt"

// TestVersion checks that the pod templates of a version do not change: otherwise an upgrade would replace the pods at
// once, before the turn of their cluster.
func TestVersion(t *testing.T) {
	t.Parallel()
	rendered, sum := renderedTemplates(t), sha256.New()
	for _, workload := range slices.Sorted(maps.Keys(rendered)) {
		sum.Write(fmt.Appendln(nil, workload, rendered[workload]))
	}
	path := filepath.Join("testdata", renderingVersion)
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	version, hash, _ := strings.Cut(strings.TrimSpace(string(raw)), " ")
	switch now := fmt.Sprintf("%x", sum.Sum(nil)); {
	case now == hash && version == Version:
	case version == Version:
		t.Errorf("pod templates have changed: raise Version in version.go, which is %s", Version)
	case os.Getenv("UPDATE_GOLDEN") == "":
		t.Errorf("version %s has no hash: run again with UPDATE_GOLDEN=1", Version)
	default:
		if err := os.WriteFile(path, []byte(Version+" "+now+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// TestInputsStay checks that the hash of what a workload is rendered from stays the same for the same spec: otherwise
// an upgrade would replace all pods at once. A list of inputs is only extended, by
// values that are left out where they are not set.
func TestInputsStay(t *testing.T) {
	t.Parallel()
	var now strings.Builder
	workloads := renderedWorkloads(t)
	for _, name := range slices.Sorted(maps.Keys(workloads)) {
		for _, o := range workloads[name] {
			fmt.Fprintf(&now, "%s\t%s\n", name, o.Inputs)
		}
	}
	path := filepath.Join("testdata", "podtemplates", "inputs.txt")
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(path, []byte(now.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(raw), now.String()); diff != "" {
		t.Errorf("what workloads are rendered from has other hashes (-stored +now):\n%s", diff)
	}
}

// TestNoImageOfOurs checks that pods that live long have no image of this project, which changes with each build.
func TestNoImageOfOurs(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(3, 4))
	for range 50 {
		app, cluster := randomShop(random)
		for name, object := range workloadsOf(t, app, cluster) {
			for _, pod := range podTemplates(object.Resource) {
				for container, image := range component.ContainerImages(pod) {
					if strings.Contains(image, "shopfleet") {
						t.Errorf("container %s of the %s has the image %s", container, name, image)
					}
				}
			}
		}
	}
}

// renderedTemplates returns the hashes of the pod templates of each workload.
func renderedTemplates(t *testing.T) map[string][]string {
	t.Helper()
	hashes := map[string][]string{}
	for name, workloads := range renderedWorkloads(t) {
		for _, o := range workloads {
			raw, err := yaml.Marshal(podTemplates(o.Resource)[0])
			if err != nil {
				t.Fatal(err)
			}
			hashes[name] = append(hashes[name], fmt.Sprintf("%x", sha256.Sum256(raw)))
		}
	}
	return hashes
}

// renderedWorkloads renders each kind, in clusters with and without optional APIs, and returns the Deployments and
// StatefulSets of each workload.
func renderedWorkloads(t *testing.T) map[string][]component.Object {
	t.Helper()
	shop, everything := &v1.EcommerceApp{}, &v1.EcommerceApp{}
	db, app := &mysqlv1.MySQLCluster{}, &webappv1.WebApp{}
	for name, into := range map[string]any{"shop": shop, "everything": everything, "mysqlcluster": db, "webapp": app} {
		raw, err := os.ReadFile(filepath.Join("testdata", "podtemplates", name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict(raw, into); err != nil {
			t.Fatal(err)
		}
	}
	replicated := shop.DeepCopy()
	replicated.Spec.Database.Replicas = new(int32(3))
	workloads := map[string][]component.Object{}
	for _, c := range []Cluster{{}, {
		Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS, ServiceMonitors: true, PrometheusRules: true, Certificates: true,
	}} {
		for _, shop := range []*v1.EcommerceApp{shop, replicated, everything} {
			components, err := EcommerceApp(shop, c)
			addWorkloads(t, workloads, shop, components, err)
		}
		components, err := MySQLCluster(db, c)
		addWorkloads(t, workloads, db, components, err)
		components, err = WebApp(app, c)
		addWorkloads(t, workloads, app, components, err)
	}
	return workloads
}

// addWorkloads adds the workloads of an object.
func addWorkloads(t *testing.T, to map[string][]component.Object, owner component.Resource, components []component.Component, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range components {
		for _, o := range c.Rendered() {
			switch o.Resource.(type) {
			case *appsv1.Deployment, *appsv1.StatefulSet:
				name := workloadName(owner, c.Name)
				to[name] = append(to[name], o)
			}
		}
	}
}

// workloadName returns the name that CHANGELOG.md has for the workload of a component.
func workloadName(owner component.Resource, name string) string {
	switch owner := owner.(type) {
	case *v1.EcommerceApp:
		switch name {
		case "database":
			return "EcommerceApp database with " + string(owner.Spec.Database.Engine)
		case "ingress":
			return "EcommerceApp login"
		}
		return "EcommerceApp " + name
	case *mysqlv1.MySQLCluster:
		return "MySQLCluster"
	default:
		return "WebApp"
	}
}

// readTemplates returns the hashes of the base by workload.
func readTemplates(t *testing.T) map[string][]string {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", baseTemplates))
	if err != nil {
		t.Fatal(err)
	}
	hashes := map[string][]string{}
	for line := range strings.Lines(string(raw)) {
		hash, workload, _ := strings.Cut(strings.TrimSpace(line), " ")
		hashes[workload] = append(hashes[workload], hash)
	}
	return hashes
}

func writeTemplates(t *testing.T, hashes map[string][]string) {
	t.Helper()
	var b bytes.Buffer
	for _, workload := range slices.Sorted(maps.Keys(hashes)) {
		for _, hash := range hashes[workload] {
			fmt.Fprintf(&b, "%s %s\n", hash, workload)
		}
	}
	if err := os.WriteFile(filepath.Join("testdata", baseTemplates), b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
}

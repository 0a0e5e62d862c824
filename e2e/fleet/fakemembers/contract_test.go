package fakemembers_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fakemembers"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// namespace is that of the cases' objects. Each case has names of its own.
const namespace = "contract"

var errNotYet = errors.New("not yet")

// TestContract runs the cases on a fake member and on a real control plane, so that what the hub
// relies on is the same in both.
func TestContract(t *testing.T) {
	t.Parallel()
	servers := map[string]func(*testing.T) *rest.Config{"fake": fakeServer, "real": realServer}
	for name, start := range servers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newCluster(t, start(t))
			for _, each := range cases() {
				t.Run(each.name, func(t *testing.T) { each.check(t, c) })
			}
		})
	}
}

type contractCase struct {
	name  string
	check func(*testing.T, *cluster)
}

func cases() []contractCase {
	return []contractCase{
		{"apply creates a missing object of version 1", applyCreates},
		{"apply leaves an existing object of version 1", applyLeaves},
		{"apply removes what the manager no longer applies", applyRemoves},
		{"apply of the same writes nothing", applyTwice},
		{"apply conflicts with another manager unless forced", applyConflicts},
		{"apply checks version and UID", applyChecks},
		{"apply needs the namespace", applyNamespace},
		{"create creates once", createOnce},
		{"a merge patch checks the version", patchChecks},
		{"the status has writes of its own", statusApart},
		{"the generation counts changes of the spec", generationCounts},
		{"deletion checks version and UID", deletionChecks},
		{"finalizers hold a deletion", finalizersHold},
		{"deletion takes dependents", deletionCollects},
		{"a watch begins with a list and a bookmark", watchBegins},
		{"a watch goes on from a version", watchGoesOn},
		{"a selector bounds a watch", watchSelects},
		{"lists and metadata are selected by label", listSelects},
		{"typed clients read and write", typedClients},
		{"a definition is served once installed", definitionServed},
		{"workloads become ready", workloadsReady},
		{"claims are bound and pods ready", setsReady},
		{"Jobs complete", jobsComplete},
		{"events are accepted", eventsAccepted},
		{"the preflight passes", preflightPasses},
		{"what is unknown is not found", unknownNotFound},
		{"a wrong token is unauthorized", tokenChecked},
	}
}

func fakeServer(t *testing.T) *rest.Config {
	t.Helper()
	m, err := fakemembers.New(t.Context(), "fake")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	kubeconfig, err := m.Kubeconfig()
	if err != nil {
		t.Fatal(err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	config.QPS = -1
	return config
}

func realServer(t *testing.T) *rest.Config {
	t.Helper()
	return fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "real", Provider: fleet.AWS, Nodes: 1}}}).Member("real").AdminConfig()
}

// cluster is a server with clients.
type cluster struct {
	config  *rest.Config
	dynamic dynamic.Interface
	client  client.WithWatch
}

func newCluster(t *testing.T, config *rest.Config) *cluster {
	t.Helper()
	c := &cluster{config: config}
	var err error
	if c.dynamic, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if c.client, err = client.NewWithWatch(config, client.Options{}); err != nil {
		t.Fatal(err)
	}
	_, err = c.apply(t, "namespaces", object("v1", "Namespace", namespace, nil), metav1.ApplyOptions{FieldManager: "a"})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// resources returns the client of a resource of the cases: in the namespace, unless it is of the cluster.
func (c *cluster) resources(plural string) dynamic.ResourceInterface {
	groups := map[string]schema.GroupVersion{
		"deployments": {Group: "apps", Version: "v1"}, "statefulsets": {Group: "apps", Version: "v1"}, "jobs": {Group: "batch", Version: "v1"},
		"ecommerceapps": {Group: "ecommerce.io", Version: "v1"},
	}
	version := schema.GroupVersion{Version: "v1"}
	if other, ok := groups[plural]; ok {
		version = other
	}
	all := c.dynamic.Resource(version.WithResource(plural))
	if plural == "namespaces" {
		return all
	}
	return all.Namespace(namespace)
}

func (c *cluster) apply(t *testing.T, plural string, u *unstructured.Unstructured, o metav1.ApplyOptions) (*unstructured.Unstructured, error) {
	t.Helper()
	return c.resources(plural).Apply(t.Context(), u.GetName(), u, o)
}

// must fails the test for an error, and returns the object.
func must(t *testing.T) func(*unstructured.Unstructured, error) *unstructured.Unstructured {
	t.Helper()
	return func(u *unstructured.Unstructured, err error) *unstructured.Unstructured {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return u
	}
}

// object returns an object with additional fields.
func object(apiVersion, kind, name string, fields map[string]any) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	maps.Copy(u.Object, fields)
	u.SetAPIVersion(apiVersion)
	u.SetKind(kind)
	u.SetName(name)
	if kind != "Namespace" {
		u.SetNamespace(namespace)
	}
	return u
}

func configMap(name string, data map[string]any) *unstructured.Unstructured {
	return object("v1", "ConfigMap", name, map[string]any{"data": data})
}

func by(manager string) metav1.ApplyOptions { return metav1.ApplyOptions{FieldManager: manager} }

func forced(manager string) metav1.ApplyOptions {
	return metav1.ApplyOptions{FieldManager: manager, Force: true}
}

// versioned returns an intent for a version of an object.
func versioned(u *unstructured.Unstructured, uid types.UID, version string) *unstructured.Unstructured {
	u = u.DeepCopy()
	u.SetUID(uid)
	u.SetResourceVersion(version)
	return u
}

// data returns the data of a ConfigMap.
func data(t *testing.T, u *unstructured.Unstructured) map[string]string {
	t.Helper()
	found, _, err := unstructured.NestedStringMap(u.Object, "data")
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func expectConflict(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsConflict(err) {
		t.Errorf("the error is %v, want a conflict", err)
	}
}

func expectNotFound(t *testing.T, err error) {
	t.Helper()
	if !apierrors.IsNotFound(err) {
		t.Errorf("the error is %v, want not found", err)
	}
}

// await blocks until an object is as check says.
func (c *cluster) await(t *testing.T, plural, name string, check func(*unstructured.Unstructured) bool) {
	t.Helper()
	fleettest.Eventually(t, plural+" "+name, func(ctx context.Context) error {
		u, err := c.resources(plural).Get(ctx, name, metav1.GetOptions{})
		if err == nil && !check(u) {
			err = fmt.Errorf("%w: %v", errNotYet, u.Object["status"])
		}
		return err
	})
}

// awaitGone blocks until an object does not exist.
func (c *cluster) awaitGone(t *testing.T, plural, name string) {
	t.Helper()
	fleettest.Eventually(t, plural+" "+name+" to be gone", func(ctx context.Context) error {
		_, err := c.resources(plural).Get(ctx, name, metav1.GetOptions{})
		if err == nil {
			return errNotYet
		}
		return client.IgnoreNotFound(err)
	})
}

package api_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// definitions is the folder of the CustomResourceDefinitions under test.
const definitions = "../../config/crd/bases"

// server is the API server that all tests share.
type server struct {
	cluster   *fleet.Cluster
	client    dynamic.Interface
	discovery discovery.DiscoveryInterface

	// refused holds every fault that a case provoked, as field and message, by kind.
	refused map[string]map[string]bool
}

func TestAPI(t *testing.T) {
	s := start(t)
	t.Run("Samples", s.testSamples)
	t.Run("Kubectl", s.testKubectl)
	t.Run("Selectors", s.testSelectors)
	t.Run("Defaults", s.testDefaults)
	t.Run("Status", s.testStatus)
	t.Run("Scale", s.testScale)
	t.Run("Columns", s.testColumns)
	t.Run("Names", s.testNames)
	t.Run("EcommerceApp", s.testEcommerceApp)
	t.Run("Schedules", s.testSchedules)
	t.Run("Storage", s.testStorage)
	t.Run("Criteria", s.testCriteria)
	t.Run("Spread", s.testSpread)
	t.Run("MemberCluster", s.testMemberCluster)
	t.Run("CloudAccount", s.testCloudAccount)
	t.Run("Backup", s.testBackup)
	t.Run("Restore", s.testRestore)
	t.Run("Plan", s.testPlan)
	t.Run("WebApp", s.testWebApp)
	t.Run("MySQLCluster", s.testMySQLCluster)
	t.Run("Bounds", s.testBounds)
	t.Run("Updates", s.testUpdates)
	// This test is the last one because it checks the faults of the others.
	t.Run("EveryRuleRefuses", s.testEveryRuleRefuses)
}

func start(t *testing.T) *server {
	t.Helper()
	f := fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub", APIServerOnly: true}})
	s := &server{cluster: f.Hub(), refused: map[string]map[string]bool{}}
	if err := s.cluster.ApplyFolder(t.Context(), definitions); err != nil {
		t.Fatalf("the definitions are refused: %v", err)
	}
	config := s.cluster.AdminConfig()
	config.WarningHandler = rest.NoWarnings{}
	var err error
	if s.client, err = dynamic.NewForConfig(config); err != nil {
		t.Fatal(err)
	}
	if s.discovery, err = discovery.NewDiscoveryClientForConfig(config); err != nil {
		t.Fatal(err)
	}
	s.namespace(t, "production")
	return s
}

// namespace creates a namespace, so that tests that write do not affect each other.
func (s *server) namespace(t *testing.T, name string) {
	t.Helper()
	if err := s.cluster.Apply(t.Context(), []byte("{apiVersion: v1, kind: Namespace, metadata: {name: "+name+"}}")); err != nil {
		t.Fatal(err)
	}
}

// resource returns a client for the object's kind and namespace.
func (s *server) resource(k kind, namespace string) dynamic.ResourceInterface {
	if k.clusterScoped {
		return s.client.Resource(k.resource)
	}
	return s.client.Resource(k.resource).Namespace(namespace)
}

// valueAt returns the value at a dotted path, or nil.
func valueAt(t *testing.T, object *unstructured.Unstructured, path string) any {
	t.Helper()
	value, _, err := unstructured.NestedFieldNoCopy(object.Object, split(path)...)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// bareGroup is the group of a kind that is EcommerceApp in everything but that. Baselines use
	// it, so that the hub does not act on what they write.
	bareGroup = "bench.ecommerce.io"
	// bareNamespace and bareAccount are those of the baselines' ServiceAccount. It may do
	// everything, and is not exempt from API priority and fairness.
	bareNamespace = "bench"
	bareAccount   = "bare-writer"
	// nodesPerMember is enough for the pods of two bursts.
	nodesPerMember = 6
)

// fixture is a fleet with a running hub, and baselines.
type fixture struct {
	*framework.Environment
	table
	// b is the benchmark that the fixture ends with.
	b       *testing.B
	hub     *cluster
	members []*cluster
	// process is the hub that runs, binary its program. It logs into the folder logs.
	process      *process
	binary, logs string

	// steady is made by steadyShop, and crowd by burst.
	steady sync.Once
	crowd  *burst
}

// cluster is a cluster with clients of an administrator and of the baselines.
type cluster struct {
	*fleet.Cluster
	admin client.WithWatch
	bare  dynamic.Interface
	// config is that of the baselines.
	config *rest.Config
}

func newFixture(b *testing.B) *fixture {
	b.Helper()
	member := func(name string, provider fleet.Provider, region string) fleet.ClusterSpec {
		return fleet.ClusterSpec{
			Name: name, Provider: provider, Region: region, Nodes: nodesPerMember,
			NodeCPU: resource.MustParse("64"), NodeMemory: resource.MustParse("256Gi"),
		}
	}
	f := &fixture{b: b, binary: framework.Build(b, "hub"), logs: b.TempDir(), Environment: framework.New(b, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: []fleet.ClusterSpec{
			member("asia-1", fleet.Azure, "southeastasia"), member("eu-1", fleet.AWS, "eu-west-1"), member("us-1", fleet.GCP, "us-central1"),
		}},
	})}
	if folder := os.Getenv(profileVariable); folder != "" {
		f.logs = folder
	}
	f.hub = f.newCluster(b, f.Fleet.Hub())
	for _, c := range f.Fleet.Clusters()[1:] {
		f.members = append(f.members, f.newCluster(b, c))
	}
	f.startWriter(b)
	f.startHub(b)
	b.Cleanup(func() {
		f.process.stop()
		if len(f.rows) > 0 {
			_, _ = fmt.Fprintf(os.Stdout, "\n%s\n", &f.table)
		}
	})
	f.Register(b, f.names()...)
	f.AwaitMembers(b, f.names()...)
	return f
}

// newCluster prepares a cluster for the baselines.
func (f *fixture) newCluster(b *testing.B, c *fleet.Cluster) *cluster {
	b.Helper()
	crd, err := os.ReadFile(filepath.Join("../..", "config/crd/bases/ecommerce.io_ecommerceapps.yaml"))
	if err != nil {
		b.Fatal(err)
	}
	crd = bytes.ReplaceAll(crd, []byte("group: ecommerce.io"), []byte("group: "+bareGroup))
	crd = bytes.ReplaceAll(crd, []byte("name: ecommerceapps.ecommerce.io"), []byte("name: ecommerceapps."+bareGroup))
	access := fmt.Appendf(nil, `---
apiVersion: v1
kind: Namespace
metadata: {name: %[1]s}
---
apiVersion: v1
kind: ServiceAccount
metadata: {name: %[2]s, namespace: %[1]s}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRoleBinding
metadata: {name: %[2]s}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: ClusterRole, name: cluster-admin}
subjects: [{kind: ServiceAccount, namespace: %[1]s, name: %[2]s}]
`, bareNamespace, bareAccount)
	for _, documents := range [][]byte{crd, access} {
		if err := c.Apply(b.Context(), documents); err != nil {
			b.Fatal(err)
		}
	}
	kubeconfig, err := c.ServiceAccountKubeconfig(b.Context(), bareNamespace, bareAccount)
	if err != nil {
		b.Fatal(err)
	}
	bareConfig, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	bareConfig.QPS = -1
	bare, err := dynamic.NewForConfig(bareConfig)
	if err != nil {
		b.Fatal(err)
	}
	return &cluster{Cluster: c, admin: framework.Admin(b, c), bare: bare, config: bareConfig}
}

// names returns the names of the members, which are in the order of their regions too.
func (f *fixture) names() []string { return []string{"asia-1", "eu-1", "us-1"} }

func (f *fixture) regions() []string { return []string{"eu-west-1", "southeastasia", "us-central1"} }

// shop returns the sample's application with one pod for each of its components, for all members.
func (f *fixture) shop(namespace, name string) *v1.EcommerceApp {
	app := apitest.Seed()
	app.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	app.Spec.Replicas, app.Spec.Frontend.Replicas, app.Spec.Backend.Replicas = new(int32(1)), new(int32(1)), new(int32(1))
	app.Spec.Placement = v1.Placement{ClusterNames: f.names()}
	return app
}

func apps() schema.GroupVersionResource { return v1.GroupVersion.WithResource("ecommerceapps") }

func bareApps() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: bareGroup, Version: v1.GroupVersion.Version, Resource: "ecommerceapps"}
}

// hubAccount is the hub's ServiceAccount, in all clusters.
const hubAccount = config.HubServiceAccount

// side is the hub or the baselines: the kind of the applications, and the user that acts on them.
type side struct {
	apps schema.GroupVersionResource
	user string
}

func hubSide() side {
	return side{apps(), "system:serviceaccount:" + config.Namespace + ":" + hubAccount}
}

func bareSide() side {
	return side{bareApps(), "system:serviceaccount:" + bareNamespace + ":" + bareAccount}
}

// steadyNamespace has an application that runs in all members, for figures that change it.
const steadyNamespace = "steady"

// steadyShop returns that application, and creates it at the first call.
func (f *fixture) steadyShop(b *testing.B) *v1.EcommerceApp {
	b.Helper()
	app := f.shop(steadyNamespace, "shop")
	f.steady.Do(func() { f.Create(b, app.DeepCopy()) })
	f.AwaitRunning(b, app, f.regions()...)
	// The first report about the backups is a write of its own.
	framework.Pause(b, time.Second)
	return app
}

package bench_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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
	// nodesPerMember is enough for the pods of three bursts of 50 shops, or of one of 150.
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
	f := &fixture{b: b, binary: framework.Build(b, "hub"), logs: b.TempDir(), Environment: framework.New(b, framework.Options{
		Fleet: fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: memberSpecs(number(b, membersVariable, defaultMembers))},
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

// memberSpecs returns members in three regions of three providers in turn.
func memberSpecs(n int) []fleet.ClusterSpec {
	regions := []fleet.ClusterSpec{
		{Name: "asia", Provider: fleet.Azure, Region: "southeastasia"}, {Name: "eu", Provider: fleet.AWS, Region: "eu-west-1"},
		{Name: "us", Provider: fleet.GCP, Region: "us-central1"},
	}
	specs := make([]fleet.ClusterSpec, n)
	for i := range specs {
		specs[i] = regions[i%len(regions)]
		specs[i].Name += fmt.Sprintf("-%d", i/len(regions)+1)
		specs[i].Nodes, specs[i].NodeCPU, specs[i].NodeMemory = nodesPerMember, resource.MustParse("64"), resource.MustParse("256Gi")
	}
	return specs
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

// names returns the names of the members.
func (f *fixture) names() []string {
	names := make([]string, len(f.members))
	for i, m := range f.members {
		names[i] = m.Name()
	}
	return names
}

// regions returns the regions of the members, sorted.
func (f *fixture) regions() []string {
	var regions []string
	for _, m := range f.members {
		regions = append(regions, m.Spec().Region)
	}
	slices.Sort(regions)
	return slices.Compact(regions)
}

// shop returns the sample's application with one pod for each of its components, for all members.
func (f *fixture) shop(namespace, name string) *v1.EcommerceApp {
	app := apitest.Seed()
	app.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	app.Spec.Replicas, app.Spec.Frontend.Replicas, app.Spec.Backend.Replicas = new(int32(1)), new(int32(1)), new(int32(1))
	app.Spec.Placement = v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: f.names()}}
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

// steadyNamespace contains an application that runs in all members, for figures that change it.
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

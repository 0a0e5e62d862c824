package cloud_test

import (
	"context"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	awsobjects "github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/azure"
	azureobjects "github.com/shopfleet/shopfleet/cloud/azure/objectstore"
	"github.com/shopfleet/shopfleet/cloud/gcp"
	gcpobjects "github.com/shopfleet/shopfleet/cloud/gcp/objectstore"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	shared "github.com/shopfleet/shopfleet/spoke/operator"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(logr.Discard())
	klog.SetLogger(logr.Discard())
	// Clouds are waited for, and not computed with: all at the same time.
	flag.Parse()
	if err := flag.Set("test.parallel", strconv.Itoa(clouds)); err != nil {
		panic(err)
	}
	os.Exit(m.Run())
}

// stage is a fleet in front of clouds, with a hub that can be started and stopped.
type stage struct {
	fleet *fleet.Fleet
	// hub and members are clients of administrators.
	hub     client.Client
	members map[string]client.Client
	// kubeconfig is the hub's own, with the permissions that are shipped.
	kubeconfig string
	providers  []*provider
	// kubelets end the pods of Jobs, by member.
	kubelets map[string]*kubelet

	stop func()
}

// drivers are the clouds of the members, by name.
func (s *stage) drivers() map[string]csi.Driver {
	out := map[string]csi.Driver{}
	for _, p := range s.providers {
		out[p.member] = p.driver
		if p.name == v1.ProviderAWS {
			out[second] = p.driver
		}
	}
	return out
}

// clouds is how many there are.
const clouds = 3

// second is the member in the region that copies of aws go to.
const second = "aws-us"

func members() []fleet.ClusterSpec {
	return []fleet.ClusterSpec{
		{Name: "aws-eu", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: second, Provider: fleet.AWS, Region: "us-east-1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "az-eu", Provider: fleet.Azure, Region: "westeurope", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "gcp-eu", Provider: fleet.GCP, Region: "europe-west1", Nodes: 2, Driverless: true, JobsByHand: true},
		{Name: "local-1", Provider: fleet.Local, Nodes: 1, JobsByHand: true},
	}
}

func newStage(t *testing.T) *stage {
	t.Helper()
	s := &stage{
		members: map[string]client.Client{}, kubelets: map[string]*kubelet{}, stop: func() {},
		providers: []*provider{newAWS(t), newGCP(t), newAzure(t)},
	}
	s.fleet = fleettest.Start(t, fleet.Options{Hub: fleet.ClusterSpec{Name: "hub"}, Members: members()})
	var group sync.WaitGroup
	for _, c := range s.fleet.Clusters() {
		folders := []string{"../../config/rbac/member"}
		switch c.Name() {
		case "hub":
			folders = []string{"../../config/crd/bases", "../../config/rbac/hub"}
		case "aws-eu", "az-eu":
			folders = append(folders, "testdata")
		}
		group.Go(func() {
			for _, folder := range folders {
				if err := c.ApplyFolder(t.Context(), folder); err != nil {
					t.Errorf("preparing %s: %v", c.Name(), err)
				}
			}
		})
	}
	group.Wait()
	s.hub = framework.Admin(t, s.fleet.Hub())
	s.kubeconfig = filepath.Join(t.TempDir(), "hub.kubeconfig")
	if err := os.WriteFile(s.kubeconfig, serviceAccount(t, s.fleet.Hub()), 0o600); err != nil {
		t.Fatal(err)
	}
	drivers := s.drivers()
	for _, m := range members() {
		s.members[m.Name] = framework.Admin(t, s.fleet.Member(m.Name))
		s.kubelets[m.Name] = playJobs(t, s.fleet.Member(m.Name))
		if driver, has := drivers[m.Name]; has {
			play(t, s.fleet.Member(m.Name), driver)
		}
	}
	t.Cleanup(func() { s.stop() })
	return s
}

// play lets a driver work in a cluster until the test ends.
func play(t *testing.T, c *fleet.Cluster, driver csi.Driver) {
	t.Helper()
	standIn, err := csi.New(t.Context(), c.AdminConfig(), driver)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	go func() { done <- standIn.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the driver in %s: %v", c.Name(), err)
		}
	})
}

// serviceAccount returns a kubeconfig with the hub's permissions in a cluster.
func serviceAccount(t *testing.T, c *fleet.Cluster) []byte {
	t.Helper()
	kubeconfig, err := c.ServiceAccountKubeconfig(t.Context(), config.Namespace, config.HubServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	return kubeconfig
}

// start runs a hub until stop, as a process would.
func (s *stage) start(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	done := make(chan error, 1)
	options := setup.Options{
		Kubeconfig: s.kubeconfig, Namespace: config.Namespace, Version: "test",
		Options: shared.Options{MetricsBindAddress: "0", HealthProbeBindAddress: "0", Logger: framework.Log(t)},
		Clouds: cloud.Registry{
			v1.ProviderAWS: aws.Connect, v1.ProviderGCP: gcp.Connect, v1.ProviderAzure: azure.Connect,
		},
		Buckets: cloud.Buckets{
			v1.ProviderAWS: awsobjects.Open, v1.ProviderGCP: gcpobjects.Open, v1.ProviderAzure: azureobjects.Open,
		},
		SpokeImage: "shopfleet-spoke:test",
	}
	go func() { done <- setup.Run(ctx, options) }()
	var once sync.Once
	s.stop = func() {
		once.Do(func() {
			cancel()
			if err := <-done; err != nil {
				t.Errorf("the hub ended with an error: %v", err)
			}
		})
	}
}

// register makes the registration Secrets of all members.
func (s *stage) register(t *testing.T) {
	t.Helper()
	for _, m := range members() {
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: config.Namespace, Name: m.Name, Labels: map[string]string{v1.MemberClusterLabel: "true"},
			},
			Data: map[string][]byte{v1.KubeconfigKey: serviceAccount(t, s.fleet.Member(m.Name))},
		}
		s.create(t, secret)
	}
	for _, m := range members() {
		s.awaitCondition(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: m.Name}}, v1.ConditionReady, metav1.ConditionTrue, v1.ReasonConnected)
	}
}

// aws is the cloud with two members.
func (s *stage) aws() *provider { return s.providers[0] }

// create makes an object on the hub, and its namespace if that is missing.
func (s *stage) create(t *testing.T, o client.Object) {
	t.Helper()
	if o.GetNamespace() != "" {
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: o.GetNamespace()}}
		if err := s.hub.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
			t.Fatal(err)
		}
	}
	if err := s.hub.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// edit changes an object, as a person would.
func edit[T client.Object](t *testing.T, c client.Client, o T, change func(T)) {
	t.Helper()
	if err := c.Get(t.Context(), client.ObjectKeyFromObject(o), o); err != nil {
		t.Fatal(err)
	}
	before, ok := o.DeepCopyObject().(client.Object)
	if !ok {
		t.Fatalf("%T is no object", o)
	}
	change(o)
	if err := c.Patch(t.Context(), o, client.MergeFrom(before)); err != nil {
		t.Fatal(err)
	}
}

// remove deletes an object of the hub and waits until it is gone.
func (s *stage) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := s.hub.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	eventually(t, o.GetName()+" to be gone", func(ctx context.Context) error { return gone(ctx, s.hub, o) })
}

// discard deletes a Backup together with its data.
func (s *stage) discard(t *testing.T, b *v1.Backup) {
	t.Helper()
	edit(t, s.hub, b, func(b *v1.Backup) { b.Spec.Deletion = v1.DeletionDelete })
	s.remove(t, b)
}

// gone checks that an object does not exist.
func gone(ctx context.Context, c client.Client, o client.Object) error {
	err := c.Get(ctx, client.ObjectKeyFromObject(o), o)
	if err == nil {
		return fmt.Errorf("%T %s exists", o, o.GetName())
	}
	return client.IgnoreNotFound(err)
}

// conditionsOf returns the conditions of an object of ours.
func conditionsOf(o client.Object) []metav1.Condition {
	switch o := o.(type) {
	case *v1.CloudAccount:
		return o.Status.Conditions
	case *v1.MemberCluster:
		return o.Status.Conditions
	case *v1.EcommerceApp:
		return o.Status.Conditions
	case *v1.Backup:
		return o.Status.Conditions
	case *v1.Restore:
		return o.Status.Conditions
	default:
		return nil
	}
}

// awaitCondition waits until a condition of an object of the hub is as it should be, and
// leaves the object in o.
func (s *stage) awaitCondition(t *testing.T, o client.Object, kind string, status metav1.ConditionStatus, reason string) metav1.Condition {
	t.Helper()
	var found metav1.Condition
	eventually(t, fmt.Sprintf("%T %s to be %s=%s because of %s", o, o.GetName(), kind, status, reason), func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		found = framework.Condition(conditionsOf(o), kind)
		if found.Status != status || found.Reason != reason {
			return fmt.Errorf("it is %s=%s because of %s: %s", kind, found.Status, found.Reason, found.Message)
		}
		return nil
	})
	return found
}

// eventually waits for a check.
func eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Within(t, 2*time.Minute, what, check)
}

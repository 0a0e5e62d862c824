package backupenv

import (
	"context"
	"errors"
	"testing"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// The names of what every environment has.
const (
	Namespace  = "production"
	Member     = "eu-1"
	Other      = "us-1"
	Account    = "prod"
	Region     = "eu-west-1"
	CopyRegion = "us-east-1"
	HubUID     = "hub-1"
	Shop       = "shop"
	Volume     = "vol-0123456789abcdef0"
)

// driver is the CSI driver of the members.
const driver = "ebs.csi.aws.com"

// Env is a real API server that is both the hub and its member, and a cloud in memory.
// The embedded client has all permissions.
type Env struct {
	client.WithWatch

	Config *rest.Config
	// Other is a member in CopyRegion without a shop, nil but for the test of StartOther.
	Other       client.WithWatch
	otherConfig *rest.Config
	Clock       *testclock.FakeClock
	Cloud       *fake.Cloud
	Buckets     *bucket.Store
	// SafeMode starts the next process in safe mode.
	SafeMode bool
	// JobExit returns how a Job ends that RunMember runs; without it, Jobs do not run.
	JobExit func(t *testing.T, job *batchv1.Job) Exit
}

// Start starts an environment with the CRDs installed, no shop, and nothing that acts on
// objects but RunMember.
func Start(t *testing.T) *Env {
	t.Helper()
	return newEnv(t, fleet.ClusterSpec{Name: Member, APIServerOnly: true, NoWatchCache: true})
}

// StartWithControllers does what Start does, with kube-controller-manager, which empties namespaces.
func StartWithControllers(t *testing.T) *Env {
	t.Helper()
	return newEnv(t, fleet.ClusterSpec{Name: Member})
}

func newEnv(t *testing.T, spec fleet.ClusterSpec) *Env {
	t.Helper()
	access, admin := start(t, spec)
	clock := testclock.NewFakeClock(time.Now())
	e := &Env{WithWatch: admin, Config: access, Clock: clock, Cloud: fake.NewCloud(clock), Buckets: bucket.NewStore(clock)}
	e.Cloud.SetPace(fake.Pace{})
	e.Cloud.AddVolume(fake.Volume{Account: Account, Region: Region, Zone: Region + "a", ID: Volume, SizeBytes: 1 << 30})
	return e
}

// StartOther starts the other member.
func (e *Env) StartOther(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { e.Other = nil })
	e.otherConfig, e.Other = start(t, fleet.ClusterSpec{Name: Other, APIServerOnly: true, NoWatchCache: true})
	e.createMember(t, Other, CopyRegion)
}

// start starts a cluster with the CRDs installed.
func start(t *testing.T, spec fleet.ClusterSpec) (*rest.Config, client.WithWatch) {
	t.Helper()
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{spec}})
	scheme := runtime.NewScheme()
	if err := errors.Join(
		installCRDs(t.Context(), f.Member(spec.Name)), clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme),
	); err != nil {
		t.Fatal(err)
	}
	access := f.Member(spec.Name).AdminConfig()
	admin, err := client.NewWithWatch(access, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	createClass(t, admin)
	return access, admin
}

func installCRDs(ctx context.Context, c *fleet.Cluster) error {
	for _, plural := range []string{"backups", "cloudaccounts", "ecommerceapps", "memberclusters", "restores"} {
		crd, err := config.Definition(v1.GroupVersion.Group, plural)
		if err != nil {
			return err
		}
		document, err := crd.MarshalJSON()
		if err != nil {
			return err
		}
		if err := c.Apply(ctx, document); err != nil {
			return err
		}
	}
	definitions, err := binaries.SnapshotDefinitions(ctx)
	if err != nil {
		return err
	}
	return c.Apply(ctx, definitions)
}

// createMember creates the MemberCluster of a member that is connected.
func (e *Env) createMember(t *testing.T, name, region string) {
	t.Helper()
	m := apitest.MemberCluster(name).With(func(m *v1.MemberCluster) {
		m.Spec.CloudAccountRef = &v1.ObjectReference{Name: Account}
	}).Obj()
	e.MustCreate(t, m)
	m.Status.Provider, m.Status.Region, m.Status.Zones = v1.ProviderAWS, region, []string{region + "a"}
	m.Status.Capabilities = []string{csi.CapabilityDriver + driver, csi.CapabilitySnapshots}
	if err := e.Status().Update(t.Context(), m); err != nil {
		t.Fatal(err)
	}
}

// Accounts returns the accounts of a hub, whose requests to the cloud fail by a script;
// nil is none.
func (e *Env) Accounts(script *faults.Script) *accounts.Accounts {
	all := accounts.New(accounts.Options{
		Clock: e.Clock, SafeMode: e.SafeMode,
		Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
			return fake.Connect(e.Cloud, script, fake.Options{Account: Account, Region: c.Region}), nil
		}},
		Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) {
			return bucket.Connect(e.Buckets, bucket.Options{URL: "https://bucket.example.com"}), nil
		}},
	})
	all.Set(Account, AccountSpec(), nil)
	return all
}

// AccountSpec returns the spec of the CloudAccount.
func AccountSpec() v1.CloudAccountSpec {
	return v1.CloudAccountSpec{
		Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: "123456789012"}, Regions: []string{Region, CopyRegion},
		Credentials:   v1.CloudCredentials{Type: v1.CredentialsAmbient},
		ObjectStorage: &v1.ObjectStorage{Bucket: "dumps", Region: Region},
	}
}

// CreateShop creates the account, the member, and a shop that is placed there, whose
// database has a volume in the cloud.
func (e *Env) CreateShop(t *testing.T, changes ...func(*v1.EcommerceApp)) {
	t.Helper()
	builder := apitest.App(Shop).Namespace(Namespace).Database(v1.EnginePostgreSQL, "15.4", "1Gi")
	for _, change := range changes {
		builder = builder.With(change)
	}
	app := builder.Obj()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: Namespace, Name: render.DatabaseClaims(Shop)[0]},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: Shop, StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	e.MustCreate(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: Namespace}})
	if err := createServiceAccount(t.Context(), e, Namespace); err != nil {
		t.Fatal(err)
	}
	e.MustCreate(t, &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: Account}, Spec: AccountSpec()})
	e.createMember(t, Member, Region)
	for _, o := range []client.Object{CSIVolume(Shop, Volume), claim, app} {
		e.MustCreate(t, o)
	}
	app.Status.Clusters = []v1.ClusterStatus{{Name: Member}}
	if err := e.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

// CSIVolume returns a PersistentVolume of 1 GiB that outlives its claim.
func CSIVolume(name, handle string) *corev1.PersistentVolume {
	return &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: corev1.PersistentVolumeSpec{
		AccessModes:                   []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Capacity:                      corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")},
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: driver, VolumeHandle: handle},
		},
	}}
}

// MustCreate creates an object.
func (e *Env) MustCreate(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// Change reads an object of the namespace, changes it, and updates it and its status.
func Change[T any, P interface {
	*T
	client.Object
}](t *testing.T, e *Env, name string, change func(P)) {
	t.Helper()
	o := P(new(T))
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: name}, o); err != nil {
		t.Fatal(err)
	}
	change(o)
	changed := o.DeepCopyObject().(client.Object) // The answer has the old status.
	if err := e.Update(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	changed.SetResourceVersion(o.GetResourceVersion())
	e.mustUpdateStatus(t, changed)
}

// Exists reads an object of the namespace, and reports whether there is one.
func (e *Env) Exists(t *testing.T, name string, into client.Object) bool {
	t.Helper()
	err := e.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: name}, into)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// DeleteAll deletes all objects of some kinds in the namespace at once.
func (e *Env) DeleteAll(t *testing.T, kinds ...client.Object) {
	t.Helper()
	for _, kind := range kinds {
		err := e.DeleteAllOf(t.Context(), kind, client.InNamespace(Namespace),
			client.GracePeriodSeconds(0), client.PropagationPolicy(metav1.DeletePropagationBackground))
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Backup reads a Backup.
func (e *Env) Backup(t *testing.T, name string) *v1.Backup {
	t.Helper()
	b := &v1.Backup{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: Namespace, Name: name}, b); err != nil {
		t.Fatal(err)
	}
	return b
}

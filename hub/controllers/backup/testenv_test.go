package backup_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/hub/accounts"
	"github.com/shopfleet/shopfleet/hub/controllers/backup"
	"github.com/shopfleet/shopfleet/hub/controllers/backup/rediscover"
	"github.com/shopfleet/shopfleet/hub/controllers/backup/scheduler"
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
	"github.com/shopfleet/shopfleet/spoke/render"
)

const (
	namespace, member, account = "production", "eu-1", "prod"
	region, copies             = "eu-west-1", "us-east-1"
	hubUID                     = "hub-1"
	volume                     = "vol-0123456789abcdef0"
)

// testenv is a real API server that is both the hub and its member, with the controllers of
// backups in front of a cloud in memory.
type testenv struct {
	client.Client
	clock    *testclock.FakeClock
	world    *fake.Cloud
	store    *bucket.Store
	accounts *accounts.Accounts
	// away makes the member unreachable, and brokenDeletes is how many deletions of Backups fail.
	away          atomic.Bool
	brokenDeletes atomic.Int32
	// skew is how far the provider's clock is ahead of the hub's.
	skew atomic.Int64
}

func newTestenv(t *testing.T) *testenv {
	t.Helper()
	f := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: member}}})
	if err := f.Member(member).ApplyFolder(t.Context(), "../../../config/crd/bases"); err != nil {
		t.Fatal(err)
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), v1.AddToScheme(scheme)); err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(f.Member(member).AdminConfig(), client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	clock := testclock.NewFakeClock(time.Now())
	e := &testenv{Client: admin, clock: clock, world: fake.NewCloud(clock), store: bucket.NewStore(clock)}
	e.world.SetPace(fake.Pace{})
	e.world.AddVolume(fake.Volume{Account: account, Region: region, Zone: region + "a", ID: volume, SizeBytes: 1 << 30})
	e.accounts = accounts.New(accounts.Options{
		Clock: clock,
		Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
			return fake.Connect(e.world, nil, fake.Options{Account: account, Region: c.Region}), nil
		}},
		Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.Objects, error) {
			return bucket.Connect(e.store, bucket.Options{}), nil
		}},
	})
	e.connect()
	mgr, err := ctrl.NewManager(f.Member(member).AdminConfig(), ctrl.Options{
		Scheme: scheme, Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, NewClient: e.newClient,
	})
	if err != nil {
		t.Fatal(err)
	}
	e.run(t, mgr)
	return e
}

// run starts the controllers of backups, until the test ends.
func (e *testenv) run(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	metrics, err := scheduler.NewMetrics(prometheus.NewRegistry(), e.clock)
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(1000)
	err = errors.Join(
		scheduler.Setup(ctx, mgr, scheduler.Options{
			Recorder: recorder, Metrics: metrics, Clock: e.clock,
			Skew: func(string) (time.Duration, bool) { return time.Duration(e.skew.Load()), true },
		}),
		backup.Setup(mgr, backup.Options{
			HubUID: hubUID, Accounts: e.accounts, Recorder: recorder, Clock: e.clock,
			Member: func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
				if e.away.Load() {
					return nil, multicluster.ErrClusterNotFound
				}
				return mgr, nil
			},
		}),
		rediscover.Setup(mgr, rediscover.Options{HubUID: hubUID, Accounts: e.accounts, Recorder: recorder, Clock: e.clock}),
	)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	go func() { done <- mgr.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("the manager ended with an error: %v", err)
		}
	})
}

// newClient returns a client whose deletions of Backups fail while they are to.
func (e *testenv) newClient(config *rest.Config, options client.Options) (client.Client, error) {
	direct, err := client.NewWithWatch(config, options)
	if err != nil {
		return nil, err
	}
	return interceptor.NewClient(direct, interceptor.Funcs{
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if _, is := o.(*v1.Backup); is && e.brokenDeletes.Add(-1) >= 0 {
				return apierrors.NewInternalError(errors.New("the connection was lost"))
			}
			return c.Delete(ctx, o, opts...)
		},
	}), nil
}

// accountSpec is what the hub has been told of the cloud.
func accountSpec() v1.CloudAccountSpec {
	return v1.CloudAccountSpec{
		Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: "123456789012"}, Regions: []string{region, copies},
		Credentials:   v1.CloudCredentials{Type: v1.CredentialsAmbient},
		ObjectStorage: &v1.ObjectStorage{Bucket: "dumps", Region: region},
	}
}

func (e *testenv) connect() { e.accounts.Set(account, accountSpec(), nil) }

// createShop creates a shop in the member, with a volume in the cloud, that keeps one
// backup and those of a day.
func (e *testenv) createShop(t *testing.T) {
	t.Helper()
	halfAYearOff := fmt.Sprintf("0 2 1 %d *", (int(e.clock.Now().Month())+5)%12+1)
	app := apitest.App("shop").Namespace(namespace).Database(v1.EnginePostgreSQL, "15.4", "1Gi").Backup(halfAYearOff).
		With(func(a *v1.EcommerceApp) {
			a.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))}
		}).Obj()
	target := apitest.MemberCluster(member).With(func(m *v1.MemberCluster) {
		m.Spec.CloudAccountRef = &v1.ObjectReference{Name: account}
	}).Obj()
	claim := &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: render.DatabaseClaims("shop")[0]},
		Spec: corev1.PersistentVolumeClaimSpec{
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: "shop", StorageClassName: new(""),
			Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
	pv := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "shop"}, Spec: corev1.PersistentVolumeSpec{
		AccessModes: claim.Spec.AccessModes, Capacity: claim.Spec.Resources.Requests,
		PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimRetain,
		PersistentVolumeSource: corev1.PersistentVolumeSource{
			CSI: &corev1.CSIPersistentVolumeSource{Driver: "ebs.csi.aws.com", VolumeHandle: volume},
		},
	}}
	e.create(t, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}})
	e.create(t, &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: account}, Spec: accountSpec()})
	for _, o := range []client.Object{pv, claim, target, app} {
		e.create(t, o)
	}
	target.Status.Provider, target.Status.Region = v1.ProviderAWS, region
	app.Status.Clusters = []v1.ClusterStatus{{Name: member}}
	for _, o := range []client.Object{target, app} {
		if err := e.Status().Update(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	}
}

// backUp has a backup made, with a copy.
func (e *testenv) backUp(t *testing.T, name string) {
	t.Helper()
	e.create(t, apitest.Backup(name).Namespace(namespace).With(func(b *v1.Backup) { b.Spec.CopyToRegions = []string{copies} }).Obj())
	e.eventually(t, name+" to be complete", func(context.Context) error {
		if b := e.get(t, name); b.Status.Phase != v1.BackupCompleted {
			return fmt.Errorf("it is %s: %s", b.Status.Phase, b.Status.Message)
		}
		return nil
	})
}

// storeDump stores a dump in the bucket.
func (e *testenv) storeDump(t *testing.T, name string) {
	t.Helper()
	at := metav1.NewTime(e.clock.Now().UTC().Truncate(time.Second))
	b := apitest.Backup(name).Namespace(namespace).UID("b-1").With(func(b *v1.Backup) {
		b.Spec.Method = v1.BackupDump
		b.Status = v1.BackupStatus{
			AppUID: "app-1", Provider: v1.ProviderAWS, Region: region, Engine: v1.EnginePostgreSQL, Version: "15.4", SnapshotTime: &at,
			Dump: &v1.DumpFile{Claim: "shop-database-backup", Job: "j", File: "backup-20260301T020000Z.dump", Bytes: 3, SHA256: strings.Repeat("a", 64)},
		}
	}).Obj()
	prefix := logicalbackup.Prefix(cloud.Owner{Hub: hubUID, App: b.Status.AppUID}, b)
	b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: prefix}
	e.store.Put(logicalbackup.PartKey(prefix, 0), []byte("abc"))
	if sealed, err := logicalbackup.Seal(t.Context(), bucket.Connect(e.store, bucket.Options{}), hubUID, b); err != nil || !sealed {
		t.Fatalf("sealed %t: %v", sealed, err)
	}
}

// rediscover has the hub look through the account.
func (e *testenv) rediscover(t *testing.T, at string) {
	t.Helper()
	a := &v1.CloudAccount{}
	key := client.ObjectKey{Name: account}
	if err := e.Get(t.Context(), key, a); err != nil {
		t.Fatal(err)
	}
	metav1.SetMetaDataAnnotation(&a.ObjectMeta, v1.RediscoverAtAnnotation, at)
	if err := e.Update(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	e.eventually(t, "rediscovery", func(ctx context.Context) error {
		if err := e.Get(ctx, key, a); err != nil {
			return err
		}
		if a.Status.LastHandledRediscoverAt != at {
			return fmt.Errorf("not handled: %s", a.Status.Rediscovered)
		}
		return nil
	})
	t.Log(a.Status.Rediscovered)
}

// stored checks of which Backups there is data in the cloud: a snapshot and its copy, or
// a dump with its manifest.
func (e *testenv) stored(t *testing.T, want ...string) {
	t.Helper()
	count := map[string]int{}
	for _, s := range e.world.Snapshots() {
		count[s.Tags[cloud.TagBackup]]++
	}
	for _, key := range e.store.Keys() {
		name, _, _ := strings.Cut(strings.TrimPrefix(key, logicalbackup.Root(cloud.Owner{Hub: hubUID, App: "app-1"})), "/")
		count[name[:strings.LastIndex(name, "-")]]++
	}
	var got []string
	for name, n := range count {
		if n != 2 {
			t.Errorf("there are %d of 2 objects of %s in the cloud", n, name)
		}
		got = append(got, name)
	}
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("in the cloud (-want +got):\n%s", diff)
	}
}

func (e *testenv) create(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

func (e *testenv) get(t *testing.T, name string) *v1.Backup {
	t.Helper()
	b := &v1.Backup{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: namespace, Name: name}, b); err != nil {
		t.Fatal(err)
	}
	return b
}

// remove deletes an object and waits until it is gone.
func (e *testenv) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	e.gone(t, o)
}

func (e *testenv) gone(t *testing.T, o client.Object) {
	t.Helper()
	e.eventually(t, o.GetName()+" to be gone", func(ctx context.Context) error {
		err := e.Get(ctx, client.ObjectKeyFromObject(o), o)
		if err == nil {
			return errors.New("it exists")
		}
		return client.IgnoreNotFound(err)
	})
}

// eventually waits for a check, while the clock goes on.
func (e *testenv) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Eventually(t, what, func(ctx context.Context) error {
		e.clock.Step(25 * time.Millisecond)
		return check(ctx)
	})
}

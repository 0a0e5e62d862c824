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
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/events"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/backup"
	"github.com/shopfleet/shopfleet/hub/data/backup/scheduler"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/rediscover"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// testEnv is an environment with the controllers of backups in a manager.
type testEnv struct {
	*backupenv.Env
	accounts *accounts.Accounts
	// away makes the member unreachable, changes reports changes of that, and brokenDeletes
	// is how many deletions of Backups fail.
	away          atomic.Bool
	changes       backupenv.Changes
	brokenDeletes atomic.Int32
	// skew is how far the provider's clock is ahead of the hub's.
	skew atomic.Int64
	// summary is the last one of the scheduler.
	summary atomic.Pointer[aggregate.BackupSummary]
}

func newTestenv(t *testing.T) *testEnv {
	t.Helper()
	e := &testEnv{Env: backupenv.StartWithControllers(t)}
	e.accounts = e.Accounts(nil)
	mgr, err := ctrl.NewManager(e.Config, ctrl.Options{
		Scheme: e.Scheme(), Logger: logr.Discard(), Metrics: server.Options{BindAddress: "0"}, NewClient: e.newClient,
		Controller: ctrlconfig.Controller{SkipNameValidation: new(true)}, // Each test has a manager.
	})
	if err != nil {
		t.Fatal(err)
	}
	e.run(t, mgr)
	return e
}

// run starts the controllers of backups, until the test ends.
func (e *testEnv) run(t *testing.T, mgr ctrl.Manager) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	metrics, err := scheduler.NewMetrics(prometheus.NewRegistry(), e.Clock)
	if err != nil {
		t.Fatal(err)
	}
	recorder := events.NewFakeRecorder(1000)
	err = errors.Join(
		scheduler.Setup(ctx, mgr, scheduler.Options{
			HubUID: backupenv.HubUID, Recorder: recorder, Metrics: metrics, Clock: e.Clock,
			Skew: func(string) (time.Duration, bool) { return time.Duration(e.skew.Load()), true },
			Compared: func(context.Context, *v1.EcommerceApp, string) (bool, v1.CopiedServer, error) {
				return true, v1.CopiedServer{}, nil
			},
			SetBackups: func(_ client.ObjectKey, next aggregate.BackupSummary) (aggregate.BackupSummary, bool) {
				if last := e.summary.Swap(&next); last != nil {
					return *last, true
				}
				return aggregate.BackupSummary{}, false
			},
		}),
		backup.Setup(ctx, mgr, backup.Options{
			HubUID: backupenv.HubUID, Accounts: e.accounts, Recorder: recorder, Clock: e.Clock, Members: &e.changes,
			Member: func(context.Context, multicluster.ClusterName) (cluster.Cluster, error) {
				if e.away.Load() {
					return nil, apierror.ErrNotConnected
				}
				return mgr, nil
			},
		}),
		rediscover.Setup(mgr, rediscover.Options{HubUID: backupenv.HubUID, Accounts: e.accounts, Recorder: recorder, Clock: e.Clock}),
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
func (e *testEnv) newClient(config *rest.Config, options client.Options) (client.Client, error) {
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

func (e *testEnv) connect() { e.accounts.Set(backupenv.Account, backupenv.AccountSpec(), nil) }

// createShop creates a shop that keeps one backup and those of a day.
func (e *testEnv) createShop(t *testing.T) {
	t.Helper()
	e.CreateShop(t, func(a *v1.EcommerceApp) {
		a.Spec.Database.Backup = v1.BackupPolicy{
			Enabled: true, Schedule: v1.CronSchedule(fmt.Sprintf("0 2 1 %d *", (int(e.Clock.Now().Month())+5)%12+1)), // Half a year off.
			Retention: v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))},
		}
	})
}

// backUp makes a backup, with a copy.
func (e *testEnv) backUp(t *testing.T, name string) {
	t.Helper()
	b := apitest.Backup(name).Namespace(backupenv.Namespace).With(func(b *v1.Backup) { b.Spec.CopyToRegions = []string{backupenv.CopyRegion} }).Obj()
	e.MustCreate(t, b)
	e.eventually(t, name+" to be complete", func(ctx context.Context) error {
		if err := e.Get(ctx, client.ObjectKeyFromObject(b), b); err != nil {
			return err
		}
		if b.Status.Phase != v1.BackupCompleted {
			return fmt.Errorf("it is %s: %s", b.Status.Phase, b.Status.Message)
		}
		return nil
	})
}

// storeDump stores a dump in the bucket.
func (e *testEnv) storeDump(t *testing.T, name string) {
	t.Helper()
	at := metav1.NewTime(e.Clock.Now().UTC().Truncate(time.Second))
	b := apitest.Backup(name).Namespace(backupenv.Namespace).UID("b-1").With(func(b *v1.Backup) {
		b.Spec.Method = v1.BackupDump
		b.Status = v1.BackupStatus{
			AppUID: "app-1", Provider: v1.ProviderAWS, Region: backupenv.Region, Engine: v1.EnginePostgreSQL, Version: "15.4", SnapshotTime: &at,
			Dump: &v1.DumpFile{Claim: "shop-database-backup", Job: "j", File: "backup-20260301T020000Z.dump", Bytes: 3, SHA256: strings.Repeat("a", 64)},
		}
	}).Obj()
	prefix := dumps.Prefix(cloud.Owner{Hub: backupenv.HubUID, App: b.Status.AppUID}, b)
	b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Prefix: prefix}
	e.Buckets.Put(dumps.PartKey(prefix, 0), []byte("abc"))
	if sealed, err := dumps.Seal(t.Context(), bucket.Connect(e.Buckets, bucket.Options{}), backupenv.HubUID, b); err != nil || !sealed {
		t.Fatalf("sealed %t: %v", sealed, err)
	}
}

// rediscover makes the hub search the account.
func (e *testEnv) rediscover(t *testing.T, at string) {
	t.Helper()
	a := &v1.CloudAccount{}
	key := client.ObjectKey{Name: backupenv.Account}
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
func (e *testEnv) stored(t *testing.T, want ...string) {
	t.Helper()
	count := map[string]int{}
	for _, s := range e.Cloud.Snapshots() {
		count[s.Tags[cloud.TagBackup]]++
	}
	for _, key := range e.Buckets.Keys() {
		name, _, _ := strings.Cut(strings.TrimPrefix(key, dumps.Root(cloud.Owner{Hub: backupenv.HubUID, App: "app-1"})), "/")
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

// remove deletes an object and waits until it is gone.
func (e *testEnv) remove(t *testing.T, o client.Object) {
	t.Helper()
	if err := e.Delete(t.Context(), o); err != nil {
		t.Fatal(err)
	}
	e.gone(t, o)
}

func (e *testEnv) gone(t *testing.T, o client.Object) {
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
func (e *testEnv) eventually(t *testing.T, what string, check func(context.Context) error) {
	t.Helper()
	fleettest.Eventually(t, what, func(ctx context.Context) error {
		e.Clock.Step(25 * time.Millisecond)
		return check(ctx)
	})
}

package rediscover

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
)

// hub holds the Backups that it knows.
type hub struct {
	client.Client
	backups []v1.Backup
}

func (h hub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	backups, is := list.(*v1.BackupList)
	if !is {
		return fmt.Errorf("listing %T", list)
	}
	backups.Items = h.backups
	return nil
}

// stored puts a dump of a hub into a bucket, as a change makes it, and returns its prefix.
func stored(t *testing.T, store *bucket.Store, change func(*v1.Backup)) string {
	t.Helper()
	scheduledTime := metav1.NewTime(noon().Add(-10 * time.Hour))
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-1", UID: "b-1"},
		Spec:       v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump, ScheduledTime: &scheduledTime},
		Status: v1.BackupStatus{
			HubUID: "hub", AppUID: "uid", Provider: v1.ProviderOther, Region: "berlin", Engine: v1.EngineMySQL, Version: "8.0.36", SnapshotTime: &scheduledTime, DeleteLockDays: 7,
			Dump: &v1.DumpFile{Claim: "shop-database-backup", Job: "j", File: "backup-20260301T020000Z.sql.gz", Bytes: 3, SHA256: strings.Repeat("a", 64)},
		},
	}
	if change != nil {
		change(b)
	}
	owner := cloud.Owner{Hub: b.Status.HubUID, App: b.Status.AppUID}
	b.Status.Dump.Object = &v1.DumpObject{Bucket: "dumps", Location: "/dumps at aws:", Prefix: dumps.Prefix(owner, b)}
	prefix := b.Status.Dump.Object.Prefix
	store.Put(dumps.PartKey(prefix, 0), []byte("abc"))
	if done, err := dumps.Seal(t.Context(), bucket.Connect(store, bucket.Options{}), owner.Hub, b); err != nil || !done {
		t.Fatalf("sealed %t, %v", done, err)
	}
	return prefix
}

// look lists the dumps in a bucket, as a hub in safe mode, which may read.
func look(t *testing.T, store *bucket.Store, owner string, known ...v1.Backup) found {
	t.Helper()
	all := accounts.New(accounts.Options{Buckets: cloud.Buckets{v1.ProviderAWS: func(context.Context, cloud.Config) (cloud.ObjectStore, error) {
		return bucket.Connect(store, bucket.Options{}), nil
	}}, SafeMode: true})
	spec := v1.CloudAccountSpec{Provider: v1.ProviderAWS, ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"}}
	all.Set("prod", spec, nil)
	r := &Reconciler{client: hub{backups: known}, options: Options{HubUID: "hub", Accounts: all, Clock: clock.RealClock{}}}
	f := found{account: account(), now: noon()}
	if result, err := r.listDumps(t.Context(), &f, cloud.Owner{Hub: owner}); err != nil || result.Stops() {
		t.Fatalf("%+v, %v", result, err)
	}
	return f
}

func newStore() *bucket.Store { return bucket.NewStore(testclock.NewFakeClock(noon())) }

// TestADumpOfAnUnknownProviderIsFound checks that a dump with an unknown provider is found: another build may have
// other providers.
func TestADumpOfAnUnknownProviderIsFound(t *testing.T) {
	t.Parallel()
	for provider, want := range map[v1.Provider]v1.Provider{"": "", v1.ProviderAWS: v1.ProviderAWS, "local": v1.ProviderOther, "moon": v1.ProviderOther} {
		store := newStore()
		stored(t, store, func(b *v1.Backup) { b.Status.Provider = provider })
		if f := look(t, store, "hub"); len(f.dumps) != 1 || f.dumps[0].Status.Provider != want {
			t.Errorf("of %q: found %+v, want the provider %q", provider, f, want)
		}
	}
}

func TestADumpIsFound(t *testing.T) {
	t.Parallel()
	store := newStore()
	prefix := stored(t, store, nil)
	f := look(t, store, "hub")
	if len(f.dumps) != 1 || f.unread+f.known+f.more != 0 {
		t.Fatalf("found %+v", f)
	}
	scheduledTime := metav1.NewTime(noon().Add(-10 * time.Hour))
	want := v1.Backup{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shops", Name: "shop-1", Finalizers: []string{v1.BackupFinalizer},
			Annotations: map[string]string{v1.RediscoveredAnnotation: "prod"},
			Labels:      map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: "shop", v1.ClusterLabel: "eu-1"},
		},
		Spec: v1.BackupSpec{AppRef: v1.ObjectReference{Name: "shop"}, ClusterRef: v1.ObjectReference{Name: "eu-1"}, Method: v1.BackupDump, Deletion: v1.DeletionRetain, ScheduledTime: &scheduledTime},
		Status: v1.BackupStatus{
			Phase: v1.BackupCompleted, Message: "Rediscovered in the bucket", HubUID: "hub", AppUID: "uid", Account: "prod",
			Provider: v1.ProviderOther, Region: "berlin", Engine: v1.EngineMySQL, Version: "8.0.36", Size: "3", DeleteLockDays: 7,
			Consistency: v1.ConsistencyApplication, SnapshotTime: &scheduledTime, CompletionTime: &metav1.Time{Time: noon()},
			Conditions: []metav1.Condition{{
				Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted,
				Message: "Rediscovered in the bucket", LastTransitionTime: metav1.NewTime(noon()),
			}},
			Dump: &v1.DumpFile{
				Claim: "shop-database-backup", File: "backup-20260301T020000Z.sql.gz", Bytes: 3, SHA256: strings.Repeat("a", 64),
				Object: &v1.DumpObject{Bucket: "dumps", Location: "/dumps at aws:", Prefix: prefix, State: v1.DumpSent},
			},
		},
	}
	if diff := cmp.Diff(want, f.dumps[0]); diff != "" {
		t.Errorf("backup (-want +got):\n%s", diff)
	}
	known := f.dumps[0]
	if f = look(t, store, "hub", known); len(f.dumps) != 0 || f.known != 1 {
		t.Errorf("one that is known: %+v", f)
	}
	known.Status.Account = "another"
	if f = look(t, store, "hub", known); len(f.dumps) != 1 {
		t.Errorf("one of another account: %+v", f)
	}
	if f = look(t, store, "another"); len(f.dumps)+f.unread != 0 {
		t.Errorf("for another hub: %+v", f)
	}
}

func TestWhatIsNoDump(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*bucket.Store, string)
		phases []v1.BackupPhase
		unread int
	}{
		"a part is missing": {func(s *bucket.Store, prefix string) { s.Remove(dumps.PartKey(prefix, 0)) }, []v1.BackupPhase{v1.BackupFailed}, 0},
		"a part is short": {func(s *bucket.Store, prefix string) { s.Put(dumps.PartKey(prefix, 0), []byte("ab")) },
			[]v1.BackupPhase{v1.BackupFailed}, 0},
		"no manifest":    {func(s *bucket.Store, prefix string) { s.Remove(dumps.ManifestKey(prefix)) }, nil, 0},
		"not a manifest": {func(s *bucket.Store, prefix string) { s.Put(dumps.ManifestKey(prefix), []byte("{}")) }, nil, 1},
		"a large one": {func(s *bucket.Store, prefix string) {
			s.Put(dumps.ManifestKey(prefix), []byte(strings.Repeat(" ", dumps.MaxManifest+1)))
		}, nil, 1},
		"carried elsewhere": {func(s *bucket.Store, prefix string) {
			text, _ := s.Content(dumps.ManifestKey(prefix))
			s.Put("shopfleet/hub/uid/shop-2-0123/manifest.json", text)
			s.Put("shopfleet/hub/other/shop-1-0123/manifest.json", text)
			s.Put("shopfleet/hub/uid/shop-1-0123/more/manifest.json", text)
		}, []v1.BackupPhase{v1.BackupCompleted}, 3},
		"of another hub": {func(s *bucket.Store, prefix string) {
			text, _ := s.Content(dumps.ManifestKey(prefix))
			s.Put(dumps.ManifestKey(prefix), []byte(strings.Replace(string(text), `"hub":"hub"`, `"hub":"bub"`, 1)))
		}, nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			store := newStore()
			tt.change(store, stored(t, store, nil))
			f := look(t, store, "hub")
			var phases []v1.BackupPhase
			for _, b := range f.dumps {
				phases = append(phases, b.Status.Phase)
			}
			if diff := cmp.Diff(tt.phases, phases); diff != "" || f.unread != tt.unread {
				t.Errorf("%d are not readable, want %d; phases (-want +got):\n%s", f.unread, tt.unread, diff)
			}
		})
	}
}

// TestOfTwoDumpsOfANameTheNewestStays checks the dumps of a scheduled time that was requested again after its Backup,
// but not its dump, was deleted.
func TestOfTwoDumpsOfANameTheNewestStays(t *testing.T) {
	t.Parallel()
	store := newStore()
	stored(t, store, nil)
	newer := stored(t, store, func(b *v1.Backup) {
		b.UID, b.Status.SnapshotTime = "b-2", &metav1.Time{Time: noon().Add(-time.Hour)}
	})
	stored(t, store, func(b *v1.Backup) { b.Namespace, b.UID = "bakeries", "b-3" })
	f := look(t, store, "hub")
	if len(f.dumps) != 2 || f.dumps[0].Namespace != "bakeries" || f.dumps[1].Status.Dump.Object.Prefix != newer {
		t.Errorf("found %+v", f.dumps)
	}
}

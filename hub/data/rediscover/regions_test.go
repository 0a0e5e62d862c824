package rediscover

import (
	"context"
	"iter"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// regionalCloud has the snapshots of a region, or an error.
type regionalCloud struct {
	cloud.Snapshots

	snapshots []cloud.Snapshot
	err       error
}

func (c regionalCloud) ListSnapshots(_ context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		for _, s := range c.snapshots {
			if owner.Owns(s.Tags) && !yield(s, nil) {
				return
			}
		}
		if c.err != nil {
			yield(cloud.Snapshot{}, c.err)
		}
	}
}

// searched is a hub with an account in two regions that is asked to search it.
type searched struct {
	*Reconciler
	regions map[string]regionalCloud
}

func newSearched(t *testing.T, provider v1.Provider) *searched {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := v1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	a := account()
	a.Annotations = map[string]string{v1.RediscoverAtAnnotation: "now"}
	a.Spec.Provider, a.Spec.Regions = provider, []string{"us-east-1", "eu-west-1"}
	s := &searched{regions: map[string]regionalCloud{}}
	all := accounts.New(accounts.Options{Registry: cloud.Registry{provider: func(_ context.Context, config cloud.Config) (cloud.Session, error) {
		return cloud.Session{Snapshots: listing{of: s, region: config.Region}}, nil
	}}})
	all.Set("prod", a.Spec, nil)
	s.Reconciler = &Reconciler{
		client:  fake.NewClientBuilder().WithScheme(scheme).WithObjects(a).WithStatusSubresource(a, &v1.Backup{}).Build(),
		options: Options{HubUID: "hub", Accounts: all, Clock: testclock.NewFakeClock(noon()), Recorder: events.NewFakeRecorder(10)},
	}
	return s
}

// listing is the session in a region.
type listing struct {
	cloud.Snapshots

	of     *searched
	region string
}

func (l listing) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return l.of.regions[l.region].ListSnapshots(ctx, owner)
}

// pass runs one pass, and returns the result of the search and whether it is handled.
func (s *searched) pass(t *testing.T) (summary string, handled bool) {
	t.Helper()
	result, err := s.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "prod"}})
	if err != nil {
		t.Fatal(err)
	}
	a := &v1.CloudAccount{}
	if err := s.client.Get(t.Context(), client.ObjectKey{Name: "prod"}, a); err != nil {
		t.Fatal(err)
	}
	handled = a.Status.LastHandledRediscoverAt == "now"
	if handled == (result.RequeueAfter > 0) {
		t.Errorf("handled %t, again after %s", handled, result.RequeueAfter)
	}
	return a.Status.Rediscovered, handled
}

// backup returns the only Backup that there is.
func (s *searched) backup(t *testing.T) v1.Backup {
	t.Helper()
	list := &v1.BackupList{}
	if err := s.client.List(t.Context(), list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%d backups, %v", len(list.Items), err)
	}
	return list.Items[0]
}

// TestARegionThatIsAway checks that the copies of a region that is lost are found while it is, and what it has of them
// when it is back.
func TestARegionThatIsAway(t *testing.T) {
	t.Parallel()
	copied := snapshot(func(s *cloud.Snapshot) {
		s.Ref = cloud.SnapshotRef{Region: "us-east-1", ID: "snap-2"}
		s.Tags[cloud.TagCopyOf] = "snap-1"
	})
	half := snapshot(func(s *cloud.Snapshot) {
		s.Ref = cloud.SnapshotRef{Region: "us-east-1", ID: "snap-3"}
		s.Tags[cloud.TagBackup], s.Tags[cloud.TagOf] = "shop-2", "2"
	})
	s := newSearched(t, v1.ProviderAWS)
	s.regions["us-east-1"] = regionalCloud{snapshots: []cloud.Snapshot{copied, half}}
	s.regions["eu-west-1"] = regionalCloud{snapshots: []cloud.Snapshot{snapshot(nil)}, err: &cloud.Error{Class: cloud.ClassTransient}}
	const away = "1 incomplete ones are left out; listing the snapshots in eu-west-1: the provider does not answer"
	for _, want := range []string{"1 backups rediscovered, 0 already known, " + away, "0 backups rediscovered, 1 already known, " + away} {
		if got, handled := s.pass(t); got != want || handled {
			t.Errorf("handled %t: %q, want %q", handled, got, want)
		}
	}
	if b := s.backup(t); b.Status.Phase != v1.BackupCompleted || len(b.Status.Snapshots) != 1 || b.Status.Snapshots[0].ID != "snap-2" || len(b.Status.Snapshots[0].Copies) != 0 {
		t.Errorf("found is %+v", b.Status)
	}

	s.regions["us-east-1"] = regionalCloud{snapshots: []cloud.Snapshot{copied}}
	s.regions["eu-west-1"] = regionalCloud{snapshots: []cloud.Snapshot{snapshot(nil)}}
	const want = "0 backups rediscovered, 1 already known, 1 of these got more copies"
	if got, handled := s.pass(t); got != want || !handled {
		t.Errorf("handled %t: %q, want %q", handled, got, want)
	}
	v := s.backup(t).Status.Snapshots[0]
	if v.ID != "snap-2" || len(v.Copies) != 1 || v.Copies[0].ID != "snap-1" || v.Copies[0].Region != "eu-west-1" {
		t.Errorf("found is %+v", v)
	}
}

// TestARegionThatIsRefused checks that a search ends although a region will never be listed, and says so.
func TestARegionThatIsRefused(t *testing.T) {
	t.Parallel()
	s := newSearched(t, v1.ProviderAWS)
	s.regions["us-east-1"] = regionalCloud{err: &cloud.Error{Class: cloud.ClassUnsupported, Message: "not supported"}}
	s.regions["eu-west-1"] = regionalCloud{snapshots: []cloud.Snapshot{snapshot(nil)}}
	const want = "1 backups rediscovered, 0 already known; listing the snapshots in us-east-1: not supported"
	if got, handled := s.pass(t); got != want || !handled {
		t.Errorf("handled %t: %q, want %q", handled, got, want)
	}
}

// TestAProjectIsListedOnce checks that snapshots without a region are listed in one.
func TestAProjectIsListedOnce(t *testing.T) {
	t.Parallel()
	s := newSearched(t, v1.ProviderGCP)
	s.regions["us-east-1"] = regionalCloud{err: &cloud.Error{Class: cloud.ClassTransient}}
	s.regions["eu-west-1"] = regionalCloud{snapshots: []cloud.Snapshot{snapshot(nil)}}
	const want = "1 backups rediscovered, 0 already known"
	if got, handled := s.pass(t); got != want || !handled {
		t.Errorf("handled %t: %q, want %q", handled, got, want)
	}
}

// TestAddCopies checks that only snapshots of the same Backup are added, once, and only good ones.
func TestAddCopies(t *testing.T) {
	t.Parallel()
	entry := func(region, state string) v1.CloudSnapshot {
		return v1.CloudSnapshot{Region: region, ID: "snap-" + region, State: state}
	}
	of := func(claim string, main v1.CloudSnapshot, copies ...v1.CloudSnapshot) v1.BackupStatus {
		return v1.BackupStatus{AppUID: "uid", Account: "prod", Snapshots: []v1.VolumeSnapshot{{Claim: claim, CloudSnapshot: main, Copies: copies}}}
	}
	another := of("data", entry("eu", "Ready"))
	another.AppUID = "another"
	for name, tt := range map[string]struct {
		wanted v1.BackupStatus
		want   []v1.CloudSnapshot
	}{
		"the same":               {of("data", entry("us", "Ready")), nil},
		"the original":           {of("data", entry("eu", "Ready"), entry("us", "Ready")), []v1.CloudSnapshot{entry("eu", "Ready")}},
		"another copy":           {of("data", entry("us", "Ready"), entry("ap", "Ready")), []v1.CloudSnapshot{entry("ap", "Ready")}},
		"one that is not ready":  {of("data", entry("us", "Ready"), entry("ap", "Taken")), nil},
		"of another claim":       {of("log", entry("eu", "Ready")), nil},
		"of another application": {another, nil},
	} {
		live := of("data", entry("us", "Ready"))
		added := addCopies(&live, tt.wanted)
		if diff := cmp.Diff(tt.want, live.Snapshots[0].Copies); diff != "" || added != (len(tt.want) > 0) {
			t.Errorf("%s: added %t (-want +got):\n%s", name, added, diff)
		}
		if addCopies(&live, tt.wanted) {
			t.Errorf("%s: added twice", name)
		}
	}
}

// TestCompleteSkipsOthers checks that a Backup that was not rediscovered gets no copies.
func TestCompleteSkipsOthers(t *testing.T) {
	t.Parallel()
	s := newSearched(t, v1.ProviderAWS)
	s.regions["us-east-1"], s.regions["eu-west-1"] = regionalCloud{}, regionalCloud{snapshots: []cloud.Snapshot{snapshot(nil)}}
	b := &v1.Backup{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop-1"},
		Status: v1.BackupStatus{
			AppUID: "uid", Account: "prod", StartTime: &metav1.Time{Time: noon().Add(-time.Hour)},
			Snapshots: []v1.VolumeSnapshot{{Claim: "data-0", CloudSnapshot: v1.CloudSnapshot{Region: "us-east-1", ID: "snap-2", State: "Ready"}}},
		},
	}
	if err := s.client.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if err := s.client.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	if got, handled := s.pass(t); got != "0 backups rediscovered, 1 already known" || !handled {
		t.Errorf("handled %t: %q", handled, got)
	}
}

package cloud_test

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/spoke/render"
)

const (
	namespace = "shop"
	// shop is the application that runs on one member of each cloud and a local one.
	shop = "shop"
	// least is enough for the operations that the profile Fast asks for everywhere, and
	// storage is what it grows to.
	least, storage = "16Gi", "20Gi"
)

// story is what the chapters share.
type story struct {
	*stage
	// app is the shop; often is one that is backed up every minute.
	app, often *v1.EcommerceApp
	// books is one that is dumped, daybook one that is dumped every minute.
	books, daybook *v1.EcommerceApp
}

func TestCloud(t *testing.T) {
	s := &story{stage: newStage(t)}
	s.usurp(t)
	s.start(t)
	s.register(t)
	// Each chapter builds on those before it.
	_ = t.Run("accounts say who the hub is", s.introduced) &&
		t.Run("accounts say what is wrong with them", s.refused) &&
		t.Run("members get classes that fit", s.provisioned) &&
		t.Run("classes are defended", s.defended) &&
		t.Run("claims get their volumes", s.placed) &&
		t.Run("a schedule is kept", s.scheduled) &&
		t.Run("a backup is a snapshot, and copies of it", s.backedUp) &&
		t.Run("what cannot be backed up says why", s.impossible) &&
		t.Run("a lost answer makes no second snapshot", s.lost) &&
		t.Run("a provider that asks to wait is waited for", s.throttled) &&
		t.Run("a snapshot that fails is asked for again", s.failed) &&
		t.Run("a hub that comes back goes on", s.restarted) &&
		t.Run("a deleted backup leaves nothing but what is not ours", s.deleted) &&
		t.Run("a dump is one of the cluster's CronJob", s.dumped) &&
		t.Run("a dump goes into the bucket of its cluster's account", s.sent) &&
		t.Run("a dump is loaded from its claim, and from any bucket", s.loaded) &&
		t.Run("a dump waits for its shop to be placed", s.unplaced) &&
		t.Run("a dump is proven beside the database", s.dumpProven) &&
		t.Run("the schedule has been kept", s.kept) &&
		t.Run("each dump of a schedule has its backup", s.followed) &&
		t.Run("a restore that cannot be says why", s.unrestorable) &&
		t.Run("a restore takes the place of a database", s.restored) &&
		t.Run("a restore into another region comes before its shop", s.moved) &&
		t.Run("a backup is proven beside the database", s.proven) &&
		t.Run("a backup that the hub lost is found again", s.foundAgain) &&
		t.Run("a dump that the hub lost is found again", s.dumpFound) &&
		t.Run("nothing is written while nothing happens", s.quiet) &&
		t.Run("backups outlive their namespace in the cloud", s.outlived)
}

// each runs a test for each cloud at the same time.
func (s *story) each(t *testing.T, test func(*testing.T, *provider)) {
	t.Helper()
	t.Run("in", func(t *testing.T) {
		for _, p := range s.providers {
			t.Run(p.account(), func(t *testing.T) {
				t.Parallel()
				test(t, p)
			})
		}
	})
}

// newShop returns an application with a database.
func newShop(name string, clusters ...string) *v1.EcommerceApp {
	return &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec: v1.EcommerceAppSpec{
			Image: "shop:v1", Placement: v1.Placement{ClusterNames: clusters},
			Database: &v1.Database{
				Engine: v1.EnginePostgreSQL, Version: "13.4", Storage: least, StorageProfile: v1.StorageFast,
				Backup: v1.BackupPolicy{Enabled: true, Schedule: "0 2 1 1 *"},
			},
		},
	}
}

// claim returns the claim of the shop's database in a member.
func (s *stage) claim(t *testing.T, member string) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	key := client.ObjectKey{Namespace: namespace, Name: render.DatabaseClaims(shop)[0]}
	if err := s.members[member].Get(t.Context(), key, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// volume returns the PersistentVolume of a name in a member.
func (s *stage) volume(t *testing.T, member, name string) *corev1.PersistentVolume {
	t.Helper()
	pv := &corev1.PersistentVolume{}
	if err := s.members[member].Get(t.Context(), client.ObjectKey{Name: name}, pv); err != nil {
		t.Fatal(err)
	}
	return pv
}

// awaitRunning waits until an application runs in these regions and in no others.
func (s *stage) awaitRunning(t *testing.T, app *v1.EcommerceApp, regions ...string) {
	t.Helper()
	eventually(t, app.Name+" to run", func(ctx context.Context) error {
		if err := s.hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if err := framework.Runs(&app.Status, regions...); err != nil {
			return fmt.Errorf("%w; status is %s", err, framework.Brief(app))
		}
		return nil
	})
}

// awaitEvent waits until people can read of an object what happened.
func (s *stage) awaitEvent(t *testing.T, about client.Object, reason string) {
	t.Helper()
	eventually(t, "the event "+reason+" about "+about.GetName(), func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := s.hub.List(ctx, events); err != nil {
			return err
		}
		for _, e := range events.Items {
			if e.InvolvedObject.UID == about.GetUID() && e.Reason == reason {
				return nil
			}
		}
		return fmt.Errorf("not among %d events", len(events.Items))
	})
}

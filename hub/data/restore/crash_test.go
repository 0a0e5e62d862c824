package restore

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// backupName is the name of the Backup that is restored.
const backupName = "nightly"

// crashes is an environment with a Backup that is complete in both regions.
type crashes struct {
	*backupenv.Env
	// restores is how many were created, and before the volumes before the last one.
	restores int
	before   volumes
}

// all ends the hub at each request that changes something.
func (e *crashes) all(t *testing.T) {
	e.createSecrets(t, e, backupenv.Shop, "")
	e.createBackup(t, backupName, backupenv.Shop, v1.EnginePostgreSQL)
	e.RunMember(t)
	t.Run("in place", e.inPlace)
	t.Run("verification", e.verification)
	t.Run("into another cluster", e.elsewhere)
	t.Run("replayed", e.replayed)
}

// inPlace: one volume replaces that of the claim, which is kept, and the database starts.
func (e *crashes) inPlace(t *testing.T) {
	e.eachCrash(t, strategy{
		target: e.Env, kept: 1, spec: func(s *v1.RestoreSpec) { s.Overwrite = true },
		prepare: func(*testing.T) {}, // What is there is replaced.
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			e.bound(t, e.Env, r)
		},
		ended: func(t *testing.T) {
			t.Helper()
			app := &v1.EcommerceApp{}
			if err := e.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: backupenv.Shop}, app); err != nil {
				t.Fatal(err)
			}
			if holder := app.Annotations[v1.RestoringAnnotation]; holder != "" {
				t.Errorf("the database is stopped for %q", holder)
			}
		},
	})
}

// elsewhere: the claim is created where there is no application, with the passwords.
func (e *crashes) elsewhere(t *testing.T) {
	e.StartOther(t)
	e.eachCrash(t, strategy{
		target: e.Other, kept: 1, spec: func(s *v1.RestoreSpec) { s.ClusterRef.Name = backupenv.Other },
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			e.bound(t, e.Other, r)
			for _, name := range render.DatabaseSecrets(backupenv.Shop) {
				key := client.ObjectKey{Namespace: backupenv.Namespace, Name: name}
				if err := e.Other.Get(t.Context(), key, &corev1.Secret{}); err != nil {
					t.Errorf("the password was not copied: %v", err)
				}
			}
		},
		prepare: func(t *testing.T) {
			t.Helper()
			e.clear(t, e.Other, backupenv.Namespace)
		},
		ended: func(*testing.T) {},
	})
	t.Run("other credentials", e.otherCredentials)
}

// verification: nothing is left of the database that the backup was verified with.
func (e *crashes) verification(t *testing.T) {
	e.eachCrash(t, strategy{
		target: e.Env, spec: func(s *v1.RestoreSpec) { s.Verify = true },
		prepare: func(t *testing.T) {
			t.Helper()
			t.Cleanup(func() {
				if t.Failed() {
					e.clear(t, e.Env, VerificationNamespace)
				}
			})
		},
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			if at := e.Backup(t, backupName).Status.LastVerifiedTime; at == nil || at.Time.Before(r.Status.StartTime.Time) {
				t.Errorf("the Backup was last verified at %s", at)
			}
		},
		ended: func(t *testing.T) {
			t.Helper()
			for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ServiceList{}} {
				if err := e.List(t.Context(), list, client.InNamespace(VerificationNamespace)); err != nil {
					t.Fatal(err)
				}
				if n := meta.LenList(list); n != 0 {
					t.Errorf("%d are left in a %T", n, list)
				}
			}
		},
	})
}

// strategy is a way to restore.
type strategy struct {
	target client.Client
	spec   func(*v1.RestoreSpec)
	// kept is how many volumes a Restore leaves.
	kept int
	// prepare deletes what is in the way, or has what a case that fails leaves deleted.
	prepare func(*testing.T)
	// complete checks a Restore that is complete, ended what one leaves that is complete or
	// deleted.
	complete func(*testing.T, *v1.Restore)
	ended    func(*testing.T)
}

// eachCrash ends a hub at each request for a Restore. The next hub completes the Restore, or
// ends it because it was deleted.
func (e *crashes) eachCrash(t *testing.T, s strategy) {
	t.Helper()
	test := backupenv.CrashTest{
		Reconciler: e.reconciler, Create: func(t *testing.T) client.ObjectKey { t.Helper(); return e.create(t, s) }, Done: e.complete,
		Check: func(t *testing.T, key client.ObjectKey, sent []string) { t.Helper(); e.checkComplete(t, s, key, sent) },
	}
	t.Run("completed", func(t *testing.T) { e.TestCrashes(t, test) })
	test.Crashed = func(t *testing.T, key client.ObjectKey) {
		t.Helper()
		if err := e.Delete(t.Context(), &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	test.Recovered = func(t *testing.T, key client.ObjectKey) bool { t.Helper(); return e.Gone(t, key, &v1.Restore{}) }
	test.Check = func(t *testing.T, _ client.ObjectKey, sent []string) {
		t.Helper()
		want := 0
		if slices.Contains(sent, "create *v1.PersistentVolume") {
			want = s.kept // A claim may have it.
		}
		e.checkVolumes(t, s, want)
		s.ended(t)
	}
	t.Run("deleted", func(t *testing.T) { e.TestCrashes(t, test) })
}

// checkComplete checks that nothing was done twice for a Restore.
func (e *crashes) checkComplete(t *testing.T, s strategy, key client.ObjectKey, sent []string) {
	t.Helper()
	for _, request := range []string{"CreateVolume", "create *v1.PersistentVolume", "create *v1.PersistentVolumeClaim"} {
		if n := backupenv.Count(sent, request); n != 1 {
			t.Errorf("%d of 1 %s: %q", n, request, sent)
		}
	}
	e.checkVolumes(t, s, s.kept)
	r := &v1.Restore{}
	if err := e.Get(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
	s.complete(t, r)
	s.ended(t)
}

// checkVolumes checks how many volumes a Restore left in the member and in the cloud.
func (e *crashes) checkVolumes(t *testing.T, s strategy, want int) {
	t.Helper()
	after := e.volumes(t, s.target)
	left := volumes{after.persistent - e.before.persistent, after.cloud - e.before.cloud}
	if want := (volumes{want, want}); left != want {
		t.Errorf("%+v are left, want %+v", left, want)
	}
}

// clear deletes what Restores create in a namespace.
func (e *crashes) clear(t *testing.T, in client.Client, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, o := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}} {
		if err := in.DeleteAllOf(ctx, o, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
}

// create creates a Restore, in members that have come to rest.
func (e *crashes) create(t *testing.T, s strategy) client.ObjectKey {
	t.Helper()
	s.prepare(t)
	e.RunMember(t)
	e.restores++
	e.before = e.volumes(t, s.target)
	r := apitest.Restore(fmt.Sprintf("crash-%d", e.restores)).Namespace(backupenv.Namespace).From(backupName).Obj()
	s.spec(&r.Spec)
	e.MustCreate(t, r)
	return client.ObjectKeyFromObject(r)
}

func (e *crashes) reconciler(p *backupenv.Process) reconcile.Reconciler {
	return NewReconciler(p.Client, Options{
		HubUID: backupenv.HubUID, Accounts: p.Accounts, Member: p.Member, Clock: e.Clock, Recorder: events.NewFakeRecorder(100),
	})
}

func (e *crashes) complete(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	r := &v1.Restore{}
	if err := e.Get(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
	if r.Status.Phase == v1.RestoreFailed {
		t.Fatalf("the Restore failed: %s", r.Status.Message)
	}
	return r.Status.Phase == v1.RestoreCompleted
}

// bound checks that the claim of the database is bound to the volume of a Restore.
func (e *crashes) bound(t *testing.T, in client.Client, r *v1.Restore) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := in.Get(t.Context(), client.ObjectKey{Namespace: r.Namespace, Name: render.DatabaseClaims(backupenv.Shop)[0]}, claim); err != nil {
		t.Fatal(err)
	}
	want := []string{r.Status.Volumes[0].PersistentVolume, string(corev1.ClaimBound)}
	if diff := cmp.Diff(want, []string{claim.Spec.VolumeName, string(claim.Status.Phase)}); diff != "" {
		t.Errorf("the claim (-want +got):\n%s", diff)
	}
}

// volumes is how many PersistentVolumes there are in a member, and volumes that were
// created from snapshots in the cloud.
type volumes struct{ persistent, cloud int }

func (e *crashes) volumes(t *testing.T, in client.Client) volumes {
	t.Helper()
	list := &corev1.PersistentVolumeList{}
	if err := in.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	restored := slices.DeleteFunc(e.Cloud.Volumes(), func(v fake.Volume) bool { return v.From == "" })
	return volumes{len(list.Items), len(restored)}
}

// createSecrets creates the passwords of an application's database. The value of one key is not what it
// is for others.
func (e *crashes) createSecrets(t *testing.T, in client.Client, app, another string) {
	t.Helper()
	for _, name := range render.DatabaseSecrets(app) {
		data := map[string]string{database.UsernameKey: "shop", database.PasswordKey: "secret", database.DatabaseKey: "shop"}
		if another != "" {
			data[another] = "another"
		}
		if err := in.Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: backupenv.Namespace, Name: name}, StringData: data}); err != nil {
			t.Fatal(err)
		}
	}
}

// versionOf returns a version of an engine.
func versionOf(engine v1.Engine) string {
	if engine == v1.EngineMySQL {
		return "8.4.2"
	}
	return "15.4"
}

// createBackup creates a Backup of an application that is complete, and its snapshots.
func (e *crashes) createBackup(t *testing.T, name, app string, engine v1.Engine) {
	t.Helper()
	e.Cloud.SetPace(fake.Pace{})
	of := func(id, region string) v1.CloudSnapshot {
		e.Cloud.AddSnapshot(fake.Snapshot{
			Account: backupenv.Account, Region: region, ID: id, SizeBytes: 1 << 30,
			Tags: cloud.Tags{cloud.TagHub: backupenv.HubUID, cloud.TagApp: "app-1"},
		})
		return v1.CloudSnapshot{Name: id, Region: region, ID: id, State: string(cloud.StateReady)}
	}
	b := apitest.Backup(name).Namespace(backupenv.Namespace).Obj()
	b.Spec.AppRef.Name = app
	e.MustCreate(t, b)
	at := metav1.NewTime(e.Clock.Now().Truncate(time.Second))
	b.Status = v1.BackupStatus{
		Phase: v1.BackupCompleted, AppUID: "app-1", Provider: v1.ProviderAWS, Account: backupenv.Account, Region: backupenv.Region,
		Engine: engine, Version: versionOf(engine), SnapshotTime: &at,
		Snapshots: []v1.VolumeSnapshot{{
			Claim: render.DatabaseClaims(app)[0], Volume: backupenv.Volume, Zone: backupenv.Region + "a", Size: "1Gi",
			CloudSnapshot: of("snap-0123456789abcdef0", backupenv.Region),
			Copies:        []v1.CloudSnapshot{of("snap-0123456789abcdef1", backupenv.CopyRegion)},
		}},
	}
	if err := e.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

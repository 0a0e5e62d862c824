package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
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
	"github.com/shopfleet/shopfleet/spoke/render/database/jobs"
)

const (
	createContent  = "create volumesnapshotcontents.snapshot.storage.k8s.io"
	createSnapshot = "create volumesnapshots.snapshot.storage.k8s.io"
)

// backupName is the name of the Backup that is restored.
const backupName = "nightly"

// longProof returns what a member says that the data was read by, as long as is taken of it.
func longProof() string { return "pg_amcheck" + strings.Repeat(" x", 245) }

// crashes is an environment with a Backup that is complete in both regions.
type crashes struct {
	*backupenv.Env
	// restores is how many were created, and before the volumes before the last one.
	restores int
	before   volumes
}

// all ends the hub at each request that changes something.
func (c *crashes) all(t *testing.T) {
	c.createSecrets(t, c, backupenv.Shop, "")
	c.createBackup(t, backupName, backupenv.Shop, v1.EnginePostgreSQL)
	c.JobExit = func(*testing.T, *batchv1.Job) backupenv.Exit {
		return backupenv.Exit{Container: jobs.ImportContainer, Message: longProof()}
	}
	t.Cleanup(func() { c.JobExit = nil })
	c.RunMember(t)
	t.Run("in place", c.inPlace)
	t.Run("put back", c.putBack)
	t.Run("verification", c.verification)
	t.Run("into another cluster", c.elsewhere)
	t.Run("replayed", c.replayed)
}

// inPlace checks that the volume of a claim is replaced and kept, and that the database starts.
func (c *crashes) inPlace(t *testing.T) {
	c.eachCrash(t, strategy{
		target: c.Env, kept: 1, spec: func(s *v1.RestoreSpec) { s.Overwrite = true },
		prepare: c.createReplica, // What is there is replaced.
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			c.bound(t, c.Env, r)
			c.retired(t, r)
		},
		ended: func(t *testing.T) {
			t.Helper()
			c.notStopped(t)
		},
	})
}

// notStopped checks that no Restore keeps the database from running.
func (c *crashes) notStopped(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: backupenv.Shop}, app); err != nil {
		t.Fatal(err)
	}
	if holder := app.Annotations[v1.RestoringAnnotation]; holder != "" {
		t.Errorf("the database is stopped for %q", holder)
	}
}

// claim returns the claim of the database.
func (c *crashes) claim(t *testing.T, in client.Client) *corev1.PersistentVolumeClaim {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{}
	if err := in.Get(t.Context(), client.ObjectKey{Namespace: backupenv.Namespace, Name: render.DatabaseClaims(backupenv.Shop)[0]}, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

// putBack checks that the volume of a claim is put back by a Restore that is undone as soon as it has replaced it, and that nothing is left of what was restored.
func (c *crashes) putBack(t *testing.T) {
	s := strategy{target: c.Env, spec: func(s *v1.RestoreSpec) { s.Overwrite = true }, prepare: c.createReplica}
	had := ""
	test := backupenv.CrashTest{
		Reconciler: c.reconciler,
		Create: func(t *testing.T) client.ObjectKey {
			t.Helper()
			key := c.create(t, s)
			had = c.claim(t, c.Env).Spec.VolumeName
			asked := &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}
			patch := []byte(`{"metadata":{"annotations":{"` + v1.PutBackAnnotation + `":"true"}}}`)
			if err := c.Patch(t.Context(), asked, client.RawPatch(types.MergePatchType, patch)); err != nil {
				t.Fatal(err)
			}
			return key
		},
		Done: func(t *testing.T, key client.ObjectKey) bool {
			t.Helper()
			r := &v1.Restore{}
			if err := c.Get(t.Context(), key, r); err != nil {
				t.Fatal(err)
			}
			return r.Status.IsPutBack() && r.Status.Phase == v1.RestoreFailed && reasonOf(r) == v1.ReasonPutBack
		},
		Check: func(t *testing.T, key client.ObjectKey, _ []string) {
			t.Helper()
			r := &v1.Restore{}
			if err := c.Get(t.Context(), key, r); err != nil {
				t.Fatal(err)
			}
			c.retired(t, r)
			if now := c.claim(t, c.Env); now.Spec.VolumeName != had || now.Status.Phase != corev1.ClaimBound {
				t.Errorf("the claim is %s of %s, want it bound to %s", now.Status.Phase, now.Spec.VolumeName, had)
			}
			c.checkVolumes(t, s, 0)
			c.notStopped(t)
		},
	}
	c.TestCrashes(t, test)
}

// elsewhere checks that the claim is created in a cluster without the application.
func (c *crashes) elsewhere(t *testing.T) {
	c.StartOther(t)
	c.eachCrash(t, strategy{
		target: c.Other, kept: 1, spec: func(s *v1.RestoreSpec) { s.ClusterRef.Name = backupenv.Other },
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			c.bound(t, c.Other, r)
		},
		prepare: func(t *testing.T) {
			t.Helper()
			c.clear(t, c.Other, backupenv.Namespace)
		},
		ended: func(*testing.T) {},
	})
}

// verification checks that nothing is left of what the backup was verified with.
func (c *crashes) verification(t *testing.T) {
	c.makeNamespace(t) // The first verification would, and no other.
	c.eachCrash(t, strategy{
		target: c.Env, spec: func(s *v1.RestoreSpec) { s.Verify = true },
		prepare: func(t *testing.T) {
			t.Helper()
			t.Cleanup(func() {
				if t.Failed() {
					c.clear(t, c.Env, VerificationNamespace)
				}
			})
		},
		complete: func(t *testing.T, r *v1.Restore) {
			t.Helper()
			if at := c.Backup(t, backupName).Status.LastVerifiedTime; at == nil || at.Time.Before(r.Status.StartTime.Time) {
				t.Errorf("the Backup was last verified at %s", at)
			}
			want := &v1.Verified{
				From:    v1.VerifiedFrom{Region: backupenv.Region, Cluster: backupenv.Member},
				Message: v1.Excerpt("postgresql 15.4 has recovered the data, and all of it was read by "+longProof(), maxProof),
			}
			if diff := cmp.Diff(want, c.Backup(t, backupName).Status.Verified); diff != "" || r.Status.Message != want.Message {
				t.Errorf("%s (-want +got):\n%s", r.Status.Message, diff)
			}
		},
		ended: func(t *testing.T) {
			t.Helper()
			for _, list := range []client.ObjectList{&batchv1.JobList{}, &appsv1.StatefulSetList{}, &corev1.PersistentVolumeClaimList{}, &corev1.SecretList{}, &corev1.ServiceList{}} {
				if err := c.List(t.Context(), list, client.InNamespace(VerificationNamespace)); err != nil {
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
func (c *crashes) eachCrash(t *testing.T, s strategy) {
	t.Helper()
	test := backupenv.CrashTest{
		Reconciler: c.reconciler, Create: func(t *testing.T) client.ObjectKey { t.Helper(); return c.create(t, s) }, Done: c.complete,
		Check: func(t *testing.T, key client.ObjectKey, sent []string) { t.Helper(); c.checkComplete(t, s, key, sent) },
	}
	t.Run("completed", func(t *testing.T) { c.TestCrashes(t, test) })
	retired := false
	test.Crashed = func(t *testing.T, key client.ObjectKey) {
		t.Helper()
		r := &v1.Restore{}
		if err := c.Get(t.Context(), key, r); err != nil {
			t.Fatal(err)
		}
		retired = replaced(r)
		if err := c.Delete(t.Context(), &v1.Restore{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}}); err != nil {
			t.Fatal(err)
		}
	}
	test.Recovered = func(t *testing.T, key client.ObjectKey) bool { t.Helper(); return c.Gone(t, key, &v1.Restore{}) }
	test.Check = func(t *testing.T, _ client.ObjectKey, _ []string) {
		t.Helper()
		want := 0
		if retired {
			want = s.kept // There is no way back.
		}
		c.checkVolumes(t, s, want)
		s.ended(t)
	}
	t.Run("deleted", func(t *testing.T) { c.TestCrashes(t, test) })
}

// checkComplete checks that nothing was done twice for a Restore.
func (c *crashes) checkComplete(t *testing.T, s strategy, key client.ObjectKey, sent []string) {
	t.Helper()
	for request, want := range map[string]int{
		createContent: 1, createSnapshot: 1, createClaim: 1 + s.kept, createJob: 1, "create persistentvolumes": 0,
	} {
		if n := backupenv.Count(sent, request); n != want {
			t.Errorf("%d of %d %s: %q", n, want, request, sent)
		}
	}
	c.checkVolumes(t, s, s.kept)
	r := &v1.Restore{}
	if err := c.Get(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
	s.complete(t, r)
	s.ended(t)
}

// checkVolumes checks how many volumes a Restore left in the member and in the cloud.
func (c *crashes) checkVolumes(t *testing.T, s strategy, want int) {
	t.Helper()
	after := c.volumes(t, s.target)
	left := volumes{after.persistent - c.before.persistent, after.cloud - c.before.cloud}
	if want := (volumes{want, want}); left != want {
		t.Errorf("%+v are left, want %+v", left, want)
	}
}

// clear deletes what Restores create in a namespace.
func (c *crashes) clear(t *testing.T, in client.Client, namespace string) {
	t.Helper()
	ctx := context.WithoutCancel(t.Context())
	for _, o := range []client.Object{&appsv1.StatefulSet{}, &corev1.Service{}, &corev1.PersistentVolumeClaim{}, &corev1.Secret{}} {
		if err := in.DeleteAllOf(ctx, o, client.InNamespace(namespace)); err != nil {
			t.Fatal(err)
		}
	}
}

// create creates a Restore, in members that have come to rest.
func (c *crashes) create(t *testing.T, s strategy) client.ObjectKey {
	t.Helper()
	s.prepare(t)
	c.RunMember(t)
	c.restores++
	c.before = c.volumes(t, s.target)
	r := apitest.Restore(fmt.Sprintf("crash-%d", c.restores)).Namespace(backupenv.Namespace).From(backupName).Obj()
	s.spec(&r.Spec)
	c.MustCreate(t, r)
	return client.ObjectKeyFromObject(r)
}

func (c *crashes) reconciler(p *backupenv.Process) reconcile.Reconciler {
	return NewReconciler(p.Client, Options{
		Accounts: p.Accounts, Member: p.Member, Clock: c.Clock, Recorder: events.NewFakeRecorder(100),
	})
}

func (c *crashes) complete(t *testing.T, key client.ObjectKey) bool {
	t.Helper()
	r := &v1.Restore{}
	if err := c.Get(t.Context(), key, r); err != nil {
		t.Fatal(err)
	}
	if r.Status.Phase == v1.RestoreFailed {
		t.Fatalf("the Restore failed: %s", r.Status.Message)
	}
	return r.Status.Phase == v1.RestoreCompleted
}

// bound checks that the claim of the database is bound to the volume of a Restore.
func (c *crashes) bound(t *testing.T, in client.Client, r *v1.Restore) {
	t.Helper()
	claim := c.claim(t, in)
	want := []string{r.Status.Volumes[0].PersistentVolume, string(corev1.ClaimBound)}
	if diff := cmp.Diff(want, []string{claim.Spec.VolumeName, string(claim.Status.Phase)}); diff != "" {
		t.Errorf("the claim (-want +got):\n%s", diff)
	}
}

// volumes is how many PersistentVolumes there are in a member, and volumes that were
// created from snapshots in the cloud.
type volumes struct{ persistent, cloud int }

func (c *crashes) volumes(t *testing.T, in client.Client) volumes {
	t.Helper()
	list := &corev1.PersistentVolumeList{}
	if err := in.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	restored := slices.DeleteFunc(c.Cloud.Volumes(), func(v fake.Volume) bool { return v.From == "" })
	return volumes{len(list.Items), len(restored)}
}

// createSecrets creates the passwords of an application's database. The value of one key is not what it
// is for others.
func (c *crashes) createSecrets(t *testing.T, in client.Client, app, another string) {
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
func (c *crashes) createBackup(t *testing.T, name, app string, engine v1.Engine) {
	t.Helper()
	c.Cloud.SetPace(fake.Pace{})
	of := func(id, region string) v1.CloudSnapshot {
		c.Cloud.AddSnapshot(fake.Snapshot{
			Account: backupenv.Account, Region: region, ID: id, SizeBytes: 1 << 30,
			Tags: cloud.Tags{cloud.TagHub: backupenv.HubUID, cloud.TagApp: "app-1"},
		})
		return v1.CloudSnapshot{Name: id, Region: region, ID: id, State: string(cloud.StateReady)}
	}
	b := apitest.Backup(name).Namespace(backupenv.Namespace).Obj()
	b.Spec.AppRef.Name = app
	c.MustCreate(t, b)
	at := metav1.NewTime(c.Clock.Now().Truncate(time.Second))
	b.Status = v1.BackupStatus{
		Phase: v1.BackupCompleted, AppUID: "app-1", Provider: v1.ProviderAWS, Account: backupenv.Account, Region: backupenv.Region,
		Engine: engine, Version: versionOf(engine), SnapshotTime: &at,
		Snapshots: []v1.VolumeSnapshot{{
			Claim: render.DatabaseClaims(app)[0], Volume: backupenv.Volume, Zone: backupenv.Region + "a", Size: "1Gi",
			CloudSnapshot: of("snap-0123456789abcdef0", backupenv.Region),
			Copies:        []v1.CloudSnapshot{of("snap-0123456789abcdef1", backupenv.CopyRegion)},
		}},
	}
	if err := c.Status().Update(t.Context(), b); err != nil {
		t.Fatal(err)
	}
}

package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// lostDatabase is an application with a database, whose claims and pods the test makes and takes.
type lostDatabase struct {
	*writer
	engine v1.Engine
}

func testLostPostgreSQL(t *testing.T, w *writer) {
	t.Helper()
	(&lostDatabase{w, v1.EnginePostgreSQL}).test(t)
}

func testLostMySQL(t *testing.T, w *writer) {
	t.Helper()
	(&lostDatabase{w, v1.EngineMySQL}).test(t)
}

// test checks that a created database is lost without its volume, until a user or a Restore ends that.
func (d *lostDatabase) test(t *testing.T) {
	t.Helper()
	d.exec = func(context.Context, podexec.Container, podexec.Command) (string, error) { return "", nil }
	d.allowPods(t)
	d.patch(t, d.spec())
	d.pass(t)
	d.expect(t, "a new database", false, database.Mark{})
	d.createClaim(t, 0)
	d.createClaim(t, 1)
	d.createPod(t, true)
	d.pass(t)
	d.expect(t, "a database that is ready", false, database.Mark{Created: true})

	t.Run("marks", d.marks)
	t.Run("loss", d.loss)
	t.Run("start empty", d.startEmpty)
	t.Run("load", d.load)
	t.Run("deletion", d.deletion)
}

// marks checks that the mark and the statuses of hub and copy restore each other.
func (d *lostDatabase) marks(t *testing.T) {
	d.deleteObject(t, &corev1.Secret{}, d.names().MarkName())
	d.pass(t)
	d.expect(t, "without its mark", false, database.Mark{Created: true})
	// The first pass of a release that knows marks: a claim that is bound is enough.
	d.deleteObject(t, &corev1.Secret{}, d.names().MarkName())
	d.forgetStatus(t)
	d.deletePod(t, 0)
	d.pass(t)
	d.expect(t, "without mark, status and pod", false, database.Mark{Created: true})
	// Only the hub still knows.
	d.deleteObject(t, &corev1.Secret{}, d.names().MarkName())
	d.forgetStatus(t)
	d.deleteClaim(t)
	d.annotate(t, v1.DatabaseCreatedAnnotation, `"true"`)
	d.pass(t)
	d.expect(t, "what the hub knows", true, database.Mark{Created: true})
	d.annotate(t, v1.DatabaseCreatedAnnotation, "null")
	// A claim that was put back by hand, with its data.
	d.createClaim(t, 0)
	d.createPod(t, true)
	d.pass(t)
	d.expect(t, "a claim that was put back", false, database.Mark{Created: true})
}

// loss checks that a loss is reported until the primary has data again, and that no dump is made meanwhile.
func (d *lostDatabase) loss(t *testing.T) {
	d.deletePod(t, 0)
	d.deleteClaim(t)
	d.pass(t)
	d.expect(t, "without claim and pod", true, database.Mark{Created: true})
	app := d.stored(t)
	lost := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDatabaseLost)
	for _, want := range []string{d.names().PrimaryClaim(), d.names().PrimaryPod(), d.pod(1), v1.StartEmptyAnnotation} {
		if lost == nil || !strings.Contains(lost.Message, want) {
			t.Errorf("the condition %+v does not name %s", lost, want)
		}
	}
	d.createClaim(t, 0)
	d.createPod(t, false)
	d.pass(t)
	d.expect(t, "before the init container has ended", true, database.Mark{Created: true})
	d.endPrepare(t, database.ExitLost)
	d.pass(t)
	d.expect(t, "an init container that refuses", true, database.Mark{Created: true})
	d.endPrepare(t, 0)
	d.pass(t)
	d.expect(t, "an init container that found data", false, database.Mark{Created: true})
}

// startEmpty checks that a token allows one initialization, and only if the data is lost.
func (d *lostDatabase) startEmpty(t *testing.T) {
	d.annotate(t, v1.StartEmptyAnnotation, `"a"`)
	d.pass(t)
	d.expect(t, "a token without a loss", false, database.Mark{Created: true, StartEmpty: "a"})
	d.endPrepare(t, database.ExitLost)
	d.pass(t)
	d.expect(t, "a token of before the loss", true, database.Mark{Created: true, StartEmpty: "a"})
	d.annotate(t, v1.StartEmptyAnnotation, `"b"`)
	d.pass(t)
	d.expect(t, "a new token", false, database.Mark{StartEmpty: "b", Consent: database.ConsentStartEmpty})
	if err := d.Get(t.Context(), d.keyOf(d.pod(0)), &corev1.Pod{}); err == nil {
		t.Error("the pod of the primary was not started again")
	}
	d.createPod(t, true)
	d.pass(t)
	d.expect(t, "an empty database", false, database.Mark{Created: true, StartEmpty: "b"})
	d.deletePod(t, 0)
	d.deleteClaim(t)
	d.pass(t)
	d.expect(t, "the same token", true, database.Mark{Created: true, StartEmpty: "b"})
}

// load checks that no client uses the database until the dump is loaded.
func (d *lostDatabase) load(t *testing.T) {
	d.createClaim(t, 0)
	d.createPod(t, false)
	d.endPrepare(t, database.ExitLost)
	client := d.createBackend(t)
	d.annotate(t, v1.LoadingAnnotation, `"monday"`)
	d.pass(t)
	d.expect(t, "a load while the backend runs", true, database.Mark{Created: true, StartEmpty: "b"})
	d.deleteObject(t, client, client.GetName())
	d.pass(t)
	mark := database.Mark{StartEmpty: "b", Consent: database.ConsentLoad, Load: "monday"}
	d.expect(t, "a load", true, mark)
	d.createPod(t, true)
	d.pass(t)
	mark.Created = true
	d.expect(t, "a database to be loaded", true, mark)
	d.annotate(t, v1.LoadingAnnotation, "null")
	d.pass(t)
	d.expect(t, "a load that failed", true, mark)
	backend := &appsv1.Deployment{}
	if err := d.Get(t.Context(), d.keyOf(d.key.Name+"-"+render.Backend), backend); err == nil && *backend.Spec.Replicas != 0 {
		t.Error("the backend uses the empty database")
	}
	d.annotate(t, v1.LoadedAnnotation, `"monday"`)
	d.pass(t)
	d.expect(t, "a load that succeeded", false, database.Mark{Created: true, StartEmpty: "b"})
}

// deletion checks that claims and mark stay, so that a later loss is noticed, unless the application requests their
// deletion.
func (d *lostDatabase) deletion(t *testing.T) {
	d.end(t, "{}")
	if _, found := d.mark(t); !found {
		t.Fatal("the mark was deleted with the application")
	}
	d.createAgain(t)
	d.pass(t)
	d.expect(t, "created again", false, database.Mark{Created: true, StartEmpty: "b"})
	d.end(t, "{}")
	d.deleteClaim(t)
	d.createAgain(t)
	d.pass(t)
	d.expect(t, "created again without its claim", true, database.Mark{Created: true, StartEmpty: "b"})
	d.createClaim(t, 0)
	d.end(t, `{"spec":{"deletion":{"volumes":"Delete"}}}`)
	claims := &corev1.PersistentVolumeClaimList{}
	if err := d.List(t.Context(), claims, client.InNamespace(d.key.Namespace), client.MatchingLabels{v1.InstanceLabel: d.key.Name}); err != nil {
		t.Fatal(err)
	}
	if left := len(claims.Items); left != 1 || claims.Items[0].Name != d.names().BackupsClaim() {
		t.Errorf("%d claims are left, want that of the dumps", left)
	}
	if mark, found := d.mark(t); found {
		t.Errorf("the mark is left: %+v", mark)
	}
	d.createAgain(t)
	d.pass(t)
	d.expect(t, "a database after the deletion of its volumes", false, database.Mark{})
}

// createBackend creates a pod that uses the database.
func (d *lostDatabase) createBackend(t *testing.T) *corev1.Pod {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, GenerateName: "backend-", Labels: render.BackendPods(d.key.Name)},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: render.Backend, Image: "api:v1"}}},
	}
	if err := d.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	return pod
}

func (d *lostDatabase) spec() string {
	version := "15.4"
	if d.engine == v1.EngineMySQL {
		version = "8.4.3"
	}
	return fmt.Sprintf(`{"spec":{"backend":{"image":"api:v1"},"database":{"engine":%q,"version":%q,"storage":"1Gi","replicas":2,
		"backup":{"enabled":true,"schedule":"0 2 * * *","method":"Dump"}}}}`, d.engine, version)
}

func (d *lostDatabase) names() database.Spec {
	return render.DatabaseNames(&v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.key.Name}})
}

func (d *lostDatabase) keyOf(name string) client.ObjectKey {
	return client.ObjectKey{Namespace: d.key.Namespace, Name: name}
}

func (d *lostDatabase) pod(ordinal int) string {
	return fmt.Sprintf("%s-%d", d.names().StatefulSetName(), ordinal)
}

// pass reconciles until a change has settled.
func (d *lostDatabase) pass(t *testing.T) {
	t.Helper()
	for range 3 {
		d.clock.Step(5 * time.Second) // What is minor is written later.
		d.reconcile(t)
	}
}

// expect checks the mark, the conditions, and whether dumps are made.
func (d *lostDatabase) expect(t *testing.T, when string, lost bool, want database.Mark) {
	t.Helper()
	app := d.stored(t)
	is := func(kind string) bool { return meta.IsStatusConditionTrue(app.Status.Conditions, kind) }
	if is(v1.ConditionDatabaseLost) != lost || is(v1.ConditionStalled) != lost || lost && (!is(v1.ConditionDegraded) || is(v1.ConditionAvailable) || is(v1.ConditionReady)) {
		t.Errorf("%s: lost is to be %t: %+v", when, lost, app.Status.Conditions)
	}
	if app.Status.DatabaseCreated != (want.Created || want.Consent != "") {
		t.Errorf("%s: databaseCreated is %t", when, app.Status.DatabaseCreated)
	}
	mark, _ := d.mark(t)
	if diff := cmp.Diff(&want, mark); diff != "" {
		t.Errorf("%s: mark (-want +got):\n%s", when, diff)
	}
	dumps := &batchv1.CronJob{}
	if err := d.Get(t.Context(), d.keyOf(d.names().CronJobName()), dumps); err != nil || (dumps.Spec.Suspend != nil && *dumps.Spec.Suspend) != lost {
		t.Errorf("%s: dumps are to be suspended: %t; %v", when, lost, err)
	}
}

func (d *lostDatabase) mark(t *testing.T) (*database.Mark, bool) {
	t.Helper()
	secret := &corev1.Secret{}
	if err := d.Get(t.Context(), d.keyOf(d.names().MarkName()), secret); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	} else if err != nil {
		return nil, false
	}
	if len(secret.OwnerReferences) > 0 {
		t.Errorf("the mark is deleted with %+v", secret.OwnerReferences)
	}
	return database.ReadMark(secret), true
}

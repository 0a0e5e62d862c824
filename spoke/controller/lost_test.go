package controller

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/podexec"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
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

// test: a database is created once. What was created is lost without its volume, until a user or a Restore
// ends that.
func (d *lostDatabase) test(t *testing.T) {
	t.Helper()
	d.exec = func(context.Context, podexec.Container, podexec.Command) (string, error) { return "", nil }
	d.allowPods(t)
	d.patch(t, d.spec())
	d.pass(t)
	d.expect(t, "a new database", false, database.Mark{})
	d.createClaim(t, 0)
	d.createClaim(t, 1)
	d.createPod(t, 0, true)
	d.pass(t)
	d.expect(t, "a database that is ready", false, database.Mark{Created: true})

	t.Run("marks", d.marks)
	t.Run("loss", d.loss)
	t.Run("start empty", d.startEmpty)
	t.Run("load", d.load)
	t.Run("deletion", d.deletion)
}

// marks: the mark, and what the hub and the status know, restore each other.
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
	d.deleteClaim(t, 0)
	d.annotate(t, v1.DatabaseCreatedAnnotation, `"true"`)
	d.pass(t)
	d.expect(t, "what the hub knows", true, database.Mark{Created: true})
	d.annotate(t, v1.DatabaseCreatedAnnotation, "null")
	// A claim that was put back by hand, with its data.
	d.createClaim(t, 0)
	d.createPod(t, 0, true)
	d.pass(t)
	d.expect(t, "a claim that was put back", false, database.Mark{Created: true})
}

// loss: it is said until the primary has data again, and no dump is made meanwhile.
func (d *lostDatabase) loss(t *testing.T) {
	d.deletePod(t, 0)
	d.deleteClaim(t, 0)
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
	d.createPod(t, 0, false)
	d.pass(t)
	d.expect(t, "before the init container has ended", true, database.Mark{Created: true})
	d.endPrepare(t, database.ExitLost)
	d.pass(t)
	d.expect(t, "an init container that refuses", true, database.Mark{Created: true})
	d.endPrepare(t, 0)
	d.pass(t)
	d.expect(t, "an init container that found data", false, database.Mark{Created: true})
}

// startEmpty: a token consents once, and only to a loss that there is.
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
	d.createPod(t, 0, true)
	d.pass(t)
	d.expect(t, "an empty database", false, database.Mark{Created: true, StartEmpty: "b"})
	d.deletePod(t, 0)
	d.deleteClaim(t, 0)
	d.pass(t)
	d.expect(t, "the same token", true, database.Mark{Created: true, StartEmpty: "b"})
}

// load: nothing uses the database until the dump is loaded.
func (d *lostDatabase) load(t *testing.T) {
	d.createClaim(t, 0)
	d.createPod(t, 0, false)
	d.endPrepare(t, database.ExitLost)
	d.annotate(t, v1.LoadingAnnotation, `"monday"`)
	d.pass(t)
	mark := database.Mark{StartEmpty: "b", Consent: database.ConsentLoad, Load: "monday"}
	d.expect(t, "a load", true, mark)
	d.createPod(t, 0, true)
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

// deletion: claims and mark stay, and so a loss meanwhile is noticed, unless the application asks for their end.
func (d *lostDatabase) deletion(t *testing.T) {
	d.end(t, "{}")
	if _, found := d.mark(t); !found {
		t.Fatal("the mark was deleted with the application")
	}
	d.createAgain(t)
	d.pass(t)
	d.expect(t, "created again", false, database.Mark{Created: true})
	d.end(t, "{}")
	d.deleteClaim(t, 0)
	d.createAgain(t)
	d.pass(t)
	d.expect(t, "created again without its claim", true, database.Mark{Created: true})
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

// annotate sets an annotation of the application to a JSON value.
func (d *lostDatabase) annotate(t *testing.T, key, value string) {
	t.Helper()
	d.patch(t, fmt.Sprintf(`{"metadata":{"annotations":{%q:%s}}}`, key, value))
}

func (d *lostDatabase) forgetStatus(t *testing.T) {
	t.Helper()
	app := d.stored(t)
	app.Status.DatabaseCreated = false
	if err := d.Status().Update(t.Context(), app); err != nil {
		t.Fatal(err)
	}
}

func (d *lostDatabase) createClaim(t *testing.T, ordinal int) {
	t.Helper()
	claim := render.DatabaseClaim(d.key.Name, d.key.Namespace, d.engine)
	claim.Name = strings.TrimSuffix(claim.Name, "0") + fmt.Sprint(ordinal)
	claim.Spec = corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeName: "pv",
		Resources: corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
	}
	if err := d.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	// No controller is there that ends the protection.
	if err := d.Patch(t.Context(), claim, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
		t.Fatal(err)
	}
	claim.Status.Phase = corev1.ClaimBound
	if err := d.Status().Update(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
}

func (d *lostDatabase) deleteClaim(t *testing.T, ordinal int) {
	t.Helper()
	d.deleteObject(t, &corev1.PersistentVolumeClaim{}, "data-"+d.pod(ordinal))
}

func (d *lostDatabase) deleteObject(t *testing.T, object client.Object, name string) {
	t.Helper()
	object.SetNamespace(d.key.Namespace)
	object.SetName(name)
	if err := d.Delete(t.Context(), object, client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
}

func (d *lostDatabase) deletePod(t *testing.T, ordinal int) {
	t.Helper()
	d.deleteObject(t, &corev1.Pod{}, d.pod(ordinal))
}

func (d *lostDatabase) createPod(t *testing.T, ordinal int, ready bool) {
	t.Helper()
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.pod(ordinal), Labels: d.names().PodSelector()},
		Spec: corev1.PodSpec{
			InitContainers: []corev1.Container{{Name: component.PrepareContainer, Image: "db:1"}},
			Containers:     []corev1.Container{{Name: database.Container, Image: "db:1"}},
		},
	}
	if err := d.Create(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
	if ready {
		pod.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	if err := d.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// endPrepare has the init container of the primary end with a code. The pod is not ready.
func (d *lostDatabase) endPrepare(t *testing.T, code int32) {
	t.Helper()
	pod := &corev1.Pod{}
	if err := d.Get(t.Context(), d.keyOf(d.pod(0)), pod); err != nil {
		t.Fatal(err)
	}
	pod.Status.Conditions = nil
	pod.Status.InitContainerStatuses = []corev1.ContainerStatus{{
		Name: component.PrepareContainer, Image: "db:1", RestartCount: 1,
		LastTerminationState: corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{ExitCode: code}},
	}}
	if err := d.Status().Update(t.Context(), pod); err != nil {
		t.Fatal(err)
	}
}

// end deletes the application after a change of it, and its pods.
func (d *lostDatabase) end(t *testing.T, change string) {
	t.Helper()
	d.patch(t, change)
	if err := d.DeleteAllOf(t.Context(), &corev1.Pod{}, client.InNamespace(d.key.Namespace), client.MatchingLabels(d.names().PodSelector()), client.GracePeriodSeconds(0)); err != nil {
		t.Fatal(err)
	}
	if err := d.Delete(t.Context(), &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.key.Name}}); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		d.reconcile(t)
		d.collectGarbage(t)
	}
	if err := d.Get(t.Context(), d.key, &v1.EcommerceApp{}); err == nil {
		t.Fatal("the application is still there")
	}
}

// collectGarbage ends the deletion of what is deleted in the foreground, in place of the controller.
func (d *lostDatabase) collectGarbage(t *testing.T) {
	t.Helper()
	for _, list := range []client.ObjectList{&appsv1.StatefulSetList{}, &appsv1.DeploymentList{}} {
		if err := d.List(t.Context(), list, client.InNamespace(d.key.Namespace), client.MatchingLabels{v1.InstanceLabel: d.key.Name}); err != nil {
			t.Fatal(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, item := range items {
			object, ok := item.(client.Object)
			if !ok || object.GetDeletionTimestamp() == nil {
				continue
			}
			if err := d.Patch(t.Context(), object, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))); err != nil {
				t.Fatal(err)
			}
		}
	}
}

func (d *lostDatabase) createAgain(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.key.Name}, Spec: v1.EcommerceAppSpec{Image: "shop:v1"}}
	if err := d.Create(t.Context(), app); err != nil {
		t.Fatal(err)
	}
	d.patch(t, d.spec())
}

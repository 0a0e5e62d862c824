package controller

import (
	"context"
	"errors"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

var errChanged = errors.New("it was changed")

func testImportedPostgreSQL(t *testing.T, w *writer) {
	t.Helper()
	(&lostDatabase{w, v1.EnginePostgreSQL}).imported(t)
}

func testImportedMySQL(t *testing.T, w *writer) {
	t.Helper()
	(&lostDatabase{w, v1.EngineMySQL}).imported(t)
}

// imported checks that an application that comes to data without its credentials has new ones if the data was imported,
// once, and that no pod starts before the claim says so.
func (d *lostDatabase) imported(t *testing.T) {
	t.Helper()
	d.exec = func(context.Context, podexec.Container, podexec.Command) (string, error) { return "", nil }
	d.allowPods(t)
	d.createClaim(t, 0)
	d.patch(t, d.spec())
	d.pass(t)
	d.expectCredentials(t, "data that was not imported", credentials{refused: true})
	if set := d.databaseSet(t); set {
		t.Error("a database without credentials is started")
	}

	d.setImported(t)
	d.interrupted(t)
	d.pass(t)
	d.expectCredentials(t, "interrupted before the claim was changed", credentials{secrets: 2, imported: true})
	if set := d.databaseSet(t); set {
		t.Error("a database is started whose claim is imported")
	}
	d.deleteObject(t, &corev1.Secret{}, d.names().Credentials())
	d.Reconciler = EcommerceApp().Reconciler(d.member(t))
	d.pass(t)
	d.expectCredentials(t, "imported data", credentials{secrets: 2})
	if set := d.databaseSet(t); !set {
		t.Error("the database is not started")
	}

	for _, name := range d.names().Secrets() {
		d.deleteObject(t, &corev1.Secret{}, name)
		d.pass(t)
		d.expectCredentials(t, "the Secret "+name+" is lost later", credentials{secrets: 1, refused: true})
		d.setImported(t) // As the next Restore does.
		d.pass(t)
		d.expectCredentials(t, "imported again", credentials{secrets: 2})
	}

	d.annotate(t, v1.RestoringAnnotation, `"r"`)
	d.deleteObject(t, &corev1.Secret{}, d.names().Credentials())
	d.pass(t)
	d.expectCredentials(t, "lost while a Restore has stopped the database", credentials{secrets: 1, refused: true})
}

// credentials holds how many generated Secrets there are, and whether the claim of the primary is imported and the application
// reports that a Secret is missing.
type credentials struct {
	secrets           int
	imported, refused bool
}

func (d *lostDatabase) expectCredentials(t *testing.T, when string, want credentials) {
	t.Helper()
	var got credentials
	for _, name := range d.names().Secrets() {
		if err := d.Get(t.Context(), d.keyOf(name), &corev1.Secret{}); client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		} else if err == nil {
			got.secrets++
		}
	}
	claim := &corev1.PersistentVolumeClaim{}
	if err := d.Get(t.Context(), d.keyOf(d.names().PrimaryClaim()), claim); err != nil {
		t.Fatal(err)
	}
	got.imported = claim.Annotations[v1.ImportedAnnotation] == "true"
	stalled := meta.FindStatusCondition(d.stored(t).Status.Conditions, v1.ConditionStalled)
	got.refused = stalled != nil && stalled.Status == metav1.ConditionTrue && stalled.Reason == v1.ReasonCredentialsMissing &&
		strings.Contains(stalled.Message, claim.Name)
	if got != want {
		t.Errorf("%s: %+v, want %+v; Stalled is %+v", when, got, want, stalled)
	}
}

// databaseSet reports whether the StatefulSet of the database exists.
func (d *lostDatabase) databaseSet(t *testing.T) bool {
	t.Helper()
	err := d.Get(t.Context(), d.keyOf(d.names().StatefulSetName()), &appsv1.StatefulSet{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// setImported marks the claim of the primary as a Restore does.
func (d *lostDatabase) setImported(t *testing.T) {
	t.Helper()
	claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Namespace: d.key.Namespace, Name: d.names().PrimaryClaim()}}
	change := []byte(`{"metadata":{"annotations":{"` + v1.ImportedAnnotation + `":"true"}}}`)
	if err := d.Patch(t.Context(), claim, client.RawPatch(types.MergePatchType, change)); err != nil {
		t.Fatal(err)
	}
}

// interrupted has a reconciler whose passes end where they change a claim.
func (d *lostDatabase) interrupted(t *testing.T) {
	t.Helper()
	m := d.member(t)
	fails := interceptor.NewClient(d.WithWatch, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, object client.Object, patch client.Patch, opts ...client.PatchOption) error {
			if _, is := object.(*corev1.PersistentVolumeClaim); is {
				return apierrors.NewConflict(corev1.Resource("persistentvolumeclaims"), object.GetName(), errChanged)
			}
			return c.Patch(ctx, object, patch, opts...)
		},
	})
	m.Applier = apply.New(apply.Options{Client: fails, Reader: d.WithWatch, FieldManager: v1.SpokeFieldManager, Clock: d.clock})
	d.Reconciler = EcommerceApp().Reconciler(m)
}

package reconciler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// storedClaim returns the claim of a pod of the database.
func storedClaim(name string, annotations map[string]string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "PersistentVolumeClaim"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, Annotations: annotations},
	}
}

// generated returns a generated Secret of a component.
func generated(part string) component.Object {
	return component.Object{Once: true, Retain: true, Generate: &component.Generate{Random: map[string]int{"password": 1}}, Resource: &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: part, Labels: map[string]string{v1.ComponentLabel: part}},
	}}
}

// TestDependentClaim lists the claims without which a generated Secret may be generated again.
func TestDependentClaim(t *testing.T) {
	t.Parallel()
	imported, other := map[string]string{v1.ImportedAnnotation: "true"}, map[string]string{v1.ImportedAnnotation: "false"}
	first := func(annotations map[string]string) *corev1.PersistentVolumeClaim {
		return storedClaim("data-db-0", annotations)
	}
	second := func(annotations map[string]string) *corev1.PersistentVolumeClaim {
		return storedClaim("data-db-1", annotations)
	}
	for name, tt := range map[string]struct {
		// cached are the claims in the cache, stored those that the API server has.
		cached, stored []*corev1.PersistentVolumeClaim
		// secret is the Secret that is wanted, and exists is true if the cache has it.
		secret component.Object
		exists bool
		// stopped is true while the database has no pods, and restoring while a Restore replaces its volume.
		stopped, restoring bool
		want               string
	}{
		"no claims":                    {secret: generated("db")},
		"data":                         {cached: one(first(nil)), stored: one(first(nil)), secret: generated("db"), want: "data-db-0"},
		"data of a stopped database":   {cached: one(first(nil)), stored: one(first(nil)), secret: generated("db"), stopped: true, want: "data-db-0"},
		"imported data":                {cached: one(first(imported)), stored: one(first(imported)), secret: generated("db")},
		"imported, says another value": {cached: one(first(other)), stored: one(first(other)), secret: generated("db"), want: "data-db-0"},
		"imported, and started since":  {cached: one(first(imported)), stored: one(first(nil)), secret: generated("db"), want: "data-db-0"},
		"imported, and gone since":     {cached: one(first(imported)), secret: generated("db"), want: "data-db-0"},
		"imported, with the Secret":    {cached: one(first(imported)), stored: one(first(imported)), secret: generated("db"), exists: true, want: "data-db-0"},
		"data of a replica": {
			cached: []*corev1.PersistentVolumeClaim{first(imported), second(nil)}, stored: one(first(imported)), secret: generated("db"), want: "data-db-1",
		},
		"a replica is imported, the primary is not": {
			cached: []*corev1.PersistentVolumeClaim{first(nil), second(imported)}, stored: one(second(imported)), secret: generated("db"), want: "data-db-0",
		},
		"a Restore has deleted the claim":             {secret: generated("db"), stopped: true, restoring: true, want: "data-db-0"},
		"a Restore has deleted it, with the Secret":   {secret: generated("db"), exists: true, stopped: true, restoring: true, want: "data-db-0"},
		"a Restore has imported data":                 {cached: one(first(imported)), stored: one(first(imported)), secret: generated("db"), stopped: true, restoring: true},
		"a Secret of another component, in a Restore": {secret: generated("web"), restoring: true},
		"a Secret of another component":               {cached: one(first(nil)), stored: one(first(nil)), secret: generated("web")},
		"a Secret that is not kept": {
			cached: one(first(nil)), stored: one(first(nil)), secret: component.Object{Resource: generated("db").Resource, Generate: generated("db").Generate},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fake.NewClientBuilder().WithScheme(scheme.Scheme)
			for _, claim := range tt.stored {
				server.WithObjects(claim)
			}
			p := passOver(tt.cached, tt.stopped)
			if tt.restoring {
				p.object.Annotations = map[string]string{v1.RestoringAnnotation: "r"}
			}
			if tt.exists {
				p.live[component.KeyOf(tt.secret.Resource)] = tt.secret.Resource
			}
			r := newReconciler(Kind[*v1.EcommerceApp]{}, &Member{APIReader: server.Build(), Settings: Settings{Timeout: time.Minute}})
			if got, err := r.dependentClaim(t.Context(), p, tt.secret); err != nil || got != tt.want {
				t.Errorf("depends on %q, %v; want %q", got, err, tt.want)
			}
		})
	}
}

// passOver returns a pass over a database of two pods, or of none, that has claims.
func passOver(claims []*corev1.PersistentVolumeClaim, stopped bool) *pass[*v1.EcommerceApp] {
	set := databaseSet(2)
	if stopped {
		set = databaseSet(0)
	}
	p := &pass[*v1.EcommerceApp]{object: &v1.EcommerceApp{}, live: component.Live{}, components: []component.Component{
		{Name: "db", Objects: []component.Object{generated("db"), {Resource: set}}},
	}}
	for _, claim := range claims {
		p.live[component.KeyOf(claim)] = claim
	}
	return p
}

// TestEndImports checks that the claims of a StatefulSet that is written, and no other ones, are no longer imported.
func TestEndImports(t *testing.T) {
	t.Parallel()
	imported := map[string]string{v1.ImportedAnnotation: "true", "example.com/other": "stays"}
	others := map[string]string{"example.com/other": "stays"}
	for name, tt := range map[string]struct {
		written component.Resource
		paused  bool
		// changed is true if the claim was changed since the cache has it.
		changed bool
		want    map[string]string
	}{
		"the StatefulSet":              {databaseSet(2), false, false, others},
		"without pods":                 {databaseSet(0), false, false, imported},
		"a Secret":                     {generated("db").Resource, false, false, imported},
		"while nothing may be written": {databaseSet(1), true, false, imported},
		"the claim of before":          {databaseSet(1), false, true, imported},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := fake.NewClientBuilder().WithScheme(scheme.Scheme).WithObjects(storedClaim("data-db-0", imported)).Build()
			claim := &corev1.PersistentVolumeClaim{}
			read := func() {
				if err := server.Get(t.Context(), client.ObjectKey{Namespace: "shops", Name: "data-db-0"}, claim); err != nil {
					t.Fatal(err)
				}
			}
			read()
			claim.TypeMeta = storedClaim("", nil).TypeMeta
			if tt.changed {
				if err := server.Update(t.Context(), claim.DeepCopy()); err != nil {
					t.Fatal(err)
				}
			}
			r := newReconciler(Kind[*v1.EcommerceApp]{}, &Member{Applier: apply.New(apply.Options{Client: server, FieldManager: v1.SpokeFieldManager})})
			p := &pass[*v1.EcommerceApp]{live: component.Live{component.KeyOf(claim): claim}, paused: tt.paused}
			if err := r.endImports(t.Context(), p, tt.written); apierrors.IsConflict(err) != tt.changed || !tt.changed && err != nil {
				t.Errorf("%v, want a conflict: %t", err, tt.changed)
			}
			read()
			if diff := cmp.Diff(tt.want, claim.Annotations); diff != "" {
				t.Errorf("annotations (-want +got):\n%s", diff)
			}
		})
	}
}

func one(claim *corev1.PersistentVolumeClaim) []*corev1.PersistentVolumeClaim {
	return []*corev1.PersistentVolumeClaim{claim}
}

// databaseSet returns the StatefulSet of the database.
func databaseSet(replicas int32) client.Object {
	return &appsv1.StatefulSet{
		TypeMeta:   metav1.TypeMeta{APIVersion: "apps/v1", Kind: "StatefulSet"},
		ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "db", Labels: map[string]string{v1.ComponentLabel: "db"}},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(replicas), VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{ObjectMeta: metav1.ObjectMeta{Name: "data"}}},
		},
	}
}

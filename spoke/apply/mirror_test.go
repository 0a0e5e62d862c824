package apply

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// mirrored is an API server that stores images of a mirror while it has one.
type mirrored struct {
	client.WithWatch
	mirror string
	writes int
}

func newMirrored(t *testing.T) *mirrored {
	t.Helper()
	m := &mirrored{mirror: "mirror/"}
	m.WithWatch = interceptor.NewClient(fake.NewClientBuilder().WithScheme(scheme.Scheme).WithReturnManagedFields().Build(), interceptor.Funcs{
		Apply: func(ctx context.Context, c client.WithWatch, object runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			m.writes++
			content, ok := object.(interface{ UnstructuredContent() map[string]any })
			if !ok {
				t.Errorf("applied a %T", object)
				return nil
			}
			containers, _, err := unstructured.NestedSlice(content.UnstructuredContent(), "spec", "template", "spec", "containers")
			if err != nil {
				return err
			}
			for _, each := range containers {
				web, _ := each.(map[string]any)
				image, _ := web["image"].(string)
				web["image"] = m.mirror + strings.TrimPrefix(image, m.mirror)
			}
			if err := unstructured.SetNestedSlice(content.UnstructuredContent(), containers, "spec", "template", "spec", "containers"); err != nil {
				return err
			}
			return c.Apply(ctx, object, opts...)
		},
	})
	return m
}

// TestMirror applies an object whose image is rewritten: it is written once for each intent, by each process,
// the difference is known, and once more when that is asked for.
func TestMirror(t *testing.T) {
	t.Parallel()
	server := newMirrored(t)
	process := func() *Applier { return New(Options{Client: server, Reader: server, FieldManager: "test"}) }
	applier := process()
	apply := func(image string, again bool) Outcome {
		t.Helper()
		intent := webOf(t, image)
		live := &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}}
		request := Request{Intent: intent, Live: live, Again: again, Owned: func(component.Resource) bool { return true }}
		if err := server.Get(t.Context(), client.ObjectKeyFromObject(intent), live); err != nil {
			request.Live, request.Uncached = nil, true
		}
		live.SetGroupVersionKind(appsv1.SchemeGroupVersion.WithKind("Deployment"))
		result, err := applier.Apply(t.Context(), request)
		if err != nil || result.Change != nil {
			t.Fatalf("change %v, which is for dry runs, %v", result.Change, err)
		}
		return result.Outcome
	}
	for _, step := range []struct {
		what, image    string
		again, restart bool
		mirror         string
		outcome        Outcome
		writes         int
		stored         string
	}{
		{what: "created", image: "web:1", mirror: "mirror/", outcome: Created, writes: 1, stored: "mirror/web:1"},
		{what: "unchanged", image: "web:1", mirror: "mirror/", outcome: Unchanged, writes: 1, stored: "mirror/web:1"},
		{what: "updated", image: "web:2", mirror: "mirror/", outcome: Updated, writes: 2, stored: "mirror/web:2"},
		{what: "unchanged again", image: "web:2", mirror: "mirror/", outcome: Unchanged, writes: 2, stored: "mirror/web:2"},
		{what: "rolled back", image: "web:1", mirror: "mirror/", outcome: Updated, writes: 3, stored: "mirror/web:1"},
		// A real API server gives a write that changes nothing no version, so that the outcome is Unchanged.
		{what: "asked for", image: "web:1", again: true, mirror: "mirror/", outcome: Updated, writes: 4, stored: "mirror/web:1"},
		{what: "by another process", image: "web:1", restart: true, mirror: "mirror/", outcome: Updated, writes: 5, stored: "mirror/web:1"},
		{what: "by it again", image: "web:1", mirror: "mirror/", outcome: Unchanged, writes: 5, stored: "mirror/web:1"},
		{what: "without the mirror", image: "web:1", outcome: Unchanged, writes: 5, stored: "mirror/web:1"},
		{what: "without the mirror, asked for", image: "web:1", again: true, outcome: Updated, writes: 6},
		{what: "as it was applied", image: "web:1", again: true, outcome: Unchanged, writes: 6},
	} {
		if server.mirror = step.mirror; step.restart {
			applier = process()
		}
		if got := apply(step.image, step.again); got != step.outcome || server.writes != step.writes {
			t.Errorf("%s: %s after %d writes, want %s after %d", step.what, got, server.writes, step.outcome, step.writes)
		}
		var want []component.Rewrite
		if step.stored != "" {
			want = []component.Rewrite{{Kind: "Deployment", Name: "web", Field: "spec.template.spec.containers[web].image", Applied: step.image, Stored: step.stored}}
		}
		if diff := cmp.Diff(want, applier.Rewrites([]component.Resource{webOf(t, step.image)})); diff != "" {
			t.Errorf("%s: rewrites (-want +got):\n%s", step.what, diff)
		}
	}
}

func webOf(t *testing.T, image string) *appsv1.Deployment {
	t.Helper()
	d := &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"},
		Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"a": "b"}}, Template: corev1.PodTemplateSpec{
			ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}},
			Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: image}}},
		}},
	}
	if _, err := Stamp(d); err != nil {
		t.Fatal(err)
	}
	return d
}

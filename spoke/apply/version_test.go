package apply_test

import (
	"context"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/apply"
)

// testVersions changes an object after it was read and before the apply arrives.
func testVersions(s *server) func(*testing.T) {
	return func(t *testing.T) {
		for name, tt := range map[string]struct {
			change func(ctx context.Context, live *appsv1.Deployment) error
			want   apply.Outcome // empty for a conflict
			writes int
		}{
			"status": {func(ctx context.Context, live *appsv1.Deployment) error {
				live.Status.Replicas++
				return s.Status().Update(ctx, live)
			}, apply.Updated, 2},
			"by a successor": {func(ctx context.Context, live *appsv1.Deployment) error {
				live.Spec.Template.Spec.Containers[0].Image = "web:3"
				return s.Update(ctx, live)
			}, "", 1},
			"made again": {func(ctx context.Context, live *appsv1.Deployment) error {
				if err := s.Delete(ctx, live.DeepCopy()); err != nil {
					return err
				}
				live.UID, live.ResourceVersion = "", ""
				return s.Create(ctx, live)
			}, "", 1},
			"gone": {func(ctx context.Context, live *appsv1.Deployment) error { return s.Delete(ctx, live) }, "", 1},
			"already as intended": {func(ctx context.Context, live *appsv1.Deployment) error {
				_, err := s.applier().Apply(ctx, apply.Request{Intent: deployment(live.Name, "web:2"), Live: live, Owned: labelled})
				return err
			}, apply.Unchanged, 2},
		} {
			t.Run(name, func(t *testing.T) {
				a := s.applier()
				key := client.ObjectKey{Namespace: "default", Name: "versions"}
				t.Cleanup(func() { _ = s.Delete(context.WithoutCancel(t.Context()), deployment(key.Name, "")) })
				do(t, a, apply.Request{Intent: deployment(key.Name, "web:1"), Owned: labelled}, apply.Created)
				live, read := &appsv1.Deployment{}, &appsv1.Deployment{}
				if err := s.Get(t.Context(), key, read); err != nil {
					t.Fatal(err)
				}
				s.before = func() {
					if err := s.Get(t.Context(), key, live); err != nil {
						t.Fatal(err)
					}
					if err := tt.change(t.Context(), live); err != nil {
						t.Fatal(err)
					}
					s.reads = 0
				}
				s.writes = 0
				result, err := a.Apply(t.Context(), apply.Request{Intent: deployment(key.Name, "web:2"), Live: read, Owned: labelled})
				if tt.want == "" && !apierrors.IsConflict(err) || tt.want != "" && err != nil || result.Outcome != tt.want {
					t.Errorf("outcome %q and error %v, want %q", result.Outcome, err, tt.want)
				}
				if s.writes != tt.writes || s.reads != 1 {
					t.Errorf("%d writes, want %d; %d reads, want 1", s.writes, tt.writes, s.reads)
				}
			})
		}
	}
}

func deployment(name, image string) *appsv1.Deployment {
	labels := map[string]string{"a": "1"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name, Labels: labels}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	return d
}

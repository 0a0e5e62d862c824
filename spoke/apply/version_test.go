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
			change func(context.Context, *appsv1.Deployment) error
			want   apply.Outcome // empty for a conflict
			writes int
		}{
			"status":              {s.changeStatus, apply.Updated, 2},
			"by a successor":      {s.changeImage, "", 1},
			"made again":          {s.makeAgain, "", 1},
			"gone":                {func(ctx context.Context, live *appsv1.Deployment) error { return s.Delete(ctx, live) }, "", 1},
			"already as intended": {s.makeIntended, apply.Unchanged, 2},
		} {
			t.Run(name, func(t *testing.T) {
				a := s.applier()
				do(t, a, apply.Request{Intent: deployment("web:1"), Owned: labelled}, apply.Created)
				t.Cleanup(func() { _ = s.Delete(context.WithoutCancel(t.Context()), deployment("")) })
				read := s.deployment(t)
				s.before = func() {
					if err := tt.change(t.Context(), s.deployment(t)); err != nil {
						t.Fatal(err)
					}
					s.reads = 0
				}
				s.writes = 0
				result, err := a.Apply(t.Context(), apply.Request{Intent: deployment("web:2"), Live: read, Owned: labelled})
				if conflict := apierrors.IsConflict(err); result.Outcome != tt.want || conflict != (tt.want == "") {
					t.Errorf("outcome %q and error %v, want %q", result.Outcome, err, tt.want)
				}
				if s.writes != tt.writes || s.reads != 1 {
					t.Errorf("%d writes, want %d; %d reads, want 1", s.writes, tt.writes, s.reads)
				}
			})
		}
	}
}

func (s *server) changeStatus(ctx context.Context, live *appsv1.Deployment) error {
	live.Status.Replicas++
	return s.Status().Update(ctx, live)
}

func (s *server) changeImage(ctx context.Context, live *appsv1.Deployment) error {
	live.Spec.Template.Spec.Containers[0].Image = "web:3"
	return s.Update(ctx, live)
}

func (s *server) makeAgain(ctx context.Context, live *appsv1.Deployment) error {
	if err := s.Delete(ctx, live.DeepCopy()); err != nil {
		return err
	}
	live.UID, live.ResourceVersion = "", ""
	return s.Create(ctx, live)
}

func (s *server) makeIntended(ctx context.Context, live *appsv1.Deployment) error {
	_, err := s.applier().Apply(ctx, apply.Request{Intent: deployment("web:2"), Live: live, Owned: labelled})
	return err
}

func (s *server) deployment(t *testing.T) *appsv1.Deployment {
	t.Helper()
	live := &appsv1.Deployment{}
	if err := s.Get(t.Context(), client.ObjectKeyFromObject(deployment("")), live); err != nil {
		t.Fatal(err)
	}
	return live
}

func deployment(image string) *appsv1.Deployment {
	labels := map[string]string{"a": "1"}
	d := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "versions", Labels: labels}}
	d.Spec.Selector = &metav1.LabelSelector{MatchLabels: labels}
	d.Spec.Template.Labels = labels
	d.Spec.Template.Spec.Containers = []corev1.Container{{Name: "web", Image: image}}
	return d
}

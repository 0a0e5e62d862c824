package crashpoints_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// firstRevision is the revision before the step, and rolledOut that of the step. The one between
// them was superseded before a cluster got it, and is deleted when the rollout completes.
const firstRevision, rolledOut int64 = 1, 3

var errRollout = errors.New("the rollout is not that far")

// rolloutWorkloads returns the workloads with an application that is rolled out region by region.
func rolloutWorkloads() []workload {
	return []workload{{
		name: "rollout", created: true, rollout: true, clusters: both(), regions: []string{eu, us},
		before: supersede,
		ready:  completed(firstRevision),
		step: func(t *testing.T, s *suite, app *v1.EcommerceApp) {
			t.Helper()
			framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
				app.Spec.Image = "shop:v2"
				// The hub removes it when the region has begun.
				app.Annotations = map[string]string{v1.ApproveAnnotation: fmt.Sprintf("%d/%s", rolledOut, us)}
			})
		},
		done: completed(rolledOut),
	}}
}

// newRollout returns a rollout to the region eu first, and then to us. Its deadline is longer than a crash
// takes, which must not cause a rollback.
func newRollout() *v1.Rollout {
	return &v1.Rollout{
		Soak: &metav1.Duration{Duration: time.Second}, ProgressDeadline: &metav1.Duration{Duration: time.Minute},
		Approval: v1.ApprovalBetweenRegions,
	}
}

// supersede edits the image while the rollout is paused, and takes the edit back.
func supersede(t *testing.T, s *suite, app *v1.EcommerceApp) {
	t.Helper()
	former := app.Spec.Image
	s.AwaitApp(t, app, "the first revision to be complete", rolloutIs(v1.RolloutComplete, firstRevision))
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
		app.Spec.Image = "shop:superseded"
		app.Annotations = map[string]string{v1.RolloutPausedAnnotation: "true"}
	})
	s.AwaitApp(t, app, "another revision to wait", rolloutIs(v1.RolloutPaused, firstRevision+1))
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) {
		app.Spec.Image = former
		delete(app.Annotations, v1.RolloutPausedAnnotation)
	})
}

// rolloutIs returns a check that the rollout of a revision has a state.
func rolloutIs(state v1.RolloutState, revision int64) func(*v1.EcommerceAppStatus) error {
	return func(status *v1.EcommerceAppStatus) error {
		if r := status.Rollout; r == nil || r.State != state || r.Revision != revision {
			return fmt.Errorf("%w: %+v", errRollout, r)
		}
		return nil
	}
}

// completed returns a check that the rollout of a revision is complete, that the copies have its
// image, and that no approval is left.
func completed(revision int64) func(context.Context, *suite, *v1.EcommerceApp) error {
	return func(ctx context.Context, s *suite, app *v1.EcommerceApp) error {
		app = app.DeepCopy()
		if err := s.Hub.Get(ctx, client.ObjectKeyFromObject(app), app); err != nil {
			return err
		}
		if approval := app.Annotations[v1.ApproveAnnotation]; approval != "" {
			return fmt.Errorf("%w: the approval of %s is left", errRollout, approval)
		}
		for name, c := range s.Members {
			copied := &v1.EcommerceApp{}
			if err := c.Get(ctx, client.ObjectKeyFromObject(app), copied); err != nil {
				return err
			}
			if copied.Spec.Image != app.Spec.Image {
				return fmt.Errorf("%w: %s has %s", errRollout, name, copied.Spec.Image)
			}
		}
		return rolloutIs(v1.RolloutComplete, revision)(&app.Status)
	}
}

package hub_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

// denyServices creates a quota that allows no Service, and waits until it is enforced.
func denyServices(t *testing.T, c client.WithWatch, namespace string) {
	t.Helper()
	quota := &corev1.ResourceQuota{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "none"},
		Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/services": resource.MustParse("0")}},
	}
	framework.Create(t, c, quota)
	framework.Await(t, c, quota, "the quota to be enforced", func(q *corev1.ResourceQuota) error {
		if len(q.Status.Hard) == 0 {
			return errors.New("not yet")
		}
		return nil
	})
}

// testDeletionInStates deletes applications in several states at once: nothing holds them up,
// and what they do not own stays.
func (s *suite) testDeletionInStates(t *testing.T) {
	t.Helper()
	const namespace = "states"
	framework.CreateNamespace(t, s.Hub, namespace)
	framework.CreateNamespace(t, s.Members["eu-1"], namespace)
	denyServices(t, s.Members["eu-1"], namespace)
	stranger := framework.Small(namespace, "conflict")
	stranger.Spec.Placement = v1.Placement{}
	framework.Create(t, s.Members["eu-1"], stranger)
	states := map[string]struct{ cluster, reason string }{
		"pending":  {"nowhere", v1.ReasonNoMatchingCluster},
		"conflict": {"eu-1", v1.ReasonConflict},
		"denied":   {"eu-1", v1.ReasonForbidden},
		"running":  {"us-1", v1.ReasonRunning},
		"created":  {"us-1", ""},
	}
	var apps []*v1.EcommerceApp
	for name, state := range states {
		app := framework.Small(namespace, name, state.cluster)
		s.Create(t, app)
		apps = append(apps, app)
	}
	for _, app := range apps {
		if want := states[app.Name].reason; want != "" {
			s.AwaitApp(t, app, app.Name, func(status *v1.EcommerceAppStatus) error {
				ready := framework.Condition(status.Conditions, v1.ConditionReady)
				if ready.Reason != want && !slices.ContainsFunc(status.Clusters, func(c v1.ClusterStatus) bool { return c.Reason == want }) {
					return fmt.Errorf("%s: %s", ready.Reason, ready.Message)
				}
				return nil
			})
		}
	}
	for _, app := range apps {
		if err := s.Hub.Delete(t.Context(), app.DeepCopy()); err != nil {
			t.Fatal(err)
		}
	}
	framework.Eventually(t, "all to be gone", func(ctx context.Context) error {
		var left error
		for _, app := range apps {
			left = errors.Join(left, framework.Gone(ctx, s.Hub, app.DeepCopy()), framework.Gone(ctx, s.Members["us-1"], app.DeepCopy()))
			if app.Name != stranger.Name {
				left = errors.Join(left, framework.Gone(ctx, s.Members["eu-1"], app.DeepCopy()))
			}
		}
		return left
	})
	uid := stranger.UID
	if err := s.Members["eu-1"].Get(t.Context(), client.ObjectKeyFromObject(stranger), stranger); err != nil || stranger.UID != uid || stranger.DeletionTimestamp != nil {
		t.Errorf("the application that the hub does not own: %v, deleted %v", err, stranger.DeletionTimestamp)
	}
	framework.Delete(t, s.Members["eu-1"], stranger)
}

package hub_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	imageV2 = "shop:v2"
	// badImage cannot be pulled.
	badImage = "registry.invalid/shop:v3"
)

var errRollout = errors.New("the rollout is not that far")

// testRollout changes shops that are rolled out region by region.
func (s *suite) testRollout(t *testing.T) {
	t.Run("region follows region", s.testRegions)
	t.Run("a bad image is taken back", s.testTakenBack)
	t.Run("a copy that is lost keeps its revision", s.testKeepsRevision)
	t.Run("a user approves, pauses and takes back", s.testUserDecides)
}

// progressive returns a shop that is rolled out to us-1, eu-1 and asia-1, and runs everywhere.
func (s *suite) progressive(t *testing.T, name string, change func(*v1.Rollout)) *v1.EcommerceApp {
	t.Helper()
	app := small(name, "asia-1", "eu-1", "us-1")
	second, minute := &metav1.Duration{Duration: time.Second}, &metav1.Duration{Duration: time.Minute}
	app.Spec.Rollout = &v1.Rollout{Order: []string{us, eu}, Soak: second, ProgressDeadline: minute}
	change(app.Spec.Rollout)
	s.Create(t, app)
	s.AwaitRunning(t, app, eu, asia, us)
	s.awaitRollout(t, app, v1.RolloutComplete, 1)
	return app
}

// awaitRollout blocks until the rollout of a revision has a state.
func (s *suite) awaitRollout(t *testing.T, app *v1.EcommerceApp, state v1.RolloutState, revision int64) {
	t.Helper()
	s.AwaitApp(t, app, fmt.Sprintf("%s: revision %d to be %s", app.Name, revision, state), func(status *v1.EcommerceAppStatus) error {
		if r := status.Rollout; r == nil || r.State != state || r.Revision != revision {
			return fmt.Errorf("%w: %+v", errRollout, r)
		}
		return nil
	})
}

// setImage edits the image of a shop.
func (s *suite) setImage(t *testing.T, app *v1.EcommerceApp, image string) {
	t.Helper()
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Image = image })
}

// setGoodImage edits the image of a shop after one that could not be pulled, and gives it the time that a busy machine
// takes.
func (s *suite) setGoodImage(t *testing.T, app *v1.EcommerceApp, image string) {
	t.Helper()
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		a.Spec.Image, a.Spec.Rollout.ProgressDeadline = image, &metav1.Duration{Duration: time.Minute}
	})
}

// imageIn returns the image that a member runs.
func (s *suite) imageIn(t *testing.T, app *v1.EcommerceApp, member string) string {
	t.Helper()
	workload := &appsv1.Deployment{}
	if err := s.Members[member].Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-frontend"}, workload); err != nil {
		t.Fatal(err)
	}
	return workload.Spec.Template.Spec.Containers[0].Image
}

// checkImages compares the images that the members run.
func (s *suite) checkImages(t *testing.T, app *v1.EcommerceApp, want map[string]string) {
	t.Helper()
	for member, image := range want {
		if got := s.imageIn(t, app, member); got != image {
			t.Errorf("%s runs %s, want %s", member, got, image)
		}
	}
}

// wroteCopy returns when the hub wrote the copy of a shop in a member since a mark, first to last. A write
// that ended with its hub is none.
func (s *suite) wroteCopy(t *testing.T, app *v1.EcommerceApp, since framework.Marks, member string) []time.Time {
	t.Helper()
	var times []time.Time
	for _, e := range s.Since(t, since, s.Fleet.Member(member)).Writes().Of("ecommerceapps").In(app.Namespace) {
		if e.Name == app.Name && e.Subresource == "" && e.Code < http.StatusMultipleChoices {
			times = append(times, e.Received)
		}
	}
	return times
}

func (s *suite) testRegions(t *testing.T) {
	// Times in a status are in whole seconds.
	app := s.progressive(t, "regions", func(r *v1.Rollout) { r.Soak.Duration = 2 * time.Second })
	before := s.Mark(t)
	s.setImage(t, app, imageV2)
	s.awaitRollout(t, app, v1.RolloutComplete, 2)
	s.AwaitRunning(t, app, eu, asia, us)
	s.checkImages(t, app, map[string]string{"us-1": imageV2, "eu-1": imageV2, "asia-1": imageV2})
	var last time.Time
	for _, member := range []string{"us-1", "eu-1", "asia-1"} {
		writes := s.wroteCopy(t, app, before, member)
		if len(writes) != 1 {
			t.Fatalf("the copy in %s was written %d times, want once", member, len(writes))
		}
		if gap := writes[0].Sub(last); gap < time.Second {
			t.Errorf("%s got the revision %s after the region before, which was to soak for two seconds", member, gap)
		}
		last = writes[0]
	}
	// The numbers of replicas are no revision.
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Replicas = new(int32(2)) })
	s.AwaitApp(t, app, "two replicas everywhere", func(status *v1.EcommerceAppStatus) error {
		if slices.ContainsFunc(status.Clusters, func(c v1.ClusterStatus) bool { return c.ReadyReplicas != 2 }) {
			return fmt.Errorf("%w: %s", errRollout, status.Message)
		}
		return nil
	})
	s.awaitRollout(t, app, v1.RolloutComplete, 2)
	s.Delete(t, app)
}

func (s *suite) testTakenBack(t *testing.T) {
	app := s.progressive(t, "taken-back", func(r *v1.Rollout) { r.ProgressDeadline.Duration = 5 * time.Second })
	before := s.Mark(t)
	s.setImage(t, app, badImage)
	s.awaitRollout(t, app, v1.RolloutRolledBack, 2)
	ready := framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonRolledBack})
	for _, want := range []string{"us-1: it is not ready within spec.rollout.progressDeadline: ", ": frontend: "} {
		if !strings.Contains(ready.Message, want) {
			t.Errorf("Ready says %q, want %q in it", ready.Message, want)
		}
	}
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionStalled, Status: metav1.ConditionTrue, Reason: v1.ReasonRolledBack})
	framework.AwaitCondition(t, s.Hub, app, metav1.Condition{Type: v1.ConditionAvailable, Status: metav1.ConditionTrue, Reason: v1.ReasonAvailable})
	s.checkImages(t, app, map[string]string{"us-1": "shop:v1", "eu-1": "shop:v1", "asia-1": "shop:v1"})
	for _, member := range []string{"eu-1", "asia-1"} {
		if writes := s.Since(t, before, s.Fleet.Member(member)).Writes().Of("deployments").In(app.Namespace); len(writes) > 0 {
			t.Errorf("%s was not to change, and has the writes %v", member, writes)
		}
	}
	if writes := s.wroteCopy(t, app, before, "us-1"); len(writes) != 2 {
		t.Errorf("the copy in us-1 was written %d times, want once there and once back", len(writes))
	}
	s.setGoodImage(t, app, imageV2)
	s.awaitRollout(t, app, v1.RolloutComplete, 3)
	s.AwaitRunning(t, app, eu, asia, us)
	s.checkHistory(t, app, 1, 3)
	s.Delete(t, app)
}

// checkHistory compares the revisions that are stored.
func (s *suite) checkHistory(t *testing.T, app *v1.EcommerceApp, want ...int64) {
	t.Helper()
	framework.Eventually(t, fmt.Sprintf("the history %v", want), func(ctx context.Context) error {
		stored := &appsv1.ControllerRevisionList{}
		if err := s.Hub.List(ctx, stored, client.InNamespace(app.Namespace), client.MatchingLabels{v1.InstanceLabel: app.Name}); err != nil {
			return err
		}
		var got []int64
		for i := range stored.Items {
			if metav1.IsControlledBy(&stored.Items[i], app) {
				got = append(got, stored.Items[i].Revision)
			}
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			return fmt.Errorf("%w: %v", errRollout, got)
		}
		return nil
	})
}

// awaitUpdated blocks until some clusters have got the second revision.
func (s *suite) awaitUpdated(t *testing.T, app *v1.EcommerceApp, clusters int) {
	t.Helper()
	s.AwaitApp(t, app, fmt.Sprintf("%d clusters to be updated", clusters), func(status *v1.EcommerceAppStatus) error {
		begun := 0
		for i := range status.Clusters {
			if status.Clusters[i].Revision == 2 {
				begun++
			}
		}
		if begun < clusters {
			return fmt.Errorf("%w: %+v", errRollout, status.Rollout)
		}
		return nil
	})
}

func (s *suite) testKeepsRevision(t *testing.T) {
	app := s.progressive(t, "keeps", func(r *v1.Rollout) { r.OnFailure, r.ProgressDeadline.Duration = v1.FailurePause, time.Second })
	s.setImage(t, app, badImage)
	s.awaitRollout(t, app, v1.RolloutFailed, 2)
	copied := small(app.Name)
	if err := s.Members["asia-1"].Get(t.Context(), client.ObjectKeyFromObject(app), copied); err != nil {
		t.Fatal(err)
	}
	former := copied.UID
	framework.Edit(t, s.Members["asia-1"], copied, func(a *v1.EcommerceApp) { a.Spec.Image = "other:v1" })
	framework.Await(t, s.Members["asia-1"], copied, "the edit of the copy to be undone", func(a *v1.EcommerceApp) error {
		return expectCopy(a, "shop:v1", "")
	})
	if err := s.Members["asia-1"].Delete(t.Context(), copied); err != nil {
		t.Fatal(err)
	}
	framework.Await(t, s.Members["asia-1"], copied, "the copy to be made again", func(a *v1.EcommerceApp) error {
		return expectCopy(a, "shop:v1", former)
	})
	s.setGoodImage(t, app, "shop:v1")
	s.awaitRollout(t, app, v1.RolloutComplete, 1)
	s.AwaitRunning(t, app, eu, asia, us)
	s.Delete(t, app)
}

// expectCopy returns an error unless a copy has an image, and another UID than the former one.
func expectCopy(copied *v1.EcommerceApp, image string, former types.UID) error {
	if copied.Spec.Image != image || copied.UID == former {
		return fmt.Errorf("%w: image %s, UID %s", errRollout, copied.Spec.Image, copied.UID)
	}
	return nil
}

func (s *suite) testUserDecides(t *testing.T) {
	app := s.progressive(t, "decides", func(r *v1.Rollout) { r.Approval = v1.ApprovalBetweenRegions })
	s.setImage(t, app, imageV2)
	s.awaitRollout(t, app, v1.RolloutWaitingForApproval, 2)
	s.checkImages(t, app, map[string]string{"us-1": imageV2, "eu-1": "shop:v1", "asia-1": "shop:v1"})
	framework.CLI(t, s.Fleet.Hub(), "rollout", "approve", app.Name, "-n", app.Namespace).Want(t, framework.Done, "ecommerceapp.ecommerce.io/decides approved")
	s.awaitUpdated(t, app, 2)
	s.annotate(t, app, v1.RolloutPausedAnnotation, "true")
	s.awaitRollout(t, app, v1.RolloutPaused, 2)
	s.annotate(t, app, v1.ApproveAnnotation, "2/"+asia)
	s.annotate(t, app, v1.RolloutPausedAnnotation, "")
	s.awaitRollout(t, app, v1.RolloutComplete, 2)
	s.annotate(t, app, v1.RollbackToAnnotation, "1")
	s.awaitRollout(t, app, v1.RolloutRolledBack, 2)
	s.checkImages(t, app, map[string]string{"us-1": "shop:v1", "eu-1": "shop:v1", "asia-1": "shop:v1"})
	framework.Await(t, s.Hub, app, "the annotation to be removed", func(a *v1.EcommerceApp) error {
		if to := a.Annotations[v1.RollbackToAnnotation]; to != "" {
			return fmt.Errorf("%w: %s", errRollout, to)
		}
		return nil
	})
	s.Delete(t, app)
}

// annotate sets an annotation of a shop, or removes it if the value is empty.
func (s *suite) annotate(t *testing.T, app *v1.EcommerceApp, key, value string) {
	t.Helper()
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) {
		if a.Annotations == nil {
			a.Annotations = map[string]string{}
		}
		a.Annotations[key] = value
		if value == "" {
			delete(a.Annotations, key)
		}
	})
}

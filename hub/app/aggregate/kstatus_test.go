package aggregate

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestKstatus checks that for tools that use kstatus, an application on the hub is Current when all clusters have its
// spec, and has failed while only a user can bring that about.
func TestKstatus(t *testing.T) {
	t.Parallel()
	deleting, paused := after(everywhere(), 1), edited(after(everywhere(), 1))
	deleting.Deleting, paused.Paused = true, true
	stuck := with(after(everywhere(), 1), "a", says(v1.ConditionDegraded, v1.ReasonStorageNotExpandable), says(v1.ConditionStalled, v1.ReasonStorageNotExpandable))
	for name, tt := range map[string]struct {
		in   Input
		want status.Status
	}{
		"runs":                      {everywhere(), status.CurrentStatus},
		"is created":                {input(member("a"), member("b")), status.InProgressStatus},
		"is updated":                {edited(after(everywhere(), 1)), status.InProgressStatus},
		"a lost cluster":            {with(after(everywhere(), 1), "b", lost), status.InProgressStatus},
		"rejected":                  {with(after(everywhere(), 1), "a", reporting(v1.PhaseFailed), says(v1.ConditionStalled, v1.ReasonForbidden)), status.FailedStatus},
		"a conflict":                {input(member("a", failing(v1.ReasonConflict)), member("b", running)), status.FailedStatus},
		"a volume that cannot grow": {stuck, status.FailedStatus},
		"no cluster matches": {Input{Generation: 1, Now: at(0), Rejected: []v1.RejectedClusters{{Reason: v1.ReasonNotSelected, Clusters: 1, Examples: []string{"a"}}}},
			status.FailedStatus},
		"paused, with a change": {paused, status.CurrentStatus}, // Nothing is to be waited for.
		"is deleted":            {deleting, status.TerminatingStatus},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{
				TypeMeta:   metav1.TypeMeta{APIVersion: "ecommerce.io/v1", Kind: "EcommerceApp"},
				ObjectMeta: metav1.ObjectMeta{Name: "shop", Generation: tt.in.Generation},
				Status:     Compute(tt.in),
			}
			if tt.in.Deleting {
				app.DeletionTimestamp = new(at(0))
			}
			content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(app)
			if err != nil {
				t.Fatal(err)
			}
			got, err := status.Compute(&unstructured.Unstructured{Object: content})
			if err != nil {
				t.Fatal(err)
			}
			if got.Status != tt.want {
				t.Errorf("got %s, %s; want %s", got.Status, got.Message, tt.want)
			}
		})
	}
}

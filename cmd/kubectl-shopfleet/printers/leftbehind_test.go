package printers

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestLeftBehind: clusters in which something was bad before they got a revision are named, others are not.
func TestLeftBehind(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Status.Rollout = &v1.RolloutStatus{Revision: 2, State: v1.RolloutComplete, Updating: []v1.ClusterUpdate{
		{Name: "a", Before: &v1.ClusterBefore{}},
		{Name: "b", Before: &v1.ClusterBefore{Serving: true, Unready: []v1.UnreadyComponent{{Name: "backend"}, {Name: "monitoring"}}}},
		{Name: "c", Before: &v1.ClusterBefore{Serving: true, Stalled: v1.ReasonForbidden}},
		{Name: "d", Before: &v1.ClusterBefore{Serving: true}},
		{Name: "e"},
		{Name: "f", Before: &v1.ClusterBefore{Unknown: true}},
	}}
	const want = "a served no customers before revision 2, and is not waited for.\n" +
		"b was not ready before revision 2: backend, monitoring.\n" +
		"c was not ready before revision 2: Forbidden.\n" +
		"f had revision 2 when it was first observed: it is not known what it was like before.\n"
	if got := leftBehind(app); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	app.Status.Rollout.State = v1.RolloutRollingBack
	if got := leftBehind(app) + leftBehind(&v1.EcommerceApp{}); got != "" {
		t.Errorf("got %q while a revision is taken back, and without a rollout", got)
	}
}

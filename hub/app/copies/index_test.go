package copies

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestMembersOf(t *testing.T) {
	t.Parallel()
	lost := shop(1, 1, "a")
	lost.Status.ClusterCount = 2
	for name, tt := range map[string]struct {
		app  *v1.EcommerceApp
		want []string
	}{
		"its members":                {shop(1, 1, "a", "b"), []string{"a", "b"}},
		"not placed":                 {shop(1, 1), nil},
		"a status that was wiped":    {shop(1, 0), []string{anyMember}},
		"a status that lost entries": {lost, []string{anyMember, "a"}},
	} {
		if diff := cmp.Diff(tt.want, membersOf(tt.app)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestIsPending: what a member has missed precedes what is only compared.
func TestIsPending(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		applied int64
		change  func(*v1.EcommerceApp)
		want    bool
	}{
		"the same":   {applied: 2},
		"edited":     {applied: 1, want: true},
		"new":        {want: true},
		"to be left": {applied: 2, change: func(a *v1.EcommerceApp) { a.Status.Clusters[0].Phase = v1.PhaseDeleting }, want: true},
		"deleted":    {applied: 2, change: func(a *v1.EcommerceApp) { a.DeletionTimestamp = &metav1.Time{} }, want: true},
		"elsewhere":  {applied: 2, change: func(a *v1.EcommerceApp) { a.Status.Clusters[0].Name = "b" }, want: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := shop(2, 2, "a")
			app.Status.Clusters[0].AppliedGeneration = tt.applied
			if tt.change != nil {
				tt.change(app)
			}
			if got := isPending(app, "a"); got != tt.want {
				t.Errorf("pending: %t, want %t", got, tt.want)
			}
		})
	}
}

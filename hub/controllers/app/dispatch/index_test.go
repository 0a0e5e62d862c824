package dispatch

import (
	"testing"

	"github.com/google/go-cmp/cmp"

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

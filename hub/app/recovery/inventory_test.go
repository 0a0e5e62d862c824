package recovery

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestUnobserved decides about members whose status was lost together with that of the application.
func TestUnobserved(t *testing.T) {
	t.Parallel()
	regions := v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}}
	for name, tt := range map[string]struct {
		spec     v1.Placement
		observed bool
		presence Presence
		want     []string
	}{
		"by region":          {spec: regions, want: []string{"a", "b"}},
		"by provider":        {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}, want: []string{"a", "b"}},
		"by labels":          {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{}}}, want: []string{"a", "b"}},
		"anywhere":           {},
		"by name":            {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"a"}}}},
		"by region and name": {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"b"}, Regions: []string{"r"}}}, want: []string{"b"}},
		"observed":           {spec: regions, observed: true},
		"a copy that ends":   {spec: regions, presence: Terminating},
		"no copy":            {spec: regions, presence: Absent},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			i := InventoryOf(&v1.EcommerceApp{})
			for _, name := range []string{"b", "a"} {
				presence := tt.presence
				if presence == NotLooked {
					presence = Present
				}
				if !i.Asks(Candidate{Name: name, Connected: true, Observed: tt.observed}) {
					t.Errorf("%s is not asked", name)
				}
				i.Add(name, presence)
			}
			if diff := cmp.Diff(tt.want, i.Unanswered(tt.spec, nil, nil)); diff != "" {
				t.Errorf("waits for (-want +got):\n%s", diff)
			}
		})
	}
}

// TestAsks checks that members are asked that are recorded, or all if none are, and those whose cache has a copy. One
// that cannot be asked may hold a copy, or is waited for.
func TestAsks(t *testing.T) {
	t.Parallel()
	connected := Candidate{Connected: true, Ready: metav1.ConditionTrue}
	cached := connected
	cached.Cached = true
	connecting, lost, fresh := Candidate{Ready: metav1.ConditionTrue}, Candidate{Ready: metav1.ConditionFalse}, Candidate{Ready: metav1.ConditionUnknown}
	for name, tt := range map[string]struct {
		recorded              *string
		status                []v1.ClusterStatus
		member                Candidate
		asks, pending, isHeld bool
	}{
		"connected":                       {member: connected, asks: true},
		"connected, recorded":             {member: connected, recorded: new("a"), asks: true},
		"connected, not recorded":         {member: connected, recorded: new("b")},
		"connected, cached, not recorded": {member: cached, recorded: new("b"), asks: true},
		"connecting":                      {member: connecting, recorded: new(""), pending: true},
		"lost":                            {member: lost, isHeld: true},
		"lost, recorded":                  {member: lost, recorded: new("b,a"), isHeld: true},
		"lost, not recorded":              {member: lost, recorded: new("b")},
		"not connected yet, not recorded": {member: fresh, recorded: new("b"), isHeld: true},
		"it has an entry":                 {member: connected, status: []v1.ClusterStatus{{Name: "a"}}, isHeld: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{Status: v1.EcommerceAppStatus{Clusters: tt.status}}
			if tt.recorded != nil {
				app.Annotations = map[string]string{v1.ClustersAnnotation: *tt.recorded}
			}
			i := InventoryOf(app)
			tt.member.Name = "a"
			if asks := i.Asks(tt.member); asks != tt.asks || i.Pending != tt.pending || (len(i.Entries) == 1) != tt.isHeld {
				t.Errorf("asks %t, pending %t, entries %v", asks, i.Pending, i.Entries)
			}
		})
	}
}

// TestInventoryWaits for members that have not answered.
func TestInventoryWaits(t *testing.T) {
	t.Parallel()
	i := InventoryOf(&v1.EcommerceApp{})
	i.Add("a", Present)
	if i.Pending {
		t.Error("waits although every member answered")
	}
	i.Add("b", NotLooked)
	if !i.Pending || len(i.Entries) != 1 {
		t.Errorf("pending %t, entries %v; want to wait for b", i.Pending, i.Entries)
	}
}

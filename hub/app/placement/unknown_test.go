package placement

import (
	stdcmp "cmp"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// unobserved makes a cluster of which nothing is known yet.
func unobserved(c *Cluster) {
	c.Region, c.Provider, c.Zones, c.Ready, c.Unobserved = "", "", nil, false, true
}

// unknownTest holds the placement of an application that runs in two clusters, of which one is not observed.
type unknownTest struct {
	spec   v1.Placement
	edited bool
	// leaves is true if what is known is enough to leave the cluster.
	leaves bool
}

// check checks the decision before and after the cluster is observed.
func (u unknownTest) check(t *testing.T) {
	t.Helper()
	known, lost := ready("known", "r", v1.ProviderAWS), ready("lost", "", "", unobserved)
	known.Zones, known.Labels = []string{"z"}, map[string]string{"tier": "silver"}
	d, err := Decide(Request{Placement: u.spec, Clusters: []Cluster{known, lost}, Current: serving("known", "lost"), Edited: u.edited, SelectionEdited: u.edited})
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"known", "lost"}
	if u.leaves {
		want = want[:1]
	}
	if diff := cmp.Diff(want, d.Chosen); diff != "" {
		t.Errorf("chosen (-want +got):\n%s", diff)
	}
	if d.Pending() == u.leaves {
		t.Errorf("the decision is pending: %v; stays %v", d.Pending(), d.Stays)
	}
	if u.leaves {
		return
	}
	if reason, _ := d.Explain(); reason != v1.ReasonFactsUnknown {
		t.Errorf("reason %q", reason)
	}
	// Known to have none of these, it leaves.
	lost.Unobserved = false
	if d, err = Decide(Request{Placement: u.spec, Clusters: []Cluster{known, lost}, Current: serving("known", "lost"), Edited: u.edited, SelectionEdited: u.edited}); err != nil || len(d.Chosen) != 1 {
		t.Errorf("with its facts known it runs in %v, %v", d.Chosen, err)
	}
}

// TestUnknownFacts checks that facts that are not known are neither a mismatch nor a match. A cluster that runs the
// application stays, edited or not, until they are.
func TestUnknownFacts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]unknownTest{
		"region":                     {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}}},
		"region, edited":             {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}}}, edited: true},
		"provider":                   {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Providers: []v1.Provider{v1.ProviderAWS}}}},
		"region as a label":          {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector(corev1.LabelTopologyRegion, "r")}}},
		"provider as a label":        {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector(v1.ProviderLabel, "aws")}}},
		"region exists":              {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: expression(corev1.LabelTopologyRegion, metav1.LabelSelectorOpExists)}}},
		"region in":                  {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: expression(corev1.LabelTopologyRegion, metav1.LabelSelectorOpIn, "r")}}},
		"spread by region, edited":   {spec: v1.Placement{Spread: []v1.Spread{{Topology: v1.TopologyRegion, MaxClustersPerDomain: 1}}}, edited: true},
		"spread by provider, edited": {spec: v1.Placement{Spread: []v1.Spread{{Topology: v1.TopologyProvider, MinDomains: 1}}}, edited: true},
		"spread by zone, edited":     {spec: v1.Placement{Spread: []v1.Spread{{Topology: v1.TopologyZone, MinDomains: 1}}}, edited: true},

		"a name is known":               {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"known"}}}, leaves: true},
		"a label is known":              {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: selector("tier", "silver")}}, leaves: true},
		"a label beside, which differs": {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterSelector: &v1.ClusterLabelSelector{MatchLabels: map[string]string{"tier": "silver", v1.ProviderLabel: "aws"}}}}, leaves: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.check(t)
		})
	}
}

func expression(key string, operator metav1.LabelSelectorOperator, values ...string) *v1.ClusterLabelSelector {
	return &v1.ClusterLabelSelector{MatchExpressions: []v1.ClusterRequirement{{Key: key, Operator: operator, Values: values}}}
}

// TestRecordedLocation checks that the entry of an application says where a cluster is whose status was lost, before
// and after the placement is edited.
func TestRecordedLocation(t *testing.T) {
	t.Parallel()
	bare := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "a"}}
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"r"}, Providers: []v1.Provider{v1.ProviderGCP}}}}}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "a", Region: "r", Provider: v1.ProviderGCP, Available: true}}
	clusters := []Cluster{ready("b", "r", v1.ProviderGCP), ready("c", "other", v1.ProviderGCP), ready("d", "", ""), ClusterOf(&bare, time.Time{})}
	d, err := Decide(RequestOf(app, clusters, time.Time{}))
	if err != nil || !cmp.Equal(d.Chosen, []string{"a", "b"}) || len(d.Stays) > 0 {
		t.Errorf("chosen %v, stays %v, %v", d.Chosen, d.Stays, err)
	}
	if clusters[3].Region != "" {
		t.Error("the clusters are shared by applications, and were changed")
	}
	app.Spec.Placement.Regions = []string{"other"}
	if d, err = Decide(RequestOf(app, clusters, time.Time{})); err != nil || len(d.Stays) == 0 || d.Stays[0].Cause != v1.ReasonRegionNotListed {
		t.Errorf("after the edit: chosen %v, stays %v, %v", d.Chosen, d.Stays, err)
	}
	bare.Spec.Region, bare.Spec.Provider = "s", v1.ProviderAWS
	if c := ClusterOf(&bare, time.Time{}); c.Region != "s" || c.Provider != v1.ProviderAWS {
		t.Errorf("the spec says where it is: %+v", c)
	}
	for _, known := range []Cluster{{Region: "s", Provider: v1.ProviderAWS}, {Region: "s"}, {Provider: v1.ProviderAWS}} {
		bare.Spec.Region, bare.Spec.Provider = known.Region, known.Provider
		got := RequestOf(app, []Cluster{ClusterOf(&bare, time.Time{})}, time.Time{}).Clusters[0]
		if got.Region != stdcmp.Or(known.Region, "r") || got.Provider != stdcmp.Or(known.Provider, v1.ProviderGCP) {
			t.Errorf("the spec comes first, and then the entry: %+v", got)
		}
	}
}

// TestFittingUnknown checks that an unknown resource does not bound the replicas.
func TestFittingUnknown(t *testing.T) {
	t.Parallel()
	for _, c := range []Cluster{{}, {Allocatable: capacity(10, 100)}, {Requested: capacity(1, 10)}} {
		if n, known := fitting(&v1.Workload{}, &c); n != 0 || known {
			t.Errorf("%d fit, known: %t", n, known)
		}
	}
	c := Cluster{Allocatable: v1.ResourceList{}, Requested: v1.ResourceList{}}
	if n, known := fitting(&v1.Workload{}, &c); known {
		t.Errorf("%d fit where nothing is known", n)
	}
	c = Cluster{Allocatable: capacity(10, 100), Requested: capacity(1, 10)}
	most, _ := fitting(&v1.Workload{}, &c)
	delete(c.Requested, v1.ResourcePods)
	if n, known := fitting(&v1.Workload{}, &c); !known || n < most || n == 0 {
		t.Errorf("%d fit with pods unknown, %d without", n, most)
	}
	for range 20 { // Resources come in any order.
		if again, _ := fitting(&v1.Workload{}, &c); again != most {
			t.Errorf("%d fit with pods unknown, %d without", again, most)
		}
	}
}

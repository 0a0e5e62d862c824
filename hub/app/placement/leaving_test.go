package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// added returns the time at which taints were added.
func added() time.Time { return time.Unix(1000, 0) }

func drained(c *Cluster)  { c.Scheduling = v1.SchedulingDrained }
func cordoned(c *Cluster) { c.Scheduling = v1.SchedulingCordoned }

func tainted(effect v1.TaintEffect) func(*Cluster) {
	return func(c *Cluster) {
		c.Taints = []Taint{{Taint: v1.Taint{Key: "maintenance", Value: "now", Effect: effect}, AddedTime: added()}}
	}
}

// request is one row of a table; its decision has no rejections.
type request struct {
	Request
	want Decision
}

func checkRequests(t *testing.T, tests map[string]request) {
	t.Helper()
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.Now.IsZero() {
				tt.Now = added()
			}
			got, err := Decide(tt.Request)
			if err != nil {
				t.Fatalf("Decide: %v", err)
			}
			got.Rejected = nil
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("decision (-want +got):\n%s", diff)
			}
		})
	}
}

func eu(options ...func(*Cluster)) Cluster { return ready("eu", "r", v1.ProviderAWS, options...) }
func us(options ...func(*Cluster)) Cluster { return ready("us", "s", v1.ProviderAWS, options...) }

// TestDecideStaying: nothing is left without another cluster, and nothing is awaited that cannot begin.
func TestDecideStaying(t *testing.T) {
	t.Parallel()
	wait := []Stay{{"eu", v1.ReasonDrained, v1.ReasonReplacementPending}}
	checkRequests(t, map[string]request{
		"no cluster matches, and one has data": {
			Request: Request{Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"nosuch"}}}, Clusters: []Cluster{us()}, Current: serving("us"), HasDatabase: true},
			want: Decision{
				Chosen:    []string{"us"},
				Unmatched: "no cluster matches the placement, so the application stays on its current clusters: correct spec.placement, or delete the application",
			},
		},
		"in as many clusters as it may, it awaits no other one": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: append(serving("eu"), on(make([]string, MaxClusters-1)...)...)},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: wait},
		},
	})
}

func TestDecideLeaving(t *testing.T) {
	t.Parallel()
	wait := []Stay{{"eu", v1.ReasonDrained, v1.ReasonReplacementPending}}
	checkRequests(t, map[string]request{
		"a cluster that is cordoned takes no other application": {
			Request: Request{Clusters: []Cluster{eu(cordoned), us()}}, want: Decision{Chosen: []string{"us"}},
		},
		"and keeps those that it has": {
			Request: Request{Clusters: []Cluster{eu(cordoned), us()}, Current: serving("eu", "us")}, want: Decision{Chosen: []string{"eu", "us"}},
		},
		"a cluster that is drained serves until another one does": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: append(serving("eu"), on("us")...)},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: wait, Awaits: []string{"us"}},
		},
		"and is left then": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us")}, want: Decision{Chosen: []string{"us"}},
		},
		"a cluster that does not respond is not waited for": {
			Request: Request{Clusters: []Cluster{eu(drained), us(), ready("asia", "q", v1.ProviderAWS, notReady)}, Current: append(serving("eu", "us"), on("asia")...)},
			want:    Decision{Chosen: []string{"asia", "us"}},
		},
		"nor one that waits for a user": {
			Request: Request{Clusters: []Cluster{eu(drained), us(), ready("asia", "q", v1.ProviderAWS)}, Current: append(serving("eu", "us"), Current{Name: "asia", Stalled: true})},
			want:    Decision{Chosen: []string{"asia", "us"}},
		},
		"one that does not respond may serve until another one does": {
			Request: Request{Clusters: []Cluster{eu(drained, notReady), us()}, Current: append(on("us"), Current{Name: "eu"})},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: wait, Awaits: []string{"us"}},
		},
		"what served and does not respond is no replacement": {
			Request: Request{Clusters: []Cluster{eu(drained), us(notReady)}, Current: serving("eu", "us")},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: wait},
		},
		"the end of a drain does not exceed the maximum": {
			Request: Request{Placement: v1.Placement{MaxClusters: 1}, Clusters: []Cluster{eu(), us()}, Current: append(serving("eu"), on("us")...)},
			want:    Decision{Chosen: []string{"eu"}},
		},
		"nor is a cluster kept that does not serve": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: on("eu", "us")}, want: Decision{Chosen: []string{"us"}},
		},
		"the only cluster is not left": {
			Request: Request{Clusters: []Cluster{eu(drained)}, Current: serving("eu")},
			want:    Decision{Chosen: []string{"eu"}, Stays: []Stay{{"eu", v1.ReasonDrained, v1.ReasonNoOtherCluster}}},
		},
		"after an edit too, others are waited for": {
			Request: Request{
				Placement: v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"us"}}}, Edited: true, SelectionEdited: true,
				Clusters: []Cluster{eu(), us()}, Current: append(serving("eu"), on("us")...),
			},
			want: Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonNameNotListed, v1.ReasonReplacementPending}}, Awaits: []string{"us"}},
		},
	})
}

func TestDecideWithData(t *testing.T) {
	t.Parallel()
	named := v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"us"}}}
	checkRequests(t, map[string]request{
		"data stays in a cluster that is drained": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), HasDatabase: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonDrained, v1.ReasonDataStays}}},
		},
		"also when another field of the placement is edited": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), HasDatabase: true, Edited: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonDrained, v1.ReasonDataStays}}},
		},
		"unless the user allows it": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), HasDatabase: true, MoveEmpty: []string{"eu"}},
			want:    Decision{Chosen: []string{"us"}},
		},
		"a change of the cluster is no reason to leave data": {
			Request: Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: serving("eu", "us"), HasDatabase: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonNameNotListed, v1.ReasonDataStays}}},
		},
		"an edit of the placement is": {
			Request: Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: append(serving("eu"), on("us")...), HasDatabase: true, Edited: true, SelectionEdited: true},
			want:    Decision{Chosen: []string{"us"}},
		},
		"an edit of other fields is not": {
			Request: Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: serving("eu", "us"), HasDatabase: true, Edited: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonNameNotListed, v1.ReasonDataStays}}},
		},
		"data takes the place of another cluster": {
			Request: Request{Placement: v1.Placement{MaxClusters: 1, ClusterCriteria: v1.ClusterCriteria{Regions: []string{"s"}}}, Clusters: []Cluster{eu(), us()}, Current: serving("eu"), HasDatabase: true},
			want:    Decision{Chosen: []string{"eu"}, Stays: []Stay{{"eu", v1.ReasonRegionNotListed, v1.ReasonDataStays}}},
		},
	})
}

// TestDecideBoundsWithData checks that a bound, or an edit of one, takes no data away: only a user who names the
// cluster does.
func TestDecideBoundsWithData(t *testing.T) {
	t.Parallel()
	const annotated = ": a cluster with a database is exchanged, without its data, when the annotation ecommerce.io/move-empty names it"
	most := v1.Placement{MaxClusters: 1}
	one := v1.Placement{Spread: []v1.Spread{{Topology: v1.TopologyProvider, MaxClustersPerDomain: 1}}}
	two := v1.Placement{MaxClusters: 2, Spread: []v1.Spread{{Topology: v1.TopologyProvider, MinDomains: 2}}}
	crowded := Decision{
		Chosen: []string{"eu", "us"}, Stays: []Stay{{"us", v1.ReasonSpreadLimit, v1.ReasonDataStays}},
		Unmet: "spread by provider: maxClustersPerDomain is 1, and the chosen clusters have 2" + annotated,
	}
	both := []Cluster{eu(), us()}
	three := []Cluster{eu(), us(), ready("asia", "q", v1.ProviderGCP)}
	checkRequests(t, map[string]request{
		"more clusters than the maximum keep their data": {
			Request: Request{Placement: most, Clusters: both, Current: append(on("eu"), serving("us")...), HasDatabase: true, Edited: true},
			want: Decision{
				Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonMaxClustersReached, v1.ReasonDataStays}},
				Unmet: "maxClusters is 1, and the application runs in 2" + annotated,
			},
		},
		"unless the user allows it": {
			Request: Request{Placement: most, Clusters: both, Current: append(on("eu"), serving("us")...), HasDatabase: true, MoveEmpty: []string{"eu"}},
			want:    Decision{Chosen: []string{"us"}},
		},
		"a spread that is not met moves no data":   {Request: Request{Placement: one, Clusters: both, Current: serving("eu", "us"), HasDatabase: true}, want: crowded},
		"nor does it when another field is edited": {Request: Request{Placement: one, Clusters: both, Current: serving("eu", "us"), HasDatabase: true, Edited: true}, want: crowded},
		"or when an edit selects both clusters":    {Request: Request{Placement: one, Clusters: both, Current: serving("eu", "us"), HasDatabase: true, Edited: true, SelectionEdited: true}, want: crowded},
		"the user lets it leave, without an edit":  {Request: Request{Placement: one, Clusters: both, Current: serving("eu", "us"), HasDatabase: true, MoveEmpty: []string{"us"}}, want: Decision{Chosen: []string{"eu"}}},
		"no bound is exceeded":                     {Request: Request{Placement: one, Clusters: three, Current: serving("eu"), HasDatabase: true, MoveEmpty: []string{"eu"}}, want: Decision{Chosen: []string{"asia", "eu"}, UnusedMoves: []string{"eu"}}},
		"another domain takes the place of one that the user names": {
			Request: Request{Placement: two, Clusters: three, Current: serving("eu", "us"), HasDatabase: true, MoveEmpty: []string{"us"}},
			want: Decision{
				Chosen: []string{"asia", "eu", "us"}, Stays: []Stay{{"us", v1.ReasonMaxClustersReached, v1.ReasonReplacementPending}}, Awaits: []string{"asia"},
			},
		},
	})
}

// TestDecideUnused checks that an unneeded consent is reported, except if a cluster is to be left, now or later.
func TestDecideUnused(t *testing.T) {
	t.Parallel()
	tolerant := v1.Placement{Tolerations: []v1.Toleration{forSeconds(60)}}
	for name, tt := range map[string]struct {
		spec     v1.Placement
		clusters []Cluster
		want     []string
	}{
		"nothing repels it":      {clusters: []Cluster{eu(), us()}, want: []string{"eu"}},
		"it is cordoned":         {clusters: []Cluster{eu(cordoned), us()}, want: []string{"eu"}},
		"it is drained":          {clusters: []Cluster{eu(drained), us()}},
		"no other can run it":    {clusters: []Cluster{eu(drained)}},
		"a toleration is to end": {spec: tolerant, clusters: []Cluster{eu(tainted(v1.TaintNoExecute)), us()}},
		"a bound is exceeded":    {spec: v1.Placement{MaxClusters: 1}, clusters: []Cluster{eu(notReady), us()}},
		"it does not match":      {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"s"}}}, clusters: []Cluster{eu(), us()}},
		"no cluster matches":     {spec: v1.Placement{ClusterCriteria: v1.ClusterCriteria{Regions: []string{"q"}}}, clusters: []Cluster{eu(), us()}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Decide(Request{Placement: tt.spec, Clusters: tt.clusters, Current: serving("eu", "us"), HasDatabase: true, MoveEmpty: []string{"asia", "eu"}, Now: added()})
			if diff := cmp.Diff(tt.want, got.UnusedMoves); err != nil || diff != "" {
				t.Errorf("unused (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func TestDecideTaints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		effect       v1.TaintEffect
		tolerations  []v1.Toleration
		joins, stays bool
		until        time.Time
	}{
		"no schedule":              {effect: v1.TaintNoSchedule, stays: true},
		"no execute":               {effect: v1.TaintNoExecute},
		"tolerated by key":         {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{{Key: "maintenance", Operator: v1.TolerationExists}}, joins: true, stays: true},
		"tolerated by value":       {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{{Key: "maintenance", Value: "now"}}, joins: true, stays: true},
		"any taint is tolerated":   {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{{Operator: v1.TolerationExists}}, joins: true, stays: true},
		"another value":            {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{{Key: "maintenance", Value: "later"}}},
		"another effect":           {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{{Key: "maintenance", Operator: v1.TolerationExists, Effect: v1.ToleratesNoSchedule}}},
		"for a time":               {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{forSeconds(60)}, stays: true, until: added().Add(time.Minute)},
		"for a time that is over":  {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{forSeconds(0)}},
		"the shortest time counts": {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{forSeconds(60), forSeconds(90), {Operator: v1.TolerationExists}}, stays: true, until: added().Add(time.Minute)},
		"for a very long time":     {effect: v1.TaintNoExecute, tolerations: []v1.Toleration{forSeconds(1 << 62)}, stays: true, until: added().Add(maxToleration)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Request{
				Placement: v1.Placement{Tolerations: tt.tolerations}, Now: added(),
				Clusters: []Cluster{eu(tainted(tt.effect)), us(tainted(tt.effect)), ready("asia", "q", v1.ProviderAWS), ready("west", "w", v1.ProviderAWS)},
				Current:  serving("asia", "us", "west"),
			}
			want := Decision{Chosen: []string{"asia"}, Until: tt.until}
			if tt.joins {
				want.Chosen = append(want.Chosen, "eu")
			}
			if tt.stays {
				want.Chosen = append(want.Chosen, "us")
			}
			want.Chosen = append(want.Chosen, "west")
			got, err := Decide(r)
			got.Rejected = nil
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("decision (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func forSeconds(n int64) v1.Toleration {
	return v1.Toleration{Key: "maintenance", Operator: v1.TolerationExists, Effect: v1.ToleratesNoExecute, TolerationSeconds: &n}
}

// TestExplain checks that the message says what a user can do, and names few clusters of many.
func TestExplain(t *testing.T) {
	t.Parallel()
	d := Decision{Awaits: []string{"e", "f"}, Stays: []Stay{
		{"a", v1.ReasonDrained, v1.ReasonDataStays}, {"b", v1.ReasonTaintNotTolerated, v1.ReasonReplacementPending},
		{"c", v1.ReasonDrained, v1.ReasonNoOtherCluster}, {"d", v1.ReasonDrained, v1.ReasonDataStays}, {"g", v1.ReasonDrained, v1.ReasonDataStays},
	}}
	reason, message := d.Explain()
	want := "stays in a (Drained) because its database would be left behind: to move without the data, add a to the annotation ecommerce.io/move-empty; " +
		"stays in b (TaintNotTolerated) until customers are served in e, f; stays in c (Drained) because no other cluster can run it; and 2 more"
	if reason != v1.ReasonDataStays || message != want {
		t.Errorf("got %q: %q\nwant %q", reason, message, want)
	}
	for i, pending := range []bool{false, true, false, false} {
		if got := (Decision{Stays: d.Stays[i : i+1]}).Pending(); got != pending {
			t.Errorf("%v: pending %t", d.Stays[i], got)
		}
	}
}

// TestEdited checks that only an edit of the placement counts as one, and neither an upgrade nor a lost status.
func TestEdited(t *testing.T) {
	t.Parallel()
	spec := v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"eu"}}, MaxClusters: 2}
	for name, tt := range map[string]struct {
		last             *v1.PlacementStatus
		edited, selected bool
	}{
		"no status":              {},
		"unchanged":              {last: &v1.PlacementStatus{SpecHash: Hash(spec)}},
		"another maximum":        {last: &v1.PlacementStatus{SpecHash: Hash(v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: spec.ClusterNames}, MaxClusters: 1})}, edited: true},
		"another name":           {last: &v1.PlacementStatus{SpecHash: Hash(v1.Placement{ClusterCriteria: v1.ClusterCriteria{ClusterNames: []string{"us"}}, MaxClusters: 2})}, edited: true, selected: true},
		"by an earlier release":  {last: &v1.PlacementStatus{DecidedFor: 3}},
		"edited while that runs": {last: &v1.PlacementStatus{DecidedFor: 2}, edited: true, selected: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Placement: spec}, Status: v1.EcommerceAppStatus{Placement: tt.last}}
			app.Generation = 3
			r := RequestOf(app, nil, added())
			if r.Edited != tt.edited || r.SelectionEdited != tt.selected {
				t.Errorf("edited %t, selected %t; want %t, %t", r.Edited, r.SelectionEdited, tt.edited, tt.selected)
			}
		})
	}
	if got, want := Hash(spec), "b2bfcbcc9c43afde-20f9cccc7206a03e"; got != want {
		t.Errorf("the hash is %s, and was %s: each application would count as edited", got, want)
	}
}

package placement

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

var added = time.Unix(1000, 0)

func drained(c *Cluster)  { c.Scheduling = v1.SchedulingDrained }
func cordoned(c *Cluster) { c.Scheduling = v1.SchedulingCordoned }

func tainted(effect v1.TaintEffect) func(*Cluster) {
	return func(c *Cluster) {
		c.Taints = []Taint{{Taint: v1.Taint{Key: "maintenance", Value: "now", Effect: effect}, AddedTime: added}}
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
				tt.Now = added
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
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: wait},
		},
		"and is left then": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us")}, want: Decision{Chosen: []string{"us"}},
		},
		"a cluster that does not respond is not waited for": {
			Request: Request{Clusters: []Cluster{eu(drained), us(), ready("asia", "q", v1.ProviderAWS, notReady)}, Current: append(serving("eu", "us"), on("asia")...)},
			want:    Decision{Chosen: []string{"asia", "us"}},
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
				Placement: v1.Placement{ClusterNames: []string{"us"}}, Edited: true,
				Clusters: []Cluster{eu(), us()}, Current: append(serving("eu"), on("us")...),
			},
			want: Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonNameNotListed, v1.ReasonReplacementPending}}},
		},
	})
}

func TestDecideWithData(t *testing.T) {
	t.Parallel()
	named := v1.Placement{ClusterNames: []string{"us"}}
	checkRequests(t, map[string]request{
		"data stays in a cluster that is drained": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), Data: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonDrained, v1.ReasonDataStays}}},
		},
		"also when another field of the placement is edited": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), Data: true, Edited: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonDrained, v1.ReasonDataStays}}},
		},
		"unless the user allows it": {
			Request: Request{Clusters: []Cluster{eu(drained), us()}, Current: serving("eu", "us"), Data: true, MoveEmpty: []string{"eu"}},
			want:    Decision{Chosen: []string{"us"}},
		},
		"a change of the cluster is no reason to leave data": {
			Request: Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: serving("eu", "us"), Data: true},
			want:    Decision{Chosen: []string{"eu", "us"}, Stays: []Stay{{"eu", v1.ReasonNameNotListed, v1.ReasonDataStays}}},
		},
		"an edit of the placement is": {
			Request: Request{Placement: named, Clusters: []Cluster{eu(), us()}, Current: append(serving("eu"), on("us")...), Data: true, Edited: true},
			want:    Decision{Chosen: []string{"us"}},
		},
	})
}

func TestDecideTaints(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		effect       v1.TaintEffect
		tolerations  []corev1.Toleration
		joins, stays bool
		until        time.Time
	}{
		"no schedule":             {effect: v1.TaintNoSchedule, stays: true},
		"no execute":              {effect: v1.TaintNoExecute},
		"tolerated by key":        {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists}}, joins: true, stays: true},
		"tolerated by value":      {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{{Key: "maintenance", Value: "now"}}, joins: true, stays: true},
		"any taint is tolerated":  {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}}, joins: true, stays: true},
		"another value":           {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{{Key: "maintenance", Value: "later"}}},
		"another effect":          {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoSchedule}}},
		"for a time":              {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{forSeconds(60)}, stays: true, until: added.Add(time.Minute)},
		"for a time that is over": {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{forSeconds(0)}},
		"the longest time counts": {effect: v1.TaintNoExecute, tolerations: []corev1.Toleration{forSeconds(60), forSeconds(90), forSeconds(0)}, stays: true, until: added.Add(90 * time.Second)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := Request{
				Placement: v1.Placement{Tolerations: tt.tolerations}, Now: added,
				Clusters: []Cluster{eu(tainted(tt.effect)), us(tainted(tt.effect)), ready("asia", "q", v1.ProviderAWS)},
				Current:  serving("asia", "us"),
			}
			want := Decision{Chosen: []string{"asia"}, Until: tt.until}
			if tt.joins {
				want.Chosen = append(want.Chosen, "eu")
			}
			if tt.stays {
				want.Chosen = append(want.Chosen, "us")
			}
			got, err := Decide(r)
			got.Rejected = nil
			if diff := cmp.Diff(want, got); err != nil || diff != "" {
				t.Errorf("decision (-want +got), %v:\n%s", err, diff)
			}
		})
	}
}

func forSeconds(n int64) corev1.Toleration {
	return corev1.Toleration{Key: "maintenance", Operator: corev1.TolerationOpExists, Effect: corev1.TaintEffectNoExecute, TolerationSeconds: &n}
}

// TestExplain: the message says what a user can do, and names few clusters of many.
func TestExplain(t *testing.T) {
	t.Parallel()
	d := Decision{Stays: []Stay{
		{"a", v1.ReasonDrained, v1.ReasonDataStays}, {"b", v1.ReasonTaintNotTolerated, v1.ReasonReplacementPending},
		{"c", v1.ReasonDrained, v1.ReasonNoOtherCluster}, {"d", v1.ReasonDrained, v1.ReasonDataStays},
	}}
	reason, message := d.Explain()
	want := "stays in a (Drained) because its database would be left behind: to move without the data, add a to the annotation ecommerce.io/move-empty; " +
		"stays in b (TaintNotTolerated) until the other clusters serve customers; stays in c (Drained) because no other cluster can run it; and 1 more"
	if reason != v1.ReasonDataStays || message != want {
		t.Errorf("got %q: %q\nwant %q", reason, message, want)
	}
}

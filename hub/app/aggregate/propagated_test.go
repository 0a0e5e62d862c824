package aggregate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestPropagatedCondition(t *testing.T) {
	t.Parallel()
	readable := &metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionTrue, Reason: v1.ReasonPropagated, Message: "all"}
	missing := &metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionFalse, Reason: v1.ReasonMissing, Message: "no a"}
	refusing := func(c *Cluster) {
		c.PropagationFailure = &Failure{Reason: v1.ReasonConflict, Message: "because"}
	}
	for name, tt := range map[string]struct {
		propagated *metav1.Condition
		clusters   []Cluster
		deleting   bool
		unread     bool
		want       string
	}{
		"nothing is propagated":       {nil, []Cluster{member("a", running)}, false, false, ""},
		"written":                     {readable, []Cluster{member("a", running)}, false, false, "True Propagated all"},
		"a source is missing":         {missing, []Cluster{member("a", running, refusing)}, false, false, "False Missing no a"},
		"clusters refuse it":          {readable, []Cluster{member("a", running), member("c", running, refusing), member("b", running, refusing)}, false, false, "False Conflict not written in b, c: because"},
		"a copy could not be written": {readable, []Cluster{member("a", running, failing(v1.ReasonForbidden))}, false, false, "True Propagated all"},
		"nor what is beside it":       {readable, []Cluster{member("a", running, failing(v1.ReasonForbidden), refusing)}, false, false, "False Conflict not written in a: because"},
		"a lost cluster refused it":   {readable, []Cluster{member("a", running, refusing, lost)}, false, false, "True Propagated all"},
		"unread":                      {readable, []Cluster{member("a", running, refusing)}, false, true, "True Propagated before"},
		"the deletion":                {nil, []Cluster{member("a", running)}, true, false, "True Propagated before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := Input{Generation: 1, Propagated: tt.propagated, Clusters: tt.clusters, Deleting: tt.deleting, Unread: tt.unread, Now: at(9)}
			in.Previous.Conditions = []metav1.Condition{{
				Type: v1.ConditionPropagated, Status: metav1.ConditionTrue, Reason: v1.ReasonPropagated, Message: "before", LastTransitionTime: at(1),
			}}
			for _, c := range tt.clusters {
				in.Chosen = append(in.Chosen, c.Name)
			}
			next := Compute(in)
			got := ""
			if c := meta.FindStatusCondition(next.Conditions, v1.ConditionPropagated); c != nil {
				got = string(c.Status) + " " + c.Reason + " " + c.Message
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the condition (-want +got):\n%s", diff)
			}
			in.Previous, in.Now = next, at(20)
			if diff := cmp.Diff(next, Compute(in)); diff != "" {
				t.Errorf("the status changes without a cause:\n%s", diff)
			}
		})
	}
}

package propagate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

func sourceFor(name, reason string) state.Source {
	s := state.Source{PropagatedObject: v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: name}, Reason: reason}
	if reason == "" {
		s.Version = "version-of-" + name
	}
	return s
}

func TestCondition(t *testing.T) {
	t.Parallel()
	refused := sourceFor("token", v1.ReasonInvalidSpec)
	refused.Message = "Secrets of type t are not copied"
	for name, tt := range map[string]struct {
		sources []state.Source
		want    *metav1.Condition
	}{
		"nothing": {nil, nil},
		"all can be read": {[]state.Source{sourceFor("b", ""), sourceFor("a", "")}, &metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonPropagated, Message: "the hub can read all of spec.propagate: Secret a, Secret b",
		}},
		"one is missing": {[]state.Source{sourceFor("b", ""), sourceFor("a", v1.ReasonMissing)}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonMissing,
			Message: "namespace shops on the hub does not have Secret a: create what is missing, or remove it from spec.propagate",
		}},
		"many are missing": {
			[]state.Source{sourceFor("d", v1.ReasonMissing), sourceFor("c", v1.ReasonMissing), sourceFor("b", v1.ReasonMissing), sourceFor("e", v1.ReasonMissing), sourceFor("a", v1.ReasonMissing)},
			&metav1.Condition{
				Status: metav1.ConditionFalse, Reason: v1.ReasonMissing,
				Message: "namespace shops on the hub does not have Secret a, Secret b, Secret c, and 2 more: create what is missing, or remove it from spec.propagate",
			},
		},
		"one is forbidden and one missing": {[]state.Source{sourceFor("a", v1.ReasonMissing), sourceFor("b", v1.ReasonForbidden)}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden,
			Message: "the hub may not read Secret b: give its ServiceAccount a Role in namespace shops that allows it to get them; " +
				"namespace shops on the hub does not have Secret a: create what is missing, or remove it from spec.propagate",
		}},
		"one is refused": {[]state.Source{refused}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec, Message: "remove Secret token from spec.propagate: Secrets of type t are not copied",
		}},
		"no response": {[]state.Source{sourceFor("a", v1.ReasonNotChecked)}, &metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked, Message: "the hub's API server has not answered about Secret a",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want != nil {
				tt.want.Type = v1.ConditionPropagated
			}
			if diff := cmp.Diff(tt.want, conditionOf("shops", tt.sources)); diff != "" {
				t.Errorf("the condition (-want +got):\n%s", diff)
			}
		})
	}
}

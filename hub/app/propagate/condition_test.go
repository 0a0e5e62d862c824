package propagate

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func source(name, reason string) Source {
	s := Source{PropagatedObject: v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: name}, Reason: reason}
	if reason == "" {
		s.Version = "version-of-" + name
	}
	return s
}

func TestCondition(t *testing.T) {
	t.Parallel()
	refused := source("token", v1.ReasonInvalidSpec)
	refused.Message = "Secrets of type t are not copied"
	for name, tt := range map[string]struct {
		sources []Source
		want    *metav1.Condition
	}{
		"nothing": {nil, nil},
		"all can be read": {[]Source{source("b", ""), source("a", "")}, &metav1.Condition{
			Status: metav1.ConditionTrue, Reason: v1.ReasonPropagated, Message: "the hub can read all of spec.propagate: Secret a, Secret b",
		}},
		"one is missing": {[]Source{source("b", ""), source("a", v1.ReasonMissing)}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonMissing,
			Message: "namespace shops on the hub does not have Secret a: create what is missing, or remove it from spec.propagate",
		}},
		"many are missing": {
			[]Source{source("d", v1.ReasonMissing), source("c", v1.ReasonMissing), source("b", v1.ReasonMissing), source("e", v1.ReasonMissing), source("a", v1.ReasonMissing)},
			&metav1.Condition{
				Status: metav1.ConditionFalse, Reason: v1.ReasonMissing,
				Message: "namespace shops on the hub does not have Secret a, Secret b, Secret c, and 2 more: create what is missing, or remove it from spec.propagate",
			},
		},
		"one is forbidden and one missing": {[]Source{source("a", v1.ReasonMissing), source("b", v1.ReasonForbidden)}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonForbidden,
			Message: "the hub may not read Secret b: give its ServiceAccount a Role in namespace shops that allows it to get them; " +
				"namespace shops on the hub does not have Secret a: create what is missing, or remove it from spec.propagate",
		}},
		"one is refused": {[]Source{refused}, &metav1.Condition{
			Status: metav1.ConditionFalse, Reason: v1.ReasonInvalidSpec, Message: "remove Secret token from spec.propagate: Secrets of type t are not copied",
		}},
		"no response": {[]Source{source("a", v1.ReasonNotChecked)}, &metav1.Condition{
			Status: metav1.ConditionUnknown, Reason: v1.ReasonNotChecked, Message: "the hub's API server has not answered about Secret a",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if tt.want != nil {
				tt.want.Type = v1.ConditionPropagated
			}
			if diff := cmp.Diff(tt.want, Condition("shops", tt.sources)); diff != "" {
				t.Errorf("the condition (-want +got):\n%s", diff)
			}
		})
	}
}

func TestSignature(t *testing.T) {
	t.Parallel()
	readable := []Source{source("a", ""), source("b", "")}
	if Signature(readable) == Signature(readable[:1]) {
		t.Error("another object does not change the signature")
	}
	if Signature(readable[:1]) != Signature([]Source{source("a", ""), source("b", v1.ReasonMissing)}) {
		t.Error("an object that cannot be copied changes the signature")
	}
}

package propagate

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// conditionOf returns the condition Propagated, without timestamps, of an application whose sources
// have been read; nil if it has none. Of several reasons, it has the first of Forbidden, Missing,
// InvalidSpec and NotChecked; the message is about all of them.
func conditionOf(namespace string, sources []state.Source) *metav1.Condition {
	if len(sources) == 0 {
		return nil
	}
	sources = slices.Clone(sources)
	slices.SortFunc(sources, func(a, b state.Source) int { return strings.Compare(a.String(), b.String()) })
	c := &metav1.Condition{Type: v1.ConditionPropagated, Status: metav1.ConditionFalse}
	var messages []string
	for _, reason := range []string{v1.ReasonForbidden, v1.ReasonMissing, v1.ReasonInvalidSpec, v1.ReasonNotChecked} {
		concerned := withReason(sources, reason)
		if len(concerned) == 0 {
			continue
		}
		if c.Reason == "" {
			c.Reason = reason
		}
		messages = append(messages, describe(reason, namespace, concerned))
	}
	switch c.Reason {
	case "":
		c.Status, c.Reason = metav1.ConditionTrue, v1.ReasonPropagated
		c.Message = fmt.Sprintf("the hub can read all of spec.propagate: %s", names(sources))
	case v1.ReasonNotChecked:
		c.Status, c.Message = metav1.ConditionUnknown, messages[0]
	default:
		c.Message = strings.Join(messages, "; ")
	}
	return c
}

func describe(reason, namespace string, concerned []state.Source) string {
	list := names(concerned)
	switch reason {
	case v1.ReasonForbidden:
		return fmt.Sprintf("the hub may not read %s: give its ServiceAccount a Role in namespace %s that allows it to get them", list, namespace)
	case v1.ReasonMissing:
		return fmt.Sprintf("namespace %s on the hub does not have %s: create what is missing, or remove it from spec.propagate", namespace, list)
	case v1.ReasonInvalidSpec:
		return fmt.Sprintf("remove %s from spec.propagate: %s", list, concerned[0].Message)
	default:
		return fmt.Sprintf("the hub's API server has not answered about %s", list)
	}
}

// withReason returns the sources with a reason.
func withReason(sources []state.Source, reason string) []state.Source {
	return slices.DeleteFunc(slices.Clone(sources), func(s state.Source) bool { return s.Reason != reason })
}

// names lists sources for a message.
func names(sources []state.Source) string {
	listed := make([]string, 0, len(sources))
	for _, s := range sources {
		listed = append(listed, string(s.Kind)+" "+s.Name)
	}
	return v1.FirstOf(listed)
}

package apitest

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// MemberBuilder builds a MemberCluster.
type MemberBuilder struct {
	member v1.MemberCluster
}

// MemberCluster returns a builder for a cluster without a status.
func MemberCluster(name string) *MemberBuilder {
	b := &MemberBuilder{}
	b.member.SetGroupVersionKind(v1.GroupVersion.WithKind("MemberCluster"))
	b.member.Name = name
	return b
}

// Obj returns a copy of the object.
func (b *MemberBuilder) Obj() *v1.MemberCluster { return b.member.DeepCopy() }

// With applies f to the object.
func (b *MemberBuilder) With(change func(*v1.MemberCluster)) *MemberBuilder {
	change(&b.member)
	return b
}

// Ready sets the condition Ready to True, for the reason Connected.
func (b *MemberBuilder) Ready() *MemberBuilder {
	return b.Condition(metav1.Condition{
		Type:   v1.ConditionReady,
		Status: metav1.ConditionTrue,
		Reason: v1.ReasonConnected,
	})
}

// NotReady sets the condition Ready to False, for the given reason.
func (b *MemberBuilder) NotReady(reason string) *MemberBuilder {
	return b.Condition(metav1.Condition{
		Type:   v1.ConditionReady,
		Status: metav1.ConditionFalse,
		Reason: reason,
	})
}

// Condition adds a condition to the status, or replaces the one of its type.
func (b *MemberBuilder) Condition(condition metav1.Condition) *MemberBuilder {
	conditions := &b.member.Status.Conditions
	for i := range *conditions {
		if (*conditions)[i].Type == condition.Type {
			(*conditions)[i] = condition
			return b
		}
	}
	*conditions = append(*conditions, condition)
	return b
}

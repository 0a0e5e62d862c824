package printers

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestRecover(t *testing.T) {
	app := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "shop", UID: "u", Generation: 3}}
	app.Status.Clusters = []v1.ClusterStatus{
		{Name: "asia-1", Reason: v1.ReasonNewerInMember, UnknownOrigin: "u/9"},
		{Name: "eu-1", Reason: v1.ReasonNewerInMember, UnknownOrigin: "w/1"},
		{Name: "eu-2", Reason: v1.ReasonDeletedInMember, UnknownOrigin: "u/deleted/2026-11-23T08:00:00Z"},
		{Name: "eu-3", Reason: v1.ReasonClusterUnreachable, UnknownOrigin: "u/8"},
		{Name: "eu-4", Reason: v1.ReasonClusterUnreachable, UnknownOrigin: "u/left/9"},
		{Name: "us-1", Reason: v1.ReasonNewerElsewhere, UnknownOrigin: "u/9"},
		{Name: "us-2", Reason: v1.ReasonNewerElsewhere},
		{Name: "us-3", Reason: v1.ReasonClusterUnreachable},
	}
	member := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-4"}}
	member.Status.OtherHub = "h/41"
	member.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Reason: v1.ReasonManagedByAnotherHub}}
	nameless := *member.DeepCopy()
	nameless.Name, nameless.Status.OtherHub = "us-5", "/41"
	orphan := v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: "left", Labels: map[string]string{v1.ClusterLabel: "us-1"}}}
	check(t, Text(Recover([]v1.EcommerceApp{app}, []v1.EcommerceApp{orphan}, []v1.MemberCluster{member, nameless}, now()), Options{}), `
NAME   CLUSTER   REASON                FOUND                                 SETTLE
shop   asia-1    NewerInMember         generation 9, the hub has 3           import, overwrite
shop   eu-1      NewerInMember         another application                   import, overwrite
shop   eu-2      DeletedInMember       its deletion                          delete, overwrite
shop   eu-3      ClusterUnreachable    generation 8, the hub has 3           import, overwrite
shop   eu-4      ClusterUnreachable    left by generation 9, the hub has 3   placement, overwrite
shop   us-1      NewerElsewhere        generation 9, the hub has 3           placement, overwrite
shop   us-2      NewerElsewhere        -                                     -
left   us-1      Orphan                a copy of age -                       adopt, delete
-      us-4      ManagedByAnotherHub   hub h                                 take-over
-      us-5      ManagedByAnotherHub   hub unknown                           take-over
`)
}

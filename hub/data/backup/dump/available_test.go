package dump

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestAvailable checks that a database that is being restored or is lost is not backed up.
func TestAvailable(t *testing.T) {
	t.Parallel()
	lost := func(status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: v1.ConditionDatabaseLost, Status: status}}
	}
	for name, tt := range map[string]struct {
		annotations map[string]string
		conditions  []metav1.Condition
		want        string
	}{
		"as usual":        {nil, nil, ""},
		"lost":            {nil, lost(metav1.ConditionTrue), v1.ReasonDatabaseLost},
		"not lost":        {nil, lost(metav1.ConditionFalse), ""},
		"not known":       {nil, lost(metav1.ConditionUnknown), ""},
		"loading a dump":  {map[string]string{v1.LoadingAnnotation: "r"}, lost(metav1.ConditionTrue), v1.ReasonInUse},
		"being restored":  {map[string]string{v1.RestoringAnnotation: "r"}, nil, v1.ReasonInUse},
		"another setting": {map[string]string{v1.RestoredAnnotation: "uid"}, nil, ""},
	} {
		copied := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Annotations: tt.annotations}, Status: v1.EcommerceAppStatus{Conditions: tt.conditions}}
		if result := Available(&v1.Backup{}, copied); result.Reason != tt.want || result.Fatal {
			t.Errorf("%s: %+v, want the reason %q", name, result, tt.want)
		}
	}
}

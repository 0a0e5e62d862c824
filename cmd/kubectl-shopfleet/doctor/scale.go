package doctor

import (
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxNamed bounds the applications that a message names.
const maxNamed = 3

// Unscalable returns the applications whose /scale cannot answer, as namespace/name in order: without
// spec.frontend.replicas the API server has no number to return. With autoscaling, it needs none.
func Unscalable(apps []v1.EcommerceApp) []string {
	var names []string
	for i := range apps {
		if f := &apps[i].Spec.Frontend; f.Replicas == nil && f.Autoscaling == nil {
			names = append(names, apps[i].Namespace+"/"+apps[i].Name)
		}
	}
	slices.Sort(names)
	return names
}

// scale names applications that cannot be read by /scale. It does not fail: they run, and kubectl scale sets the number.
func (f *HubFacts) scale() Check {
	if len(f.Unscalable) == 0 {
		return good(CheckScale, reasonAnswers)
	}
	named := f.Unscalable
	if len(named) > maxNamed {
		named = append(slices.Clone(named[:maxNamed]), fmt.Sprintf("%d more", len(named)-maxNamed))
	}
	namespace, name, _ := strings.Cut(f.Unscalable[0], "/")
	return Check{
		Object: HubName, Check: CheckScale, Status: metav1.ConditionFalse, Reason: reasonFrontendReplicasNotSet,
		Message: "a HorizontalPodAutoscaler or KEDA cannot read the replicas of " + strings.Join(named, ", ") + ": spec.frontend.replicas is not set",
		Remedy:  fmt.Sprintf("If something is to scale them, set spec.frontend.replicas: kubectl scale ecommerceapp %s -n %s --replicas=NUMBER", name, namespace),
	}
}

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// StepStatus is a step of the work on a Backup or a Restore.
type StepStatus struct {
	// name is the name of the step. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// startTime is the time at which the step was begun.
	// +required
	StartTime metav1.Time `json:"startTime"`

	// endTime is the time at which the step was complete; absent while it is not.
	// +optional
	EndTime *metav1.Time `json:"endTime,omitempty"`
}

package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Seconds returns a time in whole seconds, as the API stores it; nil for the zero time, and for one that has no
// representation there.
func Seconds(t time.Time) *metav1.Time {
	if t.IsZero() || t.Year() < 1 || t.Year() > 9999 {
		return nil
	}
	return &metav1.Time{Time: t.Truncate(time.Second)}
}

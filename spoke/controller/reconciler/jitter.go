package reconciler

import (
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
)

// jitter returns a duration between 80 % and 120 % of d.
func jitter(d time.Duration) time.Duration {
	return wait.Jitter(d*4/5, 0.5)
}

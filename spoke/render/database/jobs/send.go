package jobs

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

var (
	errName      = errors.New("a Job requires a namespace, and a name of 1 to 63 characters")
	errClaim     = errors.New("the name of the claim is empty")
	errImage     = errors.New("the image is empty")
	errDirection = errors.New("its direction is not")
)

// sendComponent is the component of the pods of Send, so that no Service selects them,
// and no network policy of an application admits them.
const sendComponent = "dump-transfer"

// SendSpec describes a dump to upload to a bucket.
type SendSpec struct {
	Job
	// Image is the image of the spoke.
	Image string
	// Order is an encoded order.Order with the direction order.Send.
	Order []byte
	// Claim is the name of the claim that holds the dump, in the namespace of the Job.
	Claim string
	// Pods are the settings of the pods of the database: the claim is on volumes that its
	// nodes reach.
	Pods v1.PodSettings
}

// Send returns a Job that uploads a dump to a bucket, and the Secret with its order,
// which has the same name and must be created first. The claim is mounted read-only.
//
// An error means that the arguments are invalid. It contains nothing of the order.
func Send(s SendSpec) (*batchv1.Job, *corev1.Secret, error) {
	if err := s.check(s.Claim); err != nil {
		return nil, nil, err
	}
	if s.Image == "" {
		return nil, nil, fmt.Errorf("job %q: %w", s.Name, errImage)
	}
	labels := s.labels(map[string]string{v1.ComponentLabel: sendComponent, v1.ManagedByLabel: v1.ManagedBy})
	secret, err := s.secret(labels, s.Order, order.Send)
	if err != nil {
		return nil, nil, err
	}
	pod := corev1.PodSpec{
		Containers: []corev1.Container{transfer(SendContainer, s.Image, true)},
		Volumes:    []corev1.Volume{backups(s.Claim), orders(s.Name)},
	}
	return s.job(labels, limits{
		retries: transferRetries, seconds: sendSeconds,
		final: []batchv1.PodFailurePolicyRule{final(SendContainer, order.ExitFinal, order.ExitGone, order.ExitChecksums)},
	}, pod, s.Pods), secret, nil
}

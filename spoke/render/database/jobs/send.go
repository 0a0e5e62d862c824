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
	errName      = errors.New("a Job has a namespace, and a name of 1 to 63 characters")
	errClaim     = errors.New("the claim has no name")
	errImage     = errors.New("the image has no name")
	errDirection = errors.New("its direction is not")
)

// sendComponent sets the pods of Send apart: no Service selects them, and no network
// policy of an application's lets them in.
const sendComponent = "dump-transfer"

// SendSpec is a dump that is to be sent to a bucket.
type SendSpec struct {
	Job
	// Image is that of the spoke.
	Image string
	// Order is an order.Order as it is delivered, with the direction order.Send.
	Order []byte
	// Claim is the name of the claim that the dump is on, in the namespace of the Job.
	Claim string
}

// Send returns a Job that sends a dump to a bucket, and the Secret with its order, which
// has the same name and must be there first. The claim is only read.
//
// An error means that the arguments are no such thing; it repeats nothing of the order.
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
	job := s.job(labels, sendSeconds, corev1.PodSpec{
		Containers: []corev1.Container{transfer(SendContainer, s.Image, true)},
		Volumes:    []corev1.Volume{backups(s.Claim), orders(s.Name)},
	})
	return job, secret, nil
}

package gcp

import (
	"context"
	"errors"
	"fmt"

	compute "cloud.google.com/go/compute/apiv1"
	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/googleapis/gax-go/v2"
	"google.golang.org/api/iterator"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
)

// failed returns the error of an accepted change, nil if it succeeded or if the result is
// unknown.
func (s *session) failed(ctx context.Context, op string, started *computepb.Operation) *cloud.Error {
	if e := operationError(op, started); e != nil {
		return e
	}
	now, err := s.operation(ctx, op, started.GetName())
	if err == nil {
		return operationError(op, now)
	}
	return nil
}

// operation reads an operation on a snapshot, which is global.
func (s *session) operation(ctx context.Context, op, name string) (*computepb.Operation, error) {
	now, _, err := do(ctx, s, call[*compute.GlobalOperationsClient, *computepb.Operation]{
		op: op, client: compute.NewGlobalOperationsRESTClient,
		send: func(ctx context.Context, c *compute.GlobalOperationsClient, o ...gax.CallOption) (*computepb.Operation, error) {
			return c.Get(ctx, &computepb.GetGlobalOperationRequest{Project: s.project, Operation: name}, o...)
		},
	})
	return now, err
}

// whyFailed returns why a snapshot failed. Only its operations have the reason.
func (s *session) whyFailed(ctx context.Context, op string, id uint64) string {
	const unknown = "Google Cloud does not say why; its operations may"
	message, _, err := do(ctx, s, call[*compute.GlobalOperationsClient, string]{
		op: op, client: compute.NewGlobalOperationsRESTClient,
		send: func(ctx context.Context, c *compute.GlobalOperationsClient, o ...gax.CallOption) (string, error) {
			all := c.List(ctx, &computepb.ListGlobalOperationsRequest{
				Project: s.project, Filter: new(fmt.Sprintf("targetId = %d", id)), MaxResults: new(uint32(pageSize)),
			}, o...)
			for more := true; more; more = all.PageInfo().Remaining() > 0 {
				found, err := all.Next()
				if done, err := finished(err); done || err != nil {
					return unknown, err
				}
				if failures := found.GetError().GetErrors(); len(failures) > 0 {
					return apierror.OneLine(failures[0].GetCode() + ": " + failures[0].GetMessage()), nil
				}
			}
			return unknown, nil
		},
	})
	if err != nil {
		return unknown
	}
	return message
}

// finished reports whether a list is at its end, or broken.
func finished(err error) (bool, error) {
	if errors.Is(err, iterator.Done) {
		return true, nil
	}
	if err != nil {
		return false, fmt.Errorf("reading a list: %w", err)
	}
	return false, nil
}

package gcp

import (
	"testing"
	"time"

	"cloud.google.com/go/compute/apiv1/computepb"

	"github.com/shopfleet/shopfleet/cloud"
)

func TestOperationError(t *testing.T) {
	t.Parallel()
	tests := map[string]cloud.Class{
		"QUOTA_EXCEEDED": cloud.ClassQuota, "RATE_LIMIT_EXCEEDED": cloud.ClassThrottled, "RESOURCE_OPERATION_RATE_EXCEEDED": cloud.ClassThrottled,
		"ZONE_RESOURCE_POOL_EXHAUSTED": cloud.ClassTransient, "ZONE_RESOURCE_POOL_EXHAUSTED_WITH_DETAILS": cloud.ClassTransient,
		"RESOURCE_ALREADY_EXISTS": cloud.ClassConflict, "RESOURCE_NOT_FOUND": cloud.ClassNotFound, "RESOURCE_IN_USE_BY_ANOTHER_RESOURCE": cloud.ClassInUse,
		"PERMISSIONS_ERROR": cloud.ClassDenied, "UNSUPPORTED_OPERATION": cloud.ClassUnsupported, "INVALID_USAGE": cloud.ClassInvalid,
		"INTERNAL_ERROR": "", "SOMETHING_NEW": "",
	}
	for code, want := range tests {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			got := operationError("EnsureSnapshot", &computepb.Operation{Error: &computepb.Error{Errors: []*computepb.Errors{{Code: &code, Message: new("why\nnot")}}}})
			if got == nil || got.Class != want || got.Code != code || got.Message != "why not" || (got.RetryAfter == 10*time.Minute) != (want == cloud.ClassThrottled) {
				t.Errorf("error %+v, want class %q", got, want)
			}
		})
	}
	if got := operationError("EnsureSnapshot", &computepb.Operation{}); got != nil {
		t.Errorf("an operation without error: %v", got)
	}
}

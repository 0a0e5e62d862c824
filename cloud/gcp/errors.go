package gcp

import (
	"cloud.google.com/go/compute/apiv1/computepb"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
)

// codeNotVisible is the code when nothing was found and nothing was sent.
const codeNotVisible = "NotVisible"

// operationError converts the first error of an operation; nil if there is none. Its
// class is "" for an unknown code.
func operationError(op string, done *computepb.Operation) *cloud.Error {
	failures := done.GetError().GetErrors()
	if len(failures) == 0 {
		return nil
	}
	e := &cloud.Error{Provider: v1.ProviderGCP, Op: op, Code: failures[0].GetCode(), Message: apierror.OneLine(failures[0].GetMessage())}
	if e.Class = apierror.ReasonClass(e.Code); e.Class == cloud.ClassThrottled {
		e.RetryAfter = apierror.ResourceWait
	}
	return e
}

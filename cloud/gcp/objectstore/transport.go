package objectstore

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"

	"google.golang.org/api/option"
	"google.golang.org/api/storage/v1"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// call is one request to the API.
type call[R any] struct {
	op   string
	send func(context.Context, *storage.ObjectsService) (R, error)
	// mutates reports whether a lost response may hide a change.
	mutates bool
	// gone is the code when Google does not find it; empty where that may be the bucket
	// or the object.
	gone string
	// empty reports whether a successful response has no content.
	empty bool
}

// What is not there, as Cloud Storage calls it in XML. In JSON both are notFound.
const (
	codeNoBucket = "NoSuchBucket"
	codeNoKey    = "NoSuchKey"
)

// errEmpty means that a response has content although it should have none.
var errEmpty = errors.New("the answer is not empty")

// do sends one request, without the SDK's retries. It returns the status of the response,
// 0 if there was none. The error is a *cloud.Error.
func do[R any](ctx context.Context, o *objects, c call[R]) (R, int, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	var seen apierror.Answer
	bound := o.credentials.Client(ctx, o.http, func(r *http.Response) { seen = apierror.Of(r) })
	service, err := storage.NewService(ctx, option.WithHTTPClient(bound), option.WithEndpoint(o.endpoint+"/storage/v1/"), option.WithLogger(slog.New(slog.DiscardHandler)))
	var result R
	if err == nil {
		result, err = c.send(ctx, service.Objects)
	}
	if err == nil && c.empty && seen.Status != http.StatusNoContent {
		err = errEmpty
	}
	if err == nil {
		return result, seen.Status, nil
	}
	e := apierror.Classify(apierror.Failure{Op: c.op, Mutates: c.mutates, Answer: seen, Cause: err})
	switch {
	case seen.Status != http.StatusNotFound:
	case e.Class == cloud.ClassNotFound:
		e.Code = cmp.Or(c.gone, e.Code)
	case c.gone == codeNoKey: // The answers of downloads say it in no body of Google's.
		e.Class, e.Code, e.Message = cloud.ClassNotFound, c.gone, "the object is not there any more"
	default:
		e.Class, e.Code, e.Message = cloud.ClassInvalid, "NotCloudStorage", "what answers is not Cloud Storage: look at spec.objectStorage.endpoint"
	}
	return result, seen.Status, e
}

package objectstore_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// codes holds the fields of an error that callers act on.
type codes struct {
	Class cloud.Class
	Code  string
}

func codesOf(t *testing.T, err error) codes {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) {
		t.Fatalf("%v is not a *cloud.Error", err)
	}
	return codes{e.Class, e.Code}
}

// answered returns the errors of all methods when each request gets the same response, but for the list of
// versions before a deletion.
func answered(t *testing.T, answer faults.Answer) (put, get, list, gone error) {
	t.Helper()
	e := newTestEnv(t)
	const key = "shopfleet/key"
	e.store.Put(key, []byte("x"))
	for _, op := range []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject} {
		e.script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: answer})
	}
	objects := open(t, e.config())
	put = objects.PutObject(t.Context(), key, []byte("x"))
	_, get = objects.GetObject(t.Context(), key, 10)
	for _, err := range objects.ListObjects(t.Context(), "") {
		list = err
	}
	return put, get, list, objects.DeleteObject(t.Context(), key)
}

// TestCodes checks that each error code of S3 maps to a class for put, get, list and delete.
func TestCodes(t *testing.T) {
	t.Parallel()
	for code, test := range map[string]struct {
		status                 int
		put, get, list, delete cloud.Class
	}{
		"NoSuchBucket":                       {http.StatusNotFound, cloud.ClassNotFound, cloud.ClassNotFound, cloud.ClassNotFound, cloud.ClassNotFound},
		"SlowDown":                           {http.StatusServiceUnavailable, cloud.ClassThrottled, cloud.ClassThrottled, cloud.ClassThrottled, cloud.ClassThrottled},
		"TooMany":                            {http.StatusTooManyRequests, cloud.ClassThrottled, cloud.ClassThrottled, cloud.ClassThrottled, cloud.ClassThrottled},
		"InternalError":                      {http.StatusInternalServerError, cloud.ClassAmbiguous, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassAmbiguous},
		"ServiceUnavailable":                 {http.StatusServiceUnavailable, cloud.ClassAmbiguous, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassAmbiguous},
		"AccessDenied":                       {http.StatusForbidden, cloud.ClassDenied, cloud.ClassDenied, cloud.ClassDenied, cloud.ClassDenied},
		"InvalidAccessKeyId":                 {http.StatusForbidden, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired},
		"ExpiredToken":                       {http.StatusBadRequest, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired},
		"RequestTimeTooSkewed":               {http.StatusForbidden, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired, cloud.ClassAuthExpired},
		"AuthorizationHeaderMalformed":       {http.StatusBadRequest, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid},
		"PermanentRedirect":                  {http.StatusMovedPermanently, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid},
		"IllegalLocationConstraintException": {http.StatusBadRequest, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid, cloud.ClassInvalid},
		"ConditionalRequestConflict":         {http.StatusConflict, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassTransient},
		"BadDigest":                          {http.StatusBadRequest, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassTransient, cloud.ClassTransient},
		"NotImplemented":                     {http.StatusNotImplemented, cloud.ClassUnsupported, cloud.ClassUnsupported, cloud.ClassUnsupported, cloud.ClassUnsupported},
		"ObjectLocked":                       {http.StatusBadRequest, cloud.ClassDenied, cloud.ClassDenied, cloud.ClassDenied, cloud.ClassLocked},
		"QuotaExceeded":                      {http.StatusForbidden, cloud.ClassQuota, cloud.ClassQuota, cloud.ClassQuota, cloud.ClassQuota},
	} {
		t.Run(code, func(t *testing.T) {
			t.Parallel()
			put, get, list, gone := answered(t, faults.Answer{Status: test.status, Body: s3.ErrorBody(code, "Words.")})
			for what, is := range map[string]struct {
				err  error
				want cloud.Class
			}{"put": {put, test.put}, "get": {get, test.get}, "list": {list, test.list}, "delete": {gone, test.delete}} {
				if got := codesOf(t, is.err); got.Class != is.want || got.Code == "" {
					t.Errorf("%s: %v, want class %q", what, is.err, is.want)
				}
			}
		})
	}
}

// TestPermissions checks that S3 names the permission in its message, other services name none.
func TestPermissions(t *testing.T) {
	t.Parallel()
	put, get, list, gone := answered(t, faults.Answer{Status: http.StatusForbidden, Body: s3.ErrorBody("AccessDenied", "Access Denied")})
	for want, err := range map[string]error{"s3:PutObject": put, "s3:GetObject": get, "s3:ListBucket": list, "s3:DeleteObject": gone} {
		if got := codesOf(t, err); got != (codes{cloud.ClassDenied, want}) {
			t.Errorf("%v, want %q", err, want)
		}
	}
	put, _, _, _ = answered(t, faults.Answer{Status: http.StatusForbidden, Body: s3.ErrorBody("AccessDenied",
		"User: "+userARN+" is not authorized to perform: kms:GenerateDataKey on resource: arn:aws:kms:x because no policy allows it")})
	if got := codesOf(t, put); got.Code != "kms:GenerateDataKey" {
		t.Errorf("%v, want the permission for the key", put)
	}
}

// TestStrange checks that a response that only begins like one of S3 is an error.
func TestStrange(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		answer      faults.Answer
		put, delete cloud.Class
	}{
		"another list": {faults.Answer{Status: http.StatusOK, Body: "<ListAllMyBucketsResult></ListAllMyBucketsResult>"}, cloud.ClassAmbiguous, cloud.ClassAmbiguous},
		"half a list":  {faults.Answer{Status: http.StatusOK, Body: "<ListBucketResult><Contents>"}, cloud.ClassAmbiguous, cloud.ClassAmbiguous},
		"nothing":      {faults.Answer{Status: http.StatusOK}, cloud.ClassAmbiguous, cloud.ClassAmbiguous},
		"a proxy":      {faults.Answer{Status: http.StatusBadGateway, Body: "<html>bad gateway</html>"}, cloud.ClassAmbiguous, cloud.ClassAmbiguous},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			put, get, list, gone := answered(t, test.answer)
			if cloud.ClassOf(put) != test.put || cloud.ClassOf(gone) != test.delete || cloud.ClassOf(get) != cloud.ClassTransient || cloud.ClassOf(list) != cloud.ClassTransient {
				t.Errorf("put %v, get %v, list %v, delete %v", put, get, list, gone)
			}
		})
	}
}

// TestGoneAgain checks a PUT that an object blocks which is deleted before the adapter reads it.
func TestGoneAgain(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.script.Add(faults.Fault{Op: faults.OpPutObject, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusPreconditionFailed, Body: s3.ErrorBody("PreconditionFailed", "At least one of the pre-conditions you specified did not hold"),
	}})
	objects := open(t, e.config())
	if err := objects.PutObject(t.Context(), "shopfleet/key", []byte("x")); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("class of %v, want %q", err, cloud.ClassTransient)
	}
	if err := objects.PutObject(t.Context(), "shopfleet/key", []byte("x")); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestMessages checks that the message of S3 becomes one line, without parts of the request.
func TestMessages(t *testing.T) {
	t.Parallel()
	put, _, _, _ := answered(t, faults.Answer{
		Status: http.StatusServiceUnavailable, Header: http.Header{"Retry-After": {"7"}, "X-Amz-Request-Id": {"R1"}},
		Body: s3.ErrorBody("SlowDown", "Slow\ndown: https://b.s3.amazonaws.com/k?X-Amz-Signature=abc of AKIAIOSFODNN7EXAMPLE "+strings.Repeat("x", 2000)),
	})
	var e *cloud.Error
	if !errors.As(put, &e) {
		t.Fatalf("%v is not a *cloud.Error", put)
	}
	if e.RetryAfter != 7*time.Second || e.RequestID != "R1" || len(e.Message) > 1024 || !strings.HasPrefix(e.Message, "Slow down: https://b.s3.amazonaws.com/k of AKIA… xxx") {
		t.Errorf("retry after %s, request %q, %q", e.RetryAfter, e.RequestID, e.Message)
	}
}

package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// Error is why an Order was not carried out.
type Error struct {
	// Status is one of the exit statuses of package order, and not ExitDone.
	Status int
	// Err holds no URL, no header and nothing of an answer but its reason.
	Err error
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the exit status of an error of Run, or of any other command.
func Status(err error) int {
	if err == nil {
		return order.ExitDone
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Status
	}
	return order.ExitRetry
}

var (
	// errExpired means that the Order's requests have ended.
	errExpired = errors.New("they have expired")
	// errMissing means that there is no such file.
	errMissing = errors.New("it is not there")
	// errNoFile means that there is something of that name, which is no file.
	errNoFile = errors.New("it is no regular file")
	// errOther means that a file, or a part, is not the Order's.
	errOther = errors.New("it is not the file of the order")
	// errAnswer means that a request was answered, and not carried out.
	errAnswer = errors.New("the storage answered")
	// errCertificates means that there are none in a text.
	errCertificates = errors.New("no certificate in it")
)

func failure(status int, format string, args ...any) error {
	return &Error{Status: status, Err: fmt.Errorf(format, args...)}
}

// retry returns an error after which another attempt may do.
func retry(format string, err error) error { return failure(order.ExitRetry, format, err) }

// ended says why a context ended.
func ended(ctx context.Context) error {
	if errors.Is(context.Cause(ctx), errExpired) {
		return failure(order.ExitRefused, "the requests: %w", errExpired)
	}
	return retry("interrupted: %w", ctx.Err())
}

// withoutURL returns what happened to a request, without its URL.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

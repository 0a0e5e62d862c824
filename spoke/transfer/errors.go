package transfer

import (
	"context"
	"errors"
	"fmt"
	"net/url"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// Error is returned if an Order could not be executed.
type Error struct {
	// Status is one of the exit statuses of package order other than ExitDone.
	Status int
	// Err contains no URL, no header, and of a response only the error code.
	Err error
	// Checksums holds the checksum of each part if the status is ExitChecksums.
	Checksums order.Checksums
}

func (e *Error) Error() string { return e.Err.Error() }

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// Status returns the exit status for an error of Run, or of any other command.
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
	// errExpired means that the requests of the Order have expired.
	errExpired = errors.New("expired")
	// errMissing means that the file does not exist.
	errMissing = errors.New("file does not exist")
	// errNoFile means that the name belongs to something other than a regular file.
	errNoFile = errors.New("not a regular file")
	// errOther means that a file or part differs from the Order.
	errOther = errors.New("differs from the order")
	// errAnswer means that the storage returned an error.
	errAnswer = errors.New("the storage returned")
	// errUnsummed means that the storage takes no part without a checksum.
	errUnsummed = errors.New("the storage takes parts with checksums only")
	// errCertificates means that the CA bundle contains no certificate.
	errCertificates = errors.New("no certificate found")
)

func failure(status int, format string, args ...any) error {
	return &Error{Status: status, Err: fmt.Errorf(format, args...)}
}

// retry returns an error that can be retried.
func retry(format string, err error) error { return failure(order.ExitRetry, format, err) }

// ended returns the error for a context that is done.
func ended(ctx context.Context) error {
	return retry("interrupted: %w", ctx.Err())
}

// withoutURL returns the cause of a request error, without the URL.
func withoutURL(err error) error {
	if u, ok := errors.AsType[*url.Error](err); ok {
		return u.Err
	}
	return err
}

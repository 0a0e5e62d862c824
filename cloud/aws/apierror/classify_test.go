package apierror

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"

	"github.com/shopfleet/shopfleet/cloud"
)

// TestNoAnswer classifies failures without an answer. A token that cannot be read is no connection that failed.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	_, missing := os.Open(filepath.Join(t.TempDir(), "none"))
	for want, err := range map[string]error{
		"the file with the token of the hub's pod cannot be read": &CredentialsError{fmt.Errorf("failed to retrieve jwt: %w", missing)},
		"the connection failed":                                   &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED},
		"there was no answer in time":                             &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT},
		"the request was cancelled":                               fmt.Errorf("asking: %w", context.Canceled),
		ErrAnswer.Error():                                         errors.Join(ErrAnswer),
	} {
		got := Failure{Op: "Connect", Err: err, ClassOf: func(string) cloud.Class { return "" }}.Classify()
		if got.Message != want || got.Class != cloud.ClassTransient {
			t.Errorf("%v: %s %q, want %q", err, got.Class, got.Message, want)
		}
	}
}

// TestNotSent checks that a change that was not sent is never ambiguous.
func TestNotSent(t *testing.T) {
	t.Parallel()
	for name, err := range map[string]error{
		"no credentials":                  &CredentialsError{context.DeadlineExceeded},
		"given up before there were any":  &aws.RequestCanceledError{Err: context.Canceled},
		"the certificate was not trusted": &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}},
	} {
		got := Failure{Op: "CreateVolume", Changes: true, Err: fmt.Errorf("sending: %w", err), ClassOf: func(string) cloud.Class { return "" }}.Classify()
		if got.Class != cloud.ClassTransient {
			t.Errorf("%s: class %q, want %q", name, got.Class, cloud.ClassTransient)
		}
	}
}

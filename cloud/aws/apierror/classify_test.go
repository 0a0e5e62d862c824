package apierror

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"testing"

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

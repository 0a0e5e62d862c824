package hint

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/clientcmd"
)

func TestFor(t *testing.T) {
	errBoom := errors.New("boom")
	refused := &url.Error{Op: "Get", URL: "https://hub", Err: &net.OpError{Op: "dial", Err: errBoom}}
	_, missing := os.Stat(filepath.Join(t.TempDir(), "none"))
	resource := schema.GroupResource{Resource: "secrets"}
	tests := map[string]struct {
		err  error
		want string
	}{
		"nothing":          {nil, ""},
		"unknown":          {errBoom, ""},
		"does not answer":  {fmt.Errorf("listing: %w", refused), "does not answer"},
		"no such host":     {&url.Error{Op: "Get", URL: "https://hub", Err: &net.DNSError{Err: "no such host"}}, "does not answer"},
		"no time":          {fmt.Errorf("listing: %w", context.DeadlineExceeded), "does not answer"},
		"too late":         {&url.Error{Op: "Get", URL: "https://hub", Err: os.ErrDeadlineExceeded}, "does not answer"},
		"closed":           {&url.Error{Op: "Get", URL: "https://hub", Err: io.EOF}, "does not answer"},
		"end of a file":    {io.EOF, ""},
		"no file":          {fmt.Errorf("reading the kubeconfig: %w", missing), "name of the file"},
		"secret file":      {&fs.PathError{Op: "open", Path: "member", Err: syscall.EACCES}, "may not read the file"},
		"a folder":         {&fs.PathError{Op: "read", Path: "member", Err: syscall.EISDIR}, ""},
		"file of a token":  {&url.Error{Op: "Get", URL: "https://hub", Err: missing}, "name of the file"},
		"error number":     {syscall.ENOSPC, ""},
		"no program":       {&url.Error{Op: "Get", URL: "https://hub", Err: errors.New("getting credentials: exec: executable aws not found")}, ""},
		"not installed":    {fmt.Errorf("listing: %w", &meta.NoKindMatchError{}), "kubectl apply --server-side -f config/crd/bases"},
		"unauthorized":     {apierrors.NewUnauthorized(""), "rejects your credentials"},
		"forbidden":        {apierrors.NewForbidden(resource, "eu-1", errBoom), "You lack the permission"},
		"no kubeconfig":    {clientcmd.ErrEmptyConfig, "--kubeconfig"},
		"of its own":       {fmt.Errorf("joining: %w", With(errBoom, "do this")), "do this"},
		"own before kinds": {With(refused, "do this"), "do this"},
		"outermost wins":   {With(fmt.Errorf("a: %w", With(errBoom, "inner")), "outer"), "outer"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := For(test.err)
			if test.want == "" && got != "" || !strings.Contains(got, test.want) {
				t.Errorf("hint %q, want %q in it", got, test.want)
			}
		})
	}
}

func TestWithKeepsTheError(t *testing.T) {
	errBoom := errors.New("boom")
	err := With(errBoom, "do this")
	if !errors.Is(err, errBoom) || err.Error() != "boom" {
		t.Errorf("got %v, want the error itself", err)
	}
	if With(nil, "do this") != nil {
		t.Error("a hint on nil makes an error")
	}
}

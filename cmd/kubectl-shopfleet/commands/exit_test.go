package commands

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

// TestLate: each wait whose time is over has the code of that.
func TestLate(t *testing.T) {
	t.Parallel()
	p := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()})
	for _, cause := range []error{
		errTimeout, join.ErrNotReady, join.ErrNotGone, join.ErrNotHandedOver,
		installer.ErrNotRolledOut, installer.ErrNotStopped, installer.ErrNotEstablished, installer.ErrTerminating,
	} {
		if code := p.exit(t.Context(), p.root, fmt.Errorf("waiting: %w", cause)); code != exitNotReady {
			t.Errorf("%v: exit code %d, want %d", cause, code, exitNotReady)
		}
	}
}

// TestUninstallTimeout: --timeout bounds the wait for CRDs, which objects with finalizers hold.
func TestUninstallTimeout(t *testing.T) {
	t.Parallel()
	definition := &unstructured.Unstructured{}
	definition.SetAPIVersion("apiextensions.k8s.io/v1")
	definition.SetKind("CustomResourceDefinition")
	definition.SetName("backups.ecommerce.io")
	p, _, _ := printing(t, "")
	u := &uninstall{Program: p, wait: waitFlags{enabled: true, timeout: time.Millisecond}}
	err := u.awaitDefinitions(t.Context(), readOnly(t, definition), installer.Plan{Objects: []*unstructured.Unstructured{definition}})
	if !errors.Is(err, installer.ErrTerminating) {
		t.Errorf("error %v, want %v", err, installer.ErrTerminating)
	}
}

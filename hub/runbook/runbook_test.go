package runbook_test

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

func TestRemedy(t *testing.T) {
	for reason, want := range map[string]string{
		v1.ReasonUnauthorized: "kubectl shopfleet renew MEMBER --member-kubeconfig FILE",
		v1.ReasonConnected:    "",
		"NoSuchReason":        "",
	} {
		if got := runbook.Remedy(reason); got != want {
			t.Errorf("%s: %q, want %q", reason, got, want)
		}
	}
	if _, found := runbook.Lookup("NoSuchReason"); found {
		t.Error("an unknown reason has an entry")
	}
}

func TestEntriesAreComplete(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range runbook.Entries() {
		if seen[e.Reason] {
			t.Errorf("%s has two entries", e.Reason)
		}
		seen[e.Reason] = true
		if e.Meaning == "" {
			t.Errorf("%s has no meaning", e.Reason)
		}
		if strings.Contains(e.Check, "\n") {
			t.Errorf("the check of %s has several lines", e.Reason)
		}
	}
}

package commands

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// TestDoctorHint: the hint leads from the short table to the messages, of the same members, and
// no output that has them ends with it.
func TestDoctorHint(t *testing.T) {
	t.Parallel()
	checks := []doctor.Check{{Object: "eu-1", Check: "Ready", Status: "False", Reason: "ProbeFailed", Failed: true}}
	for name, tt := range map[string]struct {
		format string
		names  []string
		want   string
	}{
		"short":              {"", nil, "kubectl shopfleet doctor -o wide"},
		"short, of a member": {"", []string{"eu-1"}, "kubectl shopfleet doctor eu-1 -o wide"},
		"wide":               {wide, nil, ""},
		"json":               {"json", nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := newTableOutput(&cobra.Command{})
			*out.chosen = tt.format
			err := failure(checks, tt.names, out)
			if err == nil {
				t.Fatal("a failed check is no failure")
			}
			if got := hint.For(err); !strings.HasSuffix(got, tt.want) || (got == "") != (tt.want == "") {
				t.Errorf("hint %q, want one that ends with %q", got, tt.want)
			}
			if err := failure(nil, tt.names, out); err != nil {
				t.Errorf("no check failed, and the command does: %v", err)
			}
		})
	}
}

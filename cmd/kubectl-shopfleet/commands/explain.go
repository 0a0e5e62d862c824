package commands

import (
	"fmt"
	"io"
	"regexp"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// entryReport is the output of the command explain.
type entryReport struct {
	Name    string `json:"name"`
	Meaning string `json:"meaning"`
	// Check is a command that shows more; empty if the condition says everything.
	Check string `json:"check,omitempty"`
	// Remedy is a command or a sentence, and further lines that explain it; empty if there is nothing to do.
	Remedy string `json:"remedy,omitempty"`
}

func (p *Program) explainCommand() *cobra.Command {
	var out *output
	cmd := &cobra.Command{
		Use:   "explain REASON",
		Short: "Explain a reason of a condition or an alert, and what to do about it",
		Long: `Explain a reason of a condition or an alert, and what to do about it.

REASON is what conditions, status and doctor show, the state of a replica of a database, or
the name of an alert. The command sends no request: it prints the runbook of its own
version. Names in capitals in the commands that it prints are yours to fill in.`,
		Example: `  kubectl shopfleet explain ClusterUnreachable
  kubectl shopfleet explain ShopfleetMemberNotReady
  kubectl shopfleet explain DataStays -o json`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: first(cobra.FixedCompletions(explainedNames(), cobra.ShellCompDirectiveNoFileComp)),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := out.check(); err != nil {
				return err
			}
			return p.explainReason(out, args[0])
		},
	}
	out = newReportOutput(cmd)
	return cmd
}

// explainedNames returns the names of all entries.
func explainedNames() []string {
	all := slices.Concat(runbook.Alerts(), runbook.Entries())
	names := make([]string, 0, len(all))
	for _, e := range all {
		names = append(names, e.Reason)
	}
	return unique(names)
}

func (p *Program) explainReason(out *output, name string) error {
	e, found := runbook.Explain(name)
	if !found {
		return hint.With(fmt.Errorf("finding %q in the runbook: %w", name, errNotFound), similarReasons(name))
	}
	if !out.text() {
		return out.printReport(p, "RunbookEntry", &entryReport{Name: e.Reason, Meaning: e.Meaning, Check: e.Check, Remedy: e.Remedy})
	}
	if _, err := io.WriteString(p.streams.Out, entryText(e)); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// entryText formats an entry for a terminal. Links of the page become the names to explain.
func entryText(e runbook.Entry) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\n%s\n", e.Reason, e.Meaning)
	if e.Check != "" {
		fmt.Fprintf(&b, "\nTo see more:\n  %s\n", e.Check)
	}
	if e.Remedy == "" {
		b.WriteString("\nThere is nothing to do.\n")
	} else {
		b.WriteString("\nWhat to do:\n")
	}
	for line := range strings.Lines(e.Remedy) {
		b.WriteString("  " + strings.TrimSuffix(line, "\n") + "\n")
	}
	return regexp.MustCompile(`\[(\w+)\]\(#\w+\)`).ReplaceAllString(b.String(), "$1")
}

// similarReasons returns a hint for a name that is not in the runbook.
func similarReasons(name string) string {
	var similar []string
	for _, known := range explainedNames() {
		if strings.Contains(strings.ToLower(known), strings.ToLower(name)) {
			similar = append(similar, known)
		}
	}
	if len(similar) == 0 {
		return "The completion of your shell lists all: kubectl shopfleet completion --help"
	}
	return "Did you mean " + strings.Join(similar, ", ") + "?"
}

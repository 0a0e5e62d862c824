package commands

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// each calls check for every command of the program but those of cobra.
func each(t *testing.T, check func(*testing.T, *cobra.Command)) {
	t.Helper()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if slices.Contains([]string{"completion", "help"}, cmd.Name()) {
			return
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) { check(t, cmd) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(New(Invocation{Args: []string{program}}).root)
}

// isGroup reports whether a command only prints its help.
func isGroup(cmd *cobra.Command) bool { return cmd.Name() == program || cmd.Name() == "token" }

// TestCompletionOfEverything: each argument and each value of a flag has a completion.
func TestCompletionOfEverything(t *testing.T) {
	each(t, func(t *testing.T, cmd *cobra.Command) {
		t.Helper()
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
				t.Errorf("the values of --%s have no completion", f.Name)
			}
		})
		cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) {
			if _, ok := cmd.GetFlagCompletionFunc(f.Name); !ok && f.Value.Type() != "bool" {
				t.Errorf("the values of --%s, which it inherits, have no completion", f.Name)
			}
		})
		takesArguments := strings.Contains(cmd.Use, " ") && !strings.HasPrefix(cmd.Use, cmd.Name()+" -")
		if takesArguments && cmd.ValidArgsFunction == nil {
			t.Errorf("the arguments of %q have no completion", cmd.Use)
		}
	})
}

// TestConventions: the commands have the flags of kubectl, with the meanings of kubectl.
func TestConventions(t *testing.T) {
	global := map[string]bool{}
	New(Invocation{Args: []string{program}}).root.PersistentFlags().VisitAll(func(f *pflag.Flag) { global[f.Name] = true })
	for _, name := range []string{"cluster", "context", "namespace", "user"} {
		if !global[name] {
			t.Errorf("--%s of kubectl is missing", name)
		}
	}
	each(t, func(t *testing.T, cmd *cobra.Command) {
		t.Helper()
		if isGroup(cmd) {
			return
		}
		if cmd.Example == "" {
			t.Error("the help has no example")
		}
		if f := cmd.Flags().Lookup("output"); f == nil || f.Shorthand != "o" {
			t.Error("it has no -o, --output")
		}
		cmd.LocalNonPersistentFlags().VisitAll(func(f *pflag.Flag) {
			if global[f.Name] {
				t.Errorf("--%s hides the one of kubectl", f.Name)
			}
		})
		wait, timeout := cmd.Flags().Lookup("wait"), cmd.Flags().Lookup("timeout")
		if wait != nil && (wait.Value.Type() != "bool" || timeout == nil) {
			t.Error("--wait is not a bool with a --timeout")
		}
		if timeout != nil && timeout.Value.Type() != "duration" {
			t.Error("--timeout is not a duration")
		}
	})
}

// TestDestruction: what destroys has a dry run and a confirmation.
func TestDestruction(t *testing.T) {
	flags := map[string]string{
		"restore": "yes", "uninstall": "interactive", "unjoin": "interactive", "delete": "interactive",
		"orphans delete": "interactive", "recover overwrite": "interactive", "recover take-over": "interactive",
		"recover import": "interactive",
	}
	each(t, func(t *testing.T, cmd *cobra.Command) {
		t.Helper()
		name := strings.TrimPrefix(cmd.CommandPath(), "kubectl shopfleet ")
		confirmation, destroys := flags[name]
		if !destroys {
			return
		}
		delete(flags, name)
		for _, flag := range []string{"dry-run", confirmation} {
			if cmd.Flags().Lookup(flag) == nil {
				t.Errorf("it has no --%s", flag)
			}
		}
	})
	if len(flags) > 0 {
		t.Errorf("there are no commands %v", flags)
	}
}

package commands

import (
	"errors"
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
		if slices.Contains([]string{"completion", "help", "options"}, cmd.Name()) {
			return
		}
		t.Run(cmd.CommandPath(), func(t *testing.T) { check(t, cmd) })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(New(Invocation{Args: []string{program}}).root)
}

// isGroup reports whether a command only prints its help: it has others below it, and takes no arguments itself.
func isGroup(cmd *cobra.Command) bool { return cmd.HasSubCommands() && !strings.Contains(cmd.Use, " ") }

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
		checkListAndWait(t, cmd.Flags())
	})
}

// checkListAndWait checks the flags that lists have, and those of what waits.
func checkListAndWait(t *testing.T, flags *pflag.FlagSet) {
	t.Helper()
	for _, name := range []string{"selector", "watch"} {
		if flags.Lookup("show-labels") != nil && flags.Lookup(name) == nil {
			t.Errorf("it lists objects, and has no --%s", name)
		}
	}
	wait, timeout := flags.Lookup("wait"), flags.Lookup("timeout")
	if wait != nil && (wait.Value.Type() != "bool" || timeout == nil) {
		t.Error("--wait is not a bool with a --timeout")
	}
	if timeout != nil && timeout.Value.Type() != "duration" {
		t.Error("--timeout is not a duration")
	}
}

// TestAgentIsASpoke: where the help names an agent or a spoke in a cluster, it says that the agent is a spoke, and which
// command is about which.
func TestAgentIsASpoke(t *testing.T) {
	t.Parallel()
	root := New(Invocation{Args: []string{program}}).root
	for name, words := range map[string][]string{
		"install":   {"the spoke is the agent of the hub", "join --mode agent"},
		"uninstall": {"the spoke is the agent of the hub", "unjoin --delete-agent"},
		"join":      {"a spoke is installed in the member, as the agent of the hub"},
		"unjoin":    {"the agent, which is a spoke"},
	} {
		command, _, err := root.Find([]string{name})
		if err != nil {
			t.Fatal(err)
		}
		help := strings.Join(strings.Fields(command.Long), " ")
		for _, word := range words {
			if !strings.Contains(help, word) {
				t.Errorf("the help of %s does not say %q", name, word)
			}
		}
	}
}

// TestHelp: each command has a help, whose examples are commands that can be parsed.
func TestHelp(t *testing.T) {
	each(t, func(t *testing.T, cmd *cobra.Command) {
		t.Helper()
		if cmd.Short == "" || strings.HasSuffix(cmd.Short, ".") {
			t.Errorf("the short help is %q", cmd.Short)
		}
		if isGroup(cmd) {
			return
		}
		own := false
		for line := range strings.Lines(cmd.Example) {
			named, err := parse(line)
			if err != nil {
				t.Errorf("example %q: %v", line, err)
				continue
			}
			own = own || named.CommandPath() == cmd.CommandPath()
		}
		if !own {
			t.Error("no example is about the command itself")
		}
	})
}

var errNoCommand = errors.New("it is not a command of the program")

// parse parses an example as the program would, and returns the command that would run.
func parse(example string) (*cobra.Command, error) {
	words, ok := strings.CutPrefix(strings.TrimRight(example, "\n"), "  kubectl shopfleet ")
	if !ok {
		return nil, errNoCommand
	}
	words, _, _ = strings.Cut(words, " | ")
	words, _, _ = strings.Cut(words, " > ")
	named, args, err := New(Invocation{Args: []string{program}}).root.Find(strings.Fields(strings.ReplaceAll(words, "'", "")))
	if err == nil {
		err = named.ParseFlags(args)
	}
	if err == nil {
		err = named.ValidateArgs(named.Flags().Args())
	}
	return named, err
}

// effect names the consequence of a command for objects.
type effect string

const (
	// reads changes nothing in a cluster.
	reads effect = "reads"
	// renews replaces a token that can be renewed again.
	renews effect = "renews"
	// creates adds objects, and deletes or replaces none of the user.
	creates effect = "creates"
	// destroys deletes or replaces objects or data, or gives them to another owner.
	destroys effect = "destroys"
)

// effects returns the effect of each command.
func effects() map[string]effect {
	return map[string]effect{
		"": reads, "status": reads, "version": reads, "doctor": reads, "explain": reads, "ui": reads, "diff": reads, "render": reads, "why": reads, "plan": reads, "images": reads,
		"install": creates, "uninstall": destroys, "join": destroys, "unjoin": destroys, "renew": renews, "delete": destroys,
		"pause": creates, "unpause": creates, "cordon": creates, "uncordon": creates, "drain": destroys,
		"rollout": reads, "rollout status": reads, "rollout history": reads, "rollout approve": creates, "rollout pause": creates,
		"rollout resume": creates, "rollout undo": creates, "rollout restart": creates, "rollout reconcile": creates, "rollout render-now": creates,
		"backup": reads, "backup create": creates, "backup list": reads, "backup rediscover": creates, "restore": destroys, "restore undo": destroys,
		"recover": reads, "recover list": reads, "recover adopt": creates, "recover delete": destroys,
		"recover overwrite": destroys, "recover take-over": destroys, "recover import": destroys,
	}
}

// TestDestruction: what changes objects has a dry run, and only what destroys some has a confirmation.
// A new command has to be in the table.
func TestDestruction(t *testing.T) {
	known := effects()
	each(t, func(t *testing.T, cmd *cobra.Command) {
		t.Helper()
		name := strings.TrimPrefix(strings.TrimPrefix(cmd.CommandPath(), "kubectl shopfleet"), " ")
		does, ok := known[name]
		if !ok {
			t.Fatal("the table does not say what it does to objects")
		}
		delete(known, name)
		dryRun := cmd.Flags().Lookup("dry-run") != nil
		if want := does == creates || does == destroys; dryRun != want {
			t.Errorf("it %s: --dry-run is %t, want %t", does, dryRun, want)
		}
		confirmed := cmd.Flags().Lookup("yes") != nil
		if want := does == destroys; confirmed != want {
			t.Errorf("it %s: --yes is %t, want %t", does, confirmed, want)
		}
	})
	if len(known) > 0 {
		t.Errorf("there are no commands %v", known)
	}
}

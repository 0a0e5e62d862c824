package commands

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestRunbookCommands: each command of this program in the pages and in the alerts exists, with
// its flags.
func TestRunbookCommands(t *testing.T) {
	root := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()}).root
	mention := regexp.MustCompile("kubectl shopfleet((?: [-a-zA-Z0-9./={}$]+)+)")
	found := 0
	for _, path := range []string{
		"README.md", "api/README.md", "cloud/README.md", "config/README.md", "hub/README.md", "hub/RUNBOOK.md", "spoke/README.md",
		"config/monitoring/hub/prometheusrule.yaml", "config/monitoring/spoke/prometheusrule.yaml",
	} {
		text, err := os.ReadFile("../../../" + path)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range mention.FindAllStringSubmatch(string(text), -1) {
			found++
			checkMention(t, root, strings.Fields(match[1]))
		}
	}
	if found < 50 {
		t.Errorf("found %d commands, want those of all entries", found)
	}
}

// checkMention fails if no command has the words, or the command no such flag.
func checkMention(t *testing.T, root *cobra.Command, words []string) {
	t.Helper()
	command, value := root, false
	for _, word := range words {
		name, given, _ := strings.Cut(strings.TrimRight(word, "."), "=")
		switch {
		case value:
			value = false // It is the value of the flag before it.
		case strings.HasPrefix(name, "-"):
			flag := flagOf(command, name)
			if flag == nil {
				t.Errorf("kubectl shopfleet %s: there is no flag %s", strings.Join(words, " "), name)
				return
			}
			value = given == "" && flag.NoOptDefVal == ""
		case command == root || command.HasSubCommands() && strings.ToLower(name) == name:
			next, _, err := command.Find([]string{name})
			if err != nil || next == command {
				t.Errorf("kubectl shopfleet %s: there is no command %q", strings.Join(words, " "), name)
				return
			}
			command = next
		}
		if strings.HasSuffix(word, ".") {
			return // The end of the sentence.
		}
	}
}

// flagOf returns a flag of a command by its name or shorthand, or nil.
func flagOf(command *cobra.Command, name string) *pflag.Flag {
	if long, ok := strings.CutPrefix(name, "--"); ok {
		return command.Flag(long)
	}
	if flag := command.Flags().ShorthandLookup(name[1:]); flag != nil {
		return flag
	}
	return command.InheritedFlags().ShorthandLookup(name[1:])
}

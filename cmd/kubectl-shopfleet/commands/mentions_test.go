package commands

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestMentions: each command of this program in a page, an alert, a message, a comment or a test exists, with its flags.
func TestMentions(t *testing.T) {
	t.Parallel()
	root := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()}).root
	mention := regexp.MustCompile("kubectl shopfleet((?: [-a-zA-Z0-9./={}$]+)+)")
	wrapped := regexp.MustCompile(`(kubectl|shopfleet)\n\s*(?://|#)?\s*`)
	found := 0
	eachText(t, func(path, text string) {
		for _, match := range mention.FindAllStringSubmatch(wrapped.ReplaceAllString(text, "$1 "), -1) {
			found++
			if problem := checkMention(root, strings.Fields(match[1])); problem != "" {
				t.Errorf("%s: kubectl shopfleet%s: %s", path, match[1], problem)
			}
		}
	})
	if found < 300 {
		t.Errorf("found %d commands, want those of all pages and messages", found)
	}
	for _, wrong := range []string{"statuz", "rollout undone a", "status --wide", "rollout history a --to-revision 2"} {
		if checkMention(root, strings.Fields(wrong)) == "" {
			t.Errorf("kubectl shopfleet %s: no problem", wrong)
		}
	}
}

// TestMentionedExitCodes: where a page goes on after a command that has found something, it expects the code of that.
func TestMentionedExitCodes(t *testing.T) {
	t.Parallel()
	expectation, found := regexp.MustCompile(`kubectl shopfleet [^\n]*\|\| \[ \$\? -eq (\d+) \]`), 0
	eachText(t, func(path, text string) {
		for _, match := range expectation.FindAllStringSubmatch(text, -1) {
			found++
			if match[1] != strconv.Itoa(exitFound) {
				t.Errorf("%s: %s; the exit code is %d", path, match[0], exitFound)
			}
		}
	})
	if found == 0 {
		t.Error("no page has such a command")
	}
}

// eachText calls see with each file of the repository that may mention a command.
func eachText(t *testing.T, see func(path, text string)) {
	t.Helper()
	repository, err := os.OpenRoot("../../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repository.Close() })
	extensions := []string{".go", ".md", ".yaml", ".json", ".txt", ".tpl", ".golden"}
	err = fs.WalkDir(repository.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != "." && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin"):
			return fs.SkipDir
		case entry.IsDir() || !slices.Contains(extensions, filepath.Ext(path)):
			return nil
		}
		text, err := repository.ReadFile(path)
		if err == nil && bytes.Contains(text, []byte("shopfleet")) {
			see(path, string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// checkMention returns a problem if no command has the words, or the command no such flag.
func checkMention(root *cobra.Command, words []string) string {
	command, value := root, false
	for _, word := range words {
		name, given, _ := strings.Cut(strings.TrimRight(word, "."), "=")
		switch {
		case value:
			value = false // It is the value of the flag before it.
		case name == "--help":
		case strings.HasPrefix(name, "-"):
			flag := flagOf(command, name)
			if flag == nil {
				return "there is no flag " + name
			}
			value = given == "" && flag.NoOptDefVal == ""
		case command == root || command.HasSubCommands() && strings.ToLower(name) == name:
			next, _, err := command.Find([]string{name})
			switch {
			case err == nil && next == command && !isGroup(command): // It is an argument.
			case err != nil || next == command:
				return "there is no command " + name
			}
			command = next
		}
		if strings.HasSuffix(word, ".") {
			return "" // The end of the sentence.
		}
	}
	return ""
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

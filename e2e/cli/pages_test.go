package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

var errNoSubcommand = errors.New("no such subcommand")

// TestPages checks that kubectl has the commands and flags that the pages and alerts name. Those of the plugin are
// parsed by TestMentions of package commands, and those of hub/README.md run in e2e/kind. krew is another plugin.
func TestPages(t *testing.T) {
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	kubectl := programs.Path(binaries.Kubectl)
	checked := map[string]bool{}
	for _, page := range []string{
		"README.md", "api/README.md", "cloud/README.md", "config/README.md", "hub/README.md", "hub/REFERENCE.md", "hub/RUNBOOK.md", "hub/REASONS.md",
		"config/monitoring/hub/prometheusrule.yaml", "config/monitoring/spoke/prometheusrule.yaml",
	} {
		text, err := os.ReadFile("../../" + page)
		if err != nil {
			t.Fatal(err)
		}
		for _, args := range commandsIn(string(text)) {
			key := strings.Join(args, " ")
			if args[0] == "shopfleet" || args[0] == "krew" || checked[key] {
				continue
			}
			checked[key] = true
			if err := parse(t, kubectl, args); err != nil {
				t.Errorf("%s: kubectl %s: %v", page, key, err)
			}
		}
	}
	if len(checked) < 50 {
		t.Errorf("found %d commands, want those of all pages", len(checked))
	}
	for _, wrong := range []string{"gett pods", "get pods --all-namespace", "rollout restarted deployment/a", "logs a --tail=all"} {
		if parse(t, kubectl, strings.Fields(wrong)) == nil {
			t.Errorf("kubectl %s: no error", wrong)
		}
	}
}

// TestManifestsAreAppliedServerSide checks that no page or hint applies a folder of config by the client, which keeps
// each object in an annotation: the definitions may grow beyond what that holds.
func TestManifestsAreAppliedServerSide(t *testing.T) {
	repository, err := os.OpenRoot("../..")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = repository.Close() })
	applied := 0
	err = fs.WalkDir(repository.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			if entry != nil && path != "." && strings.HasPrefix(entry.Name(), ".") {
				return fs.SkipDir
			}
			return err
		}
		if strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".md", ".go", ".yaml"}, filepath.Ext(path)) {
			return nil
		}
		text, err := repository.ReadFile(path)
		for _, args := range slices.DeleteFunc(commandsIn(string(text)), func(args []string) bool { return !appliesManifests(args) }) {
			applied++
			if !slices.Contains(args, "--server-side") {
				t.Errorf("%s: kubectl %s: add --server-side", path, strings.Join(args, " "))
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if applied < 5 {
		t.Errorf("found %d commands that apply a folder of config", applied)
	}
}

// appliesManifests reports whether a command applies a kustomization, or a folder of config but the samples.
func appliesManifests(args []string) bool {
	if len(args) == 0 || args[0] != "apply" {
		return false
	}
	return slices.Contains(args, "-k") || slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "config/") && !strings.HasPrefix(a, "config/samples")
	})
}

// commandsIn returns the arguments of each kubectl command in a page.
func commandsIn(text string) [][]string {
	mention, template := regexp.MustCompile("kubectl [^\n`]+"), regexp.MustCompile(`\{\{[^}]*\}\}`)
	var all [][]string
	for _, line := range mention.FindAllString(template.ReplaceAllString(text, "VALUE"), -1) {
		// Several commands may be in one line, as in a pipe.
		for _, part := range strings.Split(line, "kubectl ")[1:] {
			all = append(all, words(part))
		}
	}
	return all
}

// parse parses a command as kubectl does, without running it.
func parse(t *testing.T, kubectl string, args []string) error {
	t.Helper()
	end := slices.Index(args, "--") // What follows are the arguments of another program.
	if end < 0 {
		end = len(args)
	}
	// At the end it could be taken for the value of a flag.
	command := exec.CommandContext(t.Context(), kubectl, append([]string{"--help=true"}, args[:end]...)...)
	command.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
	output, err := command.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w: %s", err, output)
	}
	if strings.Contains(string(output), "\nAvailable Commands:") && end > 1 && !strings.HasPrefix(args[1], "-") {
		return errNoSubcommand // It is the help of the command above.
	}
	return nil
}

// words splits a command as a shell does. It ends at an operator, a comment, or the end of
// the sentence or clause that the command is a part of.
func words(line string) []string {
	var all []string
	word, quote := "", rune(0)
	end := func() bool {
		plain := strings.TrimRight(word, ".,:")
		if plain == "" {
			plain = word // As in "apply -k .".
		}
		if plain != "" {
			all = append(all, plain)
		}
		return plain != word
	}
	for _, r := range line {
		operator := strings.ContainsRune("|&;>)#", r)
		switch {
		case r == quote:
			quote = 0
		case quote == 0 && (r == '\'' || r == '"'):
			quote = r
		case quote != 0 || r != ' ' && !operator:
			word += string(r)
		case end() || operator:
			return all
		default:
			word = ""
		}
	}
	end()
	return all
}

func TestWords(t *testing.T) {
	for line, want := range map[string][]string{
		"get pods -n a -o wide   # in the member":                {"get", "pods", "-n", "a", "-o", "wide"},
		`get a --output jsonpath='{.a b}' | grep x`:              {"get", "a", "--output", "jsonpath={.a b}"},
		"annotate KIND NAME a=b, in the member.":                 {"annotate", "KIND", "NAME", "a=b"},
		"logs a --since=15m. It is asked again":                  {"logs", "a", "--since=15m"},
		"apply -k .   # or an overlay":                           {"apply", "-k", "."},
		"create token default)":                                  {"create", "token", "default"},
		`port-forward "${leader%%_*}" 1:2 >/dev/null & forward=`: {"port-forward", "${leader%%_*}", "1:2"},
		`get a -o wide."`:                                        {"get", "a", "-o", "wide"},
	} {
		if diff := cmp.Diff(want, words(line)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", line, diff)
		}
	}
}

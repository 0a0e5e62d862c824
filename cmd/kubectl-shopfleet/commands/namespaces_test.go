package commands

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestNamespacesOfMentions: a command that a program prints, or that a page, the runbook or a condition advises, works as it is
// typed in any namespace: about objects with a namespace it has -n or -A. Help texts, which are raw strings, may leave that
// to the reader. The controllers know the object that they report about, and name it.
func TestNamespacesOfMentions(t *testing.T) {
	t.Parallel()
	root := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()}).root
	found := 0
	for _, folder := range []string{"..", "../../hub", "../../spoke", "../../../hub", "../../../spoke", "../../../cloud", "../../../config"} {
		eachMessage(t, folder, func(at, text string) {
			generic := folder == ".." || strings.HasPrefix(at, "../../../hub/runbook/")
			for _, words := range mentionsIn(text) {
				found++
				if lacksNamespace(root, words) || !generic && lacksName(root, words) {
					t.Errorf("%s: kubectl shopfleet %s: it has neither -n nor -A, or no name", at, strings.Join(words, " "))
				}
			}
		})
	}
	if found < 60 {
		t.Errorf("found %d commands, want those of all messages", found)
	}
	for mention, want := range map[string]bool{
		"recover list": true, "recover list -A": false, "rollout history X": true, "rollout history X -n X": false,
		"doctor X": false, "pause app X": true, "pause member X": false, "plan": false, "restore BACKUP": true, "unjoin X": false,
	} {
		if got := lacksNamespace(root, strings.Fields(mention)); got != want {
			t.Errorf("%s lacks a namespace: %t, want %t", mention, got, want)
		}
	}
	for mention, want := range map[string]bool{"why": true, "why X -n X": false, "recover list -A": false, "join": false} {
		if got := lacksName(root, strings.Fields(mention)); got != want {
			t.Errorf("%s lacks a name: %t, want %t", mention, got, want)
		}
	}
}

// mentionsIn returns the words after the name of the program, up to the end of the sentence.
func mentionsIn(text string) [][]string {
	var all [][]string
	for _, match := range regexp.MustCompile(`kubectl shopfleet((?: [-a-zA-Z0-9./={}$]+)+)`).FindAllStringSubmatch(text, -1) {
		words := strings.Fields(match[1])
		if end := slices.IndexFunc(words, func(word string) bool { return strings.HasSuffix(word, ".") }); end >= 0 {
			words = words[:end+1]
		}
		all = append(all, words)
	}
	return all
}

// lacksNamespace reports whether a command lists objects with a namespace, or is about one, and names no namespace. A command
// that needs the name of an object and has none is only spoken of.
func lacksNamespace(root *cobra.Command, words []string) bool {
	named := func(word string) bool {
		return slices.Contains([]string{"-n", "-A", "--namespace", "--all-namespaces"}, strings.TrimSuffix(word, "."))
	}
	command, arguments, err := root.Find(words)
	if err != nil || slices.ContainsFunc(words, named) {
		return false
	}
	if slices.Contains(arguments, "member") || slices.Contains(arguments, "--help") {
		return false
	}
	return isAboutNamespaced(command) && (len(arguments) > 0 || command.Flags().Lookup("all-namespaces") != nil && command.ValidateArgs(nil) == nil)
}

// lacksName reports whether a command is only spoken of: it needs the name of an object with a namespace, and has none.
func lacksName(root *cobra.Command, words []string) bool {
	command, arguments, err := root.Find(words)
	return err == nil && isAboutNamespaced(command) && len(arguments) == 0 && command.ValidateArgs(nil) != nil
}

// isAboutNamespaced reports whether the arguments of a command are names of objects with a namespace.
func isAboutNamespaced(command *cobra.Command) bool {
	return regexp.MustCompile(`\b(APP|NAME|BACKUP|RESTORE)\b`).MatchString(command.Use)
}

// eachMessage calls see with each text of the Go files below a folder, tests and raw strings excepted. What a text is
// concatenated or formatted with is an X.
func eachMessage(t *testing.T, folder string, see func(at, text string)) {
	t.Helper()
	files := token.NewFileSet()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			expression, ok := n.(ast.Expr)
			if !ok {
				return true
			}
			text, whole := textOf(expression)
			if whole {
				see(files.Position(n.Pos()).String(), text)
			}
			return !whole
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// textOf returns the text of an expression, and whether it is one or a sum with one.
func textOf(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		if e.Kind != token.STRING || strings.HasPrefix(e.Value, "`") {
			return "", false
		}
		text, err := strconv.Unquote(e.Value)
		return regexp.MustCompile(`%[a-z]`).ReplaceAllString(text, "X"), err == nil
	case *ast.BinaryExpr:
		left, isLeft := textOf(e.X)
		right, isRight := textOf(e.Y)
		if e.Op != token.ADD || !isLeft && !isRight {
			return "", false
		}
		if !isLeft {
			left = "X"
		}
		if !isRight {
			right = "X"
		}
		return left + right, true
	}
	return "", false
}

package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/config"
)

func TestNoMachinePaths(t *testing.T) {
	for _, f := range listFiles(t) {
		for _, problem := range checkMachinePaths(f) {
			t.Error(problem)
		}
	}
}

// checkMachinePaths finds absolute paths into the folders where people and
// build machines keep their checkouts and their homes.
func checkMachinePaths(f file) []string {
	if strings.Contains(f.text, "\x00") {
		return nil // A picture, not a text.
	}
	// An element of a longer path, as in example.com/work/list, is no such
	// path. The pattern does not match itself: a bracket follows the slash.
	machine := regexp.MustCompile(`(?:^|[^\w./-])(/(?:work|root)/)`)
	var problems []string
	number := 0
	for line := range strings.SplitSeq(f.text, "\n") {
		number++
		if m := machine.FindStringSubmatch(line); m != nil {
			problems = append(problems, fmt.Sprintf("%s:%d mentions %s, a path of one machine", f.path, number, m[1]))
		}
	}
	return problems
}

// TestLinks fails on links in Markdown to files that do not exist, as after a renaming.
func TestLinks(t *testing.T) {
	exists := func(name string) bool {
		_, err := os.Stat(filepath.Join(root, name))
		return err == nil
	}
	for _, f := range listFiles(t) {
		for _, problem := range checkLinks(f, exists) {
			t.Error(problem)
		}
	}
}

// checkLinks looks up the relative links of a page. Links to other sites and to sections
// of the same page are not checked.
func checkLinks(f file, exists func(name string) bool) []string {
	if path.Ext(f.path) != ".md" {
		return nil
	}
	var problems []string
	for _, m := range regexp.MustCompile(`\]\(([^)\s:#]+)(?:#[^)]*)?\)`).FindAllStringSubmatch(f.text, -1) {
		if !exists(path.Join(path.Dir(f.path), m[1])) {
			problems = append(problems, fmt.Sprintf("%s links to %s, which does not exist", f.path, m[1]))
		}
	}
	return problems
}

// TestVersions fails if a command in a page, or the description of a value, names another version of Shopfleet than
// config.Release. With UPDATE_GOLDEN=1 it writes that one.
func TestVersions(t *testing.T) {
	for _, f := range listFiles(t) {
		text := withVersion(f, config.Release)
		if text == f.text {
			continue
		}
		if os.Getenv("UPDATE_GOLDEN") == "" {
			t.Errorf("%s has commands for another version than %s: run again with UPDATE_GOLDEN=1", f.path, config.Release)
		} else if err := os.WriteFile(filepath.Join(root, f.path), []byte(text), 0o600); err != nil {
			t.Error(err)
		}
	}
}

// withVersion returns the text of a page or of a chart's values with a version in its commands.
func withVersion(f file, version string) string {
	if name := path.Base(f.path); path.Ext(name) != ".md" && name != "values.yaml" && name != "values.schema.json" {
		return f.text
	}
	named := regexp.MustCompile(`(shopfleet-(?:hub|spoke):v|\bVERSION=v|newTag: v|image\.tag=v|[?]ref=v|--version[= ]v?)\d+\.\d+\.\d+`)
	return named.ReplaceAllString(f.text, "${1}"+strings.TrimPrefix(version, "v"))
}

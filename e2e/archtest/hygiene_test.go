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
	named := regexp.MustCompile(`(shopfleet(?:-[a-z]+)+:v|shopfleet(?:-[a-z]+)?_v|\bVERSION=v|newTag: v|image\.tag=v|[?]ref=v|--version[= ]v?|git tag -s v|git push origin v)\d+\.\d+\.\d+`)
	return named.ReplaceAllString(f.text, "${1}"+strings.TrimPrefix(version, "v"))
}

// TestWithVersion checks which versions in a page are those of Shopfleet: of its images, its files and its charts.
func TestWithVersion(t *testing.T) {
	for text, want := range map[string]string{
		"r.example.com/shopfleet-hub:v0.1.0 and shopfleet-spoke:v0.1.0":   "r.example.com/shopfleet-hub:v0.2.0 and shopfleet-spoke:v0.2.0",
		"image: r.example.com/shopfleet/shopfleet-olm-catalog:v0.1.0":     "image: r.example.com/shopfleet/shopfleet-olm-catalog:v0.2.0",
		"kubectl-shopfleet_v0.1.0_linux_amd64.tar.gz":                     "kubectl-shopfleet_v0.2.0_linux_amd64.tar.gz",
		"shopfleet-kustomize_v0.1.0.tar.gz, shopfleet-olm_VERSION.tar.gz": "shopfleet-kustomize_v0.2.0.tar.gz, shopfleet-olm_VERSION.tar.gz",
		"make release VERSION=v0.1.0; helm upgrade --version 0.1.0":       "make release VERSION=v0.2.0; helm upgrade --version 0.2.0",
		"`git tag -s v0.1.0`, `git push origin v0.1.0`":                   "`git tag -s v0.2.0`, `git push origin v0.2.0`",
		"{newTag: v0.1.0} image.tag=v0.1.0 config/hub?ref=v0.1.0":         "{newTag: v0.2.0} image.tag=v0.2.0 config/hub?ref=v0.2.0",
		"ecommerce-backend:v2.0.0, oauth2-proxy:v7.15.6, SHOP_VERSION=v2": "ecommerce-backend:v2.0.0, oauth2-proxy:v7.15.6, SHOP_VERSION=v2",
		"v1.3.0 works with v1.2.9":                                        "v1.3.0 works with v1.2.9",
	} {
		if got := withVersion(file{"a.md", text}, "v0.2.0"); got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		if got := withVersion(file{"a.go", text}, "v0.2.0"); got != text {
			t.Errorf("%s, in a file that is no page: %s", text, got)
		}
	}
}

package archtest

import (
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFileLines is the size above which a file of Go code is split. Packages have no
// limit: CONTRIBUTING.md says when to look at one.
const maxFileLines = 400

func TestSizes(t *testing.T) {
	files := listFiles(t)
	checks := map[string]func([]file) []string{
		"files": checkFileSizes,
		"docs":  checkDocs,
		"names": checkNames,
		"top":   checkTop,
	}
	for name, check := range checks {
		t.Run(name, func(t *testing.T) {
			for _, problem := range check(files) {
				t.Error(problem)
			}
		})
	}
}

func checkFileSizes(files []file) []string {
	var problems []string
	for _, f := range files {
		if f.isGo() && f.lines() > maxFileLines {
			problems = append(problems, fmt.Sprintf("%s has %d lines, more than %d", f.path, f.lines(), maxFileLines))
		}
	}
	return problems
}

// checkDocs requires a doc.go in each package, with three sections.
func checkDocs(files []file) []string {
	hasDoc := map[string]bool{}
	var problems []string
	for _, f := range files {
		if !strings.HasSuffix(f.path, ".go") || strings.Contains(f.path, "testdata/") {
			continue
		}
		dir, name := path.Split(f.path)
		hasDoc[dir] = hasDoc[dir] || name == "doc.go"
		if name != "doc.go" {
			continue
		}
		for _, section := range []string{"Purpose", "Non-goals", "Trade-offs"} {
			if !strings.Contains(f.text, "\n// # "+section+"\n") {
				problems = append(problems, fmt.Sprintf("%s has no section %q", f.path, section))
			}
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(hasDoc)) {
		if !hasDoc[dir] {
			problems = append(problems, fmt.Sprintf("%s has no doc.go that says what the package is for", dir))
		}
	}
	return problems
}

// checkNames refuses names that say nothing about what is inside.
func checkNames(files []file) []string {
	vague := regexp.MustCompile(`^(utils?|helpers?|common)(_test)?$`)
	clause := regexp.MustCompile(`(?m)^package (\w+)`)
	named := map[string]string{} // Where a vague name was seen first.
	for _, f := range files {
		names := strings.Split(path.Dir(f.path), "/")
		if m := clause.FindStringSubmatch(f.text); m != nil && strings.HasSuffix(f.path, ".go") {
			names = append(names, m[1])
		}
		for _, name := range names {
			if vague.MatchString(name) && named[path.Dir(f.path)] == "" {
				named[path.Dir(f.path)] = name
			}
		}
	}
	var problems []string
	for _, dir := range slices.Sorted(maps.Keys(named)) {
		problems = append(problems, fmt.Sprintf("%s: a folder or package named %q; name the concept", dir, named[dir]))
	}
	return problems
}

// checkTop allows only the known files and folders at the top of the tree, and dotfiles.
func checkTop(files []file) []string {
	allowed := []string{
		"cmd", "hub", "spoke", "cloud", "api", "config", "e2e",
		"go.mod", "go.sum", "Makefile", "LICENSE",
		"README.md", "CONTRIBUTING.md", "CHANGELOG.md", "SECURITY.md",
	}
	unknown := map[string]bool{}
	for _, f := range files {
		top, _, _ := strings.Cut(f.path, "/")
		if !strings.HasPrefix(top, ".") && !slices.Contains(allowed, top) {
			unknown[top] = true
		}
	}
	var problems []string
	for _, top := range slices.Sorted(maps.Keys(unknown)) {
		problems = append(problems, fmt.Sprintf("%s does not belong at the top of the tree", top))
	}
	return problems
}

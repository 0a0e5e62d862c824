package archtest

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	// contentsStart and contentsEnd are the lines around the table of contents of a page.
	contentsStart = "<!-- contents -->\n"
	contentsEnd   = "<!-- /contents -->\n"
	// maxWithoutContents is how many headings of the second level a page may have without a table of contents.
	maxWithoutContents = 4
)

// TestContents checks the table of contents of each page. When UPDATE_GOLDEN is set, it writes those of pages that are
// not generated.
func TestContents(t *testing.T) {
	for _, f := range listFiles(t) {
		if path.Ext(f.path) != ".md" {
			continue
		}
		if os.Getenv("UPDATE_GOLDEN") != "" && !strings.HasPrefix(f.text, "<!-- Generated") {
			written := withContents(f.text)
			if written != f.text {
				if err := os.WriteFile(filepath.Join(root, f.path), []byte(written), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			f.text = written
		}
		for _, problem := range checkContents(f) {
			t.Error(problem)
		}
	}
}

// checkContents compares the table of contents of a page with its headings of the second level. A line may have more
// after its link.
func checkContents(f file) []string {
	headings := headingsOf(f.text, "##")
	_, rest, found := strings.Cut(f.text, contentsStart)
	table, after, ended := strings.Cut(rest, contentsEnd)
	switch {
	case !found && len(headings) <= maxWithoutContents:
		return nil
	case !ended || len(headingsOf(after, "##")) < len(headings):
		return []string{fmt.Sprintf("%s has %d headings and no table of contents before the first: run UPDATE_GOLDEN=1 go test -run TestContents ./e2e/archtest",
			f.path, len(headings))}
	}
	var listed []string
	for line := range strings.Lines(table) {
		listed = append(listed, strings.TrimSpace(line))
	}
	if want := entriesOf(headings); !slices.EqualFunc(listed, want, strings.HasPrefix) {
		return []string{fmt.Sprintf("%s lists %q as its contents, want %q: run UPDATE_GOLDEN=1 go test -run TestContents ./e2e/archtest", f.path, listed, want)}
	}
	return nil
}

// withContents returns a page with the table of contents that it must have.
func withContents(text string) string {
	if before, rest, found := strings.Cut(text, contentsStart); found {
		_, after, _ := strings.Cut(rest, contentsEnd)
		text = before + strings.TrimLeft(after, "\n")
	}
	headings := headingsOf(text, "##")
	if len(headings) <= maxWithoutContents {
		return text
	}
	before, after, _ := strings.Cut(text, "\n## "+headings[0]+"\n")
	return before + "\n" + contentsStart + strings.Join(entriesOf(headings), "\n") + "\n" + contentsEnd + "\n## " + headings[0] + "\n" + after
}

// entriesOf returns the lines of a table of contents.
func entriesOf(headings []string) []string {
	var lines []string
	for _, h := range headings {
		lines = append(lines, fmt.Sprintf("- [%s](#%s)", h, anchorOf(h)))
	}
	return lines
}

// headingsOf returns the headings of one level in Markdown. Lines in fenced code are not headings.
func headingsOf(text, level string) []string {
	var headings []string
	fenced := false
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if heading, ok := strings.CutPrefix(line, level+" "); ok && !fenced {
			headings = append(headings, strings.TrimSpace(heading))
		}
	}
	return headings
}

// anchorOf returns the anchor that GitHub gives a heading.
func anchorOf(heading string) string {
	kept := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(heading), "")
	return strings.ReplaceAll(kept, " ", "-")
}

// TestAnchors fails on links in Markdown to sections that do not exist, as after a heading was changed.
func TestAnchors(t *testing.T) {
	pages := map[string]string{}
	files := listFiles(t)
	for _, f := range files {
		pages[f.path] = f.text
	}
	for _, f := range files {
		for _, problem := range checkAnchors(f, pages) {
			t.Error(problem)
		}
	}
}

// checkAnchors looks up the sections that a page links to, in itself and in other pages.
func checkAnchors(f file, pages map[string]string) []string {
	if path.Ext(f.path) != ".md" {
		return nil
	}
	var problems []string
	for _, m := range regexp.MustCompile(`\]\(([^)\s:#]*)#([^)]+)\)`).FindAllStringSubmatch(f.text, -1) {
		target := f.path
		if m[1] != "" {
			target = path.Join(path.Dir(f.path), m[1])
		}
		text, known := pages[target]
		if !known || path.Ext(target) != ".md" {
			problems = append(problems, fmt.Sprintf("%s links to the section %s of %s, which is no page", f.path, m[2], target))
			continue
		}
		var anchors []string
		for _, level := range []string{"#", "##", "###", "####"} {
			for _, h := range headingsOf(text, level) {
				anchors = append(anchors, anchorOf(h))
			}
		}
		if !slices.Contains(anchors, m[2]) {
			problems = append(problems, fmt.Sprintf("%s links to the section %s of %s, which does not exist", f.path, m[2], target))
		}
	}
	return problems
}

func TestCheckContents(t *testing.T) {
	const few, many = "# A\n\n## B\n", "# A\n\nText.\n\n## B\n\n## C d: `E`\n\n```sh\n## Not this\n```\n\n## F\n\n## G\n\n## H\n"
	table := contentsStart + "- [B](#b)\n- [C d: `E`](#c-d-e)\n- [F](#f)\n- [G](#g)\n- [H](#h)\n" + contentsEnd
	written := strings.Replace(many, "## B", table+"\n## B", 1)
	for name, c := range map[string]struct{ text, want string }{
		"few headings": {few, ""},
		"none":         {many, "no table of contents"},
		"whole":        {written, ""},
		"with more":    {strings.Replace(written, "(#f)", "(#f): [I](#i)", 1), ""},
		"not all":      {strings.Replace(written, "- [F](#f)\n", "", 1), "lists"},
		"order":        {strings.Replace(written, "- [F](#f)\n- [G](#g)\n", "- [G](#g)\n- [F](#f)\n", 1), "lists"},
		"too late":     {strings.Replace(many, "## C", table+"\n## C", 1), "no table of contents"},
		"not ended":    {strings.Replace(written, contentsEnd, "", 1), "no table of contents"},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, checkContents(file{"a.md", c.text}), c.want)
		})
	}
	for name, c := range map[string]struct{ text, want string }{
		"few headings": {few, few},
		"none":         {many, written},
		"stale":        {strings.Replace(written, "- [F](#f)\n", "", 1), written},
		"no longer":    {strings.Replace(few, "## B", table+"\n## B", 1), few},
	} {
		t.Run("write "+name, func(t *testing.T) {
			if got := withContents(c.text); got != c.want {
				t.Errorf("wrote\n%s\nwant\n%s", got, c.want)
			}
		})
	}
}

func TestCheckAnchors(t *testing.T) {
	pages := map[string]string{"hub/A.md": "# The hub: a\n\n### `kubectl` and you\n", "README.md": "# B\n", "api/v1.go": ""}
	for name, c := range map[string]struct{ text, want string }{
		"there":           {"[a](A.md#kubectl-and-you), [b](../README.md#b), [c](#the-hub-a)", ""},
		"not there":       {"[a](A.md#gone)", "the section gone of hub/A.md"},
		"not here":        {"[a](#gone)", "the section gone of hub/A.md"},
		"of a folder":     {"[a](../api#b)", "no page"},
		"of another site": {"[a](https://example.com/a#gone)", ""},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, checkAnchors(file{"hub/A.md", c.text + "\n" + "# The hub: a\n"}, pages), c.want)
		})
	}
}

package archtest

import (
	"fmt"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"strings"
	"testing"
)

// rule bans a pattern, and says what to write instead.
type rule struct{ pattern, instead string }

// phrases returns the patterns that are banned in comments and Markdown.
func phrases() []rule {
	return []rule{
		{`^\w+ (is|are) (what|where|who)\b`, `a verb: "X returns", "X holds", "X represents"`},
		{`\b(tell|say)s? whether\b`, `"reports whether"`},
		{`\bis what of\b`, "a noun"},
		{`\bwho (is|are) (asked|allowed|told)\b`, "a subject: the user, the controller, the API server"},
		{`\b(to|for|by) who\b`, "a subject: the user, the controller, the API server"},
		{`\bwhat is there of\b`, `"existing"`},
		{`\bis noted what\b`, `"records"`},
		{`\btold of\b`, `"notified of", "passed"`},
		{`\bis none that\b`, `"is not"`},
		{`(?i)\b(somebody|anybody|nobody|whoever)\b`, "the client, the user or the process that is meant"},
		{`\bof its own accord\b`, `"automatically"`},
		{`\bkeeps? (\w+ )+company\b`, `"blocks until"`},
		{`\bmend(s|ed|ing)?\b`, `"fix", "repair"`},
	}
}

// words returns the words that are banned in names of packages, files and identifiers.
func words() []rule {
	return []rule{
		{"lane", `"queue", "dispatcher"`},
		{"verdict", `"result", "conditions"`},
		{"pulse", `"lease monitor"`},
		{"witness", `"framework"`},
		{"engager", `"runner"`},
		{"rollup", `"aggregate"`},
	}
}

func TestVocabulary(t *testing.T) {
	for _, f := range listFiles(t) {
		if path.Base(f.path) == "vocabulary_test.go" {
			continue // The words themselves.
		}
		if strings.Contains("/"+f.path, "/testdata/") {
			// Golden files repeat the scripts that are hashed into pods: changing a comment
			// in a script would restart the pods of every application.
			continue
		}
		problems, err := checkPhrases(f)
		if err != nil {
			t.Error(err)
		}
		for _, problem := range append(problems, checkWords(f)...) {
			t.Error(problem)
		}
	}
}

func TestCheckVocabulary(t *testing.T) {
	cases := map[string]struct {
		file file
		want string
	}{
		"comment":            {file{"a.go", "package a\n\n// Done tells whether it is done.\nfunc Done() bool\n"}, "a.go:3"},
		"over two lines":     {file{"a.go", "package a\n\n// Done tells\n// whether it is done.\nfunc Done() bool\n"}, "tells whether"},
		"another verb":       {file{"a.go", "package a\n\n// Done says whether it is done.\nfunc Done() bool\n"}, "says whether"},
		"start of a comment": {file{"a.go", "package a\n\n// Place is where it is.\ntype Place int\n"}, "Place is where"},
		"not in the middle":  {file{"a.go", "package a\n\n// Place returns a value. That is what it does.\ntype Place int\n"}, ""},
		"string":             {file{"a.go", "package a\n\nconst text = \"tells whether\"\n"}, ""},
		"Markdown":           {file{"a.md", "# A\n\nIt is for\nwho may.\n"}, "a.md:3"},
		"code in Markdown":   {file{"a.md", "# A\n\n    mend\n\nRun `mend`.\n"}, ""},
		"YAML":               {file{"a.yaml", "# Who may.\na: b # Nobody but us.\n"}, "Nobody"},
		"makefile":           {file{"Makefile", "a: ## Lint, and mend.\n"}, "Makefile:1"},
		"not prose":          {file{"a.json", "# mend"}, ""},
		"path":               {file{"hub/lanes/a.txt", ""}, `"lanes"`},
		"identifier":         {file{"a.go", "package a\n\nvar openLanes int\n"}, `"nLanes"`},
		"part of a word":     {file{"e2e/controlplane/a.go", "package a\n\nvar controlPlanes int\n"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems, err := checkPhrases(c.file)
			if err != nil {
				t.Fatal(err)
			}
			expectProblem(t, append(problems, checkWords(c.file)...), c.want)
		})
	}
}

// checkPhrases looks for banned phrases in the prose of one file.
func checkPhrases(f file) ([]string, error) {
	paragraphs, err := proseOf(f)
	if err != nil {
		return nil, err
	}
	var problems []string
	for _, r := range phrases() {
		pattern := regexp.MustCompile(r.pattern)
		for _, p := range paragraphs {
			text := strings.Join(strings.Fields(p.text), " ")
			if at := pattern.FindStringIndex(text); at != nil {
				context := text[max(0, at[0]-30):min(len(text), at[1]+30)]
				problems = append(problems, fmt.Sprintf("%s:%d: %q in %q: write %s", f.path, p.line, text[at[0]:at[1]], context, r.instead))
			}
		}
	}
	return problems, nil
}

// checkWords looks for banned words in the path of a file and in the code of a Go file.
func checkWords(f file) []string {
	text := f.path
	if f.isGo() {
		text += "\n" + f.text
	}
	lower := strings.ToLower(text)
	var problems []string
	for _, r := range words() {
		if !strings.Contains(lower, r.pattern) {
			continue // Much faster than the expression.
		}
		title := strings.ToUpper(r.pattern[:1]) + r.pattern[1:]
		// A whole word, or one between the humps of a name: laneOf, openLanes.
		word := fmt.Sprintf(`(\b%s|(\b|[a-z0-9])%s)(s|es)?([A-Z_]|\b)`, r.pattern, title)
		if found := regexp.MustCompile(word).FindString(text); found != "" {
			problems = append(problems, fmt.Sprintf("%s: %q: write %s", f.path, found, r.instead))
		}
	}
	return problems
}

// paragraph is a piece of prose and the line that it starts in.
type paragraph struct {
	line int
	text string
}

// proseOf returns the comments of Go code, YAML, scripts and makefiles, and the text of
// Markdown without its code.
func proseOf(f file) ([]paragraph, error) {
	hash := regexp.MustCompile(`(?:^|\s)#+\s(.*)`)
	switch ext := path.Ext(f.path); {
	case f.isGo():
		return commentsOf(f)
	case ext == ".md":
		code := regexp.MustCompile("`[^`]*`")
		return paragraphsOf(f.text, func(line string) string {
			if strings.HasPrefix(line, "    ") {
				return ""
			}
			return code.ReplaceAllString(line, "code")
		}), nil
	case ext == ".yaml", ext == ".yml", path.Base(f.path) == "Makefile", strings.HasPrefix(f.text, "#!"):
		return paragraphsOf(f.text, func(line string) string {
			if m := hash.FindStringSubmatch(line); m != nil {
				return m[1]
			}
			return ""
		}), nil
	default:
		return nil, nil
	}
}

// paragraphsOf joins consecutive lines for which prose returns text.
func paragraphsOf(text string, prose func(line string) string) []paragraph {
	var out []paragraph
	open := false
	for i, line := range strings.Split(text, "\n") {
		piece := prose(line)
		switch {
		case strings.TrimSpace(piece) == "":
			open = false
		case open:
			out[len(out)-1].text += " " + piece
		default:
			out, open = append(out, paragraph{line: i + 1, text: piece}), true
		}
	}
	return out
}

func commentsOf(f file) ([]paragraph, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, f.text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", f.path, err)
	}
	var out []paragraph
	for _, group := range tree.Comments {
		out = append(out, paragraph{line: set.Position(group.Pos()).Line, text: group.Text()})
	}
	return out, nil
}

package v1

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestExcerpt(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                                 "",
		"fits":                             "fits",
		"exactly twenty bytes":             "exactly twenty bytes",
		"a sentence that is cut at a word": "a sentence that...",
		"cut behind a, comma or else":      "cut behind a...",
		"oneverylongwordwithoutspaces":     "oneverylongwordwi...",
		"ends with a word here and more":   "ends with a word...",
		"lines\nand\ttabs":                 "lines and tabs",
		"bad \xff\xfe text":                "bad  text",
		strings.Repeat("ünïcödé ", 2) + "ünïcödé": "ünïcödé...",
	} {
		if got := Excerpt(in, 20); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

func FuzzExcerpt(f *testing.F) {
	f.Add("text", 7)
	f.Add(strings.Repeat("ü", 50), 9)
	f.Fuzz(func(t *testing.T, text string, limit int) {
		limit = 4 + max(0, limit)%1000
		if got := Excerpt(text, limit); len(got) > limit || !utf8.ValidString(got) || strings.ContainsAny(got, "\n\t\x00") || Excerpt(got, limit) != got {
			t.Errorf("%q, %d: %q", text, limit, got)
		}
	})
}

func TestFirstOf(t *testing.T) {
	t.Parallel()
	var names []string
	for want := range strings.SplitSeq("|a|a, b|a, b, c|a, b, c, and 1 more|a, b, c, and 2 more", "|") {
		if got := FirstOf(names); got != want {
			t.Errorf("%d names: %q, want %q", len(names), got, want)
		}
		names = append(names, string(rune('a'+len(names))))
	}
}

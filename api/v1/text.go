package v1

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxNamed bounds the number of names that a message lists.
const maxNamed = 3

// Excerpt returns a text that a cluster reports, on one line and of at most a number of bytes, of which it
// needs four. A longer text is cut at a word, and ends with an ellipsis.
func Excerpt(text string, limit int) string {
	const more = "..."
	long := len(text) > limit
	if long {
		text = text[:limit-len(more)+1] // One byte more shows whether a word ends there.
	}
	text = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError:
			return -1
		case unicode.IsSpace(r) || unicode.IsControl(r):
			return ' '
		}
		return r
	}, text)
	if !long {
		return strings.TrimSpace(text)
	}
	if end := strings.LastIndexByte(text, ' '); end > len(text)/2 {
		text = text[:end]
	} else if len(text) > limit-len(more) {
		text = strings.ToValidUTF8(text[:limit-len(more)], "")
	}
	return strings.TrimRight(text, " ,;:.-(") + more
}

// FirstOf returns a list of names for a message, of which it has the first three.
func FirstOf(names []string) string {
	if len(names) <= maxNamed {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s, and %d more", strings.Join(names[:maxNamed], ", "), len(names)-maxNamed)
}

package v1

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// MaxClusterMessage is the number of bytes that the hub keeps of a message about a cluster. It is enough for a
// sentence with its remedy: what is longer is cut.
const MaxClusterMessage = 256

// maxReasonLength is the maximum length of a reason that a cluster reports. Ours are shorter.
const maxReasonLength = 64

// Maximum lengths of the version and of the image of a database, as in its schema.
const (
	maxServerVersion = 64
	maxServerImage   = 512
)

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

// ValidServer returns a server that a cluster reports; nil if a spec cannot have it, whose version and
// image the schema bounds.
func ValidServer(reported *DatabaseServer) *DatabaseServer {
	if reported == nil || !isReference(reported.Version, maxServerVersion) || !isReference(reported.Image, maxServerImage) {
		return nil
	}
	return &DatabaseServer{Version: reported.Version, Image: reported.Image}
}

// isReference reports whether a text has the length and the characters of a version or of an image.
func isReference(text string, limit int) bool {
	for i := range len(text) {
		letter := 'a' <= text[i]|0x20 && text[i]|0x20 <= 'z'
		if digit := '0' <= text[i] && text[i] <= '9'; !letter && !digit && (i == 0 || !strings.ContainsRune("._/:@-", rune(text[i]))) {
			return false
		}
	}
	return text != "" && len(text) <= limit
}

// ValidReason returns a reason that a cluster reports, or another one if the API server would refuse it
// as the reason of a condition.
func ValidReason(reported, otherwise string) string {
	letter := func(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
	for i := range len(reported) {
		c := reported[i]
		inner := i > 0 && ('0' <= c && c <= '9' || c == '_' || (c == ',' || c == ':') && i < len(reported)-1)
		if !letter(c) && !inner || i == maxReasonLength {
			return otherwise
		}
	}
	if reported == "" {
		return otherwise
	}
	return reported
}

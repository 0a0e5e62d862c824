package identity

import (
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// DefaultRetryAfter is the wait before a retry if the service throttles without a Retry-After.
const DefaultRetryAfter = 5 * time.Second

// longestLine is in bytes. A text has at least as many bytes as characters.
const longestLine = 1024

// RetryAfter returns the wait that the header Retry-After demands, or 0 if there is none.
func RetryAfter(header http.Header, now time.Time) time.Duration {
	value := header.Get("Retry-After")
	if seconds, err := strconv.Atoi(value); err == nil {
		return max(0, time.Duration(min(seconds, int(24*time.Hour/time.Second)))*time.Second)
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// Line returns a text as one line of bounded length, without anything that may be a
// credential.
func Line(text string) string {
	words := strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) })
	for i, word := range words {
		lower := strings.ToLower(word)
		// Tokens are JSON in base64, which begins so; signed URLs have a signature.
		if strings.Contains(word, "eyJ") || strings.Contains(lower, "sig=") || i > 0 && strings.EqualFold(words[i-1], "bearer") {
			words[i] = "…"
		}
	}
	return v1.Excerpt(strings.Join(words, " "), longestLine)
}

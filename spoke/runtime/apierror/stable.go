package apierror

import (
	"regexp"
	"strings"
	"unicode"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// maxStable bounds what Stable returns, in bytes.
const maxStable = 512

// Stable returns a message of an API server without what differs between attempts or is not for users:
// URLs, addresses, ports, IDs, pointers and times. It has one line, and is cut at a word.
func Stable(message string) string {
	for _, r := range []struct{ pattern, by string }{
		{`\b(Get|Post|Put|Patch|Delete|Head) "?[a-z]+://[^\s"]*"?: `, ""},
		{`\b[a-z][a-z0-9+.-]*://[^\s"'<>]*[^\s"'<>.,:;)\]]`, "(address)"},
		{`\[[0-9A-Fa-f:]*:[0-9A-Fa-f:.%]*\](:[0-9]+)?|\b[0-9]{1,3}(\.[0-9]{1,3}){3}(:[0-9]+)?\b`, "(address)"},
		{`\b([0-9A-Fa-f]{1,4}:){7}[0-9A-Fa-f]{1,4}\b|\b([0-9A-Fa-f]{1,4}:){1,6}:([0-9A-Fa-f]{1,4}(:[0-9A-Fa-f]{1,4})*)?|(^|\s)::[0-9A-Fa-f]{1,4}\b`, "(address)"},
		{`\(address\)->\(address\)`, "(address)"},
		{`\b[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}\b`, "(ID)"},
		{`\b0x[0-9A-Fa-f]+\b`, "(pointer)"},
		{`\b[0-9]{4}-[0-9]{2}-[0-9]{2}[T ][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?(Z|[ ]?[+-][0-9]{2}:?[0-9]{2})?`, "(time)"},
		{`\b([0-9]+h)?([0-9]+m)?[0-9]+\.[0-9]+(ns|µs|ms|s)\b`, "(time)"},
	} {
		message = regexp.MustCompile(r.pattern).ReplaceAllString(message, r.by)
	}
	message = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, message)
	return v1.Excerpt(strings.Join(strings.Fields(message), " "), maxStable)
}

// Refusal returns why a controller of Kubernetes could not create an object, from its condition or event, as
// Stable does: also without the name of the object, which differs between attempts, and without what of a
// quota is used, which changes with each pod of others.
func Refusal(message string) string {
	message = strings.TrimPrefix(message, "(combined from similar events): ")
	if _, cause, found := strings.Cut(message, " failed error: "); found { // Of a StatefulSet.
		message = cause
	}
	message = strings.TrimPrefix(message, "Error creating: ") // Of a ReplicaSet or Job.
	for _, r := range []struct{ pattern, by string }{
		{`^Failed to create new replica set "[^"]*": `, ""},
		{`\b[a-z]+(\.[a-z.]+)? "[^"]*" is forbidden: `, ""},
		{`\b(Pod|PersistentVolumeClaim|ReplicaSet(\.apps)?) "[^"]*" is invalid: `, ""},
		{`, used: .*?, limited: `, ", limited: "},
	} {
		message = regexp.MustCompile(r.pattern).ReplaceAllString(message, r.by)
	}
	return Stable(message)
}

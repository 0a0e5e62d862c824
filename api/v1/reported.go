package v1

import (
	"strings"
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

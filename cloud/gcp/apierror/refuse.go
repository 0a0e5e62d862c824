package apierror

import (
	"fmt"
	"regexp"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// Refuse returns an error for a request that was not sent.
func Refuse(op string, class cloud.Class, format string, args ...any) *cloud.Error {
	return &cloud.Error{Class: class, Provider: v1.ProviderGCP, Op: op, Message: OneLine(fmt.Sprintf(format, args...))}
}

// most bounds a message, in bytes.
const most = 1024

// OneLine returns a text as one line of at most 1024 bytes, without tokens and the
// queries of signed URLs.
func OneLine(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	text = regexp.MustCompile(`(?:ya29\.|eyJ)[A-Za-z0-9_.~+/=-]+|\?[^\s"]*=[^\s"]*|[A-Za-z0-9_.~+=-]{128,}`).ReplaceAllString(text, "[...]")
	return v1.Excerpt(text, most)
}

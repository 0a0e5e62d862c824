package ec2

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const algorithm = "AWS4-HMAC-SHA256"

// principal is the owner of an access key.
type principal struct {
	secret, account, arn string
	// token goes with keys that expire.
	token   string
	expires time.Time
	policy  *iam.Policy
}

// Key is an access key.
type Key struct {
	ID, Secret string
	// Account is the number of the account, Name the user's.
	Account, Name string
	// Policy is the user's; nil allows everything.
	Policy *iam.Policy
}

// caller represents the principal of a request, and the service and region that it addresses.
type caller struct {
	principal

	region, service string
}

// authenticate checks the signature of a request (Signature Version 4).
func (s *Server) authenticate(r *http.Request, body []byte) (caller, *fault) {
	refused := &fault{
		status: http.StatusUnauthorized, code: "AuthFailure",
		message: "AWS was not able to validate the provided access credentials",
	}
	rest, ok := strings.CutPrefix(r.Header.Get("Authorization"), algorithm+" ")
	if !ok {
		return caller{}, forbidden("MissingAuthenticationToken", "Request is missing Authentication Token")
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	scope := strings.Split(fields["Credential"], "/")
	if len(scope) != 5 {
		return caller{}, forbidden("IncompleteSignature", "Credential must have five parts")
	}
	who, known := s.keys[scope[0]]
	if !known || r.Header.Get("X-Amz-Security-Token") != who.token {
		return caller{}, refused
	}
	want := signature(who.secret, scope[1:], r, fields["SignedHeaders"], body)
	if !hmac.Equal([]byte(want), []byte(fields["Signature"])) {
		return caller{}, refused
	}
	if !who.expires.IsZero() && !s.clock.Now().Before(who.expires) {
		return caller{}, invalid("RequestExpired", "Request has expired.")
	}
	return caller{principal: who, region: scope[2], service: scope[3]}, nil
}

// signature returns the signature that a request must have. Scope is date, region, service and
// the terminator.
func signature(secret string, scope []string, r *http.Request, signed string, body []byte) string {
	digest := sha256.Sum256([]byte(strings.Join([]string{
		r.Method, r.URL.EscapedPath(), canonicalQuery(r.URL.Query()),
		canonicalHeaders(r, signed), signed, hash(body),
	}, "\n")))
	toSign := strings.Join([]string{
		algorithm, r.Header.Get("X-Amz-Date"), strings.Join(scope, "/"), hex.EncodeToString(digest[:]),
	}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(slices.Clone(scope), toSign) {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

func hash(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

func canonicalQuery(query url.Values) string {
	// Signature Version 4 writes a blank as %20 where a form has a plus.
	return strings.ReplaceAll(query.Encode(), "+", "%20")
}

func canonicalHeaders(r *http.Request, signed string) string {
	var out strings.Builder
	for name := range strings.SplitSeq(signed, ";") {
		value := strings.Join(r.Header.Values(name), ",")
		switch name {
		case "host":
			value = r.Host
		case "content-length":
			value = strconv.FormatInt(r.ContentLength, 10)
		}
		out.WriteString(name + ":" + strings.Join(strings.Fields(value), " ") + "\n")
	}
	return out.String()
}

package s3

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	algorithm = "AWS4-HMAC-SHA256"
	// unsigned stands for the checksum of a body that is not signed.
	unsigned = "UNSIGNED-PAYLOAD"
	// timestamp is the format of times in signatures.
	timestamp = "20060102T150405Z"
	// maxSkew bounds the deviation of the time of a request.
	maxSkew = 15 * time.Minute
	// maxExpires is the maximum lifetime of a signed URL, in seconds.
	maxExpires = 7 * 24 * 60 * 60
)

// authentication holds the signature of a request and the parameters that it was made with.
type authentication struct {
	credential, date, headers, signature, token string
	// expires is the lifetime of the signature; 0 means maxSkew.
	expires time.Duration
	// payload is the checksum of the body that is signed.
	payload string
}

// isAuthentication reports whether a parameter is part of a signature.
func isAuthentication(name string) bool {
	return slices.Contains([]string{
		"X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date", "X-Amz-Expires", "X-Amz-SignedHeaders", "X-Amz-Signature",
		"X-Amz-Security-Token", "X-Amz-Content-Sha256",
	}, name)
}

// authenticate checks the signature of a request (Signature Version 4), and its signer.
func (s *Server) authenticate(in *request) *fault {
	a, wrong := read(in)
	if wrong != nil {
		return wrong
	}
	scope := strings.Split(a.credential, "/")
	if len(scope) != 5 || scope[4] != "aws4_request" || scope[3] != "s3" || !strings.HasPrefix(a.date, scope[1]) {
		return malformed("the Credential is mal-formed; expecting \"<YOUR-AKID>/YYYYMMDD/REGION/SERVICE/aws4_request\"")
	}
	if scope[2] != s.Region {
		wrong := malformed(fmt.Sprintf("the region '%s' is wrong; expecting '%s'", scope[2], s.Region))
		wrong.Region = s.Region
		return wrong
	}
	who, ok := s.key(scope[0])
	switch {
	case !ok:
		return refuse(http.StatusForbidden, "InvalidAccessKeyId", "The AWS Access Key Id you provided does not exist in our records.")
	case a.token != who.Token:
		return refuse(http.StatusBadRequest, "InvalidToken", "The provided token is malformed or otherwise invalid.")
	}
	if wrong := s.timely(a); wrong != nil {
		return wrong
	}
	if name := unsignedHeader(in, a.headers); name != "" {
		return refuse(http.StatusForbidden, "AccessDenied", "There were headers present in the request which were not signed: "+name)
	}
	want := signature(who.Secret, scope[1:], in, a)
	if !hmac.Equal([]byte(want), []byte(a.signature)) {
		return refuse(http.StatusForbidden, "SignatureDoesNotMatch",
			"The request signature we calculated does not match the signature you provided. Check your key and signing method.")
	}
	if !who.Expires.IsZero() && !s.Clock.Now().Before(who.Expires) {
		return refuse(http.StatusBadRequest, "ExpiredToken", "The provided token has expired.")
	}
	in.who = who
	if a.payload != unsigned {
		in.digest = a.payload
	}
	return nil
}

func (s *Server) key(id string) (Key, bool) {
	key, ok := s.keys[id]
	if ok || s.Lookup == nil {
		return key, ok
	}
	return s.Lookup(id)
}

// timely rejects requests that were signed too early or too late.
func (s *Server) timely(a authentication) *fault {
	signed, err := time.Parse(timestamp, a.date)
	now := s.Clock.Now()
	switch {
	case err != nil:
		return malformed("the date is none")
	case a.expires == 0 && now.Sub(signed).Abs() > maxSkew:
		return refuse(http.StatusForbidden, "RequestTimeTooSkewed", "The difference between the request time and the current time is too large.")
	case a.expires > 0 && now.Before(signed.Add(-maxSkew)):
		return refuse(http.StatusForbidden, "AccessDenied", "Request is not yet valid")
	case a.expires > 0 && !now.Before(signed.Add(a.expires)):
		return refuse(http.StatusForbidden, "AccessDenied", "Request has expired")
	}
	return nil
}

// read finds the signature of a request, in its headers or in its URL.
func read(in *request) (authentication, *fault) {
	header, query := in.Header.Get("Authorization"), in.URL.Query()
	switch {
	case header != "" && query.Has("X-Amz-Algorithm"):
		return authentication{}, refuse(http.StatusBadRequest, "InvalidArgument", "Only one auth mechanism allowed")
	case header != "":
		return readHeader(in, header)
	case query.Has("X-Amz-Algorithm"):
		return readQuery(in, query)
	default:
		return authentication{}, refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
	}
}

func readHeader(in *request, header string) (authentication, *fault) {
	rest, ok := strings.CutPrefix(header, algorithm+" ")
	if !ok {
		return authentication{}, refuse(http.StatusBadRequest, "InvalidRequest", "The authorization mechanism you have provided is not supported. Please use AWS4-HMAC-SHA256.")
	}
	fields := map[string]string{}
	for field := range strings.SplitSeq(rest, ",") {
		name, value, _ := strings.Cut(strings.TrimSpace(field), "=")
		fields[name] = value
	}
	a := authentication{
		credential: fields["Credential"], headers: fields["SignedHeaders"], signature: fields["Signature"],
		date: in.Header.Get("X-Amz-Date"), token: in.Header.Get("X-Amz-Security-Token"), payload: in.Header.Get("X-Amz-Content-Sha256"),
	}
	switch {
	case a.credential == "" || a.headers == "" || a.signature == "" || a.date == "":
		return a, malformed("it must have Credential, SignedHeaders, Signature, and a date")
	case a.payload == "":
		return a, refuse(http.StatusBadRequest, "InvalidRequest", "Missing required header for this request: x-amz-content-sha256")
	case strings.HasPrefix(a.payload, "STREAMING-"):
		return a, notImplemented("a body in chunks")
	}
	return a, nil
}

func readQuery(in *request, query url.Values) (authentication, *fault) {
	seconds, err := strconv.Atoi(query.Get("X-Amz-Expires"))
	a := authentication{
		credential: query.Get("X-Amz-Credential"), headers: query.Get("X-Amz-SignedHeaders"), signature: query.Get("X-Amz-Signature"),
		date: query.Get("X-Amz-Date"), token: query.Get("X-Amz-Security-Token"), expires: time.Duration(seconds) * time.Second, payload: unsigned,
	}
	if digest := query.Get("X-Amz-Content-Sha256"); digest != "" {
		a.payload = digest
	}
	if digest := in.Header.Get("X-Amz-Content-Sha256"); digest != "" {
		a.payload = digest
	}
	switch {
	case query.Get("X-Amz-Algorithm") != algorithm || a.credential == "" || a.headers == "" || a.signature == "" || a.date == "" || err != nil:
		return a, refuse(http.StatusBadRequest, "AuthorizationQueryParametersError", "Query-string authentication version 4 requires the "+
			"X-Amz-Algorithm, X-Amz-Credential, X-Amz-Signature, X-Amz-Date, X-Amz-SignedHeaders, and X-Amz-Expires parameters.")
	case seconds < 1 || seconds > maxExpires:
		return a, refuse(http.StatusBadRequest, "AuthorizationQueryParametersError", "X-Amz-Expires must be between 1 and 604800 seconds")
	}
	return a, nil
}

func malformed(why string) *fault {
	return refuse(http.StatusBadRequest, "AuthorizationHeaderMalformed", "The authorization header is malformed; "+why)
}

// unsignedHeader returns a header that must be signed and is not, or an empty string.
func unsignedHeader(in *request, signed string) string {
	names := strings.Split(signed, ";")
	if !slices.Contains(names, "host") {
		return "host"
	}
	for name := range in.Header {
		lower := strings.ToLower(name)
		if (strings.HasPrefix(lower, "x-amz-") || lower == "content-md5") && !slices.Contains(names, lower) {
			return lower
		}
	}
	return ""
}

// signature returns the signature that a request must have. Scope is date, region, service and
// the terminator.
func signature(secret string, scope []string, in *request, a authentication) string {
	query := in.URL.Query()
	query.Del("X-Amz-Signature")
	digest := sha256.Sum256([]byte(strings.Join([]string{
		in.Method, canonicalPath(in.URL.Path), canonicalQuery(query), canonicalHeaders(in.Request, a.headers), a.headers, a.payload,
	}, "\n")))
	toSign := strings.Join([]string{algorithm, a.date, strings.Join(scope, "/"), hex.EncodeToString(digest[:])}, "\n")
	key := []byte("AWS4" + secret)
	for _, part := range append(slices.Clone(scope), toSign) {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(part)) // A hash takes everything.
		key = mac.Sum(nil)
	}
	return hex.EncodeToString(key)
}

// canonicalPath writes a path with all but letters, digits and -._~/ encoded, once.
func canonicalPath(path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = strings.ReplaceAll(url.QueryEscape(part), "+", "%20")
	}
	return strings.Join(parts, "/")
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

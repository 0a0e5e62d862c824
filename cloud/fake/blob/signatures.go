package blob

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/xml"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"
)

const (
	// firstVersion is the oldest that is understood.
	firstVersion = "2020-12-06"
	// usersVersion is the first whose signatures may name a delegated user.
	usersVersion = "2025-07-05"
	// requestsVersion is the first whose signatures may name headers and parameters.
	requestsVersion = "2026-04-06"

	timeFormat = "2006-01-02T15:04:05Z"
	// longestKey is the maximum lifetime of a requested key.
	longestKey = 7 * 24 * time.Hour
)

// userKey is a user delegation key.
type userKey struct {
	XMLName       xml.Name `xml:"UserDelegationKey"`
	SignedOid     string
	SignedTid     string
	SignedStart   string
	SignedExpiry  string
	SignedService string
	SignedVersion string
	Value         string
}

// seal gives a key its value.
func (k userKey) seal(a Account) userKey {
	mac := hmac.New(sha256.New, []byte("the secret of "+a.Name))
	// A hash takes everything.
	_, _ = io.WriteString(mac, strings.Join([]string{k.SignedOid, k.SignedTid, k.SignedStart, k.SignedExpiry, k.SignedService, k.SignedVersion}, "\n"))
	k.Value = base64.StdEncoding.EncodeToString(mac.Sum(nil))
	return k
}

// giveKey answers Get User Delegation Key.
func (s *Server) giveKey(w http.ResponseWriter, r *http.Request, to target) *refusal {
	var asked struct {
		XMLName       xml.Name `xml:"KeyInfo"`
		Start, Expiry string
	}
	if err := xml.NewDecoder(r.Body).Decode(&asked); err != nil {
		return refuse(http.StatusBadRequest, "InvalidXmlDocument", "XML specified is not syntactically valid.")
	}
	start, err := time.Parse(time.RFC3339, asked.Start)
	expiry, errExpiry := time.Parse(time.RFC3339, asked.Expiry)
	now := s.options.Clock.Now()
	if err != nil || errExpiry != nil || !expiry.After(start) || !expiry.After(now) || expiry.Sub(now) > longestKey {
		return refuse(http.StatusBadRequest, "InvalidXmlNodeValue", "The value for one of the XML nodes is not in the correct format.")
	}
	body, err := xml.Marshal(userKey{
		SignedOid: to.account.ClientID, SignedTid: to.account.Tenant, SignedService: "b", SignedVersion: r.Header.Get("X-Ms-Version"),
		SignedStart: start.UTC().Format(timeFormat), SignedExpiry: expiry.UTC().Format(timeFormat),
	}.seal(to.account))
	if err != nil {
		return refuse(http.StatusInternalServerError, "InternalError", "%v", err)
	}
	w.Header().Set("Content-Type", "application/xml")
	_, _ = io.WriteString(w, xml.Header+string(body)) // The client is gone when this fails.
	return nil
}

// verify checks a signature, and returns its permissions.
func (s *Server) verify(r *http.Request, to target) (string, *refusal) {
	q := r.URL.Query()
	wrong := refuse(http.StatusForbidden, "AuthenticationFailed",
		"Server failed to authenticate the request. Make sure the value of Authorization header is formed correctly including the signature.")
	version, err := time.Parse(time.DateOnly, q.Get("sv"))
	if err != nil || version.Format(time.DateOnly) < firstVersion || q.Get("sr") != "b" || to.blob == "" || q.Get("sks") != "b" ||
		q.Get("skoid") != to.account.ClientID || q.Get("sktid") != to.account.Tenant {
		return "", wrong
	}
	key := userKey{
		SignedOid: q.Get("skoid"), SignedTid: q.Get("sktid"), SignedStart: q.Get("skt"), SignedExpiry: q.Get("ske"),
		SignedService: q.Get("sks"), SignedVersion: q.Get("skv"),
	}.seal(to.account)
	secret, err := base64.StdEncoding.DecodeString(key.Value)
	given, errGiven := base64.StdEncoding.DecodeString(q.Get("sig"))
	if err != nil || errGiven != nil {
		return "", wrong
	}
	mac := hmac.New(sha256.New, secret)
	_, _ = io.WriteString(mac, stringToSign(q, "/blob/"+to.account.Name+"/"+to.container+"/"+to.blob)) // A hash takes everything.
	if !hmac.Equal(given, mac.Sum(nil)) || !s.within(q.Get("skt"), q.Get("ske")) || !s.within(q.Get("st"), q.Get("se")) {
		return "", wrong
	}
	if q.Get("spr") != "" && r.TLS == nil && !slices.Contains(strings.Split(q.Get("spr"), ","), "http") {
		return "", refuse(http.StatusForbidden, "AuthorizationProtocolMismatch", "This request is not authorized to perform this operation using this protocol.")
	}
	may := map[string]string{http.MethodGet: "r", http.MethodHead: "r", http.MethodPut: "cw", http.MethodDelete: "d"}[r.Method]
	if may == "" || !strings.ContainsAny(q.Get("sp"), may) {
		return "", refuse(http.StatusForbidden, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")
	}
	return q.Get("sp"), nil
}

// stringToSign returns the string that a signature signs. Each version adds fields to the
// earlier ones.
func stringToSign(q url.Values, resource string) string {
	fields := []string{
		q.Get("sp"), q.Get("st"), q.Get("se"), resource,
		q.Get("skoid"), q.Get("sktid"), q.Get("skt"), q.Get("ske"), q.Get("sks"), q.Get("skv"),
		q.Get("saoid"), q.Get("suoid"), q.Get("scid"),
	}
	if q.Get("sv") >= usersVersion {
		fields = append(fields, q.Get("skdutid"), q.Get("sduoid"))
	}
	fields = append(fields, q.Get("sip"), q.Get("spr"), q.Get("sv"), q.Get("sr"), "", q.Get("ses"))
	if q.Get("sv") >= requestsVersion {
		fields = append(fields, "", "") // signedRequestHeaders and signedRequestQuery, not supported.
	}
	return strings.Join(append(fields, q.Get("rscc"), q.Get("rscd"), q.Get("rsce"), q.Get("rscl"), q.Get("rsct")), "\n")
}

// within reports whether it is now between two times; without a start, before the end.
func (s *Server) within(start, end string) bool {
	now := s.options.Clock.Now()
	if start != "" {
		if from, err := time.Parse(timeFormat, start); err != nil || now.Before(from) {
			return false
		}
	}
	until, err := time.Parse(timeFormat, end)
	return err == nil && now.Before(until)
}

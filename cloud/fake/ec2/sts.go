package ec2

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const (
	stsVersion   = "2011-06-15"
	stsNamespace = "https://sts.amazonaws.com/doc/2011-06-15/"
	audience     = "sts.amazonaws.com"
)

// Role is a role that callers can assume.
type Role struct {
	ARN string
	// ExternalID, if set, is required from callers that assume the role with keys.
	ExternalID string
	// Issuer and Subject identify the web identity that may assume it; empty allows none.
	Issuer, Subject string
	// Policy allows the requests of the role; nil allows all.
	Policy *iam.Policy
}

// account returns the account in an ARN.
func account(arn string) string {
	parts := strings.SplitN(arn, ":", 6)
	if len(parts) < 6 {
		return ""
	}
	return parts[4]
}

// sts answers the requests of STS.
func (s *Server) sts(r *http.Request, body []byte, p *params) (answer, *fault) {
	action := p.form.Get("Action")
	if action == "AssumeRoleWithWebIdentity" {
		return s.webIdentity(p)
	}
	who, wrong := s.authenticate(r, body)
	if wrong != nil {
		return nil, stsFault(wrong)
	}
	switch {
	case who.service != "sts":
		return nil, forbidden("SignatureDoesNotMatch", "Credential should be scoped to correct service: 'sts'.")
	case s.denied[action]:
		return nil, forbidden("AccessDenied", fmt.Sprintf("User: %s is not authorized to perform: sts:%s", who.arn, action))
	case action == "GetCallerIdentity":
		if wrong := p.done(); wrong != nil {
			return nil, wrong
		}
		return &identityAnswer{ARN: who.arn, UserID: "AIDA" + who.account, Account: who.account}, nil
	case action == "AssumeRole":
		return s.assumeRole(p)
	default:
		return nil, invalid("InvalidAction", "Could not find operation "+action+" for version "+stsVersion)
	}
}

// stsFault converts a refused signature to the codes and messages of STS, which differ.
func stsFault(f *fault) *fault {
	switch f.code {
	case "AuthFailure":
		return forbidden("InvalidClientTokenId", "The security token included in the request is invalid.")
	case "RequestExpired":
		return forbidden("ExpiredToken", "The security token included in the request is expired")
	default:
		return f
	}
}

func (s *Server) assumeRole(p *params) (answer, *fault) {
	arn, name, external := p.required("RoleArn"), p.required("RoleSessionName"), p.text("ExternalId")
	lasts := p.number("DurationSeconds")
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	role, ok := s.role(arn)
	if !ok || role.ExternalID != external {
		return nil, forbidden("AccessDenied", "User is not authorized to perform: sts:AssumeRole on resource: "+arn)
	}
	return &assumedAnswer{Credentials: s.lend(role, name, lasts)}, nil
}

func (s *Server) webIdentity(p *params) (answer, *fault) {
	arn, name, token := p.required("RoleArn"), p.required("RoleSessionName"), p.required("WebIdentityToken")
	lasts := p.number("DurationSeconds")
	if wrong := p.done(); wrong != nil {
		return nil, wrong
	}
	claims, err := parseToken(token)
	switch {
	case err != nil:
		return nil, invalid("InvalidIdentityToken", "The ID Token provided is not a valid JWT.")
	case !slices.Contains(claims.Audience, audience):
		return nil, invalid("InvalidIdentityToken", "Incorrect token audience")
	case !s.clock.Now().Before(time.Unix(claims.Expires, 0)):
		return nil, invalid("ExpiredTokenException", "Token expired")
	}
	role, ok := s.role(arn)
	if !ok || role.Issuer == "" || role.Issuer != claims.Issuer || role.Subject != claims.Subject {
		return nil, forbidden("AccessDenied", "Not authorized to perform sts:AssumeRoleWithWebIdentity")
	}
	return &webIdentityAnswer{Credentials: s.lend(role, name, lasts)}, nil
}

func (s *Server) role(arn string) (Role, bool) {
	i := slices.IndexFunc(s.roles, func(r Role) bool { return r.ARN == arn })
	if i < 0 {
		return Role{}, false
	}
	return s.roles[i], true
}

// lend makes a key that expires.
func (s *Server) lend(role Role, session string, seconds int64) credentials {
	if seconds == 0 {
		seconds = 3600
	}
	lent := principal{
		secret: fmt.Sprintf("lent/%016x", s.number()), token: fmt.Sprintf("token/%016x", s.number()),
		account: account(role.ARN), policy: role.Policy,
		arn:     strings.Replace(strings.Replace(role.ARN, ":iam:", ":sts:", 1), ":role/", ":assumed-role/", 1) + "/" + session,
		expires: s.clock.Now().Add(time.Duration(seconds) * time.Second),
	}
	key := fmt.Sprintf("ASIA%016X", s.number())
	s.keys[key] = lent
	return credentials{
		Key: key, Secret: lent.secret, Token: lent.token,
		Expires: lent.expires.UTC().Format(timestamp), ARN: lent.arn, ID: "AROA" + lent.account + ":" + session,
	}
}

// claims holds the claims of a token that the server reads.
type claims struct {
	Issuer   string   `json:"iss"`
	Subject  string   `json:"sub"`
	Audience []string `json:"aud"`
	Expires  int64    `json:"exp"`
}

func parseToken(token string) (claims, error) {
	var out claims
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return out, fmt.Errorf("a token has 3 parts, not %d", len(parts))
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return out, fmt.Errorf("decoding the token: %w", err)
	}
	if err := json.Unmarshal(payload, &out); err != nil {
		return out, fmt.Errorf("decoding the token: %w", err)
	}
	return out, nil
}

type identityAnswer struct {
	stsHead

	ARN     string `xml:"GetCallerIdentityResult>Arn"`
	UserID  string `xml:"GetCallerIdentityResult>UserId"`
	Account string `xml:"GetCallerIdentityResult>Account"`
}

type assumedAnswer struct {
	stsHead

	Credentials credentials `xml:"AssumeRoleResult"`
}

type webIdentityAnswer struct {
	stsHead

	Credentials credentials `xml:"AssumeRoleWithWebIdentityResult"`
}

type credentials struct {
	Key     string `xml:"Credentials>AccessKeyId"`
	Secret  string `xml:"Credentials>SecretAccessKey"`
	Token   string `xml:"Credentials>SessionToken"`
	Expires string `xml:"Credentials>Expiration"`
	ARN     string `xml:"AssumedRoleUser>Arn"`
	ID      string `xml:"AssumedRoleUser>AssumedRoleId"`
}

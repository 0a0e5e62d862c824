package gce

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// tokenLife is the lifetime of an access token in responses.
const tokenLife = time.Hour

// NewKey makes a key file of a service account, whose tokens come from a URL, and the
// public half for AddServiceAccount.
func NewKey(email, project, tokenURI string) ([]byte, *rsa.PublicKey, error) {
	private, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, nil, fmt.Errorf("creating a key: %w", err)
	}
	der, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("writing a key: %w", err)
	}
	file, err := json.Marshal(map[string]string{
		"type": "service_account", "project_id": project, "client_email": email, "client_id": "1",
		"private_key_id": "1", "private_key": string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: der})),
		"auth_uri": "https://accounts.google.com/o/oauth2/auth", "token_uri": tokenURI,
		"universe_domain": "googleapis.com",
	})
	if err != nil {
		return nil, nil, fmt.Errorf("writing a key file: %w", err)
	}
	return file, &private.PublicKey, nil
}

// AddServiceAccount lets a service account into projects; key is nil for one that others act as.
func (s *Server) AddServiceAccount(email string, key *rsa.PublicKey, projects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if key != nil {
		s.keys[email] = key
	}
	s.grant(email, projects)
}

// AddSubject trusts a token of another issuer for the audience of a workload identity
// provider, and grants its bearer access to projects.
func (s *Server) AddSubject(audience, token string, projects ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := "principal:" + audience
	s.subjects[audience+" "+token] = who
	s.grant(who, projects)
}

// ExpireTokens expires all issued access tokens.
func (s *Server) ExpireTokens() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.tokens)
}

// Bearer returns the identity that an access token was issued to, and whether it is valid.
func (s *Server) Bearer(token string) (string, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who, known := s.tokens[token]
	return who, known
}

// grant lets an identity into projects.
func (s *Server) grant(who string, projects []string) {
	all := maps.Clone(s.grants[who])
	if all == nil {
		all = map[string]bool{}
	}
	for _, p := range projects {
		all[p] = true
	}
	s.grants[who] = all
}

// authenticate returns the identity that sent a request.
func (s *Server) authenticate(r *http.Request) (string, error) {
	header := r.Header.Get("Authorization")
	token, bearer := strings.CutPrefix(header, "Bearer ")
	if who, known := s.tokens[token]; bearer && known {
		return who, nil
	}
	if header == "" {
		return "", problem{http.StatusUnauthorized, "required", "Login Required."}
	}
	return "", problem{http.StatusUnauthorized, "authError", "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential."}
}

// authorize reports whether who sent a request may do it.
func (s *Server) authorize(r request, permission string) error {
	in := s.grants[r.who][r.project]
	if in && s.allows(r.who, permission) {
		return nil
	}
	if in && !s.permissions(r.who).Allow(permission) {
		s.log.Refuse(permission)
	}
	if permission == "" {
		permission = "compute.projects.get"
	}
	resource := strings.TrimPrefix(r.URL.Path, "/compute/v1/")
	return problem{http.StatusForbidden, "forbidden", fmt.Sprintf("Required '%s' permission for '%s'", permission, resource)}
}

// allows reports whether an identity has a permission in its projects.
func (s *Server) allows(who, permission string) bool {
	return s.permissions(who).Allow(permission) && !s.forbidden[permission]
}

// need authorizes the permissions that depend on the body of a request.
func (s *Server) need(r request, permissions ...string) error {
	for _, permission := range permissions {
		if err := s.authorize(r, permission); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) testPermissions(r request) (any, error) {
	var in struct {
		Permissions []string `json:"permissions"`
	}
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	held := slices.DeleteFunc(in.Permissions, func(p string) bool { return !s.allows(r.who, p) })
	if len(held) == 0 {
		return map[string]any{}, nil
	}
	return map[string]any{"permissions": held}, nil
}

// issue makes an access token.
func (s *Server) issue(who string) string {
	token := fmt.Sprintf("ya29.fake-%d", s.cloud.Serial())
	s.tokens[token] = who
	return token
}

// refuseToken answers as an OAuth token endpoint does.
func refuseToken(w http.ResponseWriter, code, description string) {
	writeJSON(w, http.StatusBadRequest, map[string]string{"error": code, "error_description": description})
}

// keyToken issues a token to a client that signs with the key of a service account.
func (s *Server) keyToken(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.PostFormValue("grant_type") != "urn:ietf:params:oauth:grant-type:jwt-bearer" {
		refuseToken(w, "unsupported_grant_type", "Invalid grant_type: "+r.PostFormValue("grant_type"))
		return
	}
	who, err := s.verify(r.PostFormValue("assertion"), "http://"+r.Host+r.URL.Path)
	if err != nil {
		refuseToken(w, "invalid_grant", err.Error())
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": s.issue(who), "token_type": "Bearer", "expires_in": int(tokenLife.Seconds()),
	})
}

// verify returns whose a signed assertion is.
func (s *Server) verify(assertion, audience string) (string, error) {
	signed, signature, _ := cutLast(assertion, ".")
	_, payload, _ := strings.Cut(signed, ".")
	var claims struct {
		Iss, Aud, Scope string
		Iat, Exp        int64
	}
	text, err := base64.RawURLEncoding.DecodeString(payload)
	if err == nil {
		err = json.Unmarshal(text, &claims)
	}
	if err != nil {
		return "", invalid("Invalid JWT: Failed to parse.")
	}
	key := s.keys[claims.Iss]
	if key == nil {
		return "", invalid("Invalid grant: account not found")
	}
	sum := sha256.Sum256([]byte(signed))
	raw, err := base64.RawURLEncoding.DecodeString(signature)
	if err != nil || rsa.VerifyPKCS1v15(key, crypto.SHA256, sum[:], raw) != nil {
		return "", invalid("Invalid JWT Signature.")
	}
	// The signer uses the real clock, while tests move the fake cloud's.
	life := time.Duration(claims.Exp-claims.Iat) * time.Second
	if claims.Aud != audience || claims.Scope == "" || life <= 0 || life > tokenLife+10*time.Second {
		return "", invalid("Invalid JWT: audience, scope or lifetime is wrong.")
	}
	return claims.Iss, nil
}

// cutLast cuts a string at the last separator.
func cutLast(text, separator string) (string, string, bool) {
	i := strings.LastIndex(text, separator)
	if i < 0 {
		return text, "", false
	}
	return text[:i], text[i+len(separator):], true
}

// exchange issues a token to a client that presents one of a trusted issuer.
func (s *Server) exchange(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	const issued = "urn:ietf:params:oauth:token-type:access_token"
	for _, want := range [][2]string{
		{"grant_type", "urn:ietf:params:oauth:grant-type:token-exchange"},
		{"requested_token_type", issued},
		{"subject_token_type", "urn:ietf:params:oauth:token-type:jwt"},
		{"scope", "https://www.googleapis.com/auth/cloud-platform"},
	} {
		if r.PostFormValue(want[0]) != want[1] {
			refuseToken(w, "invalid_request", "Invalid value for "+strconv.Quote(want[0])+".")
			return
		}
	}
	who, known := s.subjects[r.PostFormValue("audience")+" "+r.PostFormValue("subject_token")]
	if !known {
		refuseToken(w, "invalid_grant", "The audience or the issuer of the subject token is not trusted.")
		return
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"access_token": s.issue(who), "token_type": "Bearer", "expires_in": int(tokenLife.Seconds()),
		"issued_token_type": issued,
	})
}

// actAs gives a token of a service account to whom it trusts: everybody with a token here.
func (s *Server) actAs(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	account, generate := strings.CutSuffix(r.PathValue("account"), ":generateAccessToken")
	who, err := s.authenticate(r)
	switch {
	case err != nil:
		writeError(w, err)
	case who == "" || !generate || s.grants[account] == nil:
		writeError(w, problem{http.StatusForbidden, "forbidden", "Permission 'iam.serviceAccounts.getAccessToken' denied on resource (or it may not exist)."})
	default:
		writeJSON(w, http.StatusOK, map[string]any{
			"accessToken": s.issue(account), "expireTime": s.clock.Now().Add(tokenLife).UTC().Format(time.RFC3339),
		})
	}
}

package blob

import (
	"encoding/json"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"
)

// grant is a token that was given out.
type grant struct {
	client  string
	expires time.Time
}

// Expire ends all tokens given out so far, as time does.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for token, g := range s.tokens {
		g.expires = s.options.Clock.Now()
		s.tokens[token] = g
	}
}

// issue lets the issuer give out a token, and takes note of it. One for another service
// is given out too, and worth nothing here.
func (s *Server) issue(w http.ResponseWriter, r *http.Request, path string) {
	ours := r.Method == http.MethodPost && r.ParseForm() == nil && strings.HasPrefix(r.PostForm.Get("scope")+" ", "https://storage.azure.com/.default ")
	r.URL.Path = path
	recorded := httptest.NewRecorder()
	s.issuer.ServeHTTP(recorded, r)
	given := struct {
		Token   string `json:"access_token"`
		Seconds int    `json:"expires_in"`
	}{}
	if err := json.Unmarshal(recorded.Body.Bytes(), &given); err == nil && ours && given.Token != "" {
		s.mu.Lock()
		s.tokens[given.Token] = grant{r.PostForm.Get("client_id"), s.options.Clock.Now().Add(time.Duration(given.Seconds) * time.Second)}
		s.mu.Unlock()
	}
	maps.Copy(w.Header(), recorded.Header())
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes()) // The client is gone when this fails.
}

// authorize returns the identity of the client, and its permissions: the letters of a signature, or all
// there are.
func (s *Server) authorize(r *http.Request, to target) (string, *refusal) {
	if r.URL.Query().Has("sig") {
		return s.verify(r, to)
	}
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return "", challenge("NoAuthenticationInformation", "Server failed to authenticate the request. Please refer to the information in the www-authenticate header.")
	}
	if version := r.Header.Get("X-Ms-Version"); version < "2017-11-09" {
		return "", challenge("InvalidAuthenticationInfo", "Authentication scheme Bearer is not supported in this version.")
	}
	s.mu.Lock()
	given, known := s.tokens[token]
	denied := s.denied[permission(r)]
	s.mu.Unlock()
	switch {
	case !known:
		return "", challenge("InvalidAuthenticationInfo", "Issuer validation failed. Issuer did not match.")
	case !s.options.Clock.Now().Before(given.expires):
		return "", challenge("InvalidAuthenticationInfo", "Lifetime validation failed. The token is expired.")
	case !s.allowed(r, to):
		s.log.Refuse(permission(r) + " on " + to.container)
		return "", refuse(http.StatusForbidden, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")
	case denied, !strings.EqualFold(given.client, to.account.ClientID):
		return "", refuse(http.StatusForbidden, "AuthorizationPermissionMismatch", "This request is not authorized to perform this operation using this permission.")
	}
	return "rcwd", nil
}

// allowed reports whether the application's role allows a request with a token: user
// delegation keys are an action of the account, and blobs are data of their container.
func (s *Server) allowed(r *http.Request, to target) bool {
	if needed := permission(r); needed != Delegate {
		return s.options.Role.AllowsData(needed) && (to.account.Foreign == "" || to.container != to.account.Foreign)
	}
	return s.options.Role.Allows(Delegate)
}

// permission returns the permission that a request with a token needs.
func permission(r *http.Request) string {
	switch r.Method {
	case http.MethodPut:
		return Write
	case http.MethodDelete:
		return Delete
	case http.MethodPost:
		return Delegate
	default:
		return Read
	}
}

func challenge(code, message string) *refusal {
	a := refuse(http.StatusUnauthorized, code, "%s", message)
	a.header = http.Header{"Www-Authenticate": {`Bearer authorization_uri=https://login.microsoftonline.com/common/oauth2/authorize resource_id=https://storage.azure.com`}}
	return a
}

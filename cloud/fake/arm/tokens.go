package arm

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// audienceExchange is the audience of tokens that can be exchanged.
const audienceExchange = "api://AzureADTokenExchange"

// grant is a token that was given out.
type grant struct {
	subscription, client string
	expires              time.Time
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

// token answers the client credentials grant.
func (s *Server) token(r *http.Request, tenant string) answer {
	if r.Method != http.MethodPost || r.ParseForm() != nil {
		return refuseToken(http.StatusBadRequest, "invalid_request", 900144, "The request body must be a form.")
	}
	form := r.PostForm
	if form.Get("grant_type") != "client_credentials" {
		return refuseToken(http.StatusBadRequest, "unsupported_grant_type", 70003, "The grant type is not supported.")
	}
	if !strings.Contains(form.Get("scope")+" ", "/.default ") {
		return refuseToken(http.StatusBadRequest, "invalid_scope", 70011, "The provided value for the input parameter 'scope' is not valid.")
	}
	i := slices.IndexFunc(s.options.Accounts, func(a Account) bool {
		_, known := a.as(form.Get("client_id"))
		return known && strings.EqualFold(a.Tenant, tenant)
	})
	if i < 0 {
		return refuseToken(http.StatusBadRequest, "unauthorized_client", 700016, "Application with identifier '%s' was not found in the directory '%s'.", form.Get("client_id"), tenant)
	}
	account, _ := s.options.Accounts[i].as(form.Get("client_id"))
	if assertion := form.Get("client_assertion"); assertion != "" {
		if a, ok := s.checkAssertion(account, form.Get("client_assertion_type"), assertion); !ok {
			return a
		}
	} else if account.ClientSecret == "" || form.Get("client_secret") != account.ClientSecret {
		return refuseToken(http.StatusUnauthorized, "invalid_client", 7000215, "Invalid client secret provided. Ensure the secret being sent in the request is the client secret value, not the client secret ID.")
	}
	return answer{status: http.StatusOK, body: map[string]any{
		"token_type": "Bearer", "access_token": s.grant(account), "expires_in": int(s.options.Life.Seconds()), "ext_expires_in": int(s.options.Life.Seconds()),
	}}
}

// checkAssertion checks the claims of a token that is to be exchanged, not its signature.
func (s *Server) checkAssertion(account Account, kind, assertion string) (answer, bool) {
	claims := struct {
		Audience any     `json:"aud"` // One, or a list.
		Subject  string  `json:"sub"`
		Expires  float64 `json:"exp"`
	}{}
	parts := strings.Split(assertion, ".")
	if len(parts) != 3 || kind != "urn:ietf:params:oauth:client-assertion-type:jwt-bearer" {
		return refuseToken(http.StatusBadRequest, "invalid_request", 50027, "JWT token is invalid or malformed."), false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil || json.Unmarshal(payload, &claims) != nil {
		return refuseToken(http.StatusBadRequest, "invalid_request", 50027, "JWT token is invalid or malformed."), false
	}
	if !strings.Contains(" "+strings.Trim(fmt.Sprint(claims.Audience), "[]")+" ", " "+audienceExchange+" ") {
		return refuseToken(http.StatusUnauthorized, "invalid_client", 700212, "No matching federated identity record found for presented assertion audience '%v'.", claims.Audience), false
	}
	if account.Subject == "" || claims.Subject != account.Subject {
		return refuseToken(http.StatusUnauthorized, "invalid_client", 700213, "No matching federated identity record found for presented assertion subject '%s'.", claims.Subject), false
	}
	if claims.Expires != 0 && s.options.Clock.Now().After(time.Unix(int64(claims.Expires), 0)) {
		return refuseToken(http.StatusUnauthorized, "invalid_client", 700024, "Client assertion is not within its valid time range."), false
	}
	return answer{}, true
}

// grant creates a token. Its claims can be read, its signature is not valid.
func (s *Server) grant(account Account) string {
	serial := s.cloud.Serial()
	expires := s.options.Clock.Now().Add(s.options.Life)
	claims := fmt.Sprintf(`{"aud":"https://management.azure.com","appid":%q,"tid":%q,"exp":%d,"jti":"%d"}`, account.ClientID, account.Tenant, expires.Unix(), serial)
	encode := base64.RawURLEncoding.EncodeToString
	token := encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte(guid("signature", claims)))
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tokens[token] = grant{subscription: account.Subscription, client: account.ClientID, expires: expires}
	return token
}

// authenticate returns the identity of the client, and its account.
func (s *Server) authenticate(r *http.Request, to target) (account Account, client string, a answer, ok bool) {
	token, bearer := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	if !bearer {
		return account, "", s.challenge("AuthenticationFailed", "Authentication failed. The 'Authorization' header is missing."), false
	}
	s.mu.Lock()
	given, known := s.tokens[token]
	s.mu.Unlock()
	if !known {
		return account, "", s.challenge("InvalidAuthenticationToken", "The access token is invalid."), false
	}
	if !s.options.Clock.Now().Before(given.expires) {
		return account, "", s.challenge("ExpiredAuthenticationToken", "The access token expiry UTC time is earlier than current UTC time."), false
	}
	i := slices.IndexFunc(s.options.Accounts, func(a Account) bool { return strings.EqualFold(a.Subscription, to.subscription) })
	if i < 0 {
		return account, "", refuse(http.StatusNotFound, "SubscriptionNotFound", "The subscription '%s' could not be found.", to.subscription), false
	}
	account, _ = s.options.Accounts[i].as(given.client)
	if !strings.EqualFold(given.subscription, account.Subscription) {
		return account, "", refuse(http.StatusForbidden, "AuthorizationFailed",
			"The client '%s' with object id '%s' does not have authorization to perform action '%s' over scope '%s' or the scope is invalid.",
			given.client, given.client, to.action(r.Method), r.URL.Path), false
	}
	return account, given.client, answer{}, true
}

func (s *Server) challenge(code, message string) answer {
	a := refuse(http.StatusUnauthorized, code, "%s", message)
	a.header = http.Header{"Www-Authenticate": {`Bearer authorization_uri="https://login.windows.net/common", error="invalid_token", error_description="` + message + `"`}}
	return a
}

func refuseToken(status int, reason string, number int, format string, args ...any) answer {
	trace := guid("trace", reason)
	return answer{status: status, body: map[string]any{
		"error": reason, "error_codes": []int{number}, "trace_id": trace, "correlation_id": trace,
		"error_description": fmt.Sprintf("AADSTS%d: ", number) + fmt.Sprintf(format, args...) + " Trace ID: " + trace + " Correlation ID: " + trace,
	}}
}

// discovery returns the address of the token service, for clients that discover it.
func discovery(r *http.Request, tenant string) answer {
	base := origin(r) + "/" + tenant
	return answer{status: http.StatusOK, body: map[string]any{
		// A name rather than an address, and https always.
		"issuer": "https://" + r.Host + "/" + tenant + "/v2.0", "token_endpoint": base + "/oauth2/v2.0/token", "authorization_endpoint": base + "/oauth2/v2.0/authorize",
	}}
}

// origin returns the scheme and host at which a client reached the server.
func origin(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + r.Host
	}
	return "http://" + r.Host
}

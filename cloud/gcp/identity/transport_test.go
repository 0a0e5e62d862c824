package identity

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// TestErrors checks that each response of a token service has its class, and no error contains a secret.
func TestErrors(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		status int
		body   string // ECHO stands for the request body.
		class  cloud.Class
		code   string
	}{
		"refused":        {400, `{"error": "invalid_grant", "error_description": "ECHO"}`, cloud.ClassAuthExpired, "invalid_grant"},
		"unknown":        {401, `{"error": {"status": "UNAUTHENTICATED", "message": "ECHO"}}`, cloud.ClassAuthExpired, "UNAUTHENTICATED"},
		"forbidden":      {403, `{"error": {"status": "PERMISSION_DENIED", "message": "ECHO"}}`, cloud.ClassDenied, "PERMISSION_DENIED"},
		"too many":       {429, `ECHO`, cloud.ClassThrottled, ""},
		"broken":         {500, `{"error": "ECHO"}`, cloud.ClassTransient, ""},
		"a code of ours": {400, `{"error": "ECHO"}`, cloud.ClassAuthExpired, ""},
		"HTML":           {200, `<html>ECHO`, cloud.ClassTransient, ""},
		"no token":       {200, `{"echo": "ECHO"}`, cloud.ClassTransient, ""},
	}
	for name, tt := range tests {
		for _, kind := range []v1.CredentialsType{v1.CredentialsSecret, v1.CredentialsFederated} {
			t.Run(name+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				g := newGoogle(t)
				sent := ""
				service := RoundTripper(func(r *http.Request) (*http.Response, error) {
					text, err := io.ReadAll(r.Body)
					sent = string(text)
					body := strings.ReplaceAll(tt.body, "ECHO", sent)
					return &http.Response{StatusCode: tt.status, Body: io.NopCloser(strings.NewReader(body)), Request: r, Header: http.Header{}}, err
				})
				config := g.config(kind)
				config.Token = func(context.Context, string) (string, error) { return "eyJ-the-token-of-the-hub", nil }
				c, err := Connect(config, g.url, service)
				if err != nil {
					t.Fatal(err)
				}
				_, _, err = c.Get(t.Context())
				var e *Error
				if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code || (e.RetryAfter > 0) != (tt.class == cloud.ClassThrottled) {
					t.Fatalf("error %+v, want class %q and code %q", err, tt.class, tt.code)
				}
				if text := fmt.Sprintf("%v %+v %v", err, e, errors.Unwrap(err)); strings.Contains(text, "eyJ") || strings.Contains(text, "assertion") || sent == "" {
					t.Errorf("the error contains what was sent: %s", text)
				}
			})
		}
	}
}

func TestNoTokenOfTheHub(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	config := g.config(v1.CredentialsFederated)
	boom := errors.New("boom")
	config.Token = func(context.Context, string) (string, error) { return "", boom }
	_, _, err := g.connect(t, config).Get(t.Context())
	var e *Error
	if !errors.As(err, &e) || e.Class != cloud.ClassTransient || e.Code != "HubToken" || !errors.Is(err, boom) {
		t.Errorf("error %+v", err)
	}
}

func TestWaitingIsGivenUp(t *testing.T) {
	t.Parallel()
	g := newGoogle(t)
	config := g.config(v1.CredentialsFederated)
	asked, release := make(chan struct{}), make(chan struct{})
	config.Token = func(context.Context, string) (string, error) { close(asked); <-release; return "x", nil }
	c := g.connect(t, config)
	done := make(chan struct{})
	go func() { defer close(done); _, _, _ = c.Get(t.Context()) }()
	<-asked
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := c.Get(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	close(release)
	<-done
}

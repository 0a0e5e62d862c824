package apierror

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"

	"github.com/shopfleet/shopfleet/cloud"
)

// TestMessages checks that an error contains only the message of the service.
func TestMessages(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"of Resource Manager":     {`{"error":{"code":"C","message":"it is\nlate"}}`, "it is late"},
		"of storage":              {"\ufeff<?xml version=\"1.0\" encoding=\"utf-8\"?><Error><Code>C</Code><Message>it is late.\nRequestId:1-2\nTime:now</Message></Error>", "it is late."},
		"with what is not for us": {`<Error><Code>C</Code><Message>no</Message><AuthenticationErrorDetail>sig=abc</AuthenticationErrorDetail></Error>`, "no"},
		"with a signature":        {`<Error><Message>https://x/y?sig=abc is wrong</Message></Error>`, "… is wrong"},
		"of a proxy":              {"<html><body>captive portal", "status 403"},
		"nothing":                 {"", "status 403"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			recorded := httptest.NewRecorder()
			recorded.Header().Set("X-Ms-Error-Code", "C")
			recorded.WriteHeader(http.StatusForbidden)
			_, _ = recorded.WriteString(tt.body)
			answer := recorded.Result()
			answer.Request = httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://storage.example/x", http.NoBody)
			q := Question{Op: "GetObject", Class: func(int, string) cloud.Class { return cloud.ClassDenied }}
			err := q.Fail(runtime.NewResponseError(answer), time.Time{})
			got, ok := errors.AsType[*cloud.Error](err)
			if !ok || got.Message != tt.want || got.Code != "C" || got.Class != cloud.ClassDenied || got.Op != q.Op {
				t.Errorf("%+v, want the message %q", err, tt.want)
			}
		})
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	q := Question{Mutates: true, Class: func(int, string) cloud.Class { return cloud.ClassQuota }}
	elsewhere := q
	elsewhere.Elsewhere = cloud.ClassInvalid
	tests := map[string]struct {
		q      Question
		status int
		code   string
		want   cloud.Class
	}{
		"a refusal":                  {q, 400, "C", cloud.ClassQuota},
		"not the service's":          {q, 404, "", cloud.ClassAmbiguous},
		"of no service at all":       {elsewhere, 404, "", cloud.ClassInvalid},
		"a portal":                   {elsewhere, 403, "", cloud.ClassAmbiguous},
		"the service's own":          {elsewhere, 404, "C", cloud.ClassQuota},
		"too much, as storage says":  {q, 503, "ServerBusy", cloud.ClassThrottled},
		"out of order":               {q, 503, "ServiceUnavailable", cloud.ClassAmbiguous},
		"nothing but a status of it": {q, 503, "", cloud.ClassAmbiguous},
	}
	for name, tt := range tests {
		if got := tt.q.ClassOf(tt.status, tt.code); got != tt.want {
			t.Errorf("%s: class %q, want %q", name, got, tt.want)
		}
	}
}

package objectstore

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/blob"
)

func TestOpenNamesTheField(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(*cloud.Config)
		want   string
	}{
		"no account":         {func(c *cloud.Config) { c.Spec.Azure = nil }, "spec.azure"},
		"no bucket at all":   {func(c *cloud.Config) { c.Spec.ObjectStorage = nil }, "spec.objectStorage"},
		"no container":       {func(c *cloud.Config) { c.Spec.ObjectStorage.Bucket = "" }, "spec.objectStorage.bucket"},
		"no name for one":    {func(c *cloud.Config) { c.Spec.ObjectStorage.Bucket = "shop.dumps" }, "spec.objectStorage.bucket"},
		"no storage account": {func(c *cloud.Config) { c.Spec.ObjectStorage.StorageAccount = "" }, "spec.objectStorage.storageAccount"},
		"http elsewhere":     {func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "http://blobs.example.com" }, "spec.objectStorage.endpoint"},
		"no URL":             {func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "blobs" }, "spec.objectStorage.endpoint"},
		"no URL of the API":  {func(c *cloud.Config) { c.Endpoint = "management" }, "spec.endpoint"},
		"no tenant":          {func(c *cloud.Config) { c.Spec.Azure.TenantID = "" }, "spec.azure.tenantID"},
		"no key":             {func(c *cloud.Config) { c.Secret = nil }, "clientSecret"},
		"no source":          {func(c *cloud.Config) { c.Spec.Credentials.Type = v1.CredentialsFederated }, "spec.credentials.type"},
		"no client of HTTP":  {func(c *cloud.Config) { c.HTTP = nil }, "HTTP"},
		"no clock":           {func(c *cloud.Config) { c.Clock = nil }, "clock"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			config := s.config()
			tt.change(&config)
			opened, err := Open(t.Context(), config)
			if cloud.ClassOf(err) != cloud.ClassInvalid || !strings.Contains(err.Error(), tt.want) || opened != nil {
				t.Errorf("class %q of %v, want %q naming %q", cloud.ClassOf(err), err, cloud.ClassInvalid, tt.want)
			}
		})
	}
}

// recorded answers requests for tokens only, and records where requests go.
func recorded(asked *[]string) http.RoundTripper {
	return transport(func(r *http.Request) (*http.Response, error) {
		answer := httptest.NewRecorder()
		if strings.HasSuffix(r.URL.Path, discovery) {
			_, err := answer.WriteString(discovered(r))
			return answer.Result(), err
		}
		if strings.HasSuffix(r.URL.Path, "/token") {
			scope, _, _ := strings.Cut(r.FormValue("scope"), " ") // The SDK adds the scopes of signing in.
			*asked = append(*asked, r.URL.Scheme+"://"+r.URL.Host+" "+scope)
			_, err := answer.WriteString(`{"access_token":"t","expires_in":3600}`)
			return answer.Result(), err
		}
		*asked = append(*asked, r.URL.Scheme+"://"+r.URL.Host+r.URL.Path)
		return nil, errors.New("no network")
	})
}

// TestWhereTheBucketIs checks the hosts of requests and the audiences of their tokens.
func TestWhereTheBucketIs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ api, endpoint, token, blobs string }{
		"the public cloud":       {"", "", "https://login.microsoftonline.com", "https://shopbackups.blob.core.windows.net/dumps"},
		"China":                  {"https://management.chinacloudapi.cn", "", "https://login.chinacloudapi.cn", "https://shopbackups.blob.core.chinacloudapi.cn/dumps"},
		"by its storage alone":   {"", "https://x.blob.core.usgovcloudapi.net", "https://login.microsoftonline.us", "https://x.blob.core.usgovcloudapi.net/dumps"},
		"a private endpoint":     {"", "https://blobs.corp.example/", "https://login.microsoftonline.com", "https://blobs.corp.example/dumps"},
		"with a path":            {"", "https://blobs.corp.example/shopbackups", "https://login.microsoftonline.com", "https://blobs.corp.example/shopbackups/dumps"},
		"private, in the States": {"https://management.usgovcloudapi.net", "https://blobs.corp.example", "https://login.microsoftonline.us", "https://blobs.corp.example/dumps"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			var asked []string
			opened := s.open(t, func(c *cloud.Config) {
				c.Endpoint, c.Spec.ObjectStorage.Endpoint = tt.api, tt.endpoint
				c.HTTP = &http.Client{Transport: recorded(&asked)}
			})
			for _, err := range opened.ListObjects(t.Context(), "") {
				if cloud.ClassOf(err) != cloud.ClassTransient {
					t.Errorf("class %q of %v", cloud.ClassOf(err), err)
				}
			}
			if diff := cmp.Diff([]string{tt.token + " https://storage.azure.com/.default", tt.blobs}, asked); diff != "" {
				t.Errorf("asked (-want +got):\n%s", diff)
			}
		})
	}
}

func TestExpiredTokenIsReplacedOnce(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	opened := s.open(t, nil)
	if err := opened.PutObject(t.Context(), "a", []byte("x")); err != nil {
		t.Fatal(err)
	}
	s.server.Expire()
	if err := opened.PutObject(t.Context(), "b", []byte("x")); err != nil {
		t.Fatalf("after the token expired: %v", err)
	}
	if n := len(s.script.Calls()); n != 5 {
		t.Errorf("%d requests, want a token, a put, a refusal, a token, a put", n)
	}
	if content, ok := s.store.Content("b"); !ok || string(content) != "x" {
		t.Errorf("there is %q, %t", content, ok)
	}
}

func TestFederated(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	opened := s.open(t, func(c *cloud.Config) {
		c.Spec.Credentials.Type, c.Secret = v1.CredentialsFederated, nil
		c.Token = func(_ context.Context, audience string) (string, error) {
			encode := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
			return encode(`{"alg":"RS256"}`) + "." + encode(fmt.Sprintf(`{"aud":[%q],"sub":%q}`, audience, subject)) + "." + encode("signature"), nil
		}
	})
	if err := opened.PutObject(t.Context(), "a", []byte("x")); err != nil {
		t.Error(err)
	}
}

func TestRedirectsAreNotFollowed(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	opened := s.open(t, nil)
	s.script.Add(faults.Fault{Op: faults.OpGetObject, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"https://elsewhere.invalid/"}},
	}})
	_, err := opened.GetObject(t.Context(), "a", 1)
	if cloud.ClassOf(err) != cloud.ClassTransient || len(s.script.Calls()) != 2 {
		t.Errorf("class %q of %v after %d requests", cloud.ClassOf(err), err, len(s.script.Calls()))
	}
}

// TestDeniedByTheService names the permission, which the service does not.
func TestDeniedByTheService(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	opened := s.open(t, nil)
	for _, permission := range []string{blob.Read, blob.Write, blob.Delete, blob.Delegate} {
		s.server.Deny(permission)
	}
	_, readErr := opened.GetObject(t.Context(), "a", 1)
	_, signErr := opened.SignRequests(t.Context(), both(), time.Hour)
	for want, err := range map[string]error{
		blob.Read: readErr, blob.Delegate: signErr, blob.Write: opened.PutObject(t.Context(), "a", nil), blob.Delete: opened.DeleteObject(t.Context(), "a"),
	} {
		if cloud.ClassOf(err) != cloud.ClassDenied || codeOf(err) != want {
			t.Errorf("class %q, code %q of %v, want %q and %q", cloud.ClassOf(err), codeOf(err), err, cloud.ClassDenied, want)
		}
	}
}

// TestGoneAgain checks a PUT that a blob blocks which is deleted before the adapter reads it.
func TestGoneAgain(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.script.Add(faults.Fault{Op: faults.OpPutObject, Kind: faults.Refuse, Answer: answered(http.StatusConflict, "BlobAlreadyExists", 0)})
	opened := s.open(t, nil)
	if err := opened.PutObject(t.Context(), "a", []byte("x")); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("class %q of %v, want %q", cloud.ClassOf(err), err, cloud.ClassTransient)
	}
	if err := opened.PutObject(t.Context(), "a", []byte("x")); err != nil {
		t.Errorf("again: %v", err)
	}
}

// TestAPageIsNoBlob checks that the page of a captive portal is not read as a blob.
func TestAPageIsNoBlob(t *testing.T) {
	t.Parallel()
	s := newTestEnv(t)
	s.script.Add(faults.Fault{Op: faults.OpGetObject, Kind: faults.Refuse, Answer: faults.Answer{
		Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/html"}, "Content-Length": {"13"}}, Body: "<html></html>",
	}})
	content, err := s.open(t, nil).GetObject(t.Context(), "a", 100)
	if cloud.ClassOf(err) != cloud.ClassTransient || codeOf(err) != "InvalidAnswer" {
		t.Errorf("%q, class %q, code %q of %v", content, cloud.ClassOf(err), codeOf(err), err)
	}
}

// TestLists answers lists as accounts do that the fake does not know.
func TestLists(t *testing.T) {
	t.Parallel()
	item := func(name, properties string) string {
		return `<Blob><Name>` + name + `</Name><Properties>` + properties + `</Properties></Blob>`
	}
	const whole = `<Last-Modified>Sun, 01 Mar 2026 02:00:00 GMT</Last-Modified><Content-Length>7</Content-Length>`
	tests := map[string]struct {
		items string
		want  []string
		code  string
	}{
		"folders of a hierarchy": {
			item("eu/a", whole+`<ResourceType>directory</ResourceType>`) + item("eu/a/b", whole+`<ResourceType>file</ResourceType>`), []string{"a/b 7"}, "",
		},
		"another prefix":    {item("eu/a", whole) + item("us/b", whole), []string{"a 7"}, "InvalidAnswer"},
		"without a size":    {item("eu/a", `<Last-Modified>Sun, 01 Mar 2026 02:00:00 GMT</Last-Modified>`), nil, "InvalidAnswer"},
		"nothing, the page": {"", nil, ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newTestEnv(t)
			s.script.Add(faults.Fault{Op: faults.OpListObjects, Kind: faults.Refuse, Answer: faults.Answer{
				Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/xml"}},
				Body: `<?xml version="1.0"?><EnumerationResults ContainerName="dumps"><Blobs>` + tt.items + `</Blobs><NextMarker /></EnumerationResults>`,
			}})
			var got []string
			code := ""
			for o, err := range s.open(t, func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "eu" }).ListObjects(t.Context(), "") {
				if err != nil {
					code = codeOf(err)
					continue
				}
				got = append(got, fmt.Sprint(o.Key, " ", o.Bytes))
			}
			if diff := cmp.Diff(tt.want, got); diff != "" || code != tt.code {
				t.Errorf("code %q, want %q; keys (-want +got):\n%s", code, tt.code, diff)
			}
		})
	}
}

func TestClasses(t *testing.T) {
	t.Parallel()
	const read, write, remove = "read", "write", "delete"
	tests := []struct {
		verb   string
		status int
		code   string
		want   cloud.Class
	}{
		{read, 404, "BlobNotFound", cloud.ClassNotFound},
		{remove, 404, "ContainerNotFound", cloud.ClassNotFound},
		{read, 404, "", cloud.ClassInvalid},
		{read, 403, "", cloud.ClassTransient},
		{write, 502, "", cloud.ClassAmbiguous},
		{read, 403, "AuthorizationPermissionMismatch", cloud.ClassDenied},
		{read, 403, "AuthorizationFailure", cloud.ClassDenied},
		{read, 403, "AuthenticationFailed", cloud.ClassAuthExpired},
		{write, 401, "InvalidAuthenticationInfo", cloud.ClassAuthExpired},
		{read, 401, "NoAuthenticationInformation", cloud.ClassAuthExpired},
		{write, 403, "AccountIsDisabled", cloud.ClassDenied},
		{write, 409, "BlobAlreadyExists", cloud.ClassConflict},
		{write, 412, "ConditionNotMet", cloud.ClassConflict},
		{write, 403, "UnauthorizedBlobOverwrite", cloud.ClassConflict},
		{write, 409, "BlobImmutableDueToPolicy", cloud.ClassConflict},
		{write, 412, "LeaseIdMissing", cloud.ClassConflict},
		{remove, 409, "BlobImmutableDueToPolicy", cloud.ClassLocked},
		{remove, 409, "BlobImmutableDueToLegalHold", cloud.ClassLocked},
		{remove, 412, "LeaseIdMissing", cloud.ClassLocked},
		{read, 409, "BlobArchived", cloud.ClassInvalid},
		{read, 409, "ContainerBeingDeleted", cloud.ClassTransient},
		{write, 400, "InvalidResourceName", cloud.ClassInvalid},
		{write, 413, "RequestBodyTooLarge", cloud.ClassInvalid},
		{read, 503, "ServerBusy", cloud.ClassThrottled},
		{write, 503, "ServerBusy", cloud.ClassThrottled},
		{write, 500, "OperationTimedOut", cloud.ClassAmbiguous},
		{read, 500, "InternalError", cloud.ClassTransient},
		{read, 429, "TooManyRequests", cloud.ClassThrottled},
	}
	for _, tt := range tests {
		t.Run(fmt.Sprintf("%s %d %s", tt.verb, tt.status, tt.code), func(t *testing.T) {
			t.Parallel()
			if got := question("Op", tt.verb).ClassOf(tt.status, tt.code); got != tt.want {
				t.Errorf("class %q, want %q", got, tt.want)
			}
		})
	}
}

package aws_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
)

const (
	roleARN    = "arn:aws:iam::" + account + ":role/shopfleet"
	assumedARN = "arn:aws:sts::" + account + ":assumed-role/shopfleet/shopfleet-shop"
	userARN    = "arn:aws:iam::" + account + ":user/shopfleet"
	issuer     = "https://hub.example"
	subject    = "system:serviceaccount:shopfleet-system:hub"
)

// hubRole returns a role that the hub's ServiceAccount may assume, and so may callers
// with keys and its external ID.
func hubRole() ec2.Role {
	return ec2.Role{ARN: roleARN, ExternalID: "tenant-7", Issuer: issuer, Subject: subject}
}

// token returns a token of the hub's ServiceAccount with the claims that the fake STS
// checks.
func token(t testing.TB, audience string, expires time.Time) string {
	t.Helper()
	claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": subject, "aud": []string{audience}, "exp": expires.Unix()})
	if err != nil {
		t.Fatal(err)
	}
	return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(claims) + ".c2lnbmF0dXJl"
}

// federated returns a configuration that counts its tokens.
func (e *testEnv) federated(t testing.TB, made *int) cloud.Config {
	t.Helper()
	config := e.config()
	config.Secret, config.Spec.Credentials.Type, config.Spec.AWS.RoleARN = nil, v1.CredentialsFederated, roleARN
	config.Token = func(_ context.Context, audience string) (string, error) {
		*made++
		return token(t, audience, e.clock.Now().Add(10*time.Minute)), nil
	}
	return config
}

func wantIdentity(t *testing.T, session cloud.Session, want string) {
	t.Helper()
	got, err := session.Access.Identity(t.Context())
	if diff := cmp.Diff(cloud.Identity{Name: want, Account: account}, got); err != nil || diff != "" {
		t.Fatalf("identity, %v (-want +got):\n%s", err, diff)
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t, hubRole())
	wantIdentity(t, e.session(t, cloudtest.Options{}), userARN)

	withRole := e.config()
	withRole.Spec.AWS.RoleARN, withRole.Spec.AWS.ExternalID = roleARN, "tenant-7"
	wantIdentity(t, connect(t, withRole), assumedARN)

	withRole.Spec.AWS.ExternalID = "tenant-8"
	_, err := connect(t, withRole).Access.Identity(t.Context())
	if want := (result{Class: cloud.ClassDenied, Code: "sts:AssumeRole"}); resultOf(t, err) != want {
		t.Errorf("%v with the wrong external ID, want %v", err, want)
	}
}

// TestSecretIgnoresEnvironment checks that credentials of a Secret do not depend on environment variables. It sets
// variables, so it does not run in parallel.
func TestSecretIgnoresEnvironment(t *testing.T) {
	for name, value := range map[string]string{
		"AWS_ACCESS_KEY_ID": otherKeyID, "AWS_SECRET_ACCESS_KEY": otherKey, "AWS_SESSION_TOKEN": "token", "AWS_REGION": there,
		"AWS_ENDPOINT_URL": "https://unknown.example", "AWS_ENDPOINT_URL_EC2": "https://unknown.example", "AWS_MAX_ATTEMPTS": "5",
		"AWS_WEB_IDENTITY_TOKEN_FILE": "/nowhere", "AWS_ROLE_ARN": "arn:aws:iam::210987654321:role/other", "AWS_PROFILE": "unknown",
		"AWS_NEW_RETRIES_2026": "true", "AWS_RETRY_MODE": "adaptive",
	} {
		t.Setenv(name, value)
	}
	e := newTestEnv(t, hubRole())
	wantIdentity(t, e.session(t, cloudtest.Options{}), userARN)
	made := 0
	wantIdentity(t, connect(t, e.federated(t, &made)), assumedARN)
	e.script.Add(faults.Fault{Op: faults.OpIdentity, Times: -1, Kind: faults.DropAfter})
	before := e.script.Count(faults.OpIdentity)
	if _, err := e.session(t, cloudtest.Options{}).Access.Identity(t.Context()); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("class of %v, want %q", err, cloud.ClassTransient)
	}
	if sent := e.script.Count(faults.OpIdentity) - before; sent != 1 {
		t.Errorf("the SDK sent %d requests, want one: the environment asks it to retry", sent)
	}
}

// ambient returns a configuration of type Ambient, in an environment with no other credentials
// than those that the test sets.
func (e *testEnv) ambient(t *testing.T, environment map[string]string) cloud.Config {
	t.Helper()
	for _, name := range []string{
		"AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI", "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI",
	} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_CA_BUNDLE", "/nowhere") // The given HTTP client knows whom it trusts.
	for name, value := range environment {
		t.Setenv(name, value)
	}
	config := e.config()
	config.Secret, config.Spec.Credentials.Type = nil, v1.CredentialsAmbient
	return config
}

func TestAmbientFromVariables(t *testing.T) {
	e := newTestEnv(t)
	wantIdentity(t, connect(t, e.ambient(t, map[string]string{"AWS_ACCESS_KEY_ID": keyID, "AWS_SECRET_ACCESS_KEY": key})), userARN)
}

func TestAmbientFromTokenFile(t *testing.T) {
	e := newTestEnv(t, hubRole())
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte(token(t, "sts.amazonaws.com", e.clock.Now().Add(time.Hour))), 0o600); err != nil {
		t.Fatal(err)
	}
	wantIdentity(t, connect(t, e.ambient(t, map[string]string{"AWS_WEB_IDENTITY_TOKEN_FILE": file, "AWS_ROLE_ARN": roleARN})), assumedARN)
}

// containerCredentials serves the endpoint of EKS Pod Identity.
func containerCredentials(w http.ResponseWriter, r *http.Request) {
	if r.Header.Get("Authorization") != "pod" {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	_, _ = fmt.Fprintf(w, `{"AccessKeyId":%q,"SecretAccessKey":%q,"Token":"","Expiration":"2999-01-01T00:00:00Z"}`, keyID, key)
}

func TestAmbientFromPod(t *testing.T) {
	e := newTestEnv(t)
	file := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(file, []byte("pod\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	config := e.ambient(t, nil)
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://169.254.170.23/v1/credentials")
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", file)
	config.HTTP.Transport = split{"169.254.170.23", faults.InProcess(http.HandlerFunc(containerCredentials)), config.HTTP.Transport}
	wantIdentity(t, connect(t, config), userARN)

	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://collector.example/v1/credentials")
	if _, err := aws.Connect(t.Context(), config); cloud.ClassOf(err) != cloud.ClassInvalid {
		t.Errorf("%v for an endpoint elsewhere, want class %q", err, cloud.ClassInvalid)
	}
}

// metadata serves the instance metadata service of EC2.
func metadata(w http.ResponseWriter, r *http.Request) {
	switch {
	case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
		w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "21600")
		_, _ = fmt.Fprint(w, "session")
	case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "session":
		w.WriteHeader(http.StatusUnauthorized)
	case strings.TrimSuffix(r.URL.Path, "/") == "/latest/meta-data/iam/security-credentials":
		_, _ = fmt.Fprint(w, "node")
	case strings.HasSuffix(r.URL.Path, "/security-credentials/node"):
		_, _ = fmt.Fprintf(w, `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":%q,"SecretAccessKey":%q,"Token":"","Expiration":"2999-01-01T00:00:00Z"}`, keyID, key)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// split sends requests for the metadata host to one transport, and all others to another.
type split struct {
	host            string
	metadata, other http.RoundTripper
}

func (s split) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host == s.host {
		return s.metadata.RoundTrip(r)
	}
	return s.other.RoundTrip(r)
}

func TestAmbientFromMachine(t *testing.T) {
	e := newTestEnv(t)
	config := e.ambient(t, nil)
	config.HTTP.Transport = split{"169.254.169.254", faults.InProcess(http.HandlerFunc(metadata)), config.HTTP.Transport}
	wantIdentity(t, connect(t, config), userARN)
}

func TestFederated(t *testing.T) {
	t.Parallel()
	e := newTestEnvAt(t, clock.RealClock{}.Now(), hubRole())
	made := 0
	config := e.federated(t, &made)
	var audiences []string
	inner := config.Token
	config.Token = func(ctx context.Context, audience string) (string, error) {
		audiences = append(audiences, audience)
		return inner(ctx, audience)
	}
	session := connect(t, config)
	if made > 0 || len(e.script.Calls()) > 0 {
		t.Error("connecting sent something")
	}
	for range 3 {
		wantIdentity(t, session, assumedARN)
	}
	if diff := cmp.Diff([]string{"sts.amazonaws.com"}, audiences); diff != "" {
		t.Errorf("audiences of the tokens that were made (-want +got):\n%s", diff)
	}

	// What is not accepted any more is exchanged after one refusal.
	e.script.Add(faults.Fault{Op: faults.OpIdentity, Kind: faults.Refuse, Answer: refuse(cloud.ClassAuthExpired, faults.OpIdentity, 0)})
	if _, err := session.Access.Identity(t.Context()); cloud.ClassOf(err) != cloud.ClassAuthExpired {
		t.Errorf("class of %v with credentials that are refused, want %q", err, cloud.ClassAuthExpired)
	}
	wantIdentity(t, session, assumedARN)
	if made != 2 {
		t.Errorf("%d tokens were made, want 2", made)
	}
}

func TestFederatedRefused(t *testing.T) {
	t.Parallel()
	boom := errors.New("boom")
	for name, test := range map[string]struct {
		change func(*testEnv, *cloud.Config)
		want   result
		cause  error
	}{
		"another audience": {func(e *testEnv, c *cloud.Config) {
			c.Token = func(context.Context, string) (string, error) {
				return token(t, "kubernetes", e.clock.Now().Add(time.Hour)), nil
			}
		}, result{Class: cloud.ClassAuthExpired, Code: "InvalidIdentityToken"}, nil},
		"expired": {func(e *testEnv, c *cloud.Config) {
			c.Token = func(_ context.Context, audience string) (string, error) {
				return token(t, audience, e.clock.Now()), nil
			}
		}, result{Class: cloud.ClassAuthExpired, Code: "ExpiredTokenException"}, nil},
		"another role": {func(_ *testEnv, c *cloud.Config) { c.Spec.AWS.RoleARN += "-admin" },
			result{Class: cloud.ClassDenied, Code: "sts:AssumeRoleWithWebIdentity"}, nil},
		"no token": {func(_ *testEnv, c *cloud.Config) {
			c.Token = func(context.Context, string) (string, error) { return "", boom }
		}, result{Class: cloud.ClassTransient}, boom},
		"lost response": {func(e *testEnv, _ *cloud.Config) {
			e.script.Add(faults.Fault{Op: faults.OpOther, Kind: faults.DropAfter})
		}, result{Class: cloud.ClassTransient}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, made := newTestEnv(t, hubRole()), 0
			config := e.federated(t, &made)
			test.change(e, &config)
			// A change, which was not sent: it is never ambiguous.
			_, err := connect(t, config).Snapshots.EnsureCopy(t.Context(), cloud.CopySpec{
				Name: "eb-x", Source: cloud.SnapshotRef{Region: there, ID: "snap-0123456789abcdef0"}, MaySend: true, Tags: cloud.Tags{cloud.TagHub: cloudtest.HubUID},
			})
			if diff := cmp.Diff(test.want, resultOf(t, err)); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
			if test.cause != nil && !errors.Is(err, test.cause) {
				t.Errorf("%v has lost its cause", err)
			}
			if strings.Contains(err.Error(), "eyJ") {
				t.Error("the error contains the token")
			}
		})
	}
}

func TestWrongAccount(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	config := e.config()
	config.Spec.AWS.AccountID = otherAccount
	who, err := connect(t, config).Access.Identity(t.Context())
	if want := (result{Class: cloud.ClassDenied, Code: "WrongAccount"}); resultOf(t, err) != want || who.Account != account {
		t.Errorf("%v, %v; want %v and who it is", who, err, want)
	}
}

func TestConnectRefuses(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*cloud.Config){
		"HTTP client":                    func(c *cloud.Config) { c.HTTP = nil },
		"clock":                          func(c *cloud.Config) { c.Clock = nil },
		"spec.provider":                  func(c *cloud.Config) { c.Spec.Provider = v1.ProviderGCP },
		"spec.aws":                       func(c *cloud.Config) { c.Spec.AWS = nil },
		"spec.aws.accountID":             func(c *cloud.Config) { c.Spec.AWS.AccountID = "1234" },
		"name of a region":               func(c *cloud.Config) { c.Region = "eu-central-1.evil.example/" },
		"spec.regions":                   func(c *cloud.Config) { c.Spec.Regions = []string{there} },
		"spec.endpoint":                  func(c *cloud.Config) { c.Endpoint = "http://ec2.example" },
		"without user":                   func(c *cloud.Config) { c.Endpoint = "https://user@ec2.example" },
		"secretAccessKey":                func(c *cloud.Config) { c.Secret["secretAccessKey"] = []byte(" \n") },
		"accessKeyID":                    func(c *cloud.Config) { delete(c.Secret, "accessKeyID") },
		"spec.credentials.type: unknown": func(c *cloud.Config) { c.Spec.Credentials.Type = "Magic" },
		"spec.aws.roleARN":               func(c *cloud.Config) { c.Spec.Credentials.Type = v1.CredentialsFederated },
		"ServiceAccount": func(c *cloud.Config) {
			c.Spec.Credentials.Type, c.Spec.AWS.RoleARN = v1.CredentialsFederated, roleARN
		},
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			config := newTestEnv(t).config()
			change(&config)
			_, err := aws.Connect(t.Context(), config)
			if cloud.ClassOf(err) != cloud.ClassInvalid || !strings.Contains(err.Error(), field) {
				t.Errorf("%v, want one of class %q that names %q", err, cloud.ClassInvalid, field)
			}
			if err != nil && (strings.Contains(err.Error(), key) || strings.Contains(err.Error(), keyID)) {
				t.Error("the error contains the keys")
			}
		})
	}
}

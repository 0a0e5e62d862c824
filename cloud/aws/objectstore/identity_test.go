package objectstore_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	awsobjects "github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// send sends a signed request without credentials and returns the status.
func (e *testEnv) send(t *testing.T, signed cloud.SignedRequest, content string) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), signed.Method, signed.URL, strings.NewReader(content))
	if err != nil {
		t.Fatal("a signed request is none at all")
	}
	for name, value := range signed.Header {
		r.Header.Set(name, value)
	}
	response, err := faults.InProcess(e.server).RoundTrip(r)
	if err != nil {
		t.Fatalf("sending: %v", err)
	}
	_ = response.Body.Close()
	return response.StatusCode
}

func sign(t *testing.T, objects cloud.ObjectStore, key string) cloud.SignedRequest {
	t.Helper()
	signed, err := objects.SignRequests(t.Context(), []cloud.ObjectRequest{{Method: http.MethodPut, Key: key}}, time.Hour)
	if err != nil {
		t.Fatalf("signing: %v", err)
	}
	return signed[0]
}

// TestFederated checks that a signed request expires no later than its credentials, which are renewed if they would
// expire too soon.
func TestFederated(t *testing.T) {
	t.Parallel()
	e := newTestEnvAt(t, clock.RealClock{}.Now().Truncate(time.Second))
	config := e.config()
	e.federate(t, &config)
	objects := open(t, config)
	if n := len(e.script.Calls()); n > 0 {
		t.Errorf("opening sent %d requests", n)
	}
	began := e.clock.Now()
	for i, step := range []struct {
		after, lives time.Duration
		exchanged    int
	}{
		// The cache counts a minute less than the hour of the credentials.
		{0, 59 * time.Minute, 1},
		{20 * time.Minute, 39 * time.Minute, 1},
		{9 * time.Minute, 30 * time.Minute, 1},
		{time.Minute, 59 * time.Minute, 2},
	} {
		e.clock.Step(step.after)
		signed := sign(t, objects, "shopfleet/part")
		if lives := signed.ExpiresAt.Sub(e.clock.Now()); lives != step.lives {
			t.Errorf("step %d: it lives for %s, want %s", i, lives, step.lives)
		}
		if n := e.script.Count(faults.OpOther); n != step.exchanged {
			t.Errorf("step %d: %d exchanges of tokens, want %d", i, n, step.exchanged)
		}
		if !strings.Contains(signed.URL, "X-Amz-Security-Token=") {
			t.Errorf("step %d: the token is not in the URL, and in %v", i, signed.Header)
		}
	}
	late := sign(t, objects, "late")
	if status := e.send(t, sign(t, objects, "shopfleet/part"), "x"); status != http.StatusOK {
		t.Errorf("status %d, want %d", status, http.StatusOK)
	}
	e.clock.Step(late.ExpiresAt.Sub(e.clock.Now()) + time.Minute)
	if status := e.send(t, late, "x"); status/100 != 4 {
		t.Errorf("status %d for what has expired %s after the beginning", status, late.ExpiresAt.Sub(began))
	}
	if diff := cmp.Diff([]string{"shopfleet/part"}, e.store.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	config := e.config()
	config.Spec.AWS.RoleARN, config.Spec.AWS.ExternalID = roleARN, "tenant-7"
	if err := open(t, config).PutObject(t.Context(), "shopfleet/manifest", []byte("x")); err != nil {
		t.Errorf("putting with a role: %v", err)
	}
	config.Spec.AWS.ExternalID = "tenant-8"
	err := open(t, config).PutObject(t.Context(), "other", []byte("x"))
	if got := codesOf(t, err); got != (codes{cloud.ClassDenied, "sts:AssumeRole"}) {
		t.Errorf("%v with the wrong external ID", err)
	}
	// What was not sent is never ambiguous.
	config.Spec.AWS.ExternalID = "tenant-7"
	e.script.Add(faults.Fault{Op: faults.OpOther, Kind: faults.DropAfter})
	if err := open(t, config).PutObject(t.Context(), "other", []byte("x")); cloud.ClassOf(err) != cloud.ClassTransient {
		t.Errorf("class of %v, want %q", err, cloud.ClassTransient)
	}
	if diff := cmp.Diff([]string{"shopfleet/manifest"}, e.store.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestAmbient checks the credentials of the process. It sets variables, so it does not run in parallel.
func TestAmbient(t *testing.T) {
	for _, name := range []string{"AWS_SESSION_TOKEN", "AWS_WEB_IDENTITY_TOKEN_FILE", "AWS_ROLE_ARN"} {
		t.Setenv(name, "")
	}
	t.Setenv("AWS_ACCESS_KEY_ID", keyID)
	t.Setenv("AWS_SECRET_ACCESS_KEY", key)
	for name, value := range map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ENDPOINT_URL": "https://unknown.example", "AWS_ENDPOINT_URL_S3": "https://unknown.example",
		"AWS_MAX_ATTEMPTS": "5", "AWS_REQUEST_CHECKSUM_CALCULATION": "when_supported", "AWS_S3_DISABLE_MULTIREGION_ACCESS_POINTS": "true",
	} {
		t.Setenv(name, value)
	}
	e := newTestEnv(t)
	config := e.config()
	config.Secret, config.Spec.Credentials.Type = nil, v1.CredentialsAmbient
	if err := open(t, config).PutObject(t.Context(), "shopfleet/manifest", []byte("x")); err != nil {
		t.Errorf("putting: %v", err)
	}
	if diff := cmp.Diff([]string{"shopfleet/manifest"}, e.store.Keys()); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
}

// TestForgets checks that refused credentials are requested again the next time.
func TestForgets(t *testing.T) {
	t.Parallel()
	e := newTestEnvAt(t, clock.RealClock{}.Now().Truncate(time.Second))
	config := e.config()
	e.federate(t, &config)
	objects := open(t, config)
	if err := objects.PutObject(t.Context(), "shopfleet/one", []byte("x")); err != nil {
		t.Fatalf("putting: %v", err)
	}
	e.script.Add(faults.Fault{Op: faults.OpPutObject, Kind: faults.Refuse, Answer: refuse(cloud.ClassAuthExpired, faults.OpPutObject, 0)})
	if err := objects.PutObject(t.Context(), "shopfleet/two", []byte("x")); cloud.ClassOf(err) != cloud.ClassAuthExpired {
		t.Errorf("class of %v, want %q", err, cloud.ClassAuthExpired)
	}
	if err := objects.PutObject(t.Context(), "shopfleet/two", []byte("x")); err != nil {
		t.Errorf("putting again: %v", err)
	}
	if n := e.script.Count(faults.OpOther); n != 2 {
		t.Errorf("%d exchanges of tokens, want 2", n)
	}
}

// TestSigned checks exactly what is signed: a client with a signed URL can leave out
// anything that the signature does not cover.
func TestSigned(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ endpoint, begin string }{
		"own name": {"", "https://" + bucketName + "." + ownHost + "/backups/app/part-00000?"},
		"endpoint": {endpoint, endpoint + "/" + bucketName + "/backups/app/part-00000?"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.endpoint = test.endpoint
			config := e.config()
			config.Spec.ObjectStorage.Prefix = "backups"
			signed := sign(t, open(t, config), "app/part-00000")
			if !strings.HasPrefix(signed.URL, test.begin) || !strings.Contains(signed.URL, "X-Amz-SignedHeaders=host%3Bif-none-match&") {
				t.Errorf("%s, want it to begin with %s and to sign if-none-match", strings.Split(signed.URL, "X-Amz-Signature")[0], test.begin)
			}
			if diff := cmp.Diff(map[string]string{"If-None-Match": "*"}, signed.Header); diff != "" {
				t.Errorf("headers (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	for field, change := range map[string]func(*cloud.Config){
		"HTTP client":                          func(c *cloud.Config) { c.HTTP = nil },
		"clock":                                func(c *cloud.Config) { c.Clock = nil },
		"spec.provider":                        func(c *cloud.Config) { c.Spec.Provider = v1.ProviderGCP },
		"spec.aws":                             func(c *cloud.Config) { c.Spec.AWS = nil },
		"spec.aws.accountID":                   func(c *cloud.Config) { c.Spec.AWS.AccountID = "1234" },
		"secretAccessKey":                      func(c *cloud.Config) { c.Secret["secretAccessKey"] = nil },
		"spec.objectStorage: required":         func(c *cloud.Config) { c.Spec.ObjectStorage = nil },
		"spec.objectStorage.bucket":            func(c *cloud.Config) { c.Spec.ObjectStorage.Bucket = "a/b?c" },
		"spec.objectStorage.region: required":  func(c *cloud.Config) { c.Spec.ObjectStorage.Region = "" },
		"spec.objectStorage.region":            func(c *cloud.Config) { c.Spec.ObjectStorage.Region = "x.evil.example/" },
		"spec.objectStorage.prefix":            func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "a/../b" },
		"spec.objectStorage.prefix: must":      func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "a/" },
		"spec.objectStorage.endpoint":          func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "http://s3.example" },
		"spec.objectStorage.endpoint: must be": func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "https://user@s3.example" },
		"spec.endpoint":                        func(c *cloud.Config) { c.Endpoint = "http://sts.example" },
	} {
		t.Run(field, func(t *testing.T) {
			t.Parallel()
			config := newTestEnv(t).config()
			change(&config)
			_, err := awsobjects.Open(t.Context(), config)
			if cloud.ClassOf(err) != cloud.ClassInvalid || !strings.Contains(err.Error(), field) {
				t.Errorf("%v, want one of class %q that names %q", err, cloud.ClassInvalid, field)
			}
			if err != nil && strings.Contains(err.Error(), key) {
				t.Error("the error contains the key")
			}
		})
	}
}

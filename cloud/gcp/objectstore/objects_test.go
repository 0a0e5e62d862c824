package objectstore

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake/gcs"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

func TestObjects(t *testing.T) {
	t.Parallel()
	shared := prepare(t)
	tests := map[string]struct {
		options gcs.Options
		run     func(t *testing.T, e *testEnv)
	}{
		"a hold that Google calls forbidden":     {gcs.Options{Bland: true}, blandHold},
		"a denial of Google's that is no hold":   {gcs.Options{}, noHold},
		"who may not write over is told so":      {gcs.Options{}, mayNotWriteOver},
		"what is there goes while it is read":    {gcs.Options{}, goneMeanwhile},
		"a content that is not the object's":     {gcs.Options{}, spoiltContent},
		"a list that makes no sense":             {gcs.Options{}, senselessList},
		"whether it is there cannot be found":    {gcs.Options{}, mayNotList},
		"a token of the account that is refused": {gcs.Options{}, expiredSource},
		"tokens for uploads and for downloads":   {gcs.Options{}, twoTokens},
		"a token is for parts and no manifest":   {gcs.Options{}, partsAlone},
		"a token for reading does not list":      {gcs.Options{}, readsAlone},
		"no token for what is not narrowed":      {gcs.Options{}, notNarrowed},
		"tokens for a federated identity":        {gcs.Options{}, federated},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t, shared, tt.options)
			tt.run(t, e)
			for _, call := range e.script.Calls() {
				if err := e.api.Request(call.Request); err != nil {
					t.Errorf("%v\n%s", err, call.Request)
				}
			}
		})
	}
}

func wantClass(t *testing.T, err error, want cloud.Class) {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) || e.Class != want {
		t.Fatalf("class %q of %v, want %q", cloud.ClassOf(err), err, want)
	}
}

func blandHold(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.store.Put("held", []byte("x"))
	e.store.Lock("held", true)
	wantClass(t, objects.DeleteObject(t.Context(), "held"), cloud.ClassLocked)
}

func noHold(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.store.Put("there", []byte("x"))
	e.script.Add(faults.Fault{Op: faults.OpDeleteObject, Kind: faults.Refuse, Answer: refused(http.StatusForbidden, "forbidden", "It is forbidden.", 0)})
	wantClass(t, objects.DeleteObject(t.Context(), "there"), cloud.ClassDenied)
	if _, ok := e.store.Content("there"); !ok {
		t.Error("it is gone")
	}
}

// mayNotWriteOver checks the error if the identity lacks the permission to overwrite: Google may require it although
// the upload overwrites nothing.
func mayNotWriteOver(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.store.Put("there", []byte("first"))
	refusal := refusal(cloud.ClassDenied, faults.OpDeleteObject, 0)
	for content, want := range map[string]cloud.Class{"first": "", "other": cloud.ClassConflict} {
		e.script.Add(faults.Fault{Op: faults.OpPutObject, Kind: faults.Refuse, Answer: refusal})
		if err := objects.PutObject(t.Context(), "there", []byte(content)); cloud.ClassOf(err) != want || (err == nil) != (want == "") {
			t.Errorf("putting %q: %v, want class %q", content, err, want)
		}
	}
}

func goneMeanwhile(t *testing.T, e *testEnv) {
	t.Helper()
	config := e.config(t)
	e.store.Put("there", []byte("first"))
	next := config.HTTP.Transport
	config.HTTP.Transport = identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Query().Get("alt") == "media" {
			e.store.Put("there", []byte("other")) // Another generation.
		}
		return next.RoundTrip(r)
	})
	_, err := open(t, config).GetObject(t.Context(), "there", 10)
	wantClass(t, err, cloud.ClassNotFound)

	e.script.Add(faults.Fault{Op: faults.OpPutObject, Kind: faults.Refuse, Answer: refused(http.StatusPreconditionFailed, "conditionNotMet", "It was there.", 0)})
	wantClass(t, open(t, config).PutObject(t.Context(), "none", []byte("x")), cloud.ClassTransient)
}

func spoiltContent(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.store.Put("there", []byte("first"))
	for _, answer := range []string{"fir", "fisrt", "first and more", ""} {
		e.script.Add(faults.Fault{Op: faults.OpGetObject, Skip: 1, Kind: faults.Refuse, Answer: faults.Answer{Status: http.StatusOK, Body: answer}})
		got, err := objects.GetObject(t.Context(), "there", 100)
		if wantClass(t, err, cloud.ClassTransient); got != nil {
			t.Errorf("content %q in spite of an error", got)
		}
		e.script.Clear()
	}
}

func senselessList(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	for _, item := range []string{`{"name": "a", "size": "1"}`, `{"name": "a", "size": "18446744073709551615", "timeCreated": "2026-03-01T02:00:00Z"}`} {
		e.script.Add(faults.Fault{Op: faults.OpListObjects, Kind: faults.Refuse, Answer: faults.Answer{Status: http.StatusOK, Body: `{"items": [` + item + `], "nextPageToken": "x"}`}})
		n := 0
		for _, err := range objects.ListObjects(t.Context(), "") {
			n++
			wantClass(t, err, cloud.ClassTransient)
		}
		if n != 1 {
			t.Errorf("%d pairs, want one with the error", n)
		}
	}
}

// mayNotList checks the errors of an identity that may read and delete, but not list.
func mayNotList(t *testing.T, e *testEnv) {
	t.Helper()
	e.server.Forbid("storage.objects.list")
	objects := open(t, e.config(t))
	if err := objects.DeleteObject(t.Context(), "none"); err != nil {
		t.Errorf("deleting what is not there: %v", err)
	}
	_, err := objects.GetObject(t.Context(), "none", 1)
	wantClass(t, err, cloud.ClassNotFound)
	for _, err := range objects.ListObjects(t.Context(), "") {
		wantClass(t, err, cloud.ClassDenied)
	}
}

func expiredSource(t *testing.T, e *testEnv) {
	t.Helper()
	objects := open(t, e.config(t))
	e.store.Put("there", []byte("first"))
	for range 2 {
		if _, err := objects.GetObject(t.Context(), "there", 10); err != nil {
			t.Fatalf("reading: %v", err)
		}
		e.tokens.ExpireTokens()
		send(t, sign(t, objects, cloud.ObjectRequest{Method: http.MethodGet, Key: "there"})[0], "", http.StatusOK)
		e.tokens.ExpireTokens()
	}
}

func TestOpenRefuses(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t, prepare(t), gcs.Options{})
	tests := map[string]struct {
		change func(*cloud.Config)
		field  string
	}{
		"no client":         {func(c *cloud.Config) { c.HTTP = nil }, "HTTP client"},
		"no clock":          {func(c *cloud.Config) { c.Clock = nil }, "clock"},
		"no project":        {func(c *cloud.Config) { c.Spec.GCP = nil }, "spec.gcp"},
		"no storage":        {func(c *cloud.Config) { c.Spec.ObjectStorage = nil }, "spec.objectStorage.bucket"},
		"bucket with slash": {func(c *cloud.Config) { c.Spec.ObjectStorage.Bucket = "a/../b" }, "spec.objectStorage.bucket"},
		"bucket with quote": {func(c *cloud.Config) { c.Spec.ObjectStorage.Bucket = "dumps'b" }, "spec.objectStorage.bucket"},
		"prefix with quote": {func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "a'" }, "spec.objectStorage.prefix"},
		"prefix with dots":  {func(c *cloud.Config) { c.Spec.ObjectStorage.Prefix = "a/.." }, "spec.objectStorage.prefix"},
		"http":              {func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "http://storage.googleapis.com" }, "spec.objectStorage.endpoint"},
		"path":              {func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint += "/proxy" }, "spec.objectStorage.endpoint"},
		"user":              {func(c *cloud.Config) { c.Spec.ObjectStorage.Endpoint = "https://a:b@storage.googleapis.com" }, "spec.objectStorage.endpoint"},
		"no key":            {func(c *cloud.Config) { c.Secret = nil }, "serviceAccountKey"},
		"no type":           {func(c *cloud.Config) { c.Spec.Credentials.Type = "" }, "spec.credentials.type"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := e.config(t)
			tt.change(&config)
			_, err := Open(t.Context(), config)
			if wantClass(t, err, cloud.ClassInvalid); !strings.Contains(err.Error(), tt.field) {
				t.Errorf("error %v, want one that names %s", err, tt.field)
			}
		})
	}
	t.Cleanup(func() {
		if n := e.script.Count(faults.OpAny); n > 0 {
			t.Errorf("%d requests were sent", n)
		}
	})
	for _, end := range []string{"", "/", "/storage/v1", "/storage/v1/"} {
		config := e.config(t)
		config.Spec.ObjectStorage.Endpoint += end
		open(t, config)
	}
}

// TestGoogle checks that without an endpoint all requests go to Google's own addresses.
func TestGoogle(t *testing.T) {
	e := newTestEnv(t, prepare(t), gcs.Options{})
	config := e.config(t)
	config.Spec.ObjectStorage = &v1.ObjectStorage{Bucket: dumps, Prefix: "eu"}
	config.Spec.Credentials.Type = v1.CredentialsAmbient
	t.Setenv("GOOGLE_APPLICATION_CREDENTIALS", "")
	hosts := map[string]int{}
	config.HTTP.Transport = identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		hosts[r.URL.Scheme+"://"+r.URL.Host+r.URL.Path]++
		answer := faults.Answer{Status: http.StatusOK, Body: `{"access_token": "ya29.x", "expires_in": 3600}`}
		fixed := faults.Transport{Next: http.DefaultTransport, Classify: classifyRequest, Script: &faults.Script{}}
		fixed.Script.Add(faults.Fault{Kind: faults.Refuse, Answer: answer})
		return fixed.RoundTrip(r)
	})
	objects := open(t, config)
	signed := sign(t, objects, cloud.ObjectRequest{Method: http.MethodPut, Key: "part"})
	if url := signed[0].URL; url != "https://storage.googleapis.com/shop-dumps/eu/part" || !signed[0].ExpiresAt.Equal(e.clock.Now().Add(30*time.Minute)) {
		t.Errorf("URL %s until %s", url, signed[0].ExpiresAt)
	}
	for object, err := range objects.ListObjects(t.Context(), "") {
		t.Errorf("an object %v, %v", object, err)
	}
	for _, want := range []string{"https://sts.googleapis.com/v1/token", "https://storage.googleapis.com/storage/v1/b/shop-dumps/o"} {
		if hosts[want] != 1 {
			t.Errorf("%s was asked %d times: %v", want, hosts[want], hosts)
		}
	}
}

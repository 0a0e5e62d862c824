package objectstore_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	awsobjects "github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

const (
	account     = "123456789012"
	region      = "eu-central-1"
	bucketName  = "dumps-of-shop"
	keyID, key  = "AKIDEXAMPLE", "ours/with+signs"
	userARN     = "arn:aws:iam::" + account + ":user/shopfleet"
	roleARN     = "arn:aws:iam::" + account + ":role/shopfleet"
	issuer      = "https://hub.example"
	subject     = "system:serviceaccount:shopfleet-system:hub"
	stsEndpoint = "https://sts.test.example"
	ownHost     = "s3." + region + ".amazonaws.com"
	endpoint    = "https://storage.test.example"
	foreign     = "bucket-of-others"
	bucketKey   = "arn:aws:kms:" + region + ":" + account + ":key/dumps"
)

// testEnv is a fake S3 and STS with a client for them.
type testEnv struct {
	clock  *testclock.FakeClock
	store  *bucket.Store
	server *s3.Server
	// others serves the bucket foreign.
	others *s3.Server
	sts    *ec2.Server
	script *faults.Script
	oracle oracle
	// endpoint is spec.objectStorage.endpoint.
	endpoint string
}

func newTestEnv(t testing.TB) *testEnv {
	t.Helper()
	return newTestEnvAt(t, time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
}

// newTestEnvAt returns one whose clock starts at a time. The SDK keeps temporary credentials by the machine's clock.
func newTestEnvAt(t testing.TB, began time.Time) *testEnv {
	t.Helper()
	clock := testclock.NewFakeClock(began)
	e := &testEnv{clock: clock, store: bucket.NewStore(clock), script: &faults.Script{}}
	e.sts = ec2.New(fake.NewCloud(clock), ec2.Options{
		Clock: clock, Keys: []ec2.Key{{ID: keyID, Secret: key, Account: account, Name: "shopfleet"}},
		Roles: []ec2.Role{{ARN: roleARN, ExternalID: "tenant-7", Issuer: issuer, Subject: subject, Policy: documented(t, "")}},
	})
	options := s3.Options{
		Clock: clock, Bucket: bucketName, Region: region, Host: ownHost, KMSKey: bucketKey,
		Lookup: func(id string) (s3.Key, bool) {
			if prefix, ours := strings.CutPrefix(id, keyID); ours {
				return s3.Key{ID: id, Secret: key, ARN: userARN, Policy: documented(t, unescape(prefix))}, true
			}
			known := e.sts.Known(id)
			return s3.Key{ID: id, Secret: known.Secret, Token: known.Token, ARN: known.ARN, Expires: known.Expires, Policy: known.Policy}, known.Secret != ""
		},
	}
	e.server = s3.New(e.store, options)
	options.Bucket = foreign
	e.others = s3.New(bucket.NewStore(clock), options)
	return e
}

// documented returns the policy that cloud/README.md prints, for the bucket with a prefix and
// for the key of the bucket.
func documented(t testing.TB, prefix string) *iam.Policy {
	t.Helper()
	page, err := iam.Read("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	ofBucket, err := page.AWSBucket(bucketName, prefix)
	if err != nil {
		t.Fatal(err)
	}
	ofKey, err := page.AWSKey(bucketKey)
	if err != nil {
		t.Fatal(err)
	}
	return iam.Join(ofBucket, ofKey)
}

// keyOf returns the ID of the access key that has the permissions for a prefix: the
// prefix of spec.objectStorage without the part that the suite adds for the hub's keys.
func keyOf(prefix string) string {
	return keyID + strings.ReplaceAll(strings.TrimSuffix(prefix, "/shopfleet"), "/", "_")
}

// unescape reverses what keyOf does to a prefix.
func unescape(prefix string) string { return strings.ReplaceAll(prefix, "_", "/") }

// ServeHTTP serves STS under its endpoint and S3 under any other host.
func (e *testEnv) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch {
	case "https://"+r.Host == stsEndpoint:
		e.sts.ServeHTTP(w, r)
	case r.Host == foreign+"."+ownHost, strings.HasPrefix(r.URL.Path, "/"+foreign):
		e.others.ServeHTTP(w, r)
	default:
		e.server.ServeHTTP(w, r)
	}
}

// client sends requests, looks at them and lets them go wrong.
func (e *testEnv) client(next http.RoundTripper) *http.Client {
	return &http.Client{Transport: e.oracle.over(&faults.Transport{Next: next, Classify: classify, Script: e.script, Clock: e.clock})}
}

// config returns the configuration of an account with keys.
func (e *testEnv) config() cloud.Config {
	return cloud.Config{
		Account: "shop", Region: "does-not-matter", Endpoint: stsEndpoint, Clock: e.clock,
		HTTP: e.client(faults.InProcess(e)),
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: account},
			Credentials:   v1.CloudCredentials{Type: v1.CredentialsSecret},
			ObjectStorage: &v1.ObjectStorage{Bucket: bucketName, Region: region, Endpoint: e.endpoint},
		},
		Secret: map[string][]byte{"accessKeyID": []byte(keyID), "secretAccessKey": []byte(key)},
	}
}

// federate lets a configuration prove who it is with tokens of the hub's ServiceAccount.
func (e *testEnv) federate(t testing.TB, config *cloud.Config) {
	t.Helper()
	config.Secret, config.Spec.Credentials.Type, config.Spec.AWS.RoleARN = nil, v1.CredentialsFederated, roleARN
	config.Token = func(_ context.Context, audience string) (string, error) {
		claims, err := json.Marshal(map[string]any{"iss": issuer, "sub": subject, "aud": []string{audience}, "exp": e.clock.Now().Add(time.Hour).Unix()})
		return "eyJhbGciOiJSUzI1NiJ9." + base64.RawURLEncoding.EncodeToString(claims) + ".c2lnbmF0dXJl", err
	}
}

// configure returns a configuration with the options of a case.
func (e *testEnv) configure(t testing.TB, o objectstore.Options) cloud.Config {
	t.Helper()
	config := e.config()
	storage := config.Spec.ObjectStorage
	storage.Prefix = o.Prefix
	if !o.Beyond {
		config.Secret["accessKeyID"] = []byte(keyOf(o.Prefix))
	}
	if o.Foreign {
		storage.Bucket = foreign
	}
	if o.BadCredentials {
		config.Secret["secretAccessKey"] = []byte("wrong/" + key)
	}
	if o.Missing {
		storage.Bucket = "foreign-bucket"
	}
	if o.Elsewhere {
		storage.Region = "us-east-1"
	}
	if o.TLS {
		e.secure(t, &config, o.Trusted)
	}
	return config
}

// secure puts an endpoint with a certificate of its own authority before the server.
func (e *testEnv) secure(t testing.TB, config *cloud.Config, trusted bool) {
	t.Helper()
	server := httptest.NewUnstartedServer(e.server)
	server.Config.ErrorLog = log.New(io.Discard, "", 0) // It would log clients that do not trust it.
	server.StartTLS()
	t.Cleanup(server.Close)
	pool := x509.NewCertPool()
	if trusted {
		pool.AddCert(server.Certificate())
	}
	transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
	t.Cleanup(transport.CloseIdleConnections)
	config.HTTP = e.client(transport)
	config.Spec.ObjectStorage.Endpoint = server.URL
}

func open(t testing.TB, config cloud.Config) cloud.ObjectStore {
	t.Helper()
	opened, err := awsobjects.Open(t.Context(), config)
	if err != nil {
		t.Fatalf("opening the bucket: %v", err)
	}
	return opened
}

func (e *testEnv) backend(m *model) *objectstore.Backend {
	e.oracle.model = m
	return &objectstore.Backend{
		Provider: v1.ProviderAWS, Clock: e.clock, Store: e.store, Script: e.script,
		Open: func(t testing.TB, o objectstore.Options) (cloud.ObjectStore, error) {
			t.Helper()
			return awsobjects.Open(t.Context(), e.configure(t, o))
		},
		Refused: e.server.Refused, Prefixed: true, DeletionRequests: 1,
		Send: faults.InProcess(e.server).RoundTrip, Refusal: refuse, PageSize: e.server.SetPageSize,
		Secrets:  []string{key, keyID, "X-Amz-Signature", "Signature=", "X-Amz-Credential"},
		Validate: e.oracle.validate(), ValidateSkipReason: noOracle,
	}
}

// classify returns the operation of a request.
func classify(r *http.Request, _ []byte) faults.Op {
	switch {
	case "https://"+r.URL.Host == stsEndpoint, r.URL.Query().Has("versions"):
		return faults.OpOther
	case r.Method == http.MethodPut:
		return faults.OpPutObject
	case r.Method == http.MethodDelete:
		return faults.OpDeleteObject
	case r.Method == http.MethodGet && r.URL.Query().Has("list-type"):
		return faults.OpListObjects
	case r.Method == http.MethodGet:
		return faults.OpGetObject
	default:
		return faults.OpOther
	}
}

// refuse returns the response of S3 for an error of a class.
func refuse(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	status, code, message := http.StatusBadRequest, "InvalidRequest", "Invalid request."
	switch class {
	case cloud.ClassNotFound:
		status, code, message = http.StatusNotFound, "NoSuchKey", "The specified key does not exist."
	case cloud.ClassThrottled:
		status, code, message = http.StatusServiceUnavailable, "SlowDown", "Please reduce your request rate."
	case cloud.ClassTransient, cloud.ClassAmbiguous:
		status, code, message = http.StatusInternalServerError, "InternalError", "We encountered an internal error. Please try again."
	case cloud.ClassDenied:
		action := strings.Replace(string(op), "ListObjects", "ListBucket", 1)
		status, code = http.StatusForbidden, "AccessDenied"
		message = fmt.Sprintf("User: %s is not authorized to perform: s3:%s on resource: \"arn:aws:s3:::%s\" "+
			"because no identity-based policy allows the s3:%s action", userARN, action, bucketName, action)
	case cloud.ClassAuthExpired:
		code, message = "ExpiredToken", "The provided token has expired."
	default:
	}
	answer := faults.Answer{Status: status, Header: http.Header{"Content-Type": {"application/xml"}}, Body: s3.ErrorBody(code, message)}
	if after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	return answer
}

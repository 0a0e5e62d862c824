package objectstore

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/policy"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/bloberror"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/lease"
	"k8s.io/utils/clock"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
)

// emulated is the only account of the emulator.
const emulated = "devstoreaccount1"

// contractOfTheEmulator puts the contract to azurite, which we did not write, as far as
// it goes. Each case has a container of its own.
func contractOfTheEmulator(t *testing.T, dir string) {
	t.Helper()
	e := startEmulator(t, dir)
	t.Run("time", func(t *testing.T) { t.Parallel(); emulatorTime(t, e) })
	t.Run("snapshots", func(t *testing.T) { t.Parallel(); emulatorSnapshots(t, e) })
	objectstore.Run(t, e.backend)
}

// emulator is a process of azurite, and who gives out tokens for it.
type emulator struct {
	url    string
	client *http.Client
	tokens *httptest.Server
	serial atomic.Int64
}

// startEmulator runs azurite until the test ends.
func startEmulator(t *testing.T, dir string) *emulator {
	t.Helper()
	e := &emulator{tokens: httptest.NewTLSServer(http.HandlerFunc(giveToken))}
	t.Cleanup(e.tokens.Close)
	// It takes tokens over TLS alone: the certificate of the other serves for both.
	at := t.TempDir()
	pair := e.tokens.TLS.Certificates[0]
	key, err := x509.MarshalPKCS8PrivateKey(pair.PrivateKey)
	if err == nil {
		err = os.WriteFile(filepath.Join(at, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key}), 0o600)
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(at, "cert.pem"), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: pair.Certificate[0]}), 0o600)
	}
	if err != nil {
		t.Fatalf("writing the certificate: %v", err)
	}
	main := filepath.Join(dir, "node_modules", "azurite", "dist", "src", "blob", "main.js")
	server := exec.CommandContext(t.Context(), "node", main, "--blobPort", "0", "--inMemoryPersistence", "--disableTelemetry", "--silent",
		"--oauth", "basic", "--skipApiVersionCheck", "--cert", "cert.pem", "--key", "key.pem")
	server.Dir = at
	output, err := server.StdoutPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatalf("starting azurite: %v", err)
	}
	e.url = readURL(t, output) + "/" + emulated
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, output)
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // The test's context may have done so.
		<-drained
		_ = server.Wait()
	})
	e.client = e.tokens.Client()
	e.client.Transport = patient{e.client.Transport}
	return e
}

// patient sends a request again when azurite has reset the connection, as it does now and
// then when it refuses a body that it has not read: nothing is ever written over, so that
// the answer is the same.
type patient struct{ next http.RoundTripper }

// resets bounds the resets in a row.
const resets = 10

// RoundTrip implements http.RoundTripper.
func (p patient) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method != http.MethodPut || r.Body == nil {
		return p.next.RoundTrip(r)
	}
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	for n := 1; ; n++ {
		again := r.Clone(r.Context())
		again.Body, again.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
		if len(body) == 0 {
			again.Body = http.NoBody
		}
		response, err := p.next.RoundTrip(again)
		lost := errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
		if !lost || n == resets {
			return response, err
		}
	}
}

// readURL waits until azurite says where it is.
func readURL(t *testing.T, output io.Reader) string {
	t.Helper()
	lines, said := bufio.NewScanner(output), ""
	where := regexp.MustCompile(`successfully listens on (https://127\.0\.0\.1:[0-9]+)`)
	for lines.Scan() {
		said += lines.Text() + "\n"
		if found := where.FindStringSubmatch(lines.Text()); found != nil {
			return found[1]
		}
	}
	t.Fatalf("azurite did not start: %v\n%s", lines.Err(), said)
	return ""
}

// giveToken issues tokens with the claims that azurite checks.
func giveToken(w http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, discovery) {
		_, _ = io.WriteString(w, discovered(r))
		return
	}
	if r.FormValue("client_secret") != goodPhrase {
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"error":"invalid_client","error_codes":[7000215],"error_description":"AADSTS7000215: Invalid client secret provided."}`)
		return
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"token_type": "Bearer", "expires_in": 3600, "access_token": emulatorToken()})
}

func emulatorToken() string {
	now := clock.RealClock{}.Now()
	claims := fmt.Sprintf(`{"aud":"https://storage.azure.com","iss":"https://sts.windows.net/%[1]s/","tid":%[1]q,"oid":%[2]q,"iat":%[3]d,"nbf":%[3]d,"exp":%[4]d}`,
		tenant, client, now.Add(-time.Minute).Unix(), now.Add(time.Hour).Unix())
	encode := base64.RawURLEncoding.EncodeToString
	return encode([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + encode([]byte(claims)) + "." + encode([]byte("signature"))
}

func (e *emulator) backend(t testing.TB) *objectstore.Backend {
	t.Helper()
	name := fmt.Sprintf("case-%d", e.serial.Add(1))
	fixed, script := testclock.NewFakeClock(clock.RealClock{}.Now()), &faults.Script{}
	var pageSize atomic.Int64
	return &objectstore.Backend{
		Provider: v1.ProviderAzure, Clock: fixed, Store: newEmulatorStore(t, e, name), Script: script,
		Open: func(t testing.TB, o objectstore.Options) (cloud.ObjectStore, error) {
			t.Helper()
			paged := transport(func(r *http.Request) (*http.Response, error) {
				if n := pageSize.Load(); n > 0 && classify(r, nil) == faults.OpListObjects {
					r.URL.RawQuery += fmt.Sprintf("&maxresults=%d", n)
				}
				return e.client.Transport.RoundTrip(r)
			})
			var next http.RoundTripper = paged
			if o.TLS && !o.Trusted {
				// Who signs in is trusted, so that it is the bucket which is not.
				distrusting := &http.Transport{TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: x509.NewCertPool()}}
				next = transport(func(r *http.Request) (*http.Response, error) {
					if classify(r, nil) == faults.OpOther {
						return paged(r)
					}
					return distrusting.RoundTrip(r)
				})
			}
			phrase := goodPhrase
			if o.BadCredentials {
				phrase = wrongPhrase
			}
			bucket := name
			if o.Missing {
				bucket = "missing"
			}
			return Open(t.Context(), cloud.Config{
				Account: "azure", Endpoint: e.tokens.URL, Clock: fixed, Secret: map[string][]byte{"clientSecret": []byte(phrase)},
				Spec: v1.CloudAccountSpec{
					Provider: v1.ProviderAzure, Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
					Azure:         &v1.AzureAccount{TenantID: tenant, ClientID: client},
					ObjectStorage: &v1.ObjectStorage{Bucket: bucket, Prefix: o.Prefix, StorageAccount: emulated, Endpoint: e.url},
				},
				HTTP: &http.Client{Transport: undiscovered(next, &faults.Transport{Next: next, Classify: classify, Script: script})},
			})
		},
		Send: e.client.Do, Refusal: refusalOf, PageSize: func(n int) { pageSize.Store(int64(n)) },
		ValidateSkipReason: "azurite looks at the requests itself",
		Secrets:            []string{goodPhrase, wrongPhrase, "eyJ", "sig="},
		Unsupported: map[int]string{
			68: "azurite uses the machine's clock; the case \"time\" is about that",
			79: "there is nothing of azurite's elsewhere",
			83: "azurite has no roles",
		},
	}
}

// emulatorStore is the truth of a container of azurite.
type emulatorStore struct {
	t         testing.TB
	container *container.Client
}

// asOwner authorizes the requests of a store.
type asOwner struct{}

func (asOwner) Do(r *policy.Request) (*http.Response, error) {
	r.Raw().Header.Set("Authorization", "Bearer "+emulatorToken())
	return r.Next()
}

func newEmulatorStore(t testing.TB, e *emulator, name string) emulatorStore {
	t.Helper()
	c, err := container.NewClientWithNoCredential(e.url+"/"+name, &container.ClientOptions{ClientOptions: azcore.ClientOptions{
		Transport: e.client, PerRetryPolicies: []policy.Policy{asOwner{}},
	}})
	if err == nil {
		_, err = c.Create(t.Context(), nil)
	}
	if err != nil {
		t.Fatalf("creating a container in azurite: %v", err)
	}
	return emulatorStore{t, c}
}

// ctx returns a context that stays valid in cleanups, after the context of the test
// ends.
func (s emulatorStore) ctx() context.Context { return context.WithoutCancel(s.t.Context()) }

func (s emulatorStore) must(what string, err error) {
	s.t.Helper()
	if err != nil && !bloberror.HasCode(err, bloberror.BlobNotFound) {
		s.t.Fatalf("%s in azurite: %v", what, err)
	}
}

func (s emulatorStore) Keys() []string {
	var keys []string
	for pages := s.container.NewListBlobsFlatPager(nil); pages.More(); {
		page, err := pages.NextPage(s.ctx())
		s.must("listing", err)
		for _, b := range page.Segment.BlobItems {
			keys = append(keys, *b.Name)
		}
	}
	slices.Sort(keys)
	return keys
}

func (s emulatorStore) Content(key string) ([]byte, bool) {
	answer, err := s.container.NewBlobClient(key).DownloadStream(s.ctx(), nil)
	s.must("reading", err)
	if err != nil {
		return nil, false
	}
	defer func() { _ = answer.Body.Close() }()
	content, err := io.ReadAll(answer.Body)
	s.must("reading", err)
	return content, true
}

func (s emulatorStore) Put(key string, content []byte) {
	_, err := s.container.NewBlockBlobClient(key).Upload(s.ctx(), streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{})
	s.must("writing", err)
}

func (s emulatorStore) Remove(key string) {
	_, err := s.container.NewBlobClient(key).Delete(s.ctx(), nil)
	s.must("removing", err)
}

// Lock takes out a lease that does not end, or ends it.
func (s emulatorStore) Lock(key string, locked bool) {
	c, err := lease.NewBlobClient(s.container.NewBlobClient(key), nil)
	s.must("leasing", err)
	if locked {
		_, err = c.AcquireLease(s.ctx(), -1, nil)
	} else {
		_, err = c.BreakLease(s.ctx(), &lease.BlobBreakOptions{BreakPeriod: new(int32(0))})
	}
	s.must("leasing", err)
}

var _ objectstore.Store = emulatorStore{}

// emulatorTime signs with a slow clock: its signatures have already expired.
func emulatorTime(t *testing.T, e *emulator) {
	t.Helper()
	b := e.backend(t)
	opened, err := b.Open(t, objectstore.Options{})
	if err != nil {
		t.Fatal(err)
	}
	wanted := []cloud.ObjectRequest{{Method: http.MethodPut, Key: "new"}}
	b.Clock.Step(-30 * time.Minute)
	late, err := opened.SignRequests(t.Context(), wanted, 10*time.Minute)
	if err != nil {
		t.Fatalf("signing half an hour ago: %v", err)
	}
	good, err := opened.SignRequests(t.Context(), wanted, 50*time.Minute)
	if err != nil {
		t.Fatalf("signing for long: %v", err)
	}
	for i, one := range []cloud.SignedRequest{late[0], good[0]} {
		request, err := http.NewRequestWithContext(t.Context(), one.Method, one.URL, strings.NewReader("x"))
		if err != nil {
			t.Fatal("a signed request is none at all")
		}
		for name, value := range one.Header {
			request.Header.Set(name, value)
		}
		response, err := b.Send(request)
		if err != nil {
			t.Fatalf("sending: %v", err)
		}
		_ = response.Body.Close()
		if want := []int{http.StatusForbidden, http.StatusCreated}[i]; response.StatusCode != want {
			t.Errorf("request %d: status %d, want %d", i, response.StatusCode, want)
		}
	}
}

// emulatorSnapshots deletes a blob that has a snapshot, which would hold it.
func emulatorSnapshots(t *testing.T, e *emulator) {
	t.Helper()
	b := e.backend(t)
	opened, err := b.Open(t, objectstore.Options{})
	if err == nil {
		err = opened.PutObject(t.Context(), "a", []byte("x"))
	}
	if err != nil {
		t.Fatal(err)
	}
	store, ok := b.Store.(emulatorStore)
	if !ok {
		t.Fatalf("the store is a %T", b.Store)
	}
	if _, err := store.container.NewBlobClient("a").CreateSnapshot(t.Context(), nil); err != nil {
		t.Fatalf("creating a snapshot: %v", err)
	}
	if err := opened.DeleteObject(t.Context(), "a"); err != nil || len(store.Keys()) > 0 {
		t.Errorf("deleting what has a snapshot: %v, left %q", err, store.Keys())
	}
}

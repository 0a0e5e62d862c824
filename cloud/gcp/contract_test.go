package gcp

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/googleapi"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

func TestContract(t *testing.T) {
	t.Parallel()
	api, keys := discover(t), newKeys(t)
	cloudtest.Run(t, func(t testing.TB) *cloudtest.Backend {
		t.Helper()
		return newTestEnv(t, api, keys, gce.Options{}).backend()
	})
}

// discover reads Google's description of the Compute Engine API.
func discover(t testing.TB) *googleapi.API {
	t.Helper()
	api, err := googleapi.Load(t.Context(), "compute")
	if err != nil {
		t.Fatal(err)
	}
	return api
}

const (
	project = "shop-prod"
	email   = "hub@shop-prod.iam.gserviceaccount.com"
	// deletion is the service account that deletes, and writing the one that does not.
	deletion, writing = "deletion@shop-prod.iam.gserviceaccount.com", "writing@shop-prod.iam.gserviceaccount.com"
	provider          = "projects/4711/locations/global/workloadIdentityPools/fleet/providers/hub-oidc"
	region            = "europe-west1"
	zone              = "europe-west1-b"
	// ring is the path of the keys of a location.
	ring = "projects/" + project + "/locations/%s/keyRings/shop/cryptoKeys/%s"
	// elsewhere is the address of the token service in a key that was made before the server.
	elsewhere = "http://127.0.0.1:1/token"
)

// key is a key file, and its half that the server knows.
type key struct {
	file []byte
	add  func(*gce.Server)
}

// keys are made once: that takes longer than most cases.
type keys struct{ ours, others, wrong key }

func newKeys(t testing.TB) keys {
	t.Helper()
	return keys{
		ours:   newKey(t, email, project),
		others: newKey(t, "hub@shop-test.iam.gserviceaccount.com", "shop-test"),
		wrong:  newKey(t, email, project),
	}
}

func newKey(t testing.TB, email, project string) key {
	t.Helper()
	file, public, err := gce.NewKey(email, project, elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	return key{file, func(s *gce.Server) { s.AddServiceAccount(email, public, project) }}
}

// secret returns the data of an account's Secret for a server.
func (k key) secret(url string) map[string][]byte {
	return map[string][]byte{"serviceAccountKey": bytes.ReplaceAll(k.file, []byte(elsewhere), []byte(url+"/token"))}
}

// testEnv is a fake of Google's API with a client for it.
type testEnv struct {
	clock  *testclock.FakeClock
	cloud  *fake.Cloud
	server *gce.Server
	url    string
	script *faults.Script
	keys   keys
	api    *googleapi.API
}

func newTestEnv(t testing.TB, api *googleapi.API, k keys, options gce.Options) *testEnv {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	options.Clock = clock
	options.Keys = []string{kmsKey(region, "disks"), kmsKey("us-central1", "copies")}
	if options.Permissions == nil {
		options.Permissions = documented(t)
	}
	options.Roles = separate(t)
	fakeCloud := fake.NewCloud(clock)
	server := gce.New(fakeCloud, options)
	server.AddSubject("//iam.googleapis.com/"+provider, "hub-token")
	server.AddServiceAccount(deletion, nil, project)
	server.AddServiceAccount(writing, nil, project)
	k.ours.add(server)
	k.others.add(server)
	http := httptest.NewServer(server)
	t.Cleanup(http.Close)
	return &testEnv{clock: clock, cloud: fakeCloud, server: server, url: http.URL, script: &faults.Script{}, keys: k, api: api}
}

func kmsKey(location, name string) string { return fmt.Sprintf(ring, location, name) }

// documented returns the permissions that cloud/README.md tells to grant in the project.
func documented(t testing.TB) iam.Permissions {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	permissions, err := page.Google()
	if err != nil {
		t.Fatal(err)
	}
	return permissions
}

// separate returns the documented roles of a hub with two identities.
func separate(t testing.TB) map[string]iam.Permissions {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]iam.Permissions{}
	if out[writing], err = page.GoogleWriting(); err != nil {
		t.Fatal(err)
	}
	if out[deletion], err = page.GoogleDeletion(); err != nil {
		t.Fatal(err)
	}
	return out
}

// transport sends requests as the script wants it. What the server answers is compared
// with Google's description.
func (e *testEnv) transport(t testing.TB) http.RoundTripper {
	t.Helper()
	checked := identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		response, err := http.DefaultTransport.RoundTrip(r)
		if err != nil || response.StatusCode != http.StatusOK || !strings.HasPrefix(r.URL.Path, "/compute/") {
			return response, err
		}
		body, err := io.ReadAll(response.Body)
		_ = response.Body.Close()
		if err != nil {
			return nil, err
		}
		if err := e.api.Answer(r.Method, r.URL.EscapedPath(), body); err != nil {
			t.Errorf("%s %s: the fake's answer is not as Google describes it: %v\n%s", r.Method, r.URL.Path, err, body)
		}
		response.Body = io.NopCloser(bytes.NewReader(body))
		return response, nil
	})
	return &faults.Transport{Next: checked, Classify: classifyRequest, Script: e.script, Clock: e.clock}
}

// config returns the configuration of an account with the key of a service account.
func (e *testEnv) config(t testing.TB) cloud.Config {
	t.Helper()
	return cloud.Config{
		Account: "google", Region: region, Endpoint: e.url, Secret: e.keys.ours.secret(e.url),
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderGCP, GCP: &v1.GCPAccount{Project: project},
			Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
		},
		HTTP: &http.Client{Transport: e.transport(t)}, Clock: e.clock,
	}
}

func connect(t testing.TB, config cloud.Config) cloud.Session {
	t.Helper()
	session, err := cloud.WithDeletion(Connect)(t.Context(), config)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	return session
}

func (e *testEnv) disk(_ testing.TB, name string, sizeBytes int64) cloud.VolumeRef {
	return cloud.VolumeRef{Region: region, Zone: zone, Handle: e.server.CSIDisk(project, zone, name, sizeBytes)}
}

func (e *testEnv) backend() *cloudtest.Backend {
	regions := [2]string{region, "us-central1"}
	return &cloudtest.Backend{
		Provider: v1.ProviderGCP, Clock: e.clock, Cloud: e.cloud, Script: e.script,
		Regions: regions,
		Connect: func(t testing.TB, o cloudtest.Options) cloud.Session {
			t.Helper()
			config := e.config(t)
			config.Region = regions[o.Region]
			if o.Key != "" {
				config.Spec.GCP.Keys = map[string]v1.CryptoKey{regions[1]: v1.CryptoKey(o.Key)}
			}
			if o.Writing || o.Deletion {
				config.Spec.Credentials.Type, config.Secret = v1.CredentialsFederated, nil
				config.Spec.GCP.WorkloadIdentityProvider, config.Spec.GCP.ServiceAccount = provider, writing
				config.Token = func(context.Context, string) (string, error) { return "hub-token", nil }
			}
			if o.Deletion {
				config.Spec.Deletion = &v1.DeletionIdentity{ServiceAccount: deletion}
			}
			if o.OtherAccount {
				config.Spec.GCP = &v1.GCPAccount{Project: "shop-test"}
				config.Secret = e.keys.others.secret(e.url)
			}
			if o.BadCredentials {
				config.Secret = e.keys.wrong.secret(e.url)
			}
			if o.HTTP != nil {
				config.HTTP.Transport = o.HTTP(config.HTTP.Transport)
			}
			return connect(t, config)
		},
		Disk: e.disk,
		ForeignSnapshot: func(testing.TB) cloud.SnapshotRef {
			id := fmt.Sprintf("projects/%s/global/snapshots/by-hand-%d", project, e.cloud.Serial())
			e.cloud.AddSnapshot(fake.Snapshot{ID: id, Source: "projects/" + project + "/zones/" + zone + "/disks/x", SourceUID: "7", SizeBytes: 10 << 30, Locations: []string{"eu"}})
			return cloud.SnapshotRef{Region: region, ID: id}
		},
		Refusal: refusal,
		VolumeRate: func() (faults.Answer, time.Duration) {
			return refused(http.StatusForbidden, "resourceOperationRateExceeded", "Operation rate exceeded for resource 'd'. Too frequent operations from the source resource.", 0), 10 * time.Minute
		},
		UnknownState: func(_ testing.TB, ref cloud.SnapshotRef) faults.Answer {
			return faults.Answer{Status: http.StatusOK, Body: fmt.Sprintf(`{"name": %q, "status": "THINKING", "diskSizeGb": "20"}`, tail(ref.ID))}
		},
		Keys: &cloudtest.Keys{Disk: kmsKey(region, "disks"), Copy: kmsKey("us-central1", "copies"), Wrong: map[string]string{
			"of the other region": kmsKey(region, "disks"), "missing": kmsKey("us-central1", "missing"),
		}},
		PageSize: e.server.SetPageSize,
		Validate: func(call faults.Call) error { return e.api.Request(call.Request) },
		Refused:  e.server.Refused,
		Secrets:  []string{"PRIVATE KEY", "ya29.", "eyJ"},
		Unsupported: map[int]string{
			15: "snapshots of Google Cloud are global: see case 16",
			33: "snapshots of Google Cloud are not copied",
			46: "roles of Google Cloud do not depend on labels: see TestPermissions",
		},
	}
}

// classifyRequest returns the operation of the suite that a request belongs to.
func classifyRequest(r *http.Request, _ []byte) faults.Op {
	path, inProject := strings.CutPrefix(r.URL.Path, "/compute/v1/projects/")
	parts := strings.Split(path, "/")
	last := parts[len(parts)-1]
	switch {
	case !inProject:
		return faults.OpOther
	case len(parts) == 1:
		return faults.OpIdentity
	case last == "testIamPermissions" || strings.Contains(path, "/operations"):
		return faults.OpOther
	}
	collection, named := last, false
	if n := len(parts); n > 1 && (parts[n-2] == "snapshots" || parts[n-2] == "disks") {
		collection, named = parts[n-2], true
	}
	op, known := map[string]faults.Op{
		"GET snapshots true": faults.OpGetSnapshot, "GET snapshots false": faults.OpListSnapshots,
		"POST snapshots false": faults.OpCreateSnapshot, "DELETE snapshots true": faults.OpDeleteSnapshot,
		"GET disks true": faults.OpDescribeVolume,
	}[fmt.Sprintf("%s %s %t", r.Method, collection, named)]
	if !known {
		return faults.OpOther
	}
	return op
}

func refused(status int, reason, message string, after time.Duration) faults.Answer {
	answer := faults.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: gce.ErrorBody(status, reason, message)}
	if after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(after.Seconds())))
	}
	return answer
}

// refusal returns Google's response for an error of a class.
func refusal(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	permission := map[faults.Op]string{
		faults.OpDescribeVolume: "compute.disks.get", faults.OpCreateSnapshot: "compute.snapshots.create", faults.OpGetSnapshot: "compute.snapshots.get",
		faults.OpListSnapshots: "compute.snapshots.list", faults.OpDeleteSnapshot: "compute.snapshots.delete", faults.OpIdentity: "compute.projects.get",
	}[op]
	switch class {
	case cloud.ClassNotFound:
		return refused(http.StatusNotFound, "notFound", "The resource 'r' was not found", after)
	case cloud.ClassConflict:
		return refused(http.StatusConflict, "alreadyExists", "The resource 'r' already exists", after)
	case cloud.ClassThrottled:
		return refused(http.StatusForbidden, "rateLimitExceeded", "Quota exceeded for quota metric 'Queries' and limit 'Queries per minute'", after)
	case cloud.ClassQuota:
		return refused(http.StatusForbidden, "quotaExceeded", "Quota 'SNAPSHOTS' exceeded. Limit: 1000.0 globally.", after)
	case cloud.ClassDenied:
		return refused(http.StatusForbidden, "forbidden", "Required '"+permission+"' permission for 'projects/shop-prod/r'", after)
	case cloud.ClassAuthExpired:
		return refused(http.StatusUnauthorized, "authError", "Request had invalid authentication credentials.", after)
	case cloud.ClassInvalid:
		return refused(http.StatusBadRequest, "invalid", "Invalid value for field 'resource.name': ''.", after)
	case cloud.ClassInUse:
		return refused(http.StatusBadRequest, "resourceInUseByAnotherResource", "The resource 'r' is already being used by 's'", after)
	case cloud.ClassLocked:
		return refused(http.StatusPreconditionFailed, "conditionNotMet", "Operation denied by a policy on resource 'r'.", after)
	case cloud.ClassUnsupported:
		return refused(http.StatusNotImplemented, "notImplemented", "Not implemented.", after)
	default:
		return refused(http.StatusServiceUnavailable, "backendError", "Internal error. Please try again.", after)
	}
}

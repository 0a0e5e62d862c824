package azure

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const (
	hubGroup    = "shopfleet-hub"
	hubGroupEU  = "shopfleet-hub-eu"
	nodeGroup   = "MC_shop_eastus"
	keyGroup    = "shop-keys"
	goodPhrase  = "s3cr~et.VALUE"
	wrongPhrase = "wr0ng~VALUE"
	// deletionID is the application that deletes, and writingID the one that does not.
	deletionID, writingID = "44444440-0000-4000-8000-000000000000", "55555550-0000-4000-8000-000000000000"
	subject               = "system:serviceaccount:shopfleet-system:shopfleet-hub"
)

func accounts() []arm.Account {
	var out []arm.Account
	for i := range 2 {
		out = append(out, arm.Account{
			Subscription: fmt.Sprintf("1111111%d-0000-4000-8000-000000000000", i), Tenant: fmt.Sprintf("2222222%d-0000-4000-8000-000000000000", i),
			ClientID: fmt.Sprintf("3333333%d-0000-4000-8000-000000000000", i), ClientSecret: goodPhrase, Subject: subject,
			Groups: []string{hubGroup, hubGroupEU, nodeGroup, keyGroup},
			Sets:   map[string]string{strings.ToLower(set("us")): "eastus", strings.ToLower(set("eu")): "westeurope"},
		})
	}
	return out
}

// set returns the ID of a disk encryption set of the first account.
func set(name string) string {
	return "/subscriptions/11111110-0000-4000-8000-000000000000/resourceGroups/" + keyGroup + "/providers/Microsoft.Compute/diskEncryptionSets/" + name
}

// documented returns the roles that cloud/README.md tells to grant, by resource group.
func documented(t testing.TB) map[string]*iam.Role {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]*iam.Role{}
	for group, read := range map[string]func() (*iam.Role, error){hubGroup: page.Azure, hubGroupEU: page.Azure, nodeGroup: page.AzureDisks, keyGroup: page.AzureKeys} {
		if out[strings.ToLower(group)], err = read(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// separate returns the applications of a hub with two identities, with the documented roles.
func separate(t testing.TB) []arm.Application {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	out := []arm.Application{{ClientID: writingID, Roles: documented(t)}, {ClientID: deletionID, Roles: map[string]*iam.Role{nodeGroup: {}, keyGroup: {}}}}
	for _, group := range []string{hubGroup, hubGroupEU} {
		if out[0].Roles[group], err = page.AzureWriting(); err != nil {
			t.Fatal(err)
		}
		if out[1].Roles[group], err = page.AzureDeletion(); err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// testEnv is a fake of the service with a script in front of it.
type testEnv struct {
	clock  *testclock.FakeClock
	cloud  *fake.Cloud
	script *faults.Script
	server *arm.Server
	http   *httptest.Server
}

func newTestEnv(t testing.TB) *testEnv {
	t.Helper()
	return newTestEnvAs(t, documented(t))
}

// newTestEnvAs returns one in which the applications have these roles.
func newTestEnvAs(t testing.TB, roles map[string]*iam.Role) *testEnv {
	t.Helper()
	return newTestEnvAt(t, roles, time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
}

// newTestEnvAt returns one whose clock starts at a time. The SDK computes the expiry of tokens by the machine's clock.
func newTestEnvAt(t testing.TB, roles map[string]*iam.Role, began time.Time) *testEnv {
	t.Helper()
	known := accounts()
	for i := range known {
		known[i].Roles = roles
	}
	known[0].Others = separate(t)
	e := &testEnv{clock: testclock.NewFakeClock(began), script: &faults.Script{}}
	e.cloud = fake.NewCloud(e.clock)
	e.server = arm.New(e.cloud, arm.Options{Clock: e.clock, Accounts: known})
	e.http = httptest.NewServer(e.server)
	t.Cleanup(e.http.Close)
	return e
}

// become replaces the service by one of the same cloud with other roles.
func (e *testEnv) become(t testing.TB, roles map[string]*iam.Role) {
	t.Helper()
	as := newTestEnvAs(t, roles)
	known := accounts()
	for i := range known {
		known[i].Roles = roles
	}
	e.server = arm.New(e.cloud, arm.Options{Clock: e.clock, Accounts: known})
	as.http.Config.Handler = e.server
	e.http = as.http
}

// groups returns a resource group for each region: a copy in the other region has its
// source in another group.
func groups() map[string]v1.ResourceGroup {
	return map[string]v1.ResourceGroup{"eastus": hubGroup, "westeurope": hubGroupEU}
}

// config returns the configuration of the first account in East US, with its client
// secret.
func (e *testEnv) config() cloud.Config {
	account := accounts()[0]
	return cloud.Config{
		Account: "azure", Region: "eastus", Endpoint: e.http.URL,
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAzure, Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
			Azure: &v1.AzureAccount{SubscriptionID: account.Subscription, ResourceGroups: groups(), TenantID: account.Tenant, ClientID: account.ClientID},
		},
		Secret: map[string][]byte{"clientSecret": []byte(goodPhrase)},
		HTTP:   &http.Client{Transport: e.scripted()},
		Clock:  e.clock,
	}
}

// scripted sends requests through the script, but for those for the address of the token service.
func (e *testEnv) scripted() http.RoundTripper {
	next := e.http.Client().Transport
	script := &faults.Transport{Next: next, Classify: classify, Script: e.script, Clock: e.clock}
	return transport(func(r *http.Request) (*http.Response, error) {
		if strings.HasSuffix(r.URL.Path, "/.well-known/openid-configuration") {
			return next.RoundTrip(r)
		}
		return script.RoundTrip(r)
	})
}

func (e *testEnv) connect(t testing.TB, change func(*cloud.Config)) cloud.Session {
	t.Helper()
	config := e.config()
	if change != nil {
		change(&config)
	}
	session, err := cloud.WithDeletion(Connect)(t.Context(), config)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	return session
}

// disk adds a disk in the group of the member's nodes.
func (e *testEnv) disk(name string, sizeBytes int64) cloud.VolumeRef {
	v := e.server.AddDisk(arm.Disk{
		Subscription: accounts()[0].Subscription, Group: nodeGroup, Name: name, Region: "eastus", Zone: "eastus-1", SizeBytes: sizeBytes,
	})
	return cloud.VolumeRef{Region: "eastus", Zone: "1", Handle: v.ID}
}

// classify returns the suite's operation of a request.
func classify(r *http.Request, body []byte) faults.Op {
	path := strings.ToLower(r.URL.Path)
	_, rest, compute := strings.Cut(path, "/providers/microsoft.compute/")
	kind, name, _ := strings.Cut(rest, "/")
	switch {
	case !compute && strings.HasPrefix(path, "/subscriptions/") && (strings.HasSuffix(path, "/resourcegroups/"+hubGroup) || strings.HasSuffix(path, "/resourcegroups/"+hubGroupEU)):
		return faults.OpIdentity
	case kind == typeSnapshots && r.Method == http.MethodPut && strings.Contains(string(body), `"CopyStart"`):
		return faults.OpCopySnapshot
	case kind == typeSnapshots && r.Method == http.MethodPut:
		return faults.OpCreateSnapshot
	case kind == typeSnapshots && r.Method == http.MethodDelete:
		return faults.OpDeleteSnapshot
	case kind == typeSnapshots && name == "":
		return faults.OpListSnapshots
	case kind == typeSnapshots:
		return faults.OpGetSnapshot
	case kind == typeDisks:
		return faults.OpDescribeVolume
	}
	return faults.OpOther
}

func newBackend(t testing.TB) *cloudtest.Backend {
	t.Helper()
	e := newTestEnv(t)
	return &cloudtest.Backend{
		Provider: v1.ProviderAzure, Clock: e.clock, Cloud: e.cloud, Script: e.script,
		Regions: [2]string{"eastus", "westeurope"},
		Connect: func(t testing.TB, o cloudtest.Options) cloud.Session {
			t.Helper()
			return e.connect(t, func(c *cloud.Config) { configure(c, o) })
		},
		Disk: func(_ testing.TB, name string, sizeBytes int64) cloud.VolumeRef { return e.disk(name, sizeBytes) },
		ForeignSnapshot: func(testing.TB) cloud.SnapshotRef {
			id := fmt.Sprintf("/subscriptions/%s/resourceGroups/%s/providers/Microsoft.Compute/snapshots/by-hand-%d", accounts()[0].Subscription, hubGroup, e.cloud.Serial())
			e.cloud.AddSnapshot(fake.Snapshot{Account: accounts()[0].Subscription, Region: "eastus", ID: id, Tags: map[string]string{"made-by": "a person"}})
			return cloud.SnapshotRef{Region: "eastus", ID: id}
		},
		Refusal: refusalOf,
		VolumeRate: func() (faults.Answer, time.Duration) {
			// The limit is seven snapshots in five minutes; Retry-After is in the response.
			return answered(http.StatusTooManyRequests, "TooManyRequests", 4*time.Minute), 4 * time.Minute
		},
		UnknownState: func(t testing.TB, ref cloud.SnapshotRef) faults.Answer {
			t.Helper()
			return faults.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"application/json"}}, Body: `{"id":"` + ref.ID +
				`","location":"eastus","properties":{"provisioningState":"Levitating","creationData":{"createOption":"Copy"}}}`}
		},
		Keys:     &cloudtest.Keys{Disk: set("us"), Copy: set("eu"), Wrong: map[string]string{"of the other region": set("us"), "missing": set("gone")}},
		PageSize: e.server.SetPageSize,
		Validate: func(call faults.Call) error {
			// Requests are validated after the test, when its context is done.
			return validate(context.WithoutCancel(t.Context()), call)
		},
		Refused: e.server.Refused,
		Secrets: []string{goodPhrase, wrongPhrase, "eyJ"},
		Unsupported: map[int]string{
			16: "snapshots are copied, not stored by location",
			46: "roles of Azure do not depend on tags, but on resource groups: see TestPermissions",
		},
	}
}

func configure(c *cloud.Config, o cloudtest.Options) {
	if o.Key != "" {
		c.Spec.Azure.Keys = map[string]v1.DiskEncryptionSet{"westeurope": v1.DiskEncryptionSet(o.Key)}
	}
	if o.Region == 1 {
		c.Region = "westeurope"
	}
	if o.Writing || o.Deletion {
		c.Spec.Azure.ClientID = writingID
	}
	if o.Deletion {
		c.Spec.Deletion = &v1.DeletionIdentity{ClientID: deletionID}
	}
	if o.OtherAccount {
		other := accounts()[1]
		c.Spec.Azure = &v1.AzureAccount{SubscriptionID: other.Subscription, ResourceGroups: groups(), TenantID: other.Tenant, ClientID: other.ClientID}
	}
	if o.BadCredentials {
		c.Secret = map[string][]byte{"clientSecret": []byte(wrongPhrase)}
	}
	if o.HTTP != nil {
		client := *c.HTTP
		client.Transport = o.HTTP(client.Transport)
		c.HTTP = &client
	}
}

// refusalOf returns the service's response of a class.
func refusalOf(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	conflict := map[bool]string{false: "PropertyChangeNotAllowed", true: "OperationNotAllowed"}
	deletes := op == faults.OpDeleteSnapshot
	switch class {
	case cloud.ClassNotFound:
		return answered(http.StatusNotFound, "ResourceNotFound", after)
	case cloud.ClassConflict, cloud.ClassInUse:
		return answered(http.StatusConflict, conflict[deletes], after)
	case cloud.ClassThrottled:
		return answered(http.StatusTooManyRequests, "SubscriptionRequestsThrottled", after)
	case cloud.ClassQuota:
		return answered(http.StatusConflict, "OperationNotAllowed", after)
	case cloud.ClassDenied:
		return answered(http.StatusForbidden, "AuthorizationFailed", after)
	case cloud.ClassAuthExpired:
		return answered(http.StatusUnauthorized, "ExpiredAuthenticationToken", after)
	case cloud.ClassInvalid:
		return answered(http.StatusBadRequest, "InvalidParameter", after)
	case cloud.ClassLocked:
		return answered(http.StatusConflict, "ScopeLocked", after)
	default:
		return answered(http.StatusInternalServerError, "InternalServerError", after)
	}
}

func answered(status int, code string, after time.Duration) faults.Answer {
	a := faults.Answer{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: arm.ErrorBody(code, "the service says "+code)}
	if after > 0 {
		a.Header.Set("Retry-After", fmt.Sprint(int(after.Seconds())))
	}
	return a
}

package cloud_test

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/blob"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/cloud/fake/gcs"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
)

const (
	awsAccount   = "123456789012"
	gcpProject   = "shopfleet"
	gcpEmail     = "hub@shopfleet.iam.gserviceaccount.com"
	subscription = "00000000-0000-0000-0000-000000000000"
	tenant       = "11111111-0000-4000-8000-000000000000"
	application  = "22222222-0000-4000-8000-000000000000"
	hubGroup     = "shopfleet-hub"
	nodeGroup    = "MC_shopfleet"
	// bucketName is the same in all clouds, storageAccount is Azure's.
	bucketName, storageAccount = "dumps", "shopfleetdumps"
)

// provider represents a cloud: its fake, and the hub's settings for it.
type provider struct {
	name v1.Provider
	// member is the one whose database is backed up from, in region; other is the
	// region that copies go to.
	member, region, other string

	cloud *fake.Cloud
	// bucket holds the dumps in the account.
	bucket *bucket.Store
	script *faults.Script
	driver csi.Driver
	// in describes a region to the driver, and zones lists the zones of its nodes there.
	in    func(region string) driver.Cloud
	zones func(region string) []string

	// access is the CloudAccount's; wrong are keys that are refused there.
	access
	wrong map[string][]byte
	// poor is a way to the same cloud on which a permission is missing.
	poor       access
	permission string
	// identity holds the hub's identity as the provider reports it.
	identity string
	// restrict gives the hub's identity the documented permissions of a hub; they were all
	// that it needed if refused returns nothing.
	restrict func(t *testing.T, hub string)
	refused  func() []string
	// throttled is how the provider asks to wait.
	throttled faults.Answer
}

// access is the spec of a CloudAccount, and the Secret of the same name.
type access struct {
	spec   v1.CloudAccountSpec
	secret map[string][]byte
}

// secretNamed returns the credentials in the Secret of a name.
func secretNamed(name string) v1.CloudCredentials {
	return v1.CloudCredentials{Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: name}}
}

// serve lets the fake of a cloud answer on this machine.
func (p *provider) serve(t *testing.T, handler http.Handler, classify func(*http.Request, []byte) faults.Op) string {
	t.Helper()
	server := httptest.NewServer(&front{next: handler, classify: classify, script: p.script})
	t.Cleanup(server.Close)
	return server.URL
}

// optionsIn returns the driver of a member in a region.
func (p *provider) optionsIn(region string) driver.Options {
	return driver.Options{Driver: p.driver, Cloud: p.in(region), Zones: p.zones(region)}
}

// account returns the name of its CloudAccount and of the Secret.
func (p *provider) account() string { return string(p.name) }

func newAWS(t *testing.T) *provider {
	t.Helper()
	const id, key = "shopfleet-test", "not-a-secret"
	inMemory := fake.NewCloud(clock.RealClock{})
	newServer := func() *ec2.Server {
		return ec2.New(inMemory, ec2.Options{
			Clock: clock.RealClock{}, Keys: []ec2.Key{{ID: id, Secret: key, Account: awsAccount, Name: "shopfleet"}},
		})
	}
	rich, poor := newServer(), newServer()
	poor.Deny("DescribeSnapshots")
	dumps := bucket.NewStore(clock.RealClock{})
	bucketOf := s3.New(dumps, s3.Options{
		Clock: clock.RealClock{}, Bucket: bucketName, Region: "eu-west-1",
		Keys: []s3.Key{{ID: id, Secret: key, Policy: granted(t, func(d *iam.Documents) (*iam.Policy, error) { return d.AWSBucket(bucketName, "shops") })}},
	})
	p := &provider{
		name: v1.ProviderAWS, member: "aws-eu", region: "eu-west-1", other: "us-east-1", cloud: inMemory, script: &faults.Script{},
		bucket: dumps, driver: csi.EBS(inMemory, rich, awsAccount),
		in:       func(region string) driver.Cloud { return driver.EBS{Account: awsAccount, Region: region} },
		zones:    func(region string) []string { return []string{region + "a", region + "b", region + "c"} },
		wrong:    map[string][]byte{"accessKeyID": []byte(id), "secretAccessKey": []byte("wrong/" + key)},
		identity: "arn:aws:iam::" + awsAccount + ":user/shopfleet", permission: "ec2:DescribeSnapshots",
		restrict: func(t *testing.T, hub string) {
			t.Helper()
			rich.SetPolicy(id, granted(t, func(d *iam.Documents) (*iam.Policy, error) { return d.AWS(hub) }))
		},
		refused:   func() []string { return append(rich.Refused(), bucketOf.Refused()...) },
		throttled: faults.Answer{Status: http.StatusServiceUnavailable, Body: ec2.ErrorBody("RequestLimitExceeded", "Request limit exceeded.")},
	}
	open := func(server *ec2.Server) access {
		return access{
			spec: v1.CloudAccountSpec{
				Provider: p.name, AWS: &v1.AWSAccount{AccountID: awsAccount}, Endpoint: p.serve(t, server, classifyEC2),
			},
			secret: map[string][]byte{"accessKeyID": []byte(id), "secretAccessKey": []byte(key)},
		}
	}
	p.access, p.poor = open(rich), open(poor)
	p.spec.ObjectStorage = &v1.ObjectStorage{
		Bucket: bucketName, Prefix: "shops", Region: p.region,
		Endpoint: p.serve(t, bucketOf, classifyObjects),
	}
	return p
}

func newGCP(t *testing.T) *provider {
	t.Helper()
	inMemory := fake.NewCloud(clock.RealClock{})
	newServer := func() *gce.Server {
		return gce.New(inMemory, gce.Options{Clock: clock.RealClock{}, Regions: map[string][]string{
			"europe-west1": {"europe-west1-a", "europe-west1-b", "europe-west1-c"},
			"us-central1":  {"us-central1-a", "us-central1-b", "us-central1-c"},
		}, Permissions: granted(t, (*iam.Documents).Google)})
	}
	rich, poor := newServer(), newServer()
	p := &provider{
		name: v1.ProviderGCP, member: "gcp-eu", region: "europe-west1", other: "us-central1", cloud: inMemory, script: &faults.Script{},
		bucket: bucket.NewStore(clock.RealClock{}), driver: csi.PD(inMemory, rich, gcpProject), identity: gcpEmail, permission: "compute.snapshots.create",
		in:    func(region string) driver.Cloud { return driver.PD{Project: gcpProject, Region: region} },
		zones: func(region string) []string { return []string{region + "-a", region + "-b", region + "-c"} },
		throttled: faults.Answer{
			Status: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
			Body: gce.ErrorBody(http.StatusTooManyRequests, "rateLimitExceeded", "Rate Limit Exceeded"),
		},
	}
	poor.Forbid(p.permission)
	dumps := gcs.New(p.bucket, gcs.Options{
		Clock: clock.RealClock{}, Bucket: bucketName, Tokens: rich, Permissions: granted(t, (*iam.Documents).GoogleBucket),
	})
	p.refused = func() []string { return append(rich.Refused(), dumps.Refused()...) }
	keyFile := func(url string, known *gce.Server) map[string][]byte {
		file, public, err := gce.NewKey(gcpEmail, gcpProject, url+"/token")
		if err != nil {
			t.Fatal(err)
		}
		if known != nil {
			known.AddServiceAccount(gcpEmail, public, gcpProject)
		}
		return map[string][]byte{"serviceAccountKey": file}
	}
	open := func(server *gce.Server) access {
		url := p.serve(t, server, classifyREST)
		return access{
			spec:   v1.CloudAccountSpec{Provider: p.name, GCP: &v1.GCPAccount{Project: gcpProject}, Endpoint: url},
			secret: keyFile(url, server),
		}
	}
	p.access, p.poor = open(rich), open(poor)
	p.wrong = keyFile(p.spec.Endpoint, nil)
	p.spec.ObjectStorage = &v1.ObjectStorage{
		Bucket: bucketName, Prefix: "shops",
		Endpoint: p.serve(t, dumps, classifyObjects),
	}
	return p
}

func newAzure(t *testing.T) *provider {
	t.Helper()
	const phrase = "s3cr~et.VALUE"
	inMemory := fake.NewCloud(clock.RealClock{})
	newServer := func() *arm.Server {
		return arm.New(inMemory, arm.Options{Clock: clock.RealClock{}, Accounts: []arm.Account{{
			Subscription: subscription, Tenant: tenant, ClientID: application, ClientSecret: phrase, Groups: []string{hubGroup, nodeGroup},
			Roles: map[string]*iam.Role{
				hubGroup: granted(t, (*iam.Documents).Azure), strings.ToLower(nodeGroup): granted(t, (*iam.Documents).AzureDisks),
			},
		}}})
	}
	rich, poor := newServer(), newServer()
	p := &provider{
		name: v1.ProviderAzure, member: "az-eu", region: "westeurope", other: "northeurope", cloud: inMemory, script: &faults.Script{},
		bucket: bucket.NewStore(clock.RealClock{}),
		driver: csi.AzureDisk(inMemory, rich, arm.Disk{Subscription: subscription, Group: nodeGroup, Region: "westeurope"}),
		in: func(region string) driver.Cloud {
			return driver.AzureDisk{Subscription: subscription, Group: nodeGroup, Region: region, Readable: []string{hubGroup}}
		},
		zones: func(region string) []string { return []string{region + "-1", region + "-2", region + "-3"} },
		wrong: map[string][]byte{"clientSecret": []byte("wr0ng~VALUE")}, identity: application, permission: "Microsoft.Compute/snapshots/write",
		throttled: faults.Answer{
			Status: http.StatusTooManyRequests, Header: http.Header{"Content-Type": {"application/json"}, "Retry-After": {"1"}},
			Body: `{"error":{"code":"SubscriptionRequestsThrottled","message":"Please try again later."}}`,
		},
	}
	poor.Deny(subscription, p.permission)
	blobs := blob.New(blob.Options{Clock: clock.RealClock{}, Role: granted(t, (*iam.Documents).AzureBucket), Accounts: []blob.Account{{
		Name: storageAccount, Tenant: tenant, ClientID: application, ClientSecret: phrase,
		Containers: map[string]*bucket.Store{bucketName: p.bucket},
	}}})
	p.refused = func() []string { return append(rich.Refused(), blobs.Refused()...) }
	open := func(server http.Handler) access {
		return access{
			spec: v1.CloudAccountSpec{Provider: p.name, Endpoint: p.serve(t, server, classifyREST), Azure: &v1.AzureAccount{
				SubscriptionID: subscription, ResourceGroups: map[string]v1.ResourceGroup{"eastus": hubGroup}, TenantID: tenant, ClientID: application,
			}},
			secret: map[string][]byte{"clientSecret": []byte(phrase)},
		}
	}
	p.access, p.poor = open(signingIn{rich, blobs}), open(poor)
	p.spec.ObjectStorage = &v1.ObjectStorage{
		Bucket: bucketName, Prefix: "shops", StorageAccount: storageAccount,
		Endpoint: p.serve(t, blobs, classifyObjects) + "/" + storageAccount,
	}
	return p
}

// signingIn sends requests for storage tokens to the fake of the blobs, and all other
// requests to that of the disks. In Azure, one service issues both kinds of tokens.
type signingIn struct{ disks, blobs http.Handler }

func (s signingIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if strings.HasSuffix(r.URL.Path, "/oauth2/v2.0/token") && bytes.Contains(body, []byte("storage.azure.com")) {
		r.URL.Path = "/" + storageAccount + r.URL.Path
		s.blobs.ServeHTTP(w, r)
		return
	}
	s.disks.ServeHTTP(w, r)
}

// truth returns the snapshots in the cloud that a Backup made, copies included.
func (p *provider) truth(backup string) []fake.Snapshot {
	var found []fake.Snapshot
	for _, s := range p.cloud.Snapshots() {
		if tagOf(s, "shopfleet-backup") == backup {
			found = append(found, s)
		}
	}
	return found
}

// tagOf returns a tag of a snapshot, which Google's has in its description.
func tagOf(s fake.Snapshot, key string) string {
	if value, ok := s.Tags[key]; ok {
		return value
	}
	_, rest, _ := strings.Cut(s.Description, `"`+key+`":"`)
	value, _, _ := strings.Cut(rest, `"`)
	return value
}

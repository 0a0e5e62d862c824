package crashpoints_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi"
	"github.com/shopfleet/shopfleet/e2e/fleet/csi/driver"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/crash"
)

const (
	accountName = "aws"
	accountID   = "123456789012"
	// copyRegion is the region that snapshots are copied to.
	copyRegion = "us-east-1"
)

// account is an account in a fake of EC2, where a snapshot that is requested twice is made twice.
type account struct {
	cloud  *fake.Cloud
	server *ec2.Server
	spec   v1.CloudAccountSpec
	secret map[string][]byte
}

func newAccount(t *testing.T) *account {
	t.Helper()
	const id, key = "shopfleet-test", "not-a-secret"
	inMemory := fake.NewCloud(clock.RealClock{})
	inMemory.SetPace(fake.Pace{})
	server := ec2.New(inMemory, ec2.Options{
		Clock: clock.RealClock{}, Keys: []ec2.Key{{ID: id, Secret: key, Account: accountID, Name: "shopfleet"}},
	})
	front := httptest.NewServer(server)
	t.Cleanup(front.Close)
	return &account{
		cloud: inMemory, server: server,
		spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: accountID}, Endpoint: front.URL,
			Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: accountName}},
		},
		secret: map[string][]byte{"accessKeyID": []byte(id), "secretAccessKey": []byte(key)},
	}
}

// playDriver lets the storage driver of the account work in a cluster until the test ends.
func (s *suite) playDriver(t *testing.T, c *fleet.Cluster) {
	t.Helper()
	playing, err := driver.Play(t.Context(), driver.Of(c), driver.Options{
		Driver: csi.EBS(s.aws.cloud, s.aws.server, accountID), Cloud: driver.EBS{Account: accountID, Region: eu}, Zones: c.Spec().Zones,
	}, os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	s.Run("the driver in "+c.Name(), playing.Run)
}

// useAccount makes the account that of the member euMember.
func (s *suite) useAccount(t *testing.T) {
	t.Helper()
	s.Create(t, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: accountName, Labels: map[string]string{v1.CloudAccountLabel: "true"}},
		Data:       s.aws.secret,
	})
	account := &v1.CloudAccount{ObjectMeta: metav1.ObjectMeta{Name: accountName}, Spec: s.aws.spec}
	s.Create(t, account)
	framework.AwaitCondition(t, s.Hub, account, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue})
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: euMember}}
	framework.Edit(t, s.Hub, member, func(m *v1.MemberCluster) {
		m.Spec.CloudAccountRef = &v1.ObjectReference{Name: accountName}
	})
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionStorageReady, Status: metav1.ConditionTrue})
}

// made is an object that the hub made in the cloud.
type made struct {
	kind, region string
	// content are the tags.
	content map[string]any
}

func (m made) String() string { return accountName + " " + m.kind + " in " + m.region }

// of returns what the hub made in the cloud for the applications of a namespace.
func (a *account) of(namespace string) []made {
	var found []made
	for _, s := range a.cloud.Snapshots() {
		if s.Tags[cloud.TagNamespace] == namespace {
			found = append(found, made{kind: "snapshot", region: s.Region, content: anyMap(s.Tags)})
		}
	}
	return found
}

func anyMap(tags map[string]string) map[string]any {
	out := map[string]any{}
	for key, value := range tags {
		out[key] = value
	}
	return out
}

// connect returns the constructor of sessions of a process, whose requests end with it.
func connect(p *crash.Process) cloud.Connect {
	return func(ctx context.Context, c cloud.Config) (cloud.Session, error) {
		wrapped := *c.HTTP
		wrapped.Transport = p.Wrap(c.HTTP.Transport, parseEC2)
		c.HTTP = &wrapped
		return aws.Connect(ctx, c)
	}
}

// actions returns the requests to EC2 that change something, as a verb and a resource.
func actions() map[string]crash.Request {
	return map[string]crash.Request{
		"CreateSnapshot": {Verb: "create", Resource: "snapshots"},
		"CopySnapshot":   {Verb: "copy", Resource: "snapshots"},
		"DeleteSnapshot": {Verb: "delete", Resource: "snapshots"},
	}
}

// parseEC2 returns the write that a request to EC2 asks for. Its body has the tags, among them
// the namespace of the application.
func parseEC2(request *http.Request) (crash.Request, bool) {
	if request.Body == nil {
		return crash.Request{}, false
	}
	body, err := io.ReadAll(request.Body)
	_ = request.Body.Close()
	request.Body = io.NopCloser(bytes.NewReader(body))
	if err != nil {
		return crash.Request{}, false
	}
	form, err := url.ParseQuery(string(body))
	w, ok := actions()[form.Get("Action")]
	if err != nil || !ok || form.Get("DryRun") == "true" {
		return crash.Request{}, false
	}
	w.Cluster, w.Body = accountName, body
	return w, true
}

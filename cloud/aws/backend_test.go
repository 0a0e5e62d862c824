package aws_test

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const (
	account, otherAccount = "123456789012", "210987654321"
	here, there           = "eu-central-1", "eu-west-1"
	endpoint              = "https://ec2.test.example"
	keyID, key            = "AKIDEXAMPLE", "ours/with+signs"
	otherKeyID, otherKey  = "AKIDOTHER", "theirs/with+signs"
	// theirKeyID is the access key of another hub in the first account.
	theirKeyID, theirKey = "AKIDTHEIRS", "another/with+signs"
	// writingKeyID is the access key of the hub's identity that does not delete, deletionRole the role that does.
	writingKeyID, writingKey = "AKIDWRITING", "writing/with+signs"
	deletionRole             = "arn:aws:iam::" + account + ":role/deletion"
	allKeys                  = "arn:aws:kms:*:" + account + ":key/*"
	keyHere, keyThere        = "arn:aws:kms:" + here + ":" + account + ":key/7", "arn:aws:kms:" + there + ":" + account + ":key/7"
	gib                      = int64(1) << 30
)

// testEnv is a fake EC2 with a client for it.
type testEnv struct {
	clock  *testclock.FakeClock
	cloud  *fake.Cloud
	server *ec2.Server
	script *faults.Script
}

// documented returns the policies that cloud/README.md prints, for a hub and, unless it is
// empty, for customer managed keys.
func documented(t testing.TB, hub, keys string) *iam.Policy {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := page.AWS(hub)
	if err != nil {
		t.Fatal(err)
	}
	if keys == "" {
		return policy
	}
	ofKeys, err := page.AWSKey(keys)
	if err != nil {
		t.Fatal(err)
	}
	return iam.Join(policy, ofKeys)
}

// separate returns the documented policies of a hub with two identities: of that which does not delete, and of the other.
func separate(t testing.TB) (writing, deletion *iam.Policy) {
	t.Helper()
	page, err := iam.Read("../README.md")
	if err != nil {
		t.Fatal(err)
	}
	if writing, err = page.AWSWriting(cloudtest.HubUID); err != nil {
		t.Fatal(err)
	}
	if deletion, err = page.AWSDeletion(cloudtest.HubUID); err != nil {
		t.Fatal(err)
	}
	return writing, deletion
}

func newTestEnv(t testing.TB, roles ...ec2.Role) *testEnv {
	t.Helper()
	return newTestEnvAt(t, time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC), roles...)
}

// newTestEnvAt returns one whose clock starts at a time. The SDK keeps temporary credentials by the machine's clock.
func newTestEnvAt(t testing.TB, began time.Time, roles ...ec2.Role) *testEnv {
	t.Helper()
	ours := documented(t, cloudtest.HubUID, allKeys)
	for i := range roles {
		roles[i].Policy = ours
	}
	writing, deletion := separate(t)
	roles = append(roles, ec2.Role{ARN: deletionRole, Policy: deletion})
	clock := testclock.NewFakeClock(began)
	fakeCloud := fake.NewCloud(clock)
	return &testEnv{clock: clock, cloud: fakeCloud, script: &faults.Script{}, server: ec2.New(fakeCloud, ec2.Options{
		Clock: clock, Roles: roles, KMSKeys: []string{keyHere, keyThere, "arn:aws:kms:" + here + ":" + account + ":key/backups", "arn:aws:kms:" + there + ":" + account + ":key/elsewhere"},
		Keys: []ec2.Key{
			{ID: keyID, Secret: key, Account: account, Name: "shopfleet", Policy: ours},
			{ID: otherKeyID, Secret: otherKey, Account: otherAccount, Name: "other", Policy: ours},
			{ID: writingKeyID, Secret: writingKey, Account: account, Name: "writing", Policy: writing},
			{ID: theirKeyID, Secret: theirKey, Account: account, Name: "theirs", Policy: documented(t, cloudtest.OtherHubUID, allKeys)},
		},
	})}
}

func (e *testEnv) transport() http.RoundTripper {
	return &faults.Transport{Next: faults.InProcess(e.server), Classify: classify, Script: e.script, Clock: e.clock}
}

// config returns the configuration of a session with the keys of the first account.
func (e *testEnv) config() cloud.Config {
	return cloud.Config{
		Account: "shop", Region: here, Endpoint: endpoint, HTTP: &http.Client{Transport: e.transport()}, Clock: e.clock,
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: account},
			Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
		},
		Secret: map[string][]byte{"accessKeyID": []byte(keyID), "secretAccessKey": []byte(key)},
	}
}

func connect(t testing.TB, config cloud.Config) cloud.Session {
	t.Helper()
	session, err := cloud.WithDeletion(aws.Connect)(t.Context(), config)
	if err != nil {
		t.Fatalf("connecting: %v", err)
	}
	return session
}

func (e *testEnv) session(t testing.TB, o cloudtest.Options) cloud.Session {
	t.Helper()
	config := e.config()
	config.Region = []string{here, there}[o.Region]
	if o.Key != "" {
		config.Spec.AWS.Keys = map[string]v1.KMSKey{there: v1.KMSKey(o.Key)}
	}
	if o.OtherAccount {
		config.Spec.AWS.AccountID = otherAccount
		config.Secret = map[string][]byte{"accessKeyID": []byte(otherKeyID), "secretAccessKey": []byte(otherKey)}
	}
	if o.Writing || o.Deletion {
		config.Secret = map[string][]byte{"accessKeyID": []byte(writingKeyID), "secretAccessKey": []byte(writingKey)}
	}
	if o.Deletion {
		config.Spec.Deletion = &v1.DeletionIdentity{RoleARN: deletionRole}
	}
	if o.OtherHub {
		config.Secret = map[string][]byte{"accessKeyID": []byte(theirKeyID), "secretAccessKey": []byte(theirKey)}
	}
	if o.BadCredentials {
		config.Secret["secretAccessKey"] = []byte("wrong/" + key)
	}
	if o.HTTP != nil {
		config.HTTP.Transport = o.HTTP(config.HTTP.Transport)
	}
	return connect(t, config)
}

// disks makes volumes as the CSI driver does, and anew when a name is there already.
func (e *testEnv) disks() func(testing.TB, string, int64) cloud.VolumeRef {
	ids := map[string]string{}
	return func(_ testing.TB, name string, size int64) cloud.VolumeRef {
		e.cloud.RemoveVolume(ids[name])
		made := e.server.Provision(ec2.Disk{Account: account, Zone: here + "a", Name: name, SizeBytes: size})
		ids[name] = made.ID
		return cloud.VolumeRef{Region: here, Zone: made.Zone, Handle: made.ID}
	}
}

// clone adds a snapshot like another.
func (e *testEnv) clone(t testing.TB, id string) cloud.SnapshotRef {
	t.Helper()
	for _, s := range e.cloud.Snapshots() {
		if s.ID == id {
			s.ID = fmt.Sprintf("snap-1%016x", e.cloud.Serial())
			e.cloud.AddSnapshot(s)
			return cloud.SnapshotRef{Region: s.Region, ID: s.ID}
		}
	}
	t.Fatalf("there is no snapshot %q", id)
	return cloud.SnapshotRef{}
}

func (e *testEnv) foreignSnapshot(testing.TB) cloud.SnapshotRef {
	made := e.cloud.AddSnapshot(fake.Snapshot{
		Account: account, Region: here, ID: fmt.Sprintf("snap-2%016x", e.cloud.Serial()), Source: "vol-0123456789abcdef0",
		SizeBytes: gib, Tags: map[string]string{"Name": "by hand"},
	})
	return cloud.SnapshotRef{Region: here, ID: made.ID}
}

func (e *testEnv) backend(m *model) *cloudtest.Backend {
	b := &cloudtest.Backend{
		Provider: v1.ProviderAWS, Clock: e.clock, Cloud: e.cloud, Script: e.script,
		Regions: [2]string{here, there},
		Connect: e.session, Disk: e.disks(), ForeignSnapshot: e.foreignSnapshot, Refusal: refuse, VolumeRate: volumeRate,
		UnknownState: unknownState, Double: e.clone, PageSize: e.server.SetPageSize,
		Keys:               &cloudtest.Keys{Disk: keyHere, Copy: keyThere, Wrong: map[string]string{"of the other region": keyHere, "missing": "alias/missing"}},
		Refused:            e.server.Refused,
		Secrets:            []string{key, otherKey, theirKey, keyID, otherKeyID, theirKeyID, writingKey, writingKeyID, "X-Amz-Signature", "Signature="},
		ValidateSkipReason: noOracle,
		Unsupported:        map[int]string{16: "EBS snapshots live in one region: they are copied (case 15)"},
	}
	if m != nil {
		b.Validate = func(call faults.Call) error { return m.request(call.Request) }
	}
	return b
}

// classify returns the operation of a request. A search by name counts as a get, as
// with providers whose names are unique.
func classify(_ *http.Request, body []byte) faults.Op {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("DryRun") == "true" {
		return faults.OpOther
	}
	switch action := form.Get("Action"); action {
	case "DescribeSnapshots":
		if form.Has("SnapshotId.1") || form.Get("Filter.1.Name") == "tag:"+cloud.TagName {
			return faults.OpGetSnapshot
		}
		return faults.OpListSnapshots
	case "DescribeVolumes":
		return faults.OpDescribeVolume
	case "GetCallerIdentity":
		return faults.OpIdentity
	case "CreateSnapshot", "CopySnapshot", "DeleteSnapshot":
		return faults.Op(action)
	default:
		return faults.OpOther
	}
}

// refuse returns the response of EC2, or of STS for an identity, for an error of a
// class.
func refuse(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	status, code, message := http.StatusBadRequest, "InvalidParameterValue", "Value () for parameter is invalid."
	switch class {
	case cloud.ClassNotFound:
		code = "InvalidSnapshot.NotFound"
		if op == faults.OpDescribeVolume || op == faults.OpCreateSnapshot {
			code = "InvalidVolume.NotFound"
		}
	case cloud.ClassThrottled:
		status, code, message = http.StatusServiceUnavailable, "RequestLimitExceeded", "Request limit exceeded."
	case cloud.ClassTransient, cloud.ClassAmbiguous:
		status, code, message = http.StatusInternalServerError, "InternalError", "An internal error has occurred"
	case cloud.ClassQuota:
		code, message = "SnapshotLimitExceeded", "Maximum number of snapshots (100000) exceeded"
	case cloud.ClassDenied:
		status, code = http.StatusForbidden, "UnauthorizedOperation"
		message = fmt.Sprintf("You are not authorized to perform this operation. User: arn:aws:iam::%s:user/shopfleet is not authorized "+
			"to perform: ec2:%s. Encoded authorization failure message: c2VjcmV0", account, op)
	case cloud.ClassAuthExpired:
		code, message = "RequestExpired", "Request has expired."
	case cloud.ClassInUse:
		code, message = "InvalidSnapshot.InUse", "The snapshot is currently in use by ami-12345678"
	case cloud.ClassLocked:
		code, message = "OperationNotPermitted", "The snapshot is locked."
	case cloud.ClassUnsupported:
		code = "UnsupportedOperation"
	default:
	}
	answer := faults.Answer{Status: status, Header: http.Header{"Content-Type": {"text/xml;charset=UTF-8"}}, Body: ec2.ErrorBody(code, message)}
	if op == faults.OpIdentity {
		answer.Body = ec2.STSErrorBody(code, message)
	}
	if after > 0 {
		answer.Header.Set("Retry-After", strconv.Itoa(int(after/time.Second)))
	}
	return answer
}

func volumeRate() (faults.Answer, time.Duration) {
	return faults.Answer{
		Status: http.StatusBadRequest, Header: http.Header{"Content-Type": {"text/xml;charset=UTF-8"}},
		Body: ec2.ErrorBody("SnapshotCreationPerVolumeRateExceeded", "The maximum per volume CreateSnapshot request rate has been exceeded."),
	}, 15 * time.Second
}

// unknownState returns a response with a snapshot in a state that EC2 does not have
// yet.
func unknownState(t testing.TB, ref cloud.SnapshotRef) faults.Answer {
	t.Helper()
	var id bytes.Buffer
	if err := xml.EscapeText(&id, []byte(ref.ID)); err != nil {
		t.Fatal(err)
	}
	body := strings.ReplaceAll(`<DescribeSnapshotsResponse xmlns="http://ec2.amazonaws.com/doc/2016-11-15/"><requestId>r</requestId>
<snapshotSet><item><snapshotId>ID</snapshotId><volumeId>vol-0123456789abcdef0</volumeId><status>hibernating</status>
<startTime>2026-03-01T02:00:00.000Z</startTime><progress>maybe</progress><volumeSize>20</volumeSize></item></snapshotSet>
</DescribeSnapshotsResponse>`, "ID", id.String())
	return faults.Answer{Status: http.StatusOK, Header: http.Header{"Content-Type": {"text/xml;charset=UTF-8"}}, Body: body}
}

package aws_test

import (
	"bufio"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/ec2"
	"github.com/aws/aws-sdk-go-v2/service/ec2/types"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// TestMoto runs the contract against moto, an independent EC2, as far as moto supports
// it.
func TestMoto(t *testing.T) {
	if os.Getenv("CLOUD_SEEDS") == "" {
		t.Setenv("CLOUD_SEEDS", "1") // A schedule takes seconds here.
	}
	if _, err := exec.LookPath("moto_server"); err != nil {
		t.Skip("moto is not there: pip install 'moto[server]'")
	}
	url, m := startMoto(t), loadModel(t)
	var accounts atomic.Int64
	cloudtest.Run(t, func(t testing.TB) *cloudtest.Backend {
		t.Helper()
		n := accounts.Add(2)
		b := newMoto(t, url, n).backend(n)
		if m != nil {
			b.Validate = func(call faults.Call) error { return m.request(call.Request) }
		}
		return b
	})
}

// startMoto runs a server of moto until the test ends, and returns where it is.
func startMoto(t *testing.T) string {
	t.Helper()
	server := exec.CommandContext(t.Context(), "moto_server", "-H", "127.0.0.1", "-p", "0")
	output, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatalf("starting moto: %v", err)
	}
	lines, said := bufio.NewScanner(output), ""
	where := regexp.MustCompile(`Running on (http://127\.0\.0\.1:[0-9]+)`)
	url := ""
	for url == "" && lines.Scan() {
		said += lines.Text() + "\n"
		if found := where.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, output) // It logs each request, and blocks when its output is not read.
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // The test's context may have done so.
		<-drained
		_ = server.Wait()
	})
	if url == "" {
		t.Fatalf("moto does not say where it listens:\n%s", said)
	}
	return url
}

// moto is an account of moto, seen by its owner.
type moto struct {
	testing.TB
	url, account string
	clients      [2]*ec2.Client
	// began is moto's time at the start; the clock of the test starts with it.
	began time.Time
}

// role returns the ARN of a role in an account; moto separates accounts by role.
func role(account string) string { return "arn:aws:iam::" + account + ":role/shopfleet" }

func numbered(n int64) string { return fmt.Sprintf("%012d", 100_000_000_000+n) }

func newMoto(t testing.TB, url string, n int64) *moto {
	t.Helper()
	m := &moto{TB: t, url: url, account: numbered(n)}
	client := sts.New(sts.Options{Region: here, BaseEndpoint: &url, Credentials: credentials.NewStaticCredentialsProvider(keyID, key, "")})
	out, err := client.AssumeRole(t.Context(), &sts.AssumeRoleInput{RoleArn: sdk.String(role(m.account)), RoleSessionName: sdk.String("test")})
	if err != nil {
		t.Fatalf("taking a role in moto: %v", err)
	}
	m.began, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
	own := credentials.NewStaticCredentialsProvider(*out.Credentials.AccessKeyId, *out.Credentials.SecretAccessKey, *out.Credentials.SessionToken)
	for i, region := range []string{here, there} {
		m.clients[i] = ec2.New(ec2.Options{Region: region, BaseEndpoint: &url, Credentials: own})
	}
	return m
}

func (m *moto) backend(n int64) *cloudtest.Backend {
	clock := testclock.NewFakeClock(m.began)
	script := &faults.Script{}
	return &cloudtest.Backend{
		Provider: v1.ProviderAWS, Clock: clock, Script: script, Store: m,
		Regions: [2]string{here, there},
		Connect: func(t testing.TB, o cloudtest.Options) cloud.Session {
			t.Helper()
			var next http.RoundTripper = &faults.Transport{Next: http.DefaultTransport, Classify: classify, Script: script, Clock: clock}
			if o.HTTP != nil {
				next = o.HTTP(next)
			}
			owner := numbered(n)
			if o.OtherAccount {
				owner = numbered(n + 1)
			}
			return connect(t, cloud.Config{
				Account: "shop", Region: []string{here, there}[o.Region], Endpoint: m.url, HTTP: &http.Client{Transport: next}, Clock: clock,
				Spec: v1.CloudAccountSpec{
					Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: owner, RoleARN: role(owner)},
					Credentials: v1.CloudCredentials{Type: v1.CredentialsSecret},
				},
				Secret: map[string][]byte{"accessKeyID": []byte(keyID), "secretAccessKey": []byte(key)},
			})
		},
		Disk: m.disks(), ForeignSnapshot: m.foreignSnapshot, Refusal: refuse, VolumeRate: volumeRate, UnknownState: unknownState,
		Secrets: []string{key, keyID}, ValidateSkipReason: noOracle,
		Unsupported: beyondMoto(),
	}
}

// beyondMoto returns the cases that moto cannot run, or passes for another reason than
// its own behavior, with the reason.
func beyondMoto() map[int]string {
	out := map[int]string{
		14: "moto knows no locks, and uses of a snapshot only by images",
		16: "EBS snapshots live in one region: they are copied (case 15)",
		29: "moto takes all credentials",
		31: "in moto all snapshots are complete at once",
		32: "in moto no snapshot fails",
		33: "in moto all copies are complete at once",
		46: "moto evaluates no conditions on tags",
		47: "moto does not encrypt copies with the key of the request",
		48: "moto looks at no keys",
		49: "moto has no policies here",
	}
	for _, number := range []int{21, 22, 23, 24, 26, 27, 28, 35, 36, 39, 40, 41, 45} {
		out[number] = "what goes wrong here is our script's doing and not moto's, which takes a minute to be asked so often"
	}
	return out
}

// must fails the test when moto refuses what the test needs.
func must[T any](t testing.TB, out T, err error) T {
	t.Helper()
	if err != nil {
		t.Fatalf("asking moto: %v", err)
	}
	return out
}

func (m *moto) disks() func(testing.TB, string, int64) cloud.VolumeRef {
	ids := map[string]string{}
	return func(t testing.TB, name string, size int64) cloud.VolumeRef {
		t.Helper()
		if old := ids[name]; old != "" {
			m.RemoveVolume(old)
		}
		made := m.volume(t, name, size)
		ids[name] = *made.VolumeId
		return cloud.VolumeRef{Region: here, Zone: *made.AvailabilityZone, Handle: *made.VolumeId}
	}
}

func (m *moto) volume(t testing.TB, name string, size int64) *ec2.CreateVolumeOutput {
	t.Helper()
	out, err := m.clients[0].CreateVolume(t.Context(), &ec2.CreateVolumeInput{
		AvailabilityZone: sdk.String(here + "a"), Size: sdk.Int32(int32(size / gib)), VolumeType: types.VolumeTypeGp3,
		TagSpecifications: []types.TagSpecification{{ResourceType: types.ResourceTypeVolume, Tags: []types.Tag{
			{Key: sdk.String("ebs.csi.aws.com/cluster"), Value: sdk.String("true")}, {Key: sdk.String("CSIVolumeName"), Value: &name},
		}}},
	})
	return must(t, out, err)
}

func (m *moto) foreignSnapshot(t testing.TB) cloud.SnapshotRef {
	t.Helper()
	out, err := m.clients[0].CreateSnapshot(t.Context(), &ec2.CreateSnapshotInput{VolumeId: m.volume(t, "strange", gib).VolumeId})
	return cloud.SnapshotRef{Region: here, ID: *must(t, out, err).SnapshotId}
}

// Snapshots reads the account's own of both regions. Moto has more than a thousand of
// others, and does not know OwnerIds.
func (m *moto) Snapshots() []fake.Snapshot {
	m.Helper()
	var all []fake.Snapshot
	for i, region := range []string{here, there} {
		out, err := m.clients[i].DescribeSnapshots(m.Context(), &ec2.DescribeSnapshotsInput{
			Filters: []types.Filter{{Name: sdk.String("owner-id"), Values: []string{m.account}}},
		})
		for _, s := range must(m.TB, out, err).Snapshots {
			all = append(all, fake.Snapshot{
				Account: m.account, Region: region, ID: *s.SnapshotId, Source: sdk.ToString(s.VolumeId), State: cloud.StateReady, Tags: texts(s.Tags),
			})
		}
	}
	return all
}

func texts(tags []types.Tag) map[string]string {
	out := map[string]string{}
	for _, t := range tags {
		out[*t.Key] = *t.Value
	}
	return out
}

// EditSnapshot supports only edits that remove tags.
func (m *moto) EditSnapshot(id string, edit func(*fake.Snapshot)) bool {
	m.Helper()
	for _, s := range m.Snapshots() {
		if s.ID != id {
			continue
		}
		before := maps.Clone(s.Tags)
		edit(&s)
		for key := range before {
			if _, kept := s.Tags[key]; kept {
				continue
			}
			out, err := m.client(s.Region).DeleteTags(m.Context(), &ec2.DeleteTagsInput{Resources: []string{id}, Tags: []types.Tag{{Key: &key}}})
			must(m.TB, out, err)
		}
		return true
	}
	return false
}

func (m *moto) client(region string) *ec2.Client {
	return m.clients[slices.Index([]string{here, there}, region)]
}

// RemoveSnapshot removes one, wherever it is.
func (m *moto) RemoveSnapshot(id string) {
	m.Helper()
	for _, s := range m.Snapshots() {
		if s.ID == id {
			out, err := m.client(s.Region).DeleteSnapshot(m.Context(), &ec2.DeleteSnapshotInput{SnapshotId: &id})
			must(m.TB, out, err)
		}
	}
}

// EditVolume edits nothing: cases that edit volumes are beyond moto.
func (m *moto) EditVolume(string, func(*fake.Volume)) bool { return false }

// RemoveVolume removes one of the first region.
func (m *moto) RemoveVolume(id string) {
	m.Helper()
	out, err := m.clients[0].DeleteVolume(m.Context(), &ec2.DeleteVolumeInput{VolumeId: &id})
	must(m.TB, out, err)
}

package ec2_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
)

const (
	mine, others   = "111111111111", "222222222222"
	keyID, secret  = "AKIAEXAMPLE", "secret/of+example"
	here           = "eu-central-1"
	gib            = int64(1) << 30
	strangerID     = "snap-0fedcba9876543210"
	strangerVolume = "vol-0fedcba9876543210"
)

// newServer returns a server with a key, a role and a snapshot of another account.
func newServer() (*testclock.FakeClock, *fake.Cloud, *ec2.Server) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	fakeCloud := fake.NewCloud(clock)
	fakeCloud.AddSnapshot(fake.Snapshot{Account: others, Region: here, ID: strangerID, Source: strangerVolume, SizeBytes: gib})
	return clock, fakeCloud, ec2.New(fakeCloud, ec2.Options{
		Clock: clock, Keys: []ec2.Key{{ID: keyID, Secret: secret, Account: mine, Name: "boto"}},
		Roles: []ec2.Role{{ARN: "arn:aws:iam::" + others + ":role/backup", ExternalID: "tenant-7"}},
	})
}

// TestBoto runs an independent client against the server, and compares what the client reads
// from the responses.
func TestBoto(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import boto3").Run(); err != nil {
		t.Skip("boto3 is not there: pip install 'moto[server]'")
	}
	clock, _, server := newServer()
	server.Provision(ec2.Disk{Account: mine, Zone: here + "a", Name: "data", SizeBytes: 20 * gib})
	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.HandleFunc("/step", func(_ http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
		if err != nil {
			t.Errorf("stepping: %v", err)
		}
		clock.Step(time.Duration(seconds) * time.Second)
	})
	listener := httptest.NewServer(mux)
	defer listener.Close()

	drive := exec.CommandContext(t.Context(), "python3", filepath.Join("testdata", "drive.py"), listener.URL, keyID, secret)
	out, err := drive.Output()
	if err != nil {
		t.Fatalf("driving with boto3: %v\n%s", err, stderr(err))
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reading %q: %v", out, err)
	}
	if diff := cmp.Diff(wanted(t), got); diff != "" {
		t.Errorf("what boto3 understood (-want +got):\n%s", diff)
	}
}

func stderr(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}

// wanted returns the values that boto3 must parse, according to EC2's documentation.
func wanted(t *testing.T) map[string]any {
	t.Helper()
	const invalid = "400 InvalidParameterValue"
	tag := func(value string) []any { return []any{map[string]any{"Key": "name", "Value": value}} }
	want := map[string]any{
		"unknown": []any{},
		"volume": map[string]any{
			"AvailabilityZone": here + "a", "Size": 20, "VolumeType": "gp3", "Iops": 3000, "Throughput": 125, "Encrypted": false, "State": "available",
		},
		"volumes": []any{1, true, []any{
			map[string]any{"Key": "CSIVolumeName", "Value": "data"}, map[string]any{"Key": "ebs.csi.aws.com/cluster", "Value": "true"},
		}},
		"snapshot": map[string]any{"State": "pending", "Progress": "0%", "VolumeSize": 20, "Encrypted": false, "OwnerId": mine, "Description": "one"},
		"twice":    []any{true, 2},
		"early":    "400 IncorrectState",
		"half":     "50%",
		"pages":    []any{5, 5, 3},
		"owners":   []any{13, 1, 14},
		"copy":     []any{"pending", true, "vol-ffffffff", tag("copy"), tag("copy")},
		// What is in another region is not here.
		"copy here": "400 InvalidSnapshot.NotFound",
		"refused": []any{
			"400 InvalidVolume.NotFound", invalid, "400 InvalidSnapshot.NotFound", invalid, invalid, invalid, "400 InvalidParameterCombination",
			"400 UnknownParameter", invalid, invalid, invalid, "412 DryRunOperation", "400 InvalidAction", "400 InvalidAction", "401 AuthFailure", "401 AuthFailure",
			"403 InvalidClientTokenId",
		},
		"deleted": []any{"none", "400 InvalidSnapshot.NotFound"},
		"who":     []any{mine, "arn:aws:iam::" + mine + ":user/boto", "arn:aws:sts::" + others + ":assumed-role/backup/boto"},
		"role":    []any{"403 AccessDenied", "401 AuthFailure", "none"},
		"expired": []any{"400 RequestExpired", "403 ExpiredToken"},
	}
	// Through JSON, in which all numbers are of one type.
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

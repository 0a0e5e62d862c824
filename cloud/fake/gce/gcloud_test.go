package gce

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync/atomic"
	"testing"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
)

// gcloud is Google's own client, which we did not write, as configured for a server.
type gcloud struct {
	path string
	env  []string
}

func newGcloud(t *testing.T, url string) gcloud {
	t.Helper()
	path, err := exec.LookPath("gcloud")
	if err != nil {
		t.Skip("gcloud is not on the PATH: install the Google Cloud CLI 528 or newer (Debian package google-cloud-cli of Google's repository), or use an image that has it")
	}
	return gcloud{path, append(os.Environ(),
		"CLOUDSDK_CONFIG="+t.TempDir(), "CLOUDSDK_API_ENDPOINT_OVERRIDES_COMPUTE="+url+"/compute/v1/",
		"CLOUDSDK_AUTH_DISABLE_CREDENTIALS=true", "CLOUDSDK_CORE_PROJECT=shop-prod", "CLOUDSDK_CORE_DISABLE_PROMPTS=true",
		"CLOUDSDK_CORE_DISABLE_USAGE_REPORTING=true", "CLOUDSDK_COMPONENT_MANAGER_DISABLE_UPDATE_CHECK=true",
	)}
}

// run runs gcloud compute and reads what it answers as JSON, if that is wanted.
func (g gcloud) run(t *testing.T, into any, args ...string) error {
	t.Helper()
	command := exec.CommandContext(t.Context(), g.path, append([]string{"compute"}, append(args, "--format=json")...)...)
	command.Env = g.env
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	t.Logf("gcloud compute %s: %v\n%s", strings.Join(args, " "), err, stderr.String())
	if err != nil || into == nil {
		return err
	}
	return json.Unmarshal(out, into)
}

func (g gcloud) must(t *testing.T, into any, args ...string) {
	t.Helper()
	if err := g.run(t, into, args...); err != nil {
		t.Fatalf("gcloud compute %s: %v", strings.Join(args, " "), err)
	}
}

// resource is what the test reads of disks and snapshots.
type resource struct {
	Name, ID, Status, SourceDisk, SourceDiskID, SourceSnapshot, DiskSizeGb, SizeGb, Type, Description string
	Labels                                                                                            map[string]string
	StorageLocations                                                                                  []string
}

// watch tells whether somebody waited for an operation.
type watch struct {
	next http.Handler
	seen atomic.Bool
}

func (w *watch) ServeHTTP(to http.ResponseWriter, r *http.Request) {
	if strings.HasSuffix(r.URL.Path, "/wait") {
		w.seen.Store(true)
	}
	w.next.ServeHTTP(to, r)
}

// TestGcloud lets Google's client do with disks and snapshots what people do.
func TestGcloud(t *testing.T) {
	t.Parallel()
	world := fake.NewCloud(clock.RealClock{})
	world.SetPace(fake.Pace{})
	server := New(world, Options{Clock: clock.RealClock{}, Anonymous: true, PageSize: 2})
	waited := &watch{next: server}
	http := httptest.NewServer(waited)
	t.Cleanup(http.Close)
	g := newGcloud(t, http.URL)
	const zone = "--zone=europe-west1-b"

	g.must(t, nil, "disks", "create", "data", zone, "--size=20GB", "--type=pd-ssd", "--labels=app=shop")
	var disk resource
	g.must(t, &disk, "disks", "describe", "data", zone)
	if disk.SizeGb != "20" || !strings.HasSuffix(disk.Type, "/diskTypes/pd-ssd") || disk.Status != "READY" || disk.Labels["app"] != "shop" {
		t.Errorf("disk %+v", disk)
	}
	g.must(t, nil, "disks", "snapshot", "data", zone, "--snapshot-names=older", "--storage-location=eu")
	g.must(t, nil, "snapshots", "create", "newer", "--source-disk=data", "--source-disk-zone=europe-west1-b", "--labels=app=shop", "--description=by hand")
	g.must(t, nil, "snapshots", "create", "third", "--source-disk=data", "--source-disk-zone=europe-west1-b", "--labels=app=blog")
	var snapshot resource
	g.must(t, &snapshot, "snapshots", "describe", "newer")
	if snapshot.SourceDiskID != disk.ID || snapshot.Status != "READY" || snapshot.DiskSizeGb != "20" || snapshot.Description != "by hand" {
		t.Errorf("snapshot %+v of disk %s", snapshot, disk.ID)
	}
	for filter, want := range map[string]int{"": 3, "--filter=labels.app=shop": 1, "--filter=name=older": 1} {
		var all []resource
		args := []string{"snapshots", "list"}
		if filter != "" {
			args = append(args, filter)
		}
		if g.must(t, &all, args...); len(all) != want {
			t.Errorf("%d snapshots with %q, want %d", len(all), filter, want)
		}
	}
	g.must(t, nil, "disks", "create", "restored", zone, "--source-snapshot=newer", "--size=30GB")
	var disks []resource
	if g.must(t, &disks, "disks", "list"); len(disks) != 2 {
		t.Errorf("%d disks, want 2", len(disks))
	}
	if err := g.run(t, nil, "disks", "create", "smaller", zone, "--source-snapshot=newer", "--size=10GB"); err == nil {
		t.Error("a disk smaller than its snapshot was made")
	}
	if err := g.run(t, nil, "snapshots", "create", "newer", "--source-disk=data", "--source-disk-zone=europe-west1-b"); err == nil {
		t.Error("a second snapshot of one name was made")
	}
	g.must(t, nil, "snapshots", "delete", "newer", "older")
	if err := g.run(t, nil, "snapshots", "describe", "newer"); err == nil {
		t.Error("a deleted snapshot is described")
	}
	if left := world.Snapshots(); len(left) != 1 {
		t.Errorf("the world has %d snapshots, want 1", len(left))
	}
	if !waited.seen.Load() {
		t.Error("gcloud did not wait for an operation, which this test is for")
	}
}

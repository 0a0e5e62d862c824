package gcp

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
)

// TestFakeIsAsDescribed compares each of the fake's methods, in request and answer, with
// Google's description, also those that only gcloud uses.
func TestFakeIsAsDescribed(t *testing.T) {
	t.Parallel()
	api := discover(t)
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	world := fake.NewCloud(clock)
	server := gce.New(world, gce.Options{Clock: clock, Anonymous: true})
	disk := server.CSIDisk(project, zone, "data", 20<<30)
	world.EditVolume(disk, func(v *fake.Volume) { v.Attached, v.KMSKey = true, "projects/p/locations/l/keyRings/r/cryptoKeys/k" })
	world.FailNext("the key is disabled")
	for _, request := range []string{
		"GET ", "GET /zones", "GET /zones/" + zone, "GET /regions", "GET /regions/" + region,
		`POST /global/snapshots {"name": "fails", "sourceDisk": "zones/europe-west1-b/disks/data"}`,
		`POST /global/snapshots {"name": "a", "sourceDisk": "zones/europe-west1-b/disks/data", "description": "d", "labels": {"a": "b"}}`,
		"GET /global/snapshots/fails", "GET /global/snapshots/a", "GET /global/snapshots", "GET /global/snapshots?maxResults=1",
		`POST /global/snapshots/a/setLabels {"labels": {"c": "d"}, "labelFingerprint": "42WmSpB8rSM="}`,
		`POST /global/snapshots/a/testIamPermissions {"permissions": ["compute.snapshots.get"]}`,
		`POST /zones/europe-west1-b/disks/data/createSnapshot {"name": "b"}`,
		`POST /zones/europe-west1-b/disks {"name": "hyper", "sizeGb": "40", "type": "zones/europe-west1-b/diskTypes/hyperdisk-balanced", "provisionedIops": "6000", "provisionedThroughput": "250"}`,
		`POST /zones/europe-west1-b/disks {"name": "restored", "sourceSnapshot": "global/snapshots/a"}`,
		`POST /regions/europe-west1/disks {"name": "both", "sizeGb": "200", "replicaZones": ["a", "b"]}`,
		"GET /zones/europe-west1-b/disks/data", "GET /zones/europe-west1-b/disks/hyper", "GET /zones/europe-west1-b/disks/restored",
		"GET /regions/europe-west1/disks/both", "GET /zones/europe-west1-b/disks", "GET /regions/europe-west1/disks", "GET /aggregated/disks",
		`POST /zones/europe-west1-b/disks/data/testIamPermissions {"permissions": []}`,
		"GET /global/operations", "GET /zones/europe-west1-b/operations", "GET /regions/europe-west1/operations",
		"DELETE /zones/europe-west1-b/disks/hyper", "DELETE /regions/europe-west1/disks/both", "DELETE /global/snapshots/b",
	} {
		clock.Step(time.Minute)
		method, rest, _ := strings.Cut(request, " ")
		path, body, _ := strings.Cut(rest, " ")
		answer := httptest.NewRecorder()
		server.ServeHTTP(answer, httptest.NewRequestWithContext(t.Context(), method, "/compute/v1/projects/"+project+path, strings.NewReader(body)))
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d %s", request, answer.Code, answer.Body)
			continue
		}
		text, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Fatal(err)
		}
		url, _, _ := strings.Cut("/compute/v1/projects/"+project+path, "?")
		if err := api.Answer(method, url, text); err != nil {
			t.Errorf("%s: %v\n%s", request, err, text)
		}
	}
}

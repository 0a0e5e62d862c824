package gce

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

// bench is a server without any client library.
type bench struct {
	*testing.T
	clock  *testclock.FakeClock
	world  *fake.Cloud
	server *Server
}

func newBench(t *testing.T, o Options) *bench {
	t.Helper()
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	o.Clock, o.Anonymous = clock, true
	world := fake.NewCloud(clock)
	return &bench{t, clock, world, New(world, o)}
}

// body is an answer, read without knowing what it is.
type body map[string]any

func (b body) text(path ...string) string {
	var at any = map[string]any(b)
	for _, name := range path {
		switch v := at.(type) {
		case map[string]any:
			at = v[name]
		case []any:
			at = v[0].(map[string]any)[name]
		}
	}
	if at == nil {
		return ""
	}
	return fmt.Sprint(at)
}

func (b *bench) send(method, path, text string) (int, body) {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, "/compute/v1/projects/shop-prod"+path, strings.NewReader(text))
	w := httptest.NewRecorder()
	b.server.ServeHTTP(w, r)
	var out body
	if err := json.Unmarshal(w.Body.Bytes(), &out); err != nil {
		b.Fatalf("%s %s: %v\n%s", method, path, err, w.Body)
	}
	return w.Code, out
}

// good sends what must be taken.
func (b *bench) good(method, path, text string) body {
	b.Helper()
	status, out := b.send(method, path, text)
	if status != http.StatusOK {
		b.Fatalf("%s %s: %d %v", method, path, status, out)
	}
	return out
}

// bad sends what must be refused, for a reason.
func (b *bench) bad(method, path, text string, status int, reason string) {
	b.Helper()
	got, out := b.send(method, path, text)
	if got != status || out.text("error", "errors", "reason") != reason || out.text("error", "message") == "" {
		b.Errorf("%s %s: %d %v, want %d %s", method, path, got, out, status, reason)
	}
}

const (
	snapshotsPath = "/global/snapshots"
	source        = `"sourceDisk": "zones/europe-west1-b/disks/data"`
)

func (b *bench) insert(name, query string) body {
	b.Helper()
	return b.good("POST", snapshotsPath+query, `{"name": "`+name+`", `+source+`, "labels": {"n": "`+name+`"}}`)
}

func TestRequestsAreChecked(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.server.CSIDisk("shop-prod", "europe-west1-b", "data", 20*gib)
	b.insert("taken", "")
	for _, text := range []string{
		`{"name": "Upper", ` + source + `}`, `{"name": "-a", ` + source + `}`, `{"name": "` + strings.Repeat("a", 64) + `", ` + source + `}`, `{` + source + `}`,
		`{"name": "a", ` + source + `, "labels": {"a": "Upper"}}`, `{"name": "a", ` + source + `, "labels": {"1": "a"}}`,
		`{"name": "a", ` + source + `, "description": "` + strings.Repeat("d", 2049) + `"}`, `{"name": "a", ` + source + `, "snapshotType": "FAST"}`,
		`{"name": "a", ` + source + `, "storageLocations": ["eu", "us"]}`, `{"name": "a", ` + source + `, "colour": "red"}`, `{"name": 1}`, `{} {}`, `[`,
	} {
		b.bad("POST", snapshotsPath, text, http.StatusBadRequest, "invalid")
	}
	b.bad("POST", snapshotsPath, `{"name": "a"}`, http.StatusBadRequest, "required")
	b.bad("POST", snapshotsPath, `{"name": "a", "sourceDisk": "zones/europe-west1-b/disks/none"}`, http.StatusNotFound, "notFound")
	b.bad("POST", snapshotsPath, `{"name": "taken", `+source+`}`, http.StatusConflict, "alreadyExists")
	for _, id := range []string{"1", "00000000-0000-0000-0000-000000000000"} {
		b.bad("POST", snapshotsPath+"?requestId="+id, `{"name": "a", `+source+`}`, http.StatusBadRequest, "invalid")
	}
	for _, query := range []string{"?limit=1", "?maxResults=501", "?maxResults=x", "?pageToken=x", "?filter=name"} {
		b.bad("GET", snapshotsPath+query, "", http.StatusBadRequest, "invalid")
	}
	b.bad("GET", "/zones/mars-a/disks", "", http.StatusNotFound, "notFound")
	b.bad("GET", snapshotsPath+"/none", "", http.StatusNotFound, "notFound")
	b.bad("POST", snapshotsPath+"/taken/setLabels", `{"labels": {}}`, http.StatusPreconditionFailed, "conditionNotMet")
	disks := "/zones/europe-west1-b/disks"
	for _, text := range []string{
		`{"name": "d", "sizeGb": "0"}`, `{"name": "d", "type": "zones/z/diskTypes/floppy"}`, `{"name": "d", "type": "pd-ssd", "provisionedIops": "3000"}`,
	} {
		b.bad("POST", disks, text, http.StatusBadRequest, "invalid")
	}
	b.bad("POST", disks, `{"name": "d", "sourceSnapshot": "global/snapshots/taken"}`, http.StatusBadRequest, "resourceNotReady")
	b.clock.Step(time.Minute)
	b.bad("POST", disks, `{"name": "d", "sourceSnapshot": "global/snapshots/taken", "sizeGb": "19"}`, http.StatusBadRequest, "invalid")
	if n := len(b.world.Snapshots()); n != 1 {
		t.Errorf("%d snapshots, want the one that was good", n)
	}
}

// TestRequestIDs: what a request came to is answered again, whatever happened since.
func TestRequestIDs(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.server.CSIDisk("shop-prod", "europe-west1-b", "data", 20*gib)
	const query = "?requestId=6f9619ff-8b86-4d01-b42d-00c04fc964ff"
	first := b.insert("a", query)
	again := b.insert("a", query)
	if first.text("name") == "" || first.text("name") != again.text("name") || len(b.world.Snapshots()) != 1 {
		t.Errorf("operations %q and %q, %d snapshots", first.text("name"), again.text("name"), len(b.world.Snapshots()))
	}
	b.good("DELETE", snapshotsPath+"/a", "")
	if replayed := b.insert("a", query); replayed.text("name") != first.text("name") || len(b.world.Snapshots()) != 0 {
		t.Errorf("operation %q made %d snapshots, want the first and none", replayed.text("name"), len(b.world.Snapshots()))
	}
	b.insert("a", "?requestId=6f9619ff-8b86-4d01-b42d-00c04fc96400")
	if len(b.world.Snapshots()) != 1 {
		t.Error("another request ID makes another request")
	}
}

func TestOperationsTellWhatHappened(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{LimitSnapshots: true, ForgetFailed: true})
	b.server.CSIDisk("shop-prod", "europe-west1-b", "data", 20*gib)
	done := b.insert("a", "")
	soon := b.insert("b", "")
	operation := func(of body) body { return b.good("GET", "/global/operations/"+of.text("name"), "") }
	if s := operation(done).text("status"); s != "RUNNING" {
		t.Errorf("status %q at once", s)
	}
	if now := operation(soon); soon.text("status") != "RUNNING" || now.text("status") != "DONE" || now.text("error", "errors", "code") != "RESOURCE_OPERATION_RATE_EXCEEDED" {
		t.Errorf("too soon: %v, then %v", soon, now)
	}
	b.clock.Step(11 * time.Minute)
	if now := operation(done); now.text("status") != "DONE" || now.text("error") != "" {
		t.Errorf("done: %v", now)
	}
	b.world.FailNext("the key is disabled")
	fails := b.insert("c", "")
	b.bad("GET", snapshotsPath+"/c", "", http.StatusNotFound, "notFound")
	now := b.good("POST", "/global/operations/"+fails.text("name")+"/wait", "")
	if now.text("status") != "DONE" || now.text("error", "errors", "message") != "the key is disabled" {
		t.Errorf("failed: %v", now)
	}
	found := b.good("GET", "/global/operations?filter=targetId%20%3D%20"+fails.text("targetId"), "")
	if found.text("items", "name") != fails.text("name") {
		t.Errorf("found by its target: %v", found)
	}
}

func TestPagesAndFilters(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{PageSize: 2})
	for i, name := range []string{"a", "b", "c", "d", "e"} {
		b.world.AddSnapshot(fake.Snapshot{ID: "projects/shop-prod/global/snapshots/" + name, Tags: map[string]string{"n": name, "odd": fmt.Sprint(i%2 == 0)}})
	}
	b.world.AddSnapshot(fake.Snapshot{ID: "projects/shop-test/global/snapshots/x"})
	tests := map[string]string{
		"":                                   "ab cd e",
		`labels.odd = "true"`:                "ac e",
		`(labels.odd = "true") (labels.n=c)`: "c",
		`labels.odd="true" AND labels.n=b`:   "",
		"labels.n != b":                      "ac de",
		"labels.n:*":                         "ab cd e",
		"labels.none:*":                      "",
		`name eq ".*(a|e).*"`:                "ae",
		`name ne a`:                          "bc de",
	}
	for filter, want := range tests {
		t.Run(filter, func(t *testing.T) {
			t.Parallel()
			b := &bench{t, b.clock, b.world, b.server}
			var pages []string
			for token, more := "", true; more; more = token != "" {
				page := b.good("GET", snapshotsPath+"?maxResults=100&filter="+strings.ReplaceAll(strings.ReplaceAll(filter, " ", "%20"), `"`, "%22")+"&pageToken="+token, "")
				items, _ := page["items"].([]any)
				names := ""
				for _, item := range items {
					names += fmt.Sprint(item.(map[string]any)["name"])
				}
				pages = append(pages, names)
				token = page.text("nextPageToken")
			}
			if got := strings.Join(pages, " "); got != want {
				t.Errorf("pages %q, want %q", got, want)
			}
		})
	}
}

func TestDisksByPlace(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.server.CSIDisk("shop-prod", "europe-west1-b", "data", 20*gib)
	b.good("POST", "/regions/us-central1/disks", `{"name": "both", "sizeGb": "200", "replicaZones": ["a", "b"]}`)
	b.bad("POST", "/regions/us-central1/disks", `{"name": "one", "sizeGb": "200"}`, http.StatusBadRequest, "invalid")
	all := b.good("GET", "/aggregated/disks", "")
	places := []string{}
	for place := range all["items"].(map[string]any) {
		places = append(places, place)
	}
	slices.Sort(places)
	if diff := cmp.Diff([]string{"regions/us-central1", "zones/europe-west1-b"}, places); diff != "" {
		t.Errorf("places (-want +got):\n%s", diff)
	}
	made := b.good("POST", "/regions/us-central1/disks/both/createSnapshot", `{"name": "s"}`)
	if now := b.good("GET", "/regions/us-central1/operations/"+made.text("name"), ""); now.text("operationType") != "insert" {
		t.Errorf("operation %v", now)
	}
	b.world.EditVolume("projects/shop-prod/zones/europe-west1-b/disks/data", func(v *fake.Volume) { v.Attached = true })
	b.bad("DELETE", "/zones/europe-west1-b/disks/data", "", http.StatusBadRequest, "resourceInUseByAnotherResource")
	if s := b.world.Snapshots(); len(s) != 1 || s[0].State != cloud.StateTaken || s[0].SizeBytes != 200*gib {
		t.Errorf("snapshots %+v", s)
	}
}

func TestWhoMayDoWhat(t *testing.T) {
	t.Parallel()
	b := newBench(t, Options{})
	b.server.options.Anonymous = false
	b.bad("GET", "", "", http.StatusUnauthorized, "required")
	b.server.options.Anonymous = true
	b.server.Forbid("compute.snapshots.delete")
	b.bad("DELETE", snapshotsPath+"/a", "", http.StatusForbidden, "forbidden")
	held := b.good("POST", snapshotsPath+"/a/testIamPermissions", `{"permissions": ["compute.snapshots.delete", "compute.snapshots.get"]}`)
	if diff := cmp.Diff([]any{"compute.snapshots.get"}, held["permissions"]); diff != "" {
		t.Errorf("permissions (-want +got):\n%s", diff)
	}
}

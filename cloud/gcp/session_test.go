package gcp

import (
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/gce"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

func TestSession(t *testing.T) {
	t.Parallel()
	api, keys := discover(t), newKeys(t)
	tests := map[string]struct {
		options gce.Options
		run     func(t *testing.T, e *testEnv)
	}{
		"a rate in the operation":        {gce.Options{LimitSnapshots: true}, rateInOperation},
		"a failure in the operation":     {gce.Options{ForgetFailed: true}, failureInOperation},
		"a failed snapshot says why":     {gce.Options{}, failedSaysWhy},
		"accepted and not seen":          {gce.Options{}, acceptedNotSeen},
		"request IDs":                    {gce.Options{}, requestIDs},
		"handles":                        {gce.Options{}, handles},
		"a regional disk":                {gce.Options{}, regionalDisk},
		"locations":                      {gce.Options{}, locations},
		"another's name":                 {gce.Options{}, anothersName},
		"what is asked of the IAM":       {gce.Options{}, preflight},
		"a token that expired":           {gce.Options{}, expiredToken},
		"a redirect gets no credentials": {gce.Options{}, redirected},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t, api, keys, tt.options)
			tt.run(t, e)
			for _, call := range e.script.Calls() {
				if err := api.Request(call.Request); err != nil {
					t.Errorf("%v\n%s", err, call.Request)
				}
			}
		})
	}
}

// spec returns the specification of a snapshot of a disk.
func spec(name string, source cloud.VolumeRef) cloud.SnapshotSpec {
	return cloud.SnapshotSpec{Name: name, Source: source, Tags: cloud.Tags{cloud.TagHub: "hub", cloud.TagApp: "app"}, MaySend: true}
}

func wantClass(t *testing.T, err error, want cloud.Class) {
	t.Helper()
	var e *cloud.Error
	if !errors.As(err, &e) || e.Class != want {
		t.Fatalf("class %q of %v, want %q", cloud.ClassOf(err), err, want)
	}
}

func rateInOperation(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("first", disk)); err != nil {
		t.Fatal(err)
	}
	e.clock.Step(time.Minute)
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("second", disk))
	wantClass(t, err, cloud.ClassThrottled)
	wait := cloud.RetryAfter(err)
	if wait < 10*time.Minute {
		t.Errorf("retry after %s", wait)
	}
	// The operation that failed is not answered again when the wait is over.
	e.clock.Step(wait)
	if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("second", disk)); err != nil {
		t.Errorf("after the wait: %v", err)
	}
}

func failureInOperation(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	e.cloud.FailNext("the key is disabled")
	got, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk))
	if err != nil || got.State != cloud.StateFailed || !strings.Contains(got.Message, "the key is disabled") {
		t.Fatalf("snapshot %+v, %v; want it failed with the operation's message", got, err)
	}
	next := spec("a", disk)
	next.Attempt = 1
	if got, err = session.Snapshots.EnsureSnapshot(t.Context(), next); err != nil || got.Name != "a-1" || got.State != cloud.StateTaken {
		t.Errorf("the next attempt: %+v, %v", got, err)
	}
}

func failedSaysWhy(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	e.cloud.SetPace(fake.Pace{Taken: 10 * time.Second, Ready: time.Minute})
	e.cloud.FailNext("the key is disabled")
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk))
	if err != nil || made.State != cloud.StateCreating {
		t.Fatalf("snapshot %+v, %v", made, err)
	}
	e.clock.Step(20 * time.Second)
	got, err := session.Snapshots.GetSnapshot(t.Context(), made.Ref)
	if err != nil || got.State != cloud.StateFailed || got.Message != "INTERNAL_ERROR: the key is disabled" {
		t.Errorf("snapshot %+v, %v", got, err)
	}
}

// acceptedNotSeen checks that a failed read after an accepted request is not an error.
func acceptedNotSeen(t *testing.T, s *testEnv) {
	t.Helper()
	session, disk := connect(t, s.config(t)), s.disk(t, "data", 20<<30)
	s.clock.Step(time.Hour)
	s.script.Add(faults.Fault{Op: faults.OpGetSnapshot, Skip: 1, Kind: faults.DropBefore})
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk))
	if err != nil || made.State != cloud.StateCreating || made.Ref.ID != "projects/shop-prod/global/snapshots/a" || made.Tags[cloud.TagVolume] == "" {
		t.Fatalf("snapshot %+v, %v", made, err)
	}
	s.cloud.SetPace(fake.Pace{Lag: time.Minute})
	hidden, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("b", disk))
	if err != nil || hidden.State != cloud.StateCreating {
		t.Fatalf("snapshot %+v, %v", hidden, err)
	}
	looked := spec("b", disk)
	looked.MaySend = false
	_, err = session.Snapshots.EnsureSnapshot(t.Context(), looked)
	wantClass(t, err, cloud.ClassAmbiguous)
	var e *cloud.Error
	if errors.As(err, &e); e.Code != codeNotVisible {
		t.Errorf("code %q", e.Code)
	}
}

func requestIDs(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	e.cloud.SetPace(fake.Pace{Lag: time.Hour})
	ids := func() []string {
		var out []string
		for _, call := range e.script.Calls() {
			if _, query, ok := strings.Cut(call.Request, "?requestId="); ok {
				id, _, _ := strings.Cut(query, "\n")
				out = append(out, id)
			}
		}
		return out
	}
	e.clock.Step(2 * time.Hour)
	e.clock.SetTime(e.clock.Now().Truncate(requestWindow))
	for _, want := range []spec3{{"a", 0, 1}, {"a", 0, 1}, {"a", 1, 2}, {"b", 0, 3}} {
		w := spec(want.name, disk)
		w.Attempt = want.attempt
		if _, err := session.Snapshots.EnsureSnapshot(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		unique := map[string]bool{}
		for _, id := range ids() {
			unique[id] = true
		}
		if len(unique) != want.ids {
			t.Errorf("after %s attempt %d: %d request IDs, want %d", want.name, want.attempt, len(unique), want.ids)
		}
	}
	if n := len(e.cloud.Snapshots()); n != 3 {
		t.Errorf("%d snapshots, want 3: a repeated request makes none", n)
	}
	// A later request is another, and the name alone prevents a second snapshot.
	e.clock.Step(requestWindow)
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk))
	wantClass(t, err, cloud.ClassAmbiguous)
	if all := ids(); all[len(all)-1] == all[0] || len(e.cloud.Snapshots()) != 3 {
		t.Errorf("request IDs %v, %d snapshots", all, len(e.cloud.Snapshots()))
	}
}

// spec3 is a request, and how many request IDs there were up to it.
type spec3 struct {
	name         string
	attempt, ids int
}

func handles(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	migrated := cloud.VolumeRef{Region: region, Zone: zone, Handle: "projects/UNSPECIFIED/zones/UNSPECIFIED/disks/data"}
	for _, ref := range []cloud.VolumeRef{disk, migrated} {
		got, err := session.Volumes.DescribeVolume(t.Context(), ref)
		if err != nil || got.Ref != ref {
			t.Errorf("described %+v, %v; want %+v", got.Ref, err, ref)
		}
	}
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", migrated))
	if err != nil || made.SourceHandle != migrated.Handle {
		t.Errorf("snapshot of %q, %v", made.SourceHandle, err)
	}
	sent := len(e.script.Calls())
	for handle, want := range map[string]cloud.Class{
		"vol-1": cloud.ClassInvalid, "": cloud.ClassInvalid, "projects/other-prod/zones/a-b/disks/d": cloud.ClassInvalid,
		"projects/shop-prod/zones/../disks/d": cloud.ClassInvalid, "projects/shop-prod/zones/a-b/disks/d?x=y": cloud.ClassInvalid,
		"projects/shop-prod/zones/a-b/disks/../../x": cloud.ClassInvalid, "projects/shop-prod/zones/multi-zone/disks/d": cloud.ClassUnsupported,
		"projects/UNSPECIFIED/zones/UNSPECIFIED/disks/data": cloud.ClassInvalid,
	} {
		_, err := session.Volumes.DescribeVolume(t.Context(), cloud.VolumeRef{Handle: handle})
		wantClass(t, err, want)
	}
	for _, id := range []string{"snap-1", "projects/other-prod/global/snapshots/a", "projects/shop-prod/global/images/a", "projects/shop-prod/global/snapshots/a/b"} {
		_, err := session.Snapshots.GetSnapshot(t.Context(), cloud.SnapshotRef{ID: id})
		wantClass(t, err, cloud.ClassInvalid)
	}
	if n := len(e.script.Calls()); n != sent {
		t.Errorf("%d requests for what is no handle", n-sent)
	}
}

func regionalDisk(t *testing.T, e *testEnv) {
	t.Helper()
	session := connect(t, e.config(t))
	ref := cloud.VolumeRef{Region: region, Handle: "projects/shop-prod/regions/europe-west1/disks/both"}
	e.cloud.AddVolume(fake.Volume{Account: project, Region: region, ID: ref.Handle, SizeBytes: 200 << 30, Type: "pd-ssd", Tags: map[string]string{cloud.TagHub: "hub"}})
	got, err := session.Volumes.DescribeVolume(t.Context(), ref)
	if err != nil || got.Ref != ref || got.SizeBytes != 200<<30 {
		t.Errorf("volume %+v, %v", got, err)
	}
	made, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", ref))
	if err != nil || made.SourceHandle != ref.Handle {
		t.Errorf("snapshot %+v, %v", made, err)
	}
}

func locations(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	w := spec("a", disk)
	w.Locations = []string{"eu", "us"}
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), w)
	wantClass(t, err, cloud.ClassUnsupported)
	w.Locations = []string{"eu"}
	got, err := session.Snapshots.EnsureSnapshot(t.Context(), w)
	if diff := cmp.Diff([]string{"eu"}, got.Locations); diff != "" || err != nil {
		t.Errorf("%v; locations (-want +got):\n%s", err, diff)
	}
}

func anothersName(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	e.cloud.AddSnapshot(fake.Snapshot{ID: "projects/shop-prod/global/snapshots/a", Source: disk.Handle, SourceUID: "1"})
	_, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk))
	wantClass(t, err, cloud.ClassConflict)
}

// preflight checks that each documented permission has a check with a result, or the reason why it has none.
func preflight(t *testing.T, e *testEnv) {
	t.Helper()
	e.server.Forbid("compute.snapshots.delete")
	read := func() map[string]cloud.PermissionCheck {
		checks, err := connect(t, e.config(t)).Access.Preflight(t.Context(), cloud.Owner{Hub: "hub"})
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]cloud.PermissionCheck{}
		for _, check := range checks {
			out[check.Permission] = check
		}
		return out
	}
	checks := read()
	for _, permission := range documented(t) {
		check, made := checks[permission]
		operation := strings.Contains(permission, "Operations")
		switch {
		case permission == "compute.projects.get": // Identity needs it.
		case !made, operation != (check.Unchecked != ""), operation != (check.By == ""):
			t.Errorf("%s: %+v", permission, check)
		case !operation && check.Granted != (permission != "compute.snapshots.delete"):
			t.Errorf("%s: %+v", permission, check)
		}
	}
	if len(checks) != len(documented(t))-1 {
		t.Errorf("%d checks of %d permissions", len(checks), len(documented(t))-1)
	}
	for denied, unchecked := range map[string]string{"compute.zones.list": "compute.disks.get", "compute.snapshots.list": "compute.snapshots.create"} {
		e.server.Forbid(denied)
		checks := read()
		if checks[denied].Granted || checks[denied].Unchecked != "" || checks[unchecked].Unchecked == "" {
			t.Errorf("without %s: %+v, %+v", denied, checks[denied], checks[unchecked])
		}
	}
	missing := &cloud.Error{Class: cloud.ClassNotFound}
	got, err := checked([]string{"a.b.c"}, nil, missing)
	if err != nil || len(got) != 1 || got[0].Granted || got[0].Unchecked == "" {
		t.Errorf("%+v, %v of a test on what does not exist, want one unchecked", got, err)
	}
}

// expiredToken checks that a read renews an expired token, and that a change returns an error, on which the caller
// decides.
func expiredToken(t *testing.T, e *testEnv) {
	t.Helper()
	session, disk := connect(t, e.config(t)), e.disk(t, "data", 20<<30)
	for range 2 {
		if _, err := session.Access.Identity(t.Context()); err != nil {
			t.Fatal(err)
		}
		e.server.ExpireTokens()
	}
	if n := e.script.Count(faults.OpIdentity); n != 3 {
		t.Errorf("%d requests, want 3: one was refused", n)
	}
	if _, err := session.Snapshots.EnsureSnapshot(t.Context(), spec("a", disk)); err != nil {
		t.Errorf("with an expired token: %v", err)
	}
}

func redirected(t *testing.T, e *testEnv) {
	t.Helper()
	config := e.config(t)
	var mu sync.Mutex
	var hosts []string
	inner := config.HTTP.Transport
	config.HTTP.Transport = identity.RoundTripper(func(r *http.Request) (*http.Response, error) {
		mu.Lock()
		defer mu.Unlock()
		hosts = append(hosts, r.URL.Host)
		if r.Method == http.MethodPost {
			return inner.RoundTrip(r)
		}
		return &http.Response{
			StatusCode: http.StatusTemporaryRedirect, Header: http.Header{"Location": {"https://elsewhere.example/"}},
			Body: http.NoBody, Request: r, Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		}, nil
	})
	_, err := connect(t, config).Access.Identity(t.Context())
	wantClass(t, err, cloud.ClassTransient)
	for _, host := range hosts {
		if "http://"+host != e.url {
			t.Errorf("a request went to %s", host)
		}
	}
}

package accounts

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
	testclock "k8s.io/utils/clock/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/fencing"
)

// environment has accounts in a cloud in memory.
type environment struct {
	*Accounts
	clock     *testclock.FakeClock
	connected []cloud.Config
	opened    []cloud.Config
	requests  *faults.Script
}

func newEnvironment() *environment {
	s := &environment{clock: testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)), requests: &faults.Script{}}
	provider := fake.NewCloud(s.clock)
	s.Accounts = New(Options{Clock: s.clock, Buckets: cloud.Buckets{v1.ProviderAWS: s.open}, Registry: cloud.Registry{
		v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
			s.connected = append(s.connected, c)
			if string(c.Secret["accessKeyID"]) == "bad" {
				return cloud.Session{}, &cloud.Error{Class: cloud.ClassInvalid, Code: "BadKey"}
			}
			return fake.Connect(provider, s.requests, fake.Options{Region: c.Region, Account: c.Account}), nil
		},
	}})
	return s
}

func spec(regions ...string) v1.CloudAccountSpec {
	return v1.CloudAccountSpec{Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: "123456789012"}, Regions: regions}
}

func TestSessionsAreKeptUntilTheAccountChanges(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	key := map[string][]byte{"accessKeyID": []byte("k")}
	if !s.Set("a", spec(), key) || s.Set("a", spec(), key) {
		t.Error("only the first Set changed anything")
	}
	session := func(region string) {
		t.Helper()
		if _, err := s.Session(t.Context(), "a", region); err != nil {
			t.Fatal(err)
		}
	}
	session("eu-west-1")
	session("eu-west-1")
	session("us-east-1")
	if len(s.connected) != 2 {
		t.Errorf("connected %d times, want once for each region", len(s.connected))
	}
	key["accessKeyID"] = []byte("changed behind our back")
	s.Set("a", spec(), map[string][]byte{"accessKeyID": []byte("k2")})
	session("eu-west-1")
	if got := string(s.connected[2].Secret["accessKeyID"]); len(s.connected) != 3 || got != "k2" {
		t.Errorf("after a rotation connected %d times, last with %q", len(s.connected), got)
	}
	if got := string(s.connected[0].Secret["accessKeyID"]); got != "k" {
		t.Errorf("the caller's map is ours: %q", got)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	s.Set("narrow", spec("eu-west-1"), nil)
	s.Set("bad", spec(), map[string][]byte{"accessKeyID": []byte("bad")})
	gcp := v1.CloudAccountSpec{Provider: v1.ProviderGCP, GCP: &v1.GCPAccount{Project: "shops-prod"}}
	s.Set("unbuilt", gcp, nil)
	tests := map[string]struct {
		account, region string
		class           cloud.Class
		code            string
	}{
		"no account":         {"none", "eu-west-1", cloud.ClassNotFound, CodeUnknownAccount},
		"region not allowed": {"narrow", "us-east-1", cloud.ClassInvalid, CodeRegionNotAllowed},
		"not built":          {"unbuilt", "europe-west1", cloud.ClassInvalid, CodeProviderMissing},
		"bad configuration":  {"bad", "eu-west-1", cloud.ClassInvalid, "BadKey"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := s.Session(t.Context(), tt.account, tt.region)
			var e *cloud.Error
			if !errors.As(err, &e) || e.Class != tt.class || e.Code != tt.code {
				t.Errorf("error %v, want %s (%s)", err, tt.class, tt.code)
			}
		})
	}
}

// TestABusyAccountIsPaced checks that requests above the limit fail without being sent, with the time to wait, and
// that another account has a limit of its own.
func TestABusyAccountIsPaced(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	s.Set("a", spec(), nil)
	s.Set("b", spec(), nil)
	describe := func(account string) error {
		t.Helper()
		session, err := s.Session(t.Context(), account, "eu-west-1")
		if err != nil {
			t.Fatal(err)
		}
		_, err = session.Volumes.DescribeVolume(t.Context(), cloud.VolumeRef{Region: "eu-west-1", Handle: "vol-1"})
		return err
	}
	for range readsAtOnce {
		if err := describe("a"); cloud.ClassOf(err) != cloud.ClassNotFound {
			t.Fatal(err)
		}
	}
	sent := s.requests.Count(faults.OpAny)
	if err := describe("a"); cloud.ClassOf(err) != cloud.ClassThrottled || cloud.RetryAfter(err) < time.Second {
		t.Errorf("one too many: %v, again after %s", err, cloud.RetryAfter(err))
	}
	if got := s.requests.Count(faults.OpAny); got != sent {
		t.Error("a paced call was sent")
	}
	if err := describe("b"); cloud.ClassOf(err) != cloud.ClassNotFound {
		t.Errorf("the other account: %v", err)
	}
	s.clock.Step(time.Second)
	if err := describe("a"); cloud.ClassOf(err) != cloud.ClassNotFound {
		t.Errorf("a second later: %v", err)
	}
}

func TestRequestsAreCounted(t *testing.T) {
	t.Parallel()
	counter := NewRequests()
	c := counted{next: roundTripper(func(r *http.Request) (*http.Response, error) {
		if r.URL.Path == "/fails" {
			return nil, errors.New("reset")
		}
		return &http.Response{StatusCode: http.StatusTooManyRequests, Body: http.NoBody}, nil
	}), count: counter.MustCurryWith(map[string]string{"provider": "aws", "account": "a"})}
	for _, path := range []string{"/fails", "/", "/"} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://127.0.0.1"+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if response, err := c.RoundTrip(r); err == nil {
			_ = response.Body.Close()
		}
	}
	for outcome, want := range map[string]float64{"error": 1, "429": 2} {
		if got := testutil.ToFloat64(counter.WithLabelValues("aws", "a", outcome)); got != want {
			t.Errorf("%s: %v, want %v", outcome, got, want)
		}
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return t(r) }

// TestAnAccountThatHangsHoldsUpNoOther checks that accounts do not wait for each other, although all use the same
// host.
func TestAnAccountThatHangsHoldsUpNoOther(t *testing.T) {
	t.Parallel()
	session := func(t *testing.T, s *environment, account string) cloud.Config {
		t.Helper()
		if _, err := s.Session(t.Context(), account, "eu-west-1"); err != nil {
			t.Fatal(err)
		}
		return s.connected[len(s.connected)-1]
	}
	bucket := func(t *testing.T, s *environment, account string) cloud.Config {
		t.Helper()
		if _, err := s.Bucket(t.Context(), account); err != nil {
			t.Fatal(err)
		}
		return s.opened[len(s.opened)-1]
	}
	tests := map[string]struct {
		hangs, goesOn func(*testing.T, *environment, string) cloud.Config
		account       string
	}{
		"in a session: another session":       {session, session, "b"},
		"in a bucket: another bucket":         {bucket, bucket, "b"},
		"in a bucket: its own session":        {bucket, session, "a"},
		"in a session: its own bucket":        {session, bucket, "a"},
		"in a bucket: a session of another's": {bucket, session, "b"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newEnvironment()
			s.Set("a", withBucket(), nil)
			s.Set("b", withBucket(), nil)
			hangAll(t, tt.hangs(t, s, "a"), tt.goesOn(t, s, tt.account))
		})
	}
}

// hangAll takes all connections of one, and checks that the other gets an answer.
func hangAll(t *testing.T, hangs, goesOn cloud.Config) {
	t.Helper()
	hung := make(chan struct{}, connectionsHost)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/hang" {
			hung <- struct{}{}
			<-r.Context().Done()
		}
	}))
	t.Cleanup(server.Close)
	for range connectionsHost {
		go func() { _ = get(t, hangs, server.URL+"/hang") }() // Ends with the test.
	}
	for range connectionsHost {
		select {
		case <-hung:
		case <-time.After(30 * time.Second):
			t.Fatal("the requests that are to hang did not arrive")
		}
	}
	answered := make(chan error, 1)
	go func() { answered <- get(t, goesOn, server.URL+"/") }()
	select {
	case err := <-answered:
		if err != nil {
			t.Error(err)
		}
	case <-time.After(30 * time.Second):
		t.Error("it waits for the connections of what hangs")
	}
}

func get(t *testing.T, with cloud.Config, url string) error {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	response, err := with.HTTP.Do(r)
	if err == nil {
		err = response.Body.Close()
	}
	return err
}

// TestAFormerLeaderSendsNothing checks that a process that did not renew its Lease in time reaches no cloud and no
// bucket any more.
func TestAFormerLeaderSendsNothing(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	fence := fencing.New(10*time.Second, s.clock)
	sent := 0
	s.options.Fence = fence.WrapCloud
	s.options.HTTP = roundTripper(func(*http.Request) (*http.Response, error) {
		sent++
		return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody}, nil
	})
	s.Set("a", withBucket(), nil)
	if _, err := s.Session(t.Context(), "a", "eu-west-1"); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Bucket(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	lease, err := http.NewRequestWithContext(t.Context(), http.MethodPut, "https://127.0.0.1/apis/coordination.k8s.io/v1/namespaces/n/leases/l", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := fence.Wrap(s.options.HTTP).RoundTrip(lease)
	if err != nil {
		t.Fatal(err)
	}
	_ = response.Body.Close()
	for _, leads := range []bool{true, false} {
		for _, connection := range []cloud.Config{s.connected[0], s.opened[0]} {
			before := sent
			request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1/", nil)
			if err != nil {
				t.Fatal(err)
			}
			response, err := connection.HTTP.Do(request)
			if err == nil {
				_ = response.Body.Close()
			}
			if fenced := errors.Is(err, apierror.ErrFenced); fenced == leads || (sent > before) != leads {
				t.Errorf("leads %t: %d requests sent, %v", leads, sent-before, err)
			}
		}
		s.clock.Step(10 * time.Second)
	}
}

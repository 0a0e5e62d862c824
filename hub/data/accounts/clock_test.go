package accounts

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

// TestSkew asks a provider for the time, whose clock is a day ahead, and lets it be forgotten.
func TestSkew(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	ahead := 24 * time.Hour
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Date", s.clock.Now().Add(ahead).UTC().Format(http.TimeFormat))
		w.WriteHeader(http.StatusForbidden)
	}))
	t.Cleanup(server.Close)
	s.Set("a", spec(), nil)
	s.Set("b", spec(), nil)
	check := func(account string, want time.Duration, known bool) {
		t.Helper()
		if got, is := s.Skew(account); got != want || is != known {
			t.Errorf("%s is %s ahead, known %t; want %s, known %t", account, got, is, want, known)
		}
	}
	check("a", 0, false)
	if _, err := s.Session(t.Context(), "a", "eu-west-1"); err != nil {
		t.Fatal(err)
	}
	send(t, s.connected[0], server.URL)
	check("a", ahead, true)
	check("b", 0, false)
	check("unknown", 0, false)
	s.Set("a", spec("eu-west-1"), nil)
	check("a", ahead, true)
	s.clock.Step(clockMemory + time.Second)
	check("a", 0, false)
	ahead = -time.Hour
	send(t, s.connected[0], server.URL)
	check("a", ahead, true)
}

func send(t *testing.T, by cloud.Config, to string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, to, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := by.HTTP.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Error(err)
	}
}

// TestWhoseClock checks that the host whose clock is off most counts, and that a metadata service and responses
// without a time do not.
func TestWhoseClock(t *testing.T) {
	t.Parallel()
	s := newEnvironment()
	c := newProviderClock(s.clock)
	record := func(from, date string) {
		t.Helper()
		u, err := url.Parse(from)
		if err != nil {
			t.Fatal(err)
		}
		c.record(u, http.Header{"Date": {date}})
	}
	at := func(off time.Duration) string { return s.clock.Now().Add(off).UTC().Format(http.TimeFormat) }
	record("http://169.254.169.254/latest/api/token", at(0))
	record("http://metadata.google.internal/token", at(0))
	record("https://ec2.eu-west-1.amazonaws.com/", "yesterday")
	if _, known := c.skew(); known {
		t.Error("the time is known from those who do not tell the provider's")
	}
	record("https://ec2.eu-west-1.amazonaws.com/", at(time.Second))
	record("https://s3.eu-west-1.amazonaws.com/", at(-time.Hour))
	record("https://sts.amazonaws.com/", at(time.Minute))
	if got, known := c.skew(); got != -time.Hour || !known {
		t.Errorf("%s ahead, known %t", got, known)
	}
}

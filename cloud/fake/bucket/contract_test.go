package bucket_test

import (
	"net/http/httptest"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// TestContract runs the contract against the bucket, without a network.
func TestContract(t *testing.T) {
	t.Parallel()
	objectstore.Run(t, func(t testing.TB) *objectstore.Backend {
		t.Helper()
		clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
		store, script, pages := bucket.NewStore(clock), &faults.Script{}, 0
		store.SpillTo(t.TempDir())
		server := httptest.NewServer(store)
		t.Cleanup(server.Close)
		return &objectstore.Backend{
			Provider: bucket.ProviderMemory, Clock: clock, Store: store, Script: script,
			Open: func(_ testing.TB, o objectstore.Options) (cloud.ObjectStore, error) {
				return bucket.Connect(store, bucket.Options{
					Prefix: o.Prefix, URL: server.URL, Script: script, BadCredentials: o.BadCredentials, Missing: o.Missing,
					PageSize: func() int { return pages },
				}), nil
			},
			Send:               server.Client().Do,
			Refusal:            bucket.Refusal,
			PageSize:           func(n int) { pages = n },
			ValidateSkipReason: "it sends no HTTP requests",
			Secrets:            []string{"signature"},
			Unsupported: map[int]string{
				79: "there is no other region or endpoint",
				81: "it sends no HTTP requests",
				83: "it has no permissions",
			},
		}
	})
}

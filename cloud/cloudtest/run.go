package cloudtest

import (
	"cmp"
	"fmt"
	"os"
	"slices"
	"strconv"
	"testing"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/basics"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/failures"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

// Backend represents a provider under test. The provider's test creates one for each case.
type Backend = fixture.Backend

// Options configures a session of a Backend.
type Options = fixture.Options

// Keys are the customer managed keys of a Backend.
type Keys = fixture.Keys

// Store reads and edits the state of a cloud that is not a fake.Cloud.
type Store = fixture.Store

// The UIDs of the hubs whose identities sessions have; see Options.OtherHub.
const (
	HubUID      = fixture.HubUID
	OtherHubUID = fixture.OtherHubUID
)

// Run runs all cases against a provider, each as a subtest with a backend of its own, and
// then random faults.
func Run(t *testing.T, build func(t testing.TB) *Backend) {
	t.Helper()
	for _, c := range cases() {
		t.Run(fmt.Sprintf("%02d %s", c.Number, c.Name), func(t *testing.T) {
			t.Parallel()
			f := fixture.New(t, build)
			if reason := f.Unsupported[c.Number]; reason != "" {
				t.Skip("unsupported: " + reason)
			}
			c.Run(f)
		})
	}
	t.Run("random faults", func(t *testing.T) {
		t.Parallel()
		for seed := range seeds(t) {
			t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
				t.Parallel()
				failures.Random(fixture.New(t, build), uint64(seed))
			})
		}
	})
}

// cases returns all cases, sorted by number.
func cases() []fixture.Case {
	all := slices.Concat(basics.Cases(), failures.Cases())
	slices.SortFunc(all, func(a, b fixture.Case) int { return cmp.Compare(a.Number, b.Number) })
	return all
}

// seeds returns the number of schedules of random faults: CLOUD_SEEDS, or 20.
func seeds(t testing.TB) uint16 {
	t.Helper()
	text := os.Getenv("CLOUD_SEEDS")
	if text == "" {
		return 20
	}
	n, err := strconv.ParseUint(text, 10, 16)
	if err != nil || n == 0 {
		t.Fatalf("CLOUD_SEEDS is %q, want a number of at least 1 and at most 65535", text)
	}
	return uint16(n)
}

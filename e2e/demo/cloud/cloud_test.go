package cloud

import (
	"errors"
	"testing"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// TestDriverOf expects volumes for Amazon's clusters alone, whose API is served.
func TestDriverOf(t *testing.T) {
	inMemory := fake.NewCloud(clock.RealClock{})
	server := ec2.New(inMemory, ec2.Options{Clock: clock.RealClock{}})
	for provider, want := range map[fleet.Provider]error{fleet.AWS: nil, fleet.GCP: errNoDriver, fleet.Azure: errNoDriver, fleet.Local: errNoDriver} {
		if _, err := driverOf(fleet.ClusterSpec{Name: "c", Provider: provider, Region: "r"}, inMemory, server); !errors.Is(err, want) {
			t.Errorf("provider %s: error %v, want %v", provider, err, want)
		}
	}
}

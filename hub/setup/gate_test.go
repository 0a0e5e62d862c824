package setup

import (
	"errors"
	"slices"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/discovery/fake"
	clienttesting "k8s.io/client-go/testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// serving returns a gate before an API server with the given kinds.
func serving(kinds ...string) *gate {
	list := &metav1.APIResourceList{GroupVersion: v1.GroupVersion.String()}
	for _, kind := range kinds {
		list.APIResources = append(list.APIResources, metav1.APIResource{Kind: kind})
	}
	server := &fake.FakeDiscovery{Fake: &clienttesting.Fake{Resources: []*metav1.APIResourceList{list}}}
	return &gate{discovery: server, logger: logr.Discard()}
}

// TestTheGateWaitsForAllKinds leaves each kind out: a controller that is started without
// its kind waits for a cache that never fills.
func TestTheGateWaitsForAllKinds(t *testing.T) {
	t.Parallel()
	all := []string{"EcommerceApp", "MemberCluster", "CloudAccount", "Backup", "Restore", "Plan"}
	if missing, err := serving(all...).missing(); err != nil || len(missing) > 0 {
		t.Errorf("with all kinds it waits for %v, %v", missing, err)
	}
	for _, kind := range all {
		others := slices.DeleteFunc(slices.Clone(all), func(other string) bool { return other == kind })
		missing, err := serving(others...).missing()
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{kind}, missing); diff != "" {
			t.Errorf("without %s it waits for (-want +got):\n%s", kind, diff)
		}
	}
}

// TestTheGateSaysThatItWaits checks that the gate logs that it waits until it is opened.
func TestTheGateSaysThatItWaits(t *testing.T) {
	t.Parallel()
	nothing := &gate{discovery: &fake.FakeDiscovery{Fake: &clienttesting.Fake{}}, logger: logr.Discard()}
	if missing, err := nothing.missing(); err == nil || len(missing) != len(kinds()) {
		t.Errorf("with no kind of ours it waits for %v, %v", missing, err)
	}
	if err := nothing.check(nil); !errors.Is(err, errWaitingForKinds) {
		t.Errorf("err = %v, want %v", err, errWaitingForKinds)
	}
	nothing.opened.Store(true)
	if err := nothing.check(nil); err != nil {
		t.Errorf("open, and not ready: %v", err)
	}
}

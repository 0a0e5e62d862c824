package dumps

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

func TestClaim(t *testing.T) {
	t.Parallel()
	store := bucket.NewStore(clock.RealClock{})
	objects := bucket.Connect(store, bucket.Options{})
	for range 2 { // The second finds the first.
		if err := Claim(t.Context(), objects, "former", "hub"); err != nil {
			t.Fatal(err)
		}
	}
	if err := Claim(t.Context(), objects, "../former", "hub"); err == nil {
		t.Error("claimed what is no hub")
	}
	if diff := cmp.Diff([]string{"shopfleet/former/claims/hub.json"}, store.Keys()); diff != "" {
		t.Errorf("in the bucket (-want +got):\n%s", diff)
	}
	for key, want := range map[string]string{
		"shopfleet/former/claims/hub.json":     "hub",
		"shopfleet/another/claims/hub.json":    "",
		"shopfleet/former/claims/hub":          "",
		"shopfleet/former/claims/a/hub.json":   "",
		"shopfleet/former/app/b/manifest.json": "",
	} {
		if got := Claimant("former", key); got != want {
			t.Errorf("%s: %q, want %q", key, got, want)
		}
	}
}

package restore

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// TestMigrate checks where a Restore goes on that a hub began which asked the cloud for volumes itself.
func TestMigrate(t *testing.T) {
	t.Parallel()
	volume := func(state v1.RestoredVolumeState, handle string) []v1.RestoredVolume {
		return []v1.RestoredVolume{{Claim: "data-0", Snapshot: "snap-1", Zone: "a", PersistentVolume: "shopfleet-r1", Volume: handle, State: state}}
	}
	now := time.Unix(1000, 0)
	old := recordOf(now, "Resolve", "Import", "Stop")
	for name, tt := range map[string]struct {
		change func(*v1.Restore)
		// steps are those that are complete afterwards, fails what the result says.
		steps []string
		fails string
	}{
		"chosen":                {func(r *v1.Restore) { r.Status.Volumes = volume("", "") }, []string{"Resolve", "Import", "Stop"}, "create another Restore"},
		"a volume is requested": {func(r *v1.Restore) { r.Status.Volumes = volume(v1.RestoredVolumeCreating, "") }, []string{"Resolve", "Import", "Stop"}, "create another Restore"},
		"a volume is there": {func(r *v1.Restore) { r.Status.Volumes, r.Status.Steps = volume(v1.RestoredVolumeReady, "vol-1"), old },
			[]string{"Resolve", "Import", "Stop"}, "; the volume vol-1 was made in the cloud and is not needed"},
		"a claim is replaced": {func(r *v1.Restore) {
			r.Status.Volumes, r.Status.Steps = volume(v1.RestoredVolumeReplacing, "vol-1"), old
		},
			[]string{"Resolve", "Import", "Stop", "Retire"}, ""},
		"a claim is bound": {func(r *v1.Restore) { r.Status.Volumes = volume(v1.RestoredVolumeBound, "vol-1") }, []string{"Resolve", "Import", "Stop", "Retire"}, ""},
		"verified": {func(r *v1.Restore) { r.Spec.Verify, r.Status.Volumes = true, volume(v1.RestoredVolumeBound, "vol-1") },
			[]string{"Resolve", "Import"}, "create another Restore"},
		"of this build": {func(r *v1.Restore) {
			r.Status.Volumes, r.Status.Steps = volume(v1.RestoredVolumeReady, ""), recordOf(now, "Resolve", "Import")
			r.Status.Volumes[0].PersistentVolume = "pvc-1"
		}, []string{"Resolve", "Import"}, ""},
		"not begun": {func(*v1.Restore) {}, nil, ""},
		"of a dump": {func(r *v1.Restore) {
			r.Status.Dump, r.Status.Volumes = &v1.RestoredDump{}, volume("", "")
		}, nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := &v1.Restore{}
			tt.change(r)
			for range 2 { // The second pass finds what the first one has written.
				result := migrate(r, now)
				if result.Fatal != (tt.fails != "") || result.Fatal != (result.Reason == v1.ReasonNotSupported) || !strings.Contains(result.Message, tt.fails) {
					t.Errorf("%+v, want %q", result, tt.fails)
				}
			}
			var complete []string
			for _, s := range r.Status.Steps {
				if steps.Complete(r.Status.Steps, s.Name) {
					complete = append(complete, s.Name)
				}
			}
			if diff := cmp.Diff(tt.steps, complete); diff != "" {
				t.Errorf("complete (-want +got):\n%s", diff)
			}
		})
	}
}

package restore

import (
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

// staticVolume begins the names of PersistentVolumes that hubs made which asked the cloud for volumes themselves.
const staticVolume = "shopfleet-"

// isStatic reports whether a hub before this one made a volume.
func isStatic(v v1.RestoredVolume) bool { return strings.HasPrefix(v.PersistentVolume, staticVolume) }

// migrate brings the status of a Restore of snapshots, which a hub before this one began, to the steps of today. Where a claim
// may have been deleted it goes on at Bind, on the volume that was made. Where none was, it is taken back: the result says so.
func migrate(r *v1.Restore, now time.Time) steps.Result {
	s := &r.Status
	if s.Dump != nil || !slices.ContainsFunc(s.Volumes, isStatic) || steps.Begun(s.Steps, stepRetire) {
		return steps.Result{}
	}
	replacing := slices.ContainsFunc(s.Volumes, func(v v1.RestoredVolume) bool {
		return v.State == v1.RestoredVolumeReplacing || v.State == v1.RestoredVolumeBound
	})
	switch {
	case r.Spec.Verify:
		s.Steps = recordOf(now, "Resolve", stepImport, "Prove")
		s.Steps[2].EndTime = nil
	case replacing:
		s.Steps = recordOf(now, "Resolve", stepImport, v1.RestoreStepStop, stepRetire)
		return steps.Result{}
	default:
		s.Steps = recordOf(now, "Resolve", stepImport, v1.RestoreStepStop)
	}
	said := []string{"a hub of an older version began it, and nothing was replaced: create another Restore"}
	for _, v := range s.Volumes {
		if v.Volume != "" {
			said = append(said, fmt.Sprintf("the volume %s was made in the cloud and is not needed", v.Volume))
		}
	}
	return steps.Fail(v1.ReasonNotSupported, "%s", strings.Join(said, "; "))
}

// recordOf returns the record of steps that are complete.
func recordOf(now time.Time, names ...string) []v1.StepStatus {
	all := make([]v1.StepStatus, 0, len(names))
	for _, name := range names {
		all = append(all, v1.StepStatus{Name: name, StartTime: metav1.NewTime(now.Truncate(time.Second)), EndTime: v1.Seconds(now)})
	}
	return all
}

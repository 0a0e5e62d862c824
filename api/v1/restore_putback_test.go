package v1

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestPutsBack: what was replaced is put back when a user asks for it, to the end, and once.
func TestPutsBack(t *testing.T) {
	t.Parallel()
	begun := func(names ...string) []StepStatus {
		var all []StepStatus
		for _, name := range names {
			all = append(all, StepStatus{Name: name})
		}
		return all
	}
	replaced := []RestoredVolume{{Claim: "data-0", PersistentVolume: "new", Replaced: "old"}, {Claim: "data-1", PersistentVolume: "other"}}
	for name, tt := range map[string]struct {
		asked   string
		volumes []RestoredVolume
		steps   []StepStatus
		ended   bool
		want    bool
	}{
		"asked for":              {"true", replaced, begun("Stop", RestoreStepRetire), false, true},
		"not asked for":          {"", replaced, begun("Stop", RestoreStepRetire), false, false},
		"another value":          {"false", replaced, begun("Stop", RestoreStepRetire), false, false},
		"before anything is":     {"true", replaced, begun("Stop"), false, false},
		"nothing was replaced":   {"true", replaced[1:], begun("Stop", RestoreStepRetire), false, false},
		"not asked for any more": {"", replaced, begun(RestoreStepRetire, RestoreStepHalt), false, true},
		"not done":               {"true", replaced, begun(RestoreStepRetire, RestoreStepHalt, RestoreStepPutBack), false, true},
		"done":                   {"true", replaced, begun(RestoreStepRetire, RestoreStepHalt, RestoreStepPutBack), true, false},
	} {
		r := &Restore{}
		r.Annotations = map[string]string{PutBackAnnotation: tt.asked}
		r.Status.Volumes, r.Status.Steps = tt.volumes, tt.steps
		if tt.ended {
			r.Status.Steps[len(tt.steps)-1].EndTime = &metav1.Time{}
		}
		if got := r.PutsBack(); got != tt.want || r.Status.IsPutBack() != tt.ended {
			t.Errorf("%s: to be put back %t, put back %t; want %t, %t", name, got, r.Status.IsPutBack(), tt.want, tt.ended)
		}
	}
	if all := (&RestoreStatus{Volumes: replaced, Steps: begun(RestoreStepRetire)}).Replaced(); len(all) != 1 || all[0].Claim != "data-0" {
		t.Errorf("replaced are %+v", all)
	}
}

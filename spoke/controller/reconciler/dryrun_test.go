package reconciler

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// TestRefusal checks which errors of a dry run are refusals of the cluster.
func TestRefusal(t *testing.T) {
	t.Parallel()
	pods := schema.GroupResource{Resource: "pods"}
	var errDenied = errors.New("quota " + strings.Repeat("ä", 600))
	for name, tt := range map[string]struct {
		err    error
		reason string
	}{
		"denied":        {apierrors.NewForbidden(pods, "a", errDenied), v1.ReasonForbidden},
		"invalid":       {apierrors.NewInvalid(schema.GroupKind{Kind: "Pod"}, "a", nil), v1.ReasonInvalidSpec},
		"another's":     {&apply.ConflictError{}, v1.ReasonConflict},
		"a rejected":    {&apierror.SpecError{Reason: v1.ReasonDriverMissing, Err: errNotWatched}, v1.ReasonDriverMissing},
		"gone":          {apierrors.NewNotFound(pods, "a"), v1.ReasonApplyFailed},
		"changed":       {apierrors.NewConflict(pods, "a", errNotWatched), ""},
		"throttled":     {apierrors.NewTooManyRequests("", 1), ""},
		"not connected": {apierror.ErrNotConnected, ""},
		"failed on":     {apierrors.NewInternalError(errNotWatched), v1.ReasonApplyFailed},
		"broken":        {apierrors.NewGenericServerResponse(500, "patch", schema.GroupResource{}, "a", "", 0, true), ""},
	} {
		got, is := Refusal("Pod", "a", tt.err)
		if is != (tt.reason != "") || got.Reason != tt.reason || len(got.Message) > 512 || strings.ContainsRune(got.Message, '\uFFFD') {
			t.Errorf("%s: %+v, %t, want reason %q", name, got, is, tt.reason)
		}
		if is && (got.Kind != "Pod" || got.Name != "a" || got.Action != v1.PlannedRefuse || got.Message == "") {
			t.Errorf("%s: %+v", name, got)
		}
	}
	want := v1.PlannedChange{Kind: "Pod", Name: "a", Action: "Expand", Fields: []string{"b"}}
	if diff := cmp.Diff(want, Planned(v1.PendingChange{Cluster: "eu-1", Kind: "Pod", Name: "a", Action: v1.PendingExpand, Fields: []string{"b"}})); diff != "" {
		t.Errorf("planned (-want +got):\n%s", diff)
	}
}

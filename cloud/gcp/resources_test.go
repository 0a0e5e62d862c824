package gcp

import (
	"strings"
	"testing"

	"cloud.google.com/go/compute/apiv1/computepb"
	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
)

func TestTagsRoundTrip(t *testing.T) {
	t.Parallel()
	tests := map[string]cloud.Tags{
		"plain":    {cloud.TagHub: "0f5e1d2c-93aa", cloud.TagApp: "a", cloud.TagName: "n", cloud.TagClaim: "Data \"x\" <店>"},
		"no label": {cloud.TagHub: "Hub of ACME", cloud.TagApp: strings.Repeat("a", 64)},
		"no app":   {cloud.TagHub: "h"},
	}
	for name, tags := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			labels, description, err := encode("EnsureSnapshot", tags)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tags, decode(labels, description)); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if got := decode(nil, description); got[cloud.TagHub] != "" || got[cloud.TagApp] != "" {
				t.Errorf("without labels it is still owned: %v", got)
			}
			labels[cloud.TagHub] = "another-hub"
			if got := decode(labels, description); got[cloud.TagHub] != "another-hub" {
				t.Errorf("the label does not decide: %v", got)
			}
			if got := decode(labels, "by hand"); got[cloud.TagHub] != "another-hub" || got[cloud.TagClaim] != "" {
				t.Errorf("with another description: %v", got)
			}
		})
	}
}

func TestStates(t *testing.T) {
	t.Parallel()
	s := &session{project: project, region: region}
	for status, want := range map[string]cloud.State{
		"CREATING": cloud.StateCreating, "UPLOADING": cloud.StateTaken, "READY": cloud.StateReady, "FAILED": cloud.StateFailed,
		"DELETING": cloud.StateDeleting, "": cloud.StateCreating, "ARCHIVING": cloud.StateCreating,
	} {
		got := s.snapshot(&computepb.Snapshot{Status: &status, CreationTimestamp: new("2026-03-01T02:00:00.000-08:00")})
		if got.State != want || got.TakenAt.IsZero() != (want == cloud.StateCreating) {
			t.Errorf("%s: state %q, cut at %s; want %q", status, got.State, got.TakenAt, want)
		}
	}
}

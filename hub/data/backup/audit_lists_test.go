package backup

import (
	"testing"

	gocmp "github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// TestAuditOfOwners checks that the snapshots of a former hub are compared with its list, and that a Backup without a hub
// is of the one whose tag its snapshots have.
func TestAuditOfOwners(t *testing.T) {
	t.Parallel()
	own, theirs := cloud.Tags{cloud.TagHub: "hub-1", cloud.TagApp: "app-1"}, cloud.Tags{cloud.TagHub: "hub-2", cloud.TagApp: "app-1"}
	for name, tt := range map[string]struct {
		hub    string
		tags   cloud.Tags
		listed map[string][]string
		want   string
		asked  int
	}{
		"listed":                {"", nil, map[string][]string{"hub-1": {"snap-eu-1", "snap-us-1"}}, "hub-1", 2},
		"listed for another":    {"hub-2", nil, map[string][]string{"hub-2": {"snap-eu-1", "snap-us-1"}}, "hub-2", 4},
		"looked at":             {"", theirs, nil, "hub-2", 4},
		"looked at, it is ours": {"", own, nil, "hub-1", 4},
		"of another app":        {"", cloud.Tags{cloud.TagHub: "hub-2", cloud.TagApp: "app-2"}, nil, "", 4},
		"without tags":          {"", nil, nil, "", 4},
		"of another since":      {"hub-1", theirs, nil, "hub-1", 4},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			asked, unbounded := 0, 0
			a, h := newAudit(auditedCloud{byHub: tt.listed, tags: tt.tags, unlisted: []string{"snap-eu-1", "snap-us-1"}, deadlines: &asked, missing: &unbounded})
			h.backup.Status.HubUID = tt.hub
			a.pass(t)
			if h.backup.Status.HubUID != tt.want || h.backup.IsMissing() || asked != tt.asked {
				t.Errorf("of %q after %d requests, want %q after %d", h.backup.Status.HubUID, asked, tt.want, tt.asked)
			}
		})
	}
}

// TestAuditListsOnce checks that snapshots without a region are listed in one that may be used.
func TestAuditListsOnce(t *testing.T) {
	t.Parallel()
	regions := map[string][]audited{"a": {{CloudSnapshot: &v1.CloudSnapshot{ID: "1"}}}, "b": {{CloudSnapshot: &v1.CloudSnapshot{ID: "2"}}}}
	for name, tt := range map[string]struct {
		account v1.CloudAccountSpec
		want    map[string]string
	}{
		"regional":          {v1.CloudAccountSpec{Provider: v1.ProviderAWS}, map[string]string{"a": "1", "b": "2"}},
		"global":            {v1.CloudAccountSpec{Provider: v1.ProviderGCP}, map[string]string{"a": "12"}},
		"one may be used":   {v1.CloudAccountSpec{Provider: v1.ProviderGCP, Regions: []string{"b"}}, map[string]string{"b": "12"}},
		"none may be used":  {v1.CloudAccountSpec{Provider: v1.ProviderGCP, Regions: []string{"c"}}, map[string]string{"a": "12"}},
		"another is usable": {v1.CloudAccountSpec{Provider: v1.ProviderAzure, Regions: []string{"b"}}, map[string]string{"a": "1", "b": "2"}},
	} {
		got := map[string]string{}
		for region, snapshots := range listOnce(&tt.account, regions) {
			for _, s := range snapshots {
				got[region] += s.ID
			}
		}
		if diff := gocmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

package scheduler

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestClaims checks that retention deletes the backups of a hub that was taken over, and none that another one has taken over.
func TestClaims(t *testing.T) {
	t.Parallel()
	const (
		first, second = "shop-eu-1-20260301-0200", "shop-eu-1-20260302-0200"
		taken         = `old backups in the CloudAccount "prod" are not deleted: the hub other has taken them over`
	)
	both := []string{first, second}
	for name, tt := range map[string]struct {
		made         string // Which hub made them; empty: not known.
		claims       []v1.HubClaim
		rediscovered bool
		deleted      []string
		held         string
	}{
		"own":                               {made: "hub", deleted: both},
		"not known":                         {deleted: both},
		"own, rediscovered":                 {made: "hub", rediscovered: true},
		"own, and claimed":                  {made: "hub", claims: []v1.HubClaim{{Hub: "hub", Claimants: []string{"hub"}}}, deleted: both},
		"own, claimed by another":           {made: "hub", claims: []v1.HubClaim{{Hub: "hub", Claimants: []string{"other"}}}, held: taken},
		"not known, claimed by another":     {claims: []v1.HubClaim{{Hub: "hub", Claimants: []string{"other"}}}, held: taken},
		"of a former one":                   {made: "former"},
		"of a former one, taken over":       {made: "former", claims: []v1.HubClaim{{Hub: "former", Claimants: []string{"hub"}}}, rediscovered: true, deleted: both},
		"of a former one, by another":       {made: "former", claims: []v1.HubClaim{{Hub: "former", Claimants: []string{"other"}}}},
		"of a former one, by both":          {made: "former", claims: []v1.HubClaim{{Hub: "former", Claimants: []string{"hub", "other"}}}},
		"of another one than is taken over": {made: "former", claims: []v1.HubClaim{{Hub: "before", Claimants: []string{"hub"}}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			in := situation("2026-06-01T03:00:00Z")
			in.hub, in.accounts = "hub", map[string]*v1.CloudAccount{"prod": {ObjectMeta: metav1.ObjectMeta{Name: "prod"}, Status: v1.CloudAccountStatus{Claims: tt.claims}}}
			in.skews = map[string]time.Duration{"prod": 0}
			in.app.Spec.Database.Backup.Retention = v1.Retention{KeepLast: new(int32(1)), KeepDays: new(int32(1))}
			for _, day := range []string{"2026-03-01", "2026-03-02", "2026-06-01"} {
				b := backup(day+"T02:00:00Z", v1.BackupCompleted)
				b.Status.Account, b.Status.HubUID = "prod", tt.made
				if tt.rediscovered {
					b.Annotations = map[string]string{v1.RediscoveredAnnotation: "prod"}
				}
				in.backups = append(in.backups, b)
			}
			decision := decide(in)
			var deleted []string
			for _, d := range decision.Delete {
				deleted = append(deleted, d.Name)
			}
			if diff := cmp.Diff(tt.deleted, deleted); diff != "" {
				t.Errorf("deleted (-want +got):\n%s", diff)
			}
			held := ""
			if decision.Condition.Reason == v1.ReasonPruningHeld {
				held = decision.Condition.Message
			}
			if held != tt.held {
				t.Errorf("%s: %q, want %q", decision.Condition.Reason, held, tt.held)
			}
		})
	}
}

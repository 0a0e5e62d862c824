package members

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/health"
)

// TestRenewalFailure checks that a failed renewal is about the kubeconfig that was used, and that a missing
// permission is known before any renewal.
func TestRenewalFailure(t *testing.T) {
	t.Parallel()
	const account = "shopfleet-system/shopfleet-hub"
	tried := &health.Failure{Reason: v1.ReasonRenewalFailed, Message: "tried"}
	denied := health.RenewalDenied(account)
	for name, tt := range map[string]struct {
		renewal renewal
		denied  bool
		// inspected is the fingerprint of the kubeconfig that was inspected.
		inspected string
		want      *health.Failure
	}{
		"none":                                    {},
		"of this kubeconfig":                      {renewal: renewal{failure: tried, failed: "this"}, want: tried},
		"of the one before":                       {renewal: renewal{failure: tried, failed: "before"}},
		"permission is missing":                   {denied: true, inspected: "this", want: denied},
		"of this, and a permission is missing":    {renewal: renewal{failure: tried, failed: "this"}, denied: true, inspected: "this", want: tried},
		"of another, and a permission is missing": {renewal: renewal{failure: tried, failed: "before"}, denied: true, inspected: "this", want: denied},
		"permission was missing before":           {denied: true, inspected: "before"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l := &loop{
				accessor: &accessor{name: "eu-1"}, target: Target{RenewedAccount: account}, renewal: tt.renewal,
				access:    &kubeconfig.Access{Account: account, Fingerprint: "this", ExpiresAt: time.Unix(1000, 0)},
				inspected: connect.Inspection{RenewalDenied: tt.denied}, inspectedFingerprint: tt.inspected,
			}
			if diff := cmp.Diff(tt.want, l.credentials().Failure); diff != "" {
				t.Errorf("failure (-want +got):\n%s", diff)
			}
		})
	}
}

package controller

import (
	"errors"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// authorizedTest holds the answers of the provider by region, and the wanted condition.
type authorizedTest struct {
	regions []regionChecks
	status  metav1.ConditionStatus
	reason  string
	message string
}

func grantedBy(by string, names ...string) []cloud.PermissionCheck {
	var out []cloud.PermissionCheck
	for _, name := range names {
		out = append(out, cloud.PermissionCheck{Permission: name, Granted: true, By: by})
	}
	return out
}

// authorizedTests returns answers of providers by a description of them.
func authorizedTests() map[string]authorizedTest {
	denied := []cloud.PermissionCheck{{Permission: "ec2:CopySnapshot", By: "dry run"}}
	none := []cloud.PermissionCheck{{Permission: "ec2:CopySnapshot", Unchecked: "there is no snapshot"}}
	elsewhere := []cloud.PermissionCheck{{Permission: "disks/read", Scope: "other groups", Unchecked: "they are not named"}}
	describe, create := grantedBy("request", "ec2:DescribeVolumes"), grantedBy("dry run", "ec2:CreateTags", "ec2:CreateSnapshot")
	in := func(region string, checks ...[]cloud.PermissionCheck) regionChecks {
		return regionChecks{region: region, checks: slices.Concat(checks...)}
	}
	lost := func(region string, err error) regionChecks { return regionChecks{region: region, err: err} }
	return map[string]authorizedTest{
		"everything": {
			[]regionChecks{in("eu", describe, create)}, metav1.ConditionTrue, v1.ReasonAuthorized,
			"The hub was granted ec2:CreateSnapshot, ec2:CreateTags by dry run in eu, ec2:DescribeVolumes by request in eu",
		},
		"the same in two regions": {
			[]regionChecks{in("us", describe), in("eu", describe)}, metav1.ConditionTrue, v1.ReasonAuthorized,
			"The hub was granted ec2:DescribeVolumes by request in eu, us",
		},
		"not everything could be checked": {
			[]regionChecks{in("eu", describe, none, elsewhere), in("us", describe, denied[:0])}, metav1.ConditionTrue, v1.ReasonAuthorized,
			"The hub was granted ec2:DescribeVolumes by request in eu, us; not checked: " +
				"disks/read on other groups (they are not named) in eu, ec2:CopySnapshot (there is no snapshot) in eu",
		},
		"nothing could be checked": {
			[]regionChecks{in("eu", none)}, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"no permission could be checked: ec2:CopySnapshot (there is no snapshot) in eu",
		},
		"no checks at all": {[]regionChecks{in("eu")}, metav1.ConditionUnknown, v1.ReasonNotChecked, "no permission could be checked"},
		"missing in one region": {
			[]regionChecks{in("eu", describe), in("us", describe, denied)}, metav1.ConditionFalse, v1.ReasonPermissionsMissing,
			"the identity lacks ec2:CopySnapshot in us: grant it the permissions of cloud/README.md",
		},
		"one region is away": {
			[]regionChecks{in("eu", describe), lost("us", of(cloud.ClassTransient, "Timeout"))}, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"the permissions are not known, because the provider does not answer in us; granted: ec2:DescribeVolumes by request in eu",
		},
		"one is away, and one lacks something": {
			[]regionChecks{lost("eu", of(cloud.ClassAuthExpired, "AuthFailure")), in("us", denied)}, metav1.ConditionFalse, v1.ReasonPermissionsMissing,
			"the identity lacks ec2:CopySnapshot in us: grant it the permissions of cloud/README.md; the permissions are not known, because " +
				"the provider rejects the credentials, as it does where a region is not enabled: AuthFailure in eu",
		},
		"all are away": {
			[]regionChecks{lost("eu", errors.New("no route")), lost("us", of(cloud.ClassThrottled, ""))}, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"the permissions are not known, because the provider cannot be reached in eu, the provider throttles requests in us",
		},
		"refused": {
			[]regionChecks{lost("eu", of(cloud.ClassDenied, "x.list"))}, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"the permissions are not known, because the provider refuses to test them: x.list in eu",
		},
		"not allowed": {
			[]regionChecks{lost("eu", of(cloud.ClassInvalid, ""))}, metav1.ConditionUnknown, v1.ReasonNotChecked,
			"the permissions are not known, because said so in eu",
		},
	}
}

// TestAuthorized checks that the condition says what was granted, what is missing and what was not checked, by which
// means and where.
func TestAuthorized(t *testing.T) {
	t.Parallel()
	for name, tt := range authorizedTests() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := authorized(tt.regions)
			if got.Status != tt.status || got.Reason != tt.reason || got.Message != tt.message {
				t.Errorf("%s %s %q\nwant %s %s %q", got.Status, got.Reason, got.Message, tt.status, tt.reason, tt.message)
			}
			slices.Reverse(tt.regions)
			if again := authorized(tt.regions); strings.Count(again.Message, ",") != strings.Count(got.Message, ",") || again.Reason != got.Reason {
				t.Errorf("%q depends on the order of regions: %q", got.Message, again.Message)
			}
			if strings.Contains(got.Message, "all") {
				t.Errorf("%q claims more than was checked", got.Message)
			}
		})
	}
}

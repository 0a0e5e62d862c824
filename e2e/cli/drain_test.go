package cli

import (
	"errors"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errConsent = errors.New("the application may still leave its data")

// testDrain cordons and drains the only member, which the shop cannot leave.
func (s *suite) testDrain(t *testing.T) {
	t.Helper()
	s.run(t, "why", appName, "-n", "production").Want(t, framework.Done, "eu-1", "Chosen", "it matches the placement, and runs the application")
	s.run(t, "why", appName, "--member", "none", "-n", "production").Want(t, framework.Failed, `finding MemberCluster "none"`, "kubectl get memberclusters")
	s.run(t, "why", "none", "-n", "production").Want(t, framework.Failed, `getting EcommerceApp "none"`, "kubectl shopfleet status -A")

	s.run(t, "cordon", "eu-1", "--dry-run=server").Want(t, framework.Done, "cordoned (server dry run)")
	s.run(t, "cordon", "eu-1").Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 cordoned")
	s.run(t, "cordon", "eu-1").Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 already cordoned")
	s.run(t, "cordon", "none").Want(t, framework.Failed, `getting MemberCluster "none"`, "kubectl get memberclusters")

	const left = "because its database would be left behind"
	s.run(t, "drain", "eu-1", "--dry-run=server").Want(t, framework.Done, "eu-1 draining (server dry run)", appName+"   stays   "+v1.ReasonDataStays, left)
	s.run(t, "drain", "eu-1", "--dry-run=client", "-o", "jsonpath={.spec.scheduling}{.kind} {.apps[*].drain}\n").
		Want(t, framework.Done, "Drained", "DrainPreview", "stays")
	s.run(t, "drain", "eu-1", "--timeout", fleettest.Timeout.String()).Want(t, framework.Failed, "membercluster.ecommerce.io/eu-1 draining",
		"production/"+appName, left, "not all EcommerceApps can leave", "--move-empty")
	s.run(t, "why", appName, "--member", "eu-1", "-n", "production", "-o", "jsonpath={.clusters[0].decision} {.clusters[0].reason}").
		Want(t, framework.Done, "Stays "+v1.ReasonDataStays)
	s.run(t, "drain", "eu-1", "--move-empty", "--yes", "--timeout", fleettest.Timeout.String()).Want(t, framework.Failed, "because no other cluster can run it")
	s.run(t, "uncordon", "eu-1").Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 uncordoned")
	s.awaitConsentEnded(t)
	s.run(t, "drain", "eu-1", "--timeout", "-1s").Want(t, framework.Misused, "must not be negative")
}

// awaitConsentEnded blocks until the shop may not leave its data any more.
func (s *suite) awaitConsentEnded(t *testing.T) {
	t.Helper()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: appName}}
	framework.Await(t, s.Hub, app, "the consent to end with the drain", func(a *v1.EcommerceApp) error {
		if named := a.Annotations[v1.MoveEmptyAnnotation]; named != "" {
			return fmt.Errorf("%w: %s", errConsent, named)
		}
		return nil
	})
}

package printers

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
)

func TestChecks(t *testing.T) {
	t.Parallel()
	all := []doctor.Check{
		{Object: doctor.HubName, Check: "Leader", Status: "True", Reason: "LeaseRenewed"},
		{Object: "eu-1", Check: "Ready", Status: "True", Reason: "Connected"},
		{Object: "us-1", Check: "Connected", Status: "False", Reason: "ProbeFailed", Message: "no route", Remedy: "Restore the network."},
		{Object: "us-1", Check: "StorageReady", Status: "True", Reason: "Provisioned"},
	}
	want := `OBJECT   CHECK       STATUS   REASON        REMEDY
(hub)    all         ok       -             -
eu-1     all         ok       -             -
us-1     Connected   False    ProbeFailed   Restore the network.
`
	if diff := cmp.Diff(want, Text(Checks(all, false), Options{})); diff != "" {
		t.Errorf("checks (-want +got):\n%s", diff)
	}
	wide := `OBJECT   CHECK          STATUS   REASON         REMEDY                 MESSAGE
(hub)    Leader         True     LeaseRenewed   -                      -
eu-1     Ready          True     Connected      -                      -
us-1     Connected      False    ProbeFailed    Restore the network.   no route
us-1     StorageReady   True     Provisioned    -                      -
`
	if diff := cmp.Diff(wide, Text(Checks(all, true), Options{Wide: true})); diff != "" {
		t.Errorf("all checks (-want +got):\n%s", diff)
	}
}

package printers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
)

// Checks lists the checks that failed, are unknown or have a remedy, with one line for each
// member that has none. A wide table lists all of them.
func Checks(all []doctor.Check, wide bool) *metav1.Table {
	t := newTable([]string{"OBJECT", "CHECK", "STATUS", "REASON", "REMEDY"}, "MESSAGE")
	for len(all) > 0 {
		var own []doctor.Check
		for len(all) > 0 && (len(own) == 0 || all[0].Object == own[0].Object) {
			own, all = append(own, all[0]), all[1:]
		}
		shown := 0
		for _, c := range own {
			if wide || c.Status != "True" || c.Remedy != "" {
				addRow(t, nil, c.Object, c.Check, string(c.Status), c.Reason, c.Remedy, c.Message)
				shown++
			}
		}
		if shown == 0 {
			addRow(t, nil, own[0].Object, "all", "ok", "", "", "")
		}
	}
	return t
}

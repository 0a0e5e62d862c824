package printers

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/hub/app/placement"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// Placement lists what a placement decides about each cluster.
func Placement(results []placement.Result) *metav1.Table {
	t := newTable([]string{"CLUSTER", "DECISION", "REASON", "MESSAGE"})
	for _, r := range results {
		message := r.Message
		if entry, known := runbook.Lookup(r.Reason); message == "" && known {
			message = entry.Meaning
		}
		addRow(t, nil, r.Cluster, string(r.Decision), r.Reason, message)
	}
	return t
}

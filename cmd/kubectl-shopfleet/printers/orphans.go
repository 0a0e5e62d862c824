package printers

import (
	"cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Orphans lists copies that no EcommerceApp owns, each with the name of its cluster as a
// label.
func Orphans(copies []v1.EcommerceApp, o Options) string {
	t := newTable([]string{"NAME", "CLUSTER", "AGE"}, "IMAGE", "UID", "APP UID")
	for i := range copies {
		c := &copies[i]
		addRow(t, c, c.Name, c.Labels[v1.ClusterLabel], age(o.Now, &c.CreationTimestamp),
			cmp.Or(c.Spec.Frontend.Image, c.Spec.Image), string(c.UID), c.Annotations[v1.HubAppUIDAnnotation])
	}
	return Text(t, o)
}

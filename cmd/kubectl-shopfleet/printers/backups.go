package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Backups shows backups, one a row, the newest first.
func Backups(backups []v1.Backup, o Options) Table {
	t := Table{Header: []string{"NAME", "APP", "CLUSTER", "PHASE", "SIZE", "AGE", "MESSAGE"}}
	if o.AllNamespaces {
		t.Header = append([]string{"NAMESPACE"}, t.Header...)
	}
	if o.Wide {
		t.Header = append(t.Header, "CONSISTENCY", "PLACES", "VERIFIED")
	}
	backups = slices.Clone(backups)
	slices.SortFunc(backups, func(a, b v1.Backup) int {
		return cmp.Or(pointInTime(&b).Compare(pointInTime(&a).Time), cmp.Compare(a.Name, b.Name))
	})
	for i := range backups {
		b := &backups[i]
		row := []string{
			b.Name, b.Spec.AppRef.Name, b.Spec.ClusterRef.Name, string(b.Status.Phase), b.Status.Size, age(o.Now, pointInTime(b)), b.Status.Message,
		}
		if o.AllNamespaces {
			row = append([]string{b.Namespace}, row...)
		}
		if o.Wide {
			row = append(row, string(b.Status.Consistency), strings.Join(places(b), ","), age(o.Now, b.Status.LastVerifiedTime))
		}
		t.add(row...)
	}
	return t
}

// pointInTime is what a backup is of: its cut, and until then when it was asked for.
func pointInTime(b *v1.Backup) *metav1.Time {
	if b.Status.SnapshotTime != nil {
		return b.Status.SnapshotTime
	}
	return &b.CreationTimestamp
}

// places are where a backup is: the claim and the bucket of a dump, or the regions of
// snapshots, each with how far it is if it is not ready.
func places(b *v1.Backup) []string {
	if b.Status.Dump != nil {
		return dumpPlaces(b.Status.Dump)
	}
	var out []string
	note := func(c v1.CloudSnapshot) {
		text := c.Region
		if c.State != "Ready" {
			text = fmt.Sprintf("%s (%s)", c.Region, cmp.Or(c.State, "missing"))
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range b.Status.Snapshots {
		note(s.CloudSnapshot)
		for _, c := range s.Copies {
			note(c)
		}
	}
	return out
}

// dumpPlaces are in the words of kubectl get: kinds and names.
func dumpPlaces(d *v1.DumpFile) []string {
	claim := "claim/" + d.Claim
	if d.File == "" {
		claim += " (Dumping)"
	}
	if d.Object == nil {
		return []string{claim}
	}
	bucket := "bucket/" + d.Object.Bucket
	if d.Object.State != v1.DumpSent {
		bucket += " (" + cmp.Or(string(d.Object.State), "waiting") + ")"
	}
	return []string{claim, bucket}
}

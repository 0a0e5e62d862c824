package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// NewestFirst sorts Backups by the time whose state they have.
func NewestFirst(backups []v1.Backup) {
	slices.SortFunc(backups, func(a, b v1.Backup) int {
		return cmp.Or(pointInTime(&b).Compare(pointInTime(&a).Time), cmp.Compare(a.Name, b.Name))
	})
}

// Backups lists Backups.
func Backups(backups []v1.Backup, now time.Time) *metav1.Table {
	t := newTable([]string{"NAME", "APP", "CLUSTER", "PHASE", "SIZE", "AGE", "MESSAGE"}, "STEP", "CONSISTENCY", "PLACES", "VERIFIED")
	for i := range backups {
		b := &backups[i]
		addRow(t, b,
			b.Name, b.Spec.AppRef.Name, b.Spec.ClusterRef.Name, string(b.Status.Phase), b.Status.Size, age(now, pointInTime(b)), b.Status.Message,
			Step(b.Status.Steps), string(b.Status.Consistency), strings.Join(places(b), ","), age(now, b.Status.LastVerifiedTime))
	}
	return t
}

// Step returns the step at which a Backup or a Restore stands; empty before the first.
func Step(begun []v1.StepStatus) string {
	if len(begun) == 0 {
		return ""
	}
	return begun[len(begun)-1].Name
}

// pointInTime returns the time whose state a Backup has: the time of its snapshot, or
// its creation while there is no snapshot.
func pointInTime(b *v1.Backup) *metav1.Time {
	if b.Status.SnapshotTime != nil {
		return b.Status.SnapshotTime
	}
	return &b.CreationTimestamp
}

// places returns where a Backup is stored: the claim and the bucket of a dump, or the
// regions of snapshots, each with its state if it is not ready.
func places(b *v1.Backup) []string {
	if b.Status.Dump != nil {
		return dumpPlaces(b.Status.Dump)
	}
	var out []string
	add := func(c v1.CloudSnapshot) {
		text := c.Region
		if c.State != "Ready" {
			text = fmt.Sprintf("%s (%s)", c.Region, cmp.Or(c.State, "missing"))
		}
		if !slices.Contains(out, text) {
			out = append(out, text)
		}
	}
	for _, s := range b.Status.Snapshots {
		add(s.CloudSnapshot)
		for _, c := range s.Copies {
			add(c)
		}
	}
	return out
}

// dumpPlaces returns the claim and the bucket of a dump as kind/name.
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

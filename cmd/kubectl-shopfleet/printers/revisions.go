package printers

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Revisions lists the revisions of an EcommerceApp.
func Revisions(app *v1.EcommerceApp, revisions []appsv1.ControllerRevision, now time.Time) *metav1.Table {
	t := newTable([]string{"REVISION", "CLUSTERS", "HEALTHY", "AGE", "IMAGES", "NOTE"})
	for i := range revisions {
		r := &revisions[i]
		healthy := none
		if at, err := time.Parse(time.RFC3339, r.Annotations[v1.CompletedAtAnnotation]); err == nil {
			healthy = age(now, &metav1.Time{Time: at})
		}
		addRow(t, r, fmt.Sprint(r.Revision), fmt.Sprint(clustersWith(app, r.Revision)), healthy, age(now, &r.CreationTimestamp),
			images(r.Data.Raw), note(app.Status.Rollout, r.Revision))
	}
	return t
}

func clustersWith(app *v1.EcommerceApp, revision int64) int {
	n := 0
	for i := range app.Status.Clusters {
		if app.Status.Clusters[i].Revision == revision {
			n++
		}
	}
	return n
}

// images returns the images of a revision, without those that have a default.
func images(raw []byte) string {
	spec := v1.EcommerceAppSpec{}
	if err := json.Unmarshal(raw, &spec); err != nil {
		return "" // It was written by another release, or edited by hand.
	}
	var all []string
	for _, image := range []string{cmp.Or(spec.Frontend.Image, spec.Image), spec.Backend.Image} {
		if image != "" && !slices.Contains(all, image) {
			all = append(all, image)
		}
	}
	return strings.Join(all, ", ")
}

// note returns the state of the rollout at the revision of the spec.
func note(r *v1.RolloutStatus, revision int64) string {
	switch {
	case r == nil:
		return ""
	case revision == r.Revision:
		return "in the spec, " + string(r.State)
	case revision == r.PreviousRevision:
		return "previous"
	default:
		return ""
	}
}

package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Apps lists EcommerceApps.
func Apps(apps []v1.EcommerceApp, o Options) string {
	t := newTable([]string{"NAME", "PHASE", "READY", "CLUSTERS", "REGIONS", "AGE", "MESSAGE"}, "IMAGE", "LAST BACKUP")
	for i := range apps {
		app := &apps[i]
		addRow(t, app,
			app.Name, string(app.Status.Phase), app.Status.Ready, fmt.Sprint(app.Status.ClusterCount), fmt.Sprint(app.Status.RegionCount),
			age(o.Now, &app.CreationTimestamp), app.Status.Message, cmp.Or(app.Spec.Frontend.Image, app.Spec.Image), age(o.Now, app.Status.LastBackupTime))
	}
	return Text(t, o)
}

// App describes one EcommerceApp: a headline, its components by region and cluster,
// and how many clusters its placement rejected, if the table is wide or there are no others.
func App(app *v1.EcommerceApp, o Options) string {
	o.AllNamespaces = false // The headline has it.
	text := headline(app) + "\n" + leftBehind(app)
	if rendering := app.Status.RenderingSummary(); rendering != "" {
		text += rendering + "\n"
	}
	if len(app.Status.Clusters) == 0 {
		text += Text(components(app, o), o)
	} else {
		text += Text(clusters(app, o), o)
	}
	if o.Wide || len(app.Status.Clusters) == 0 {
		text += Text(rejected(app), o)
	}
	return text
}

// leftBehind names the clusters in which something was bad before they got the revision, or returns an empty string.
func leftBehind(app *v1.EcommerceApp) string {
	r := app.Status.Rollout
	if r == nil || r.State == v1.RolloutRollingBack {
		return ""
	}
	var b strings.Builder
	for i := range r.Updating {
		u := &r.Updating[i]
		switch {
		case u.Before == nil:
		case u.Before.Unknown:
			fmt.Fprintf(&b, "%s had revision %d when it was first observed: it is not known what it was like before.\n", u.Name, r.Revision)
		case !u.Before.Serving:
			fmt.Fprintf(&b, "%s served no customers before revision %d, and is not waited for.\n", u.Name, r.Revision)
		case len(u.Before.Unready) > 0:
			names := make([]string, 0, len(u.Before.Unready))
			for _, c := range u.Before.Unready {
				names = append(names, c.Name)
			}
			fmt.Fprintf(&b, "%s was not ready before revision %d: %s.\n", u.Name, r.Revision, strings.Join(names, ", "))
		case u.Before.Stalled != "":
			fmt.Fprintf(&b, "%s was not ready before revision %d: %s.\n", u.Name, r.Revision, u.Before.Stalled)
		}
	}
	return b.String()
}

func headline(app *v1.EcommerceApp) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", app.Namespace, app.Name, app.Status.Phase)
	switch {
	case app.Status.Ready == "":
	case len(app.Status.Clusters) > 0:
		fmt.Fprintf(&b, ", %s clusters ready", app.Status.Ready)
	default:
		fmt.Fprintf(&b, ", %s ready", app.Status.Ready)
	}
	if unavailable(app) {
		b.WriteString(", not available")
	}
	if meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionDegraded) {
		b.WriteString(", degraded")
	}
	if meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionStalled) {
		b.WriteString(", stalled")
	}
	if app.Status.ObservedGeneration != 0 && app.Status.ObservedGeneration < app.Generation {
		b.WriteString(", change not yet observed")
	}
	if app.Status.Message != "" {
		fmt.Fprintf(&b, " (%s)", app.Status.Message)
	}
	return b.String()
}

// unavailable reports whether customers cannot be served who could be before.
func unavailable(app *v1.EcommerceApp) bool {
	switch app.Status.Phase {
	case v1.PhasePending, v1.PhaseCreating, v1.PhaseDeleting:
		return false
	default:
		return meta.IsStatusConditionFalse(app.Status.Conditions, v1.ConditionAvailable)
	}
}

// clusters lists the components of an EcommerceApp on the hub by region and cluster.
func clusters(app *v1.EcommerceApp, o Options) *metav1.Table {
	wide := []string{"PROVIDER", "REPLICAS", "ADDRESSES", "REASON", "MESSAGE"}
	if app.Status.Rollout != nil {
		wide = append([]string{"REVISION"}, wide...)
	}
	t := newTable([]string{"REGION", "CLUSTER", "COMPONENT", "READY", "PHASE", "AGE"}, wide...)
	sorted := slices.SortedStableFunc(slices.Values(app.Status.Clusters), func(a, b v1.ClusterStatus) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for i := range sorted {
		c := &sorted[i]
		observed := age(o.Now, c.LastObservedTime)
		if c.Stale {
			observed += " (stale)"
		}
		parts := c.Components
		if len(parts) == 0 {
			parts = []v1.ClusterComponentStatus{{Phase: c.Phase, Ready: c.Ready}}
		}
		about := rowOf(parts, c.Message)
		for row, part := range parts {
			reason, message := "", ""
			if row == about {
				reason, message = c.Reason, c.Message
			}
			phase := part.Phase
			if c.Stale {
				phase = v1.PhaseUnknown
			}
			cells := []string{c.Region, c.Name, part.Name, boolean(part.Ready && !c.Stale), string(phase), observed}
			if app.Status.Rollout != nil {
				cells = append(cells, fmt.Sprint(c.Revision))
			}
			addRow(t, nil, append(cells, string(c.Provider), fraction(c.ReadyReplicas, c.Replicas), addresses(part.Name, c.Addresses), reason, message)...)
		}
	}
	return t
}

// rowOf returns the index of the component that a message about a cluster begins with, or 0 if the message is
// about the cluster.
func rowOf(parts []v1.ClusterComponentStatus, message string) int {
	name, _, _ := strings.Cut(message, ": ")
	return max(0, slices.IndexFunc(parts, func(part v1.ClusterComponentStatus) bool { return part.Name == name }))
}

// components lists the components of an EcommerceApp without clusters: a copy in a
// member, or one that is not placed yet.
func components(app *v1.EcommerceApp, o Options) *metav1.Table {
	t := newTable([]string{"COMPONENT", "READY", "PHASE", "REPLICAS", "AGE", "REASON"}, "ADDRESSES", "MESSAGE")
	for _, part := range app.Status.Components {
		addRow(t, nil, part.Name, boolean(part.Ready), string(part.Phase), fraction(part.ReadyReplicas, part.Replicas),
			age(o.Now, app.Status.LastUpdated), part.Reason, addresses(part.Name, app.Status.Addresses), part.Message)
	}
	return t
}

// addresses returns the addresses of an application in the row of a component: only the ingress, and
// a row that stands for all components, have them.
func addresses(component string, all []string) string {
	if component != "" && component != "ingress" {
		return ""
	}
	return strings.Join(all, ",")
}

// rejected lists how many clusters the placement did not choose for each reason, with examples.
func rejected(app *v1.EcommerceApp) *metav1.Table {
	t := newTable([]string{"REJECTED", "REASON", "EXAMPLES"})
	if app.Status.Placement != nil {
		for _, r := range app.Status.Placement.Rejected {
			examples := strings.Join(r.Examples, ", ")
			if more := int(r.Clusters) - len(r.Examples); more > 0 {
				examples += fmt.Sprintf(", and %d more", more)
			}
			addRow(t, nil, fmt.Sprint(r.Clusters), r.Reason, examples)
		}
	}
	return t
}

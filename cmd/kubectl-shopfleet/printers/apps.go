package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Apps lists EcommerceApps.
func Apps(apps []v1.EcommerceApp, now time.Time) *metav1.Table {
	t := newTable([]string{"NAME", "PHASE", "READY", "CLUSTERS", "REGIONS", "AGE", "MESSAGE"}, "IMAGE", "LAST BACKUP")
	for i := range apps {
		app := &apps[i]
		addRow(t, app,
			app.Name, string(app.Status.Phase), app.Status.Ready, fmt.Sprint(app.Status.ClusterCount), fmt.Sprint(app.Status.RegionCount),
			age(now, &app.CreationTimestamp), app.Status.Message, cmp.Or(app.Spec.Frontend.Image, app.Spec.Image), age(now, app.Status.LastBackupTime))
	}
	return t
}

// App describes one EcommerceApp: a headline, its regions and its clusters, of which a wide table has the components,
// and how many clusters its placement rejected, if the table is wide or there are no others.
func App(app *v1.EcommerceApp, o Options) string {
	app = inRegions(app, o.Regions)
	text := headline(app) + "\n" + leftBehind(app)
	if rendering := app.Status.RenderingSummary(); rendering != "" {
		text += rendering + "\n"
	}
	switch {
	case len(app.Status.Clusters) == 0 && len(o.Regions) == 0:
		text += Text(components(app, o), o)
	case o.Wide:
		text += Text(regions(app, o), o) + "\n" + Text(clusters(app, o), o)
	default:
		text += Text(regions(app, o), o) + "\n" + Text(Clusters(app, o), o)
	}
	if o.Wide || len(app.Status.Clusters) == 0 && len(o.Regions) == 0 {
		text += Text(rejected(app), o)
	}
	return text
}

// inRegions returns an application with the status of some regions only, or as it is without any.
func inRegions(app *v1.EcommerceApp, names []string) *v1.EcommerceApp {
	if len(names) == 0 {
		return app
	}
	app = app.DeepCopy()
	app.Status.Regions = slices.DeleteFunc(app.Status.Regions, func(r v1.RegionStatus) bool { return !slices.Contains(names, r.Name) })
	app.Status.Clusters = slices.DeleteFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool {
		return !slices.Contains(names, cmp.Or(c.Region, unknown))
	})
	return app
}

// regions lists the regions of an EcommerceApp. AGE is that of the oldest observation of a region.
func regions(app *v1.EcommerceApp, o Options) *metav1.Table {
	t := newTable([]string{"REGION", "CLUSTERS", "PHASE", "REPLICAS", "AGE"})
	for i := range app.Status.Regions {
		r := &app.Status.Regions[i]
		addRow(t, nil, r.Name, fraction(r.ReadyClusters, r.Clusters), string(r.Phase), fraction(r.ReadyReplicas, r.Replicas), age(o.Now, r.OldestObservationTime))
	}
	return t
}

// byRegion returns the clusters of an EcommerceApp by region and name.
func byRegion(app *v1.EcommerceApp) []v1.ClusterStatus {
	return slices.SortedStableFunc(slices.Values(app.Status.Clusters), func(a, b v1.ClusterStatus) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
}

// Clusters lists the clusters of an EcommerceApp, one in a row. The age is in the column columnAge.
func Clusters(app *v1.EcommerceApp, o Options) *metav1.Table {
	t := newTable([]string{"REGION", "CLUSTER", "READY", "PHASE", "REPLICAS", columnAge, "REASON"})
	for _, c := range byRegion(inRegions(app, o.Regions)) {
		phase := c.Phase
		if c.Stale {
			phase = v1.PhaseUnknown
		}
		addRow(t, app, c.Region, c.Name, boolean(c.Ready && !c.Stale), string(phase), fraction(c.ReadyReplicas, c.Replicas), observed(&c, o), c.Reason)
	}
	return t
}

// columnAge is the name of a column whose cells change with the time alone.
const columnAge = "AGE"

// Changed returns a table without the rows that are equal to one of before but for their age. It adds the others to
// before, which has the last row about each cluster.
func Changed(t *metav1.Table, before map[string]string) *metav1.Table {
	age := slices.IndexFunc(t.ColumnDefinitions, func(c metav1.TableColumnDefinition) bool { return c.Name == columnAge })
	t.Rows = slices.DeleteFunc(t.Rows, func(row metav1.TableRow) bool {
		key, now := fmt.Sprint(row.Cells[:2]...), fmt.Sprint(row.Cells[:age], row.Cells[age+1:])
		if o, ok := row.Object.Object.(metav1.Object); ok {
			key = o.GetNamespace() + " " + key
		}
		same := before[key] == now
		before[key] = now
		return same
	})
	return t
}

// observed returns the age of what is known of a cluster.
func observed(c *v1.ClusterStatus, o Options) string {
	if c.Stale {
		return age(o.Now, c.LastObservedTime) + " (stale)"
	}
	return age(o.Now, c.LastObservedTime)
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
	sorted := byRegion(app)
	for i := range sorted {
		c := &sorted[i]
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
			cells := []string{c.Region, c.Name, part.Name, boolean(part.Ready && !c.Stale), string(phase), observed(c, o)}
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

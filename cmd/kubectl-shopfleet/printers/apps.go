package printers

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Apps shows shops, one a row.
func Apps(apps []v1.EcommerceApp, o Options) Table {
	t := Table{Header: []string{"NAME", "PHASE", "READY", "CLUSTERS", "REGIONS", "AGE", "MESSAGE"}}
	if o.AllNamespaces {
		t.Header = append([]string{"NAMESPACE"}, t.Header...)
	}
	if o.Wide {
		t.Header = append(t.Header, "IMAGE")
	}
	for i := range apps {
		app := &apps[i]
		row := []string{
			app.Name, string(app.Status.Phase), app.Status.Ready, fmt.Sprint(app.Status.ClusterCount),
			fmt.Sprint(app.Status.RegionCount), age(o.Now, &app.CreationTimestamp), app.Status.Message,
		}
		if o.AllNamespaces {
			row = append([]string{app.Namespace}, row...)
		}
		if o.Wide {
			row = append(row, image(app))
		}
		t.add(row...)
	}
	return t
}

func image(app *v1.EcommerceApp) string {
	if app.Spec.Frontend.Image != "" {
		return app.Spec.Frontend.Image
	}
	return app.Spec.Image
}

// Headline says in one line what an application is, before its table.
func Headline(app *v1.EcommerceApp) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s/%s: %s", app.Namespace, app.Name, app.Status.Phase)
	switch {
	case app.Status.Ready == "":
	case len(app.Status.Clusters) > 0:
		fmt.Fprintf(&b, ", %s clusters ready", app.Status.Ready)
	default:
		fmt.Fprintf(&b, ", %s ready", app.Status.Ready)
	}
	if app.Status.ObservedGeneration != 0 && app.Status.ObservedGeneration < app.Generation {
		b.WriteString(", change not yet observed")
	}
	if app.Status.Message != "" {
		fmt.Fprintf(&b, " (%s)", app.Status.Message)
	}
	return b.String()
}

// App shows one shop: region by cluster by component on a hub, and its components
// alone in a cluster of its own.
func App(app *v1.EcommerceApp, o Options) Table {
	if len(app.Status.Clusters) == 0 {
		return components(app, o)
	}
	t := Table{Header: []string{"REGION", "CLUSTER", "COMPONENT", "READY", "PHASE", "AGE"}}
	if o.Wide {
		t.Header = append(t.Header, "PROVIDER", "REPLICAS", "REASON", "MESSAGE")
	}
	clusters := slices.Clone(app.Status.Clusters)
	slices.SortStableFunc(clusters, func(a, b v1.ClusterStatus) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Name, b.Name))
	})
	for i := range clusters {
		appendCluster(&t, &clusters[i], o)
	}
	return t
}

func appendCluster(t *Table, c *v1.ClusterStatus, o Options) {
	seen := age(o.Now, c.LastObservedTime)
	if c.Stale {
		seen += " (stale)"
	}
	parts := c.Components
	if len(parts) == 0 {
		parts = []v1.ClusterComponentStatus{{Phase: c.Phase, Ready: c.Ready}}
	}
	for _, part := range parts {
		ready, phase := truth(part.Ready), string(part.Phase)
		if c.Stale {
			ready, phase = truth(false), string(v1.PhaseUnknown)
		}
		row := []string{c.Region, c.Name, part.Name, ready, phase, seen}
		if o.Wide {
			row = append(row, string(c.Provider), fraction(c.ReadyReplicas, c.Replicas), c.Reason, c.Message)
		}
		t.add(row...)
	}
}

// components shows an application that has no clusters: a copy, or one that is not
// placed yet.
func components(app *v1.EcommerceApp, o Options) Table {
	t := Table{Header: []string{"COMPONENT", "READY", "PHASE", "REPLICAS", "AGE", "REASON"}}
	if o.Wide {
		t.Header = append(t.Header, "MESSAGE")
	}
	for _, part := range app.Status.Components {
		row := []string{
			part.Name, truth(part.Ready), string(part.Phase), fraction(part.ReadyReplicas, part.Replicas),
			age(o.Now, app.Status.LastUpdated), part.Reason,
		}
		if o.Wide {
			row = append(row, part.Message)
		}
		t.add(row...)
	}
	return t
}

// Rejected shows the clusters that the placement did not take, and why.
func Rejected(app *v1.EcommerceApp) Table {
	t := Table{Header: []string{"NOT TAKEN", "REASON", "MESSAGE"}}
	if app.Status.Placement == nil {
		return t
	}
	for _, r := range app.Status.Placement.Rejected {
		t.add(r.Name, r.Reason, r.Message)
	}
	return t
}

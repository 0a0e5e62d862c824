package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// deletionProgress holds the last known progress of deletions.
type deletionProgress []*clusterProgress

// newDeletionProgress returns the progress of deletions that begin. Of several, the lines about each have its name.
func newDeletionProgress(apps []*v1.EcommerceApp) deletionProgress {
	all := make(deletionProgress, 0, len(apps))
	for _, app := range apps {
		p := newClusterProgress(app)
		if len(apps) > 1 {
			p.prefix = app.Name + ": "
		}
		all = append(all, p)
	}
	return all
}

// apps returns the applications that are deleted.
func (d deletionProgress) apps() []*v1.EcommerceApp {
	apps := make([]*v1.EcommerceApp, 0, len(d))
	for _, p := range d {
		apps = append(apps, p.app)
	}
	return apps
}

// open returns where the applications are not deleted.
func (d deletionProgress) open() string {
	lines := make([]string, 0, len(d))
	for _, p := range d {
		lines = append(lines, p.prefix+p.open())
	}
	return strings.Join(lines, " ")
}

// hint returns what the user can do about deletions that take long. There is at least one.
func (d deletionProgress) hint() string {
	var stale []string
	for _, p := range d {
		if slices.Contains(slices.Collect(maps.Values(p.stale)), true) {
			stale = append(stale, p.app.Name)
		}
	}
	app := d[0].app
	if len(stale) > 0 {
		return fmt.Sprintf("To leave behind what cannot be reached: kubectl shopfleet delete %s -n %s --skip-unreachable", strings.Join(stale, " "), app.Namespace)
	}
	return fmt.Sprintf("The deletion continues on the hub. See why: kubectl describe ecommerceapp %s -n %s", app.Name, app.Namespace)
}

// clusterProgress is the last known progress of the deletion of an application, by cluster.
type clusterProgress struct {
	app *v1.EcommerceApp
	// prefix begins each line about the application.
	prefix string
	text   map[string]string
	// stale are the clusters that did not respond when they were last seen.
	stale map[string]bool
	// held is the message of a deletion that waits for the user.
	held string
}

func newClusterProgress(app *v1.EcommerceApp) *clusterProgress {
	p := &clusterProgress{app: app, text: map[string]string{}, stale: map[string]bool{}}
	for _, entry := range app.Status.Clusters {
		p.text[entry.Name], p.stale[entry.Name] = "", entry.Stale
	}
	return p
}

// update returns a line for each change, sorted by cluster. App is nil once it is gone, and
// outcome returns what has become of the copy in a cluster that it has left.
func (p *clusterProgress) update(app *v1.EcommerceApp, outcome func(cluster string) string) []string {
	var lines []string
	open := map[string]bool{}
	if app != nil {
		held := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionDeleting)
		if held != nil && (held.Reason == v1.ReasonProtected || held.Reason == v1.ReasonResidueFull) && held.Message != p.held {
			p.held = held.Message
			lines = append(lines, held.Message)
		}
		for _, entry := range app.Status.Clusters {
			open[entry.Name] = true
			if entry.Phase != v1.PhaseDeleting {
				continue // It is about the time before the deletion.
			}
			p.stale[entry.Name] = entry.Stale
			if text := entry.Reason + ": " + entry.Message; p.text[entry.Name] != text {
				p.text[entry.Name] = text
				lines = append(lines, entry.Name+": "+text)
			}
		}
	}
	for name := range p.text {
		if open[name] {
			continue
		}
		lines = append(lines, name+": "+outcome(name))
		delete(p.text, name)
		delete(p.stale, name)
	}
	slices.Sort(lines)
	return lines
}

// open returns the clusters that the application has not left.
func (p *clusterProgress) open() string {
	if len(p.text) == 0 {
		return "Not deleted yet."
	}
	return "Not deleted yet in " + strings.Join(slices.Sorted(maps.Keys(p.text)), ", ") + "."
}

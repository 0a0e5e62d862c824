package printers

import (
	"fmt"
	"strings"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// Plan prints what applying an application would change: on the hub, the placement, and in each
// cluster in the form of a diff. everywhere reports whether the placement excludes no cluster.
func Plan(app string, s *v1.PlanStatus, everywhere bool) string {
	var b strings.Builder
	if s.Application != nil {
		fmt.Fprintf(&b, "--- %s on the hub\n+++ %s planned\n", app, app)
		plannedChange(&b, s.Application)
		b.WriteString("\n")
	}
	b.WriteString(plannedPlacement(s))
	if everywhere {
		fmt.Fprintf(&b, "\nNo placement: runs in all %d ready clusters.\n", s.Counts.Chosen)
	}
	for i := range s.Waves {
		fmt.Fprintf(&b, "%sWave %d: %s%s\n", firstBreak(i), i+1, strings.Join(s.Waves[i].Clusters, ", "), notServing(&s.Waves[i]))
	}
	if s.Rendering != "" {
		fmt.Fprintf(&b, "\n%s\n", s.Rendering)
	}
	for i := range s.Clusters {
		plannedCluster(&b, app, &s.Clusters[i])
	}
	fmt.Fprintf(&b, "\n%s\n", plannedSummary(s))
	return b.String()
}

// notServing names the clusters of a wave that the rollout does not wait for.
func notServing(w *v1.PlannedWave) string {
	if len(w.NotServing) == 0 {
		return ""
	}
	return " (serving no customers, and not waited for: " + strings.Join(w.NotServing, ", ") + ")"
}

// firstBreak returns a line break before the first of several lines.
func firstBreak(i int) string {
	if i == 0 {
		return "\n"
	}
	return ""
}

// plannedPlacement lists the decisions about clusters, with the numbers of changes there.
func plannedPlacement(s *v1.PlanStatus) string {
	t := newTable([]string{"CLUSTER", "DECISION", "MOVE", "CHANGES", "REASON", "MESSAGE"})
	for i := range s.Clusters {
		c := &s.Clusters[i]
		message := c.Message
		if entry, known := runbook.Lookup(c.Reason); message == "" && known {
			message = entry.Meaning
		}
		changes := counted(c.Counts)
		if c.Unknown != "" {
			changes = strings.TrimPrefix(changes+", unknown", ", ")
		}
		addRow(t, nil, c.Name, string(c.Decision), string(c.Move), changes, c.Reason, message)
	}
	if more := int(s.Counts.Clusters) - len(s.Clusters); more > 0 {
		addRow(t, nil, fmt.Sprintf("%d more", more), "", "", "", "", "")
	}
	return Text(t, Options{})
}

// plannedCluster prints the changes in a cluster, and what is not known of them.
func plannedCluster(b *strings.Builder, app string, c *v1.PlannedCluster) {
	if len(c.Changes) == 0 && c.Unknown == "" {
		return
	}
	fmt.Fprintf(b, "\n--- %s in %s\n+++ %s planned\n", app, c.Name, app)
	if c.Paused {
		b.WriteString("# paused: the changes are held back\n")
	}
	for i := range c.Changes {
		plannedChange(b, &c.Changes[i])
	}
	all := c.Counts.Create + c.Counts.Update + c.Counts.Recreate + c.Counts.Expand + c.Counts.Delete + c.Counts.Refuse
	if more := int(all) - len(c.Changes); more > 0 {
		fmt.Fprintf(b, "# %d more, which the plan does not list\n", more)
	}
	if c.Unknown != "" {
		fmt.Fprintf(b, "? not known: %s: %s\n", c.Unknown, c.UnknownMessage)
	}
}

func plannedChange(b *strings.Builder, c *v1.PlannedChange) {
	if c.Action == v1.PlannedRefuse {
		fmt.Fprintf(b, "! %s/%s is refused: %s: %s\n", c.Kind, c.Name, c.Reason, c.Message)
		return
	}
	change(b, &v1.PendingChange{Kind: c.Kind, Name: c.Name, Action: v1.PendingAction(c.Action), Fields: c.Fields})
}

// plannedSummary returns the numbers of all changes.
func plannedSummary(s *v1.PlanStatus) string {
	summary := "No changes in clusters."
	if text := counted(s.Counts.Changes); text != "" {
		summary = "Changes in clusters: " + text + "."
	}
	if s.Counts.Unknown > 0 {
		summary += fmt.Sprintf(" Clusters whose changes are not all known: %d.", s.Counts.Unknown)
	}
	return summary
}

// counted returns numbers of changes, for example "2 create, 1 refuse"; empty if there are none.
func counted(c v1.ChangeCounts) string {
	var parts []string
	for _, one := range []struct {
		n    int32
		name string
	}{{c.Create, "create"}, {c.Update, "update"}, {c.Recreate, "recreate"}, {c.Expand, "expand"}, {c.Delete, "delete"}, {c.Refuse, "refuse"}} {
		if one.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", one.n, one.name))
		}
	}
	return strings.Join(parts, ", ")
}

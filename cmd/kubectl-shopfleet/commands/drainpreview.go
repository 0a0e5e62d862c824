package commands

import (
	"context"
	"fmt"
	"io"
	"slices"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// What a drain does with an application.
const (
	drainLeaves      = "leaves"
	drainLeavesEmpty = "leaves without its data"
	drainStays       = "stays"
)

// drainPreview says what a drain of a member would do with the applications that run there. It is a report of a dry run.
type drainPreview struct {
	Member string     `json:"member"`
	Apps   []drainRow `json:"apps"`
}

// drainRow says what a drain would do with an application, and why.
type drainRow struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	Drain     string `json:"drain"`
	Reason    string `json:"reason,omitempty"`
	Message   string `json:"message,omitempty"`
}

// showPreview prints what a drain of a member would do with the applications that run there. There is no report with -o name:
// the name of the member was printed, and a report has none.
func (d *drain) showPreview(ctx context.Context, hub *cluster, name string) error {
	if d.output.format() == nameFormat {
		return nil
	}
	apps, members := &v1.EcommerceAppList{}, &v1.MemberClusterList{}
	if err := d.during("waiting for the hub at "+hub.config.Host, func() error {
		if err := hub.client.List(ctx, apps); err != nil {
			return fmt.Errorf("listing EcommerceApps: %w", err)
		}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing MemberClusters: %w", err)
		}
		return nil
	}); err != nil {
		return err
	}
	found := drainPreview{Member: name, Apps: d.preview(apps.Items, members.Items, name)}
	if !d.output.text() {
		return d.output.printReport(d.Program, "DrainPreview", &found)
	}
	return d.printPreview(found)
}

// printPreview prints a preview as a table.
func (d *drain) printPreview(found drainPreview) error {
	if len(found.Apps) == 0 {
		d.say("No EcommerceApp runs in %s.", found.Member)
		return nil
	}
	if len(d.names) > 1 {
		d.say("%s:", found.Member)
	}
	rows := make([][]string, 0, len(found.Apps))
	for _, r := range found.Apps {
		rows = append(rows, []string{r.Namespace, r.Name, r.Drain, r.Reason, r.Message})
	}
	table := printers.Rows(rows, []string{"NAMESPACE", "NAME", "DRAIN", "REASON", "MESSAGE"})
	if _, err := io.WriteString(d.streams.Out, printers.Text(table, printers.Options{})); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// preview returns a row for each application that runs in a member, one of those that are drained: what the drain would do
// with it, and why.
func (d *drain) preview(apps []v1.EcommerceApp, members []v1.MemberCluster, name string) []drainRow {
	for i := range members {
		if slices.Contains(d.names, members[i].Name) {
			members[i].Spec.Scheduling = v1.SchedulingDrained
		}
	}
	now := d.clock.Now()
	clusters := clustersOfMembers(members, now)
	rows := []drainRow{}
	for i := range apps {
		app := &apps[i]
		if !runsIn(app, name) {
			continue
		}
		leaves := drainLeaves
		if app.Spec.Database != nil && d.moveEmpty {
			consent(app, name)
			leaves = drainLeavesEmpty
		}
		row := drainRow{Namespace: app.Namespace, Name: app.Name, Drain: leaves}
		found, err := explain(app, clusters, now)
		if err != nil {
			row.Drain, row.Message = "unknown", err.Error()
		}
		for _, r := range found.Clusters {
			if r.Cluster != name || r.Decision != placement.Stays {
				continue
			}
			row.Reason, row.Message = r.Reason, r.Message
			if r.Reason != v1.ReasonReplacementPending { // Else it leaves later.
				row.Drain = drainStays
			}
		}
		rows = append(rows, row)
	}
	return rows
}

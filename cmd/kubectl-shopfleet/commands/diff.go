package commands

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// thisCluster stands for the cluster of a copy, whose changes have no name of a cluster.
const thisCluster = "this cluster"

// diff is the command that shows what is not written.
type diff struct {
	*Program
	output  *output
	members []string
}

// differences are the output of the command diff.
type differences struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Paused is set if the EcommerceApp is paused.
	Paused bool `json:"paused"`
	// Observed is set if the hub has observed the current spec.
	Observed bool                   `json:"observed"`
	Clusters []printers.ClusterDiff `json:"clusters"`
}

func (p *Program) diffCommand() *cobra.Command {
	c := &diff{Program: p}
	cmd := &cobra.Command{
		Use:   "diff APP",
		Short: "Show what the hub has not written to the members of an EcommerceApp",
		Long: `Show what the hub has not written to the members of an EcommerceApp.

While an EcommerceApp or a MemberCluster is paused (spec.paused), or the hub is in safe
mode, nothing of it is written, and the status lists what would be: this command prints
these changes by cluster, and none otherwise. At most 100 are listed. Of a Secret only the
paths are.

The exit code is 1 with differences, and greater than 1 after an error, as that of kubectl
diff.`,
		Example: `  kubectl shopfleet diff shop -n production
  kubectl shopfleet diff shop -n production --member eu-1
  kubectl shopfleet diff shop -n production -o json`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newReportOutput(cmd)
	cmd.Flags().StringSliceVar(&c.members, "member", nil, "Only the changes in this `MEMBER`; repeat it for more; default: all members")
	return cmd
}

func (d *diff) run(ctx context.Context, name string) error {
	if err := d.output.check(); err != nil {
		return err
	}
	hub, err := d.hub()
	if err != nil {
		return err
	}
	app, members, err := d.fleetApp(ctx, hub, name)
	if err != nil {
		return err
	}
	found, err := compare(app, members, d.members)
	if err != nil {
		return err
	}
	return d.show(found)
}

// compare returns what is not written of an application in the named members, or in all.
func compare(app *v1.EcommerceApp, members []v1.MemberCluster, named []string) (differences, error) {
	found := differences{
		Namespace: app.Namespace, Name: app.Name, Paused: app.Spec.Paused, Observed: app.Status.ObservedGeneration >= app.Generation,
		Clusters: []printers.ClusterDiff{},
	}
	paused, safeMode := map[string]bool{}, map[string]bool{}
	for i := range members {
		m := &members[i]
		paused[m.Name] = m.Spec.Paused
		// In safe mode the hub reports members as paused whose specs are not.
		safeMode[m.Name] = !m.Spec.Paused && printers.Readiness(m).Reason == v1.ReasonPaused
	}
	byCluster := map[string]printers.ClusterDiff{}
	for _, entry := range app.Status.Clusters {
		byCluster[entry.Name] = printers.ClusterDiff{Name: entry.Name, Stale: entry.Stale, PendingChangeCount: entry.PendingChangeCount}
	}
	for _, change := range app.Status.PendingChanges {
		name := cmp.Or(change.Cluster, thisCluster)
		c := byCluster[name]
		c.Name, c.Changes = name, append(c.Changes, change)
		c.PendingChangeCount = max(c.PendingChangeCount, int32(min(len(c.Changes), v1.MaxPendingChanges)))
		byCluster[name] = c
	}
	for _, name := range named {
		if _, ok := byCluster[name]; !ok {
			return found, hint.With(fmt.Errorf("finding member %q of EcommerceApp %q: %w", name, app.Name, errNotFound),
				"See its clusters: kubectl shopfleet status "+app.Name+" -n "+app.Namespace)
		}
	}
	for name, c := range byCluster {
		if len(named) > 0 && !slices.Contains(named, name) {
			continue
		}
		c.Paused, c.SafeMode = paused[name], safeMode[name]
		if c.Changes == nil {
			c.Changes = []v1.PendingChange{}
		}
		found.Clusters = append(found.Clusters, c)
	}
	slices.SortFunc(found.Clusters, func(a, b printers.ClusterDiff) int { return cmp.Compare(a.Name, b.Name) })
	return found, nil
}

func (d *diff) show(found differences) error {
	for _, note := range found.notes() {
		d.say("%s", note)
	}
	var err error
	if d.output.text() {
		_, err = io.WriteString(d.streams.Out, printers.Diff("EcommerceApp "+found.Namespace+"/"+found.Name, found.Clusters))
	} else {
		err = d.output.printReport(d.Program, "Differences", &found)
	}
	if err != nil {
		return fmt.Errorf("printing the differences: %w", err)
	}
	if slices.ContainsFunc(found.Clusters, func(c printers.ClusterDiff) bool { return c.PendingChangeCount > 0 }) {
		return errFound
	}
	return nil
}

// notes returns what a user has to know about the differences.
func (d *differences) notes() []string {
	var notes []string
	if d.Paused {
		notes = append(notes, fmt.Sprintf("EcommerceApp %s/%s is paused. To write the changes: kubectl shopfleet unpause app %s -n %s",
			d.Namespace, d.Name, d.Name, d.Namespace))
	}
	for i := range d.Clusters {
		c := &d.Clusters[i]
		if c.Paused {
			notes = append(notes, fmt.Sprintf("Member %s is paused. To write the changes: kubectl shopfleet unpause member %s", c.Name, c.Name))
		}
		if c.SafeMode {
			notes = append(notes, fmt.Sprintf("The hub is in safe mode and writes nothing to member %s. To write the changes, install the hub with the same flags, without --safe-mode: kubectl shopfleet install hub", c.Name))
		}
		if c.Stale {
			notes = append(notes, fmt.Sprintf("Member %s does not respond, so its changes may be outdated. See why: kubectl shopfleet doctor %s", c.Name, c.Name))
		}
	}
	if !d.Observed {
		notes = append(notes, "The hub has not observed the current spec yet. Run the command again.")
	}
	return notes
}

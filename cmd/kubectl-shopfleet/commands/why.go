package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// why is the command that explains a placement.
type why struct {
	*Program
	output  *output
	members []string
}

// explanation is the output of the command why.
type explanation struct {
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
	// Observed is set if the hub has observed the current spec.
	Observed bool `json:"observed"`
	// Problem says why the placement is not as the spec says; empty if it is.
	Problem  string             `json:"problem,omitempty"`
	Clusters []placement.Result `json:"clusters"`
}

func (p *Program) whyCommand() *cobra.Command {
	c := &why{Program: p}
	cmd := &cobra.Command{
		Use:   "why APP",
		Short: "Explain why each cluster runs an EcommerceApp, or does not",
		Long: `Explain why each cluster runs an EcommerceApp, or does not.

The command decides the placement of the EcommerceApp as the hub does, from its status and
the MemberClusters. DECISION is

  Chosen    the EcommerceApp runs in the cluster, or is about to
  Stays     it runs there although the placement rejects the cluster: REASON says why it stays
  Rejected  it does not run there, or is about to leave`,
		Example: `  kubectl shopfleet why shop -n production
  kubectl shopfleet why shop -n production --member eu-1
  kubectl shopfleet why shop -n production -o json`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newTableOutput(cmd)
	cmd.Flags().StringSliceVar(&c.members, "member", nil, "Only the decision for this `MEMBER`; repeat it for more; default: all members")
	return cmd
}

func (w *why) run(ctx context.Context, name string) error {
	if err := w.output.check(); err != nil {
		return err
	}
	hub, err := w.hub()
	if err != nil {
		return err
	}
	app, members, err := w.fleetApp(ctx, hub, name)
	if err != nil {
		return err
	}
	found, err := explain(app, clustersOfMembers(members, w.clock.Now()), w.clock.Now())
	if err != nil {
		return err
	}
	for _, member := range w.members {
		if !slices.ContainsFunc(found.Clusters, func(r placement.Result) bool { return r.Cluster == member }) {
			return hint.With(fmt.Errorf("finding MemberCluster %q: %w", member, errNotFound), "List all: kubectl get memberclusters")
		}
	}
	if len(w.members) > 0 {
		found.Clusters = slices.DeleteFunc(found.Clusters, func(r placement.Result) bool { return !slices.Contains(w.members, r.Cluster) })
	}
	return w.show(found)
}

// clustersOfMembers returns what placements consider of members.
func clustersOfMembers(members []v1.MemberCluster, now time.Time) []placement.Cluster {
	clusters := make([]placement.Cluster, 0, len(members))
	for i := range members {
		clusters = append(clusters, placement.ClusterOf(&members[i], now))
	}
	return clusters
}

// explain decides the placement of an application as the hub does, from what its status says.
func explain(app *v1.EcommerceApp, clusters []placement.Cluster, now time.Time) (explanation, error) {
	request := placement.RequestOf(app, clusters, now)
	decision, err := placement.Decide(request)
	if err != nil {
		return explanation{}, fmt.Errorf("deciding the placement of EcommerceApp %q: %w", app.Name, err)
	}
	problem := decision.Unmatched
	if decision.Unmet != "" {
		problem = decision.Unmet
	}
	return explanation{
		Namespace: app.Namespace, Name: app.Name, Observed: app.Status.ObservedGeneration >= app.Generation,
		Problem: problem, Clusters: decision.Results(request),
	}, nil
}

func (w *why) show(found explanation) error {
	if !found.Observed {
		w.say("The hub has not observed the current spec yet.")
	}
	if found.Problem != "" {
		w.say("The placement is not as the spec says: %s.", found.Problem)
	}
	if !w.output.text() {
		return w.output.printReport(w.Program, "Placement", &found)
	}
	return w.output.printTable(w.Program, printers.Placement(found.Clusters), false)
}

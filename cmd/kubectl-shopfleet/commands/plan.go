package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

const (
	// planTimeout is the default of --timeout. Members have twenty seconds to answer.
	planTimeout = time.Minute
	// cleanupTimeout bounds the deletion of the Plan, also after Ctrl-C.
	cleanupTimeout = 10 * time.Second
)

// errRefused means that the hub refuses to plan.
var errRefused = errors.New("the hub refuses the plan")

// plan is the command that shows what applying an EcommerceApp would change.
type plan struct {
	*Program
	output   *output
	manifest manifest
	timeout  time.Duration
}

func (p *Program) planCommand() *cobra.Command {
	c := &plan{Program: p, manifest: manifest{Program: p}}
	cmd := &cobra.Command{
		Use:   "plan -f FILE",
		Short: "Show what applying an EcommerceApp would change in each cluster",
		Long: `Show what applying an EcommerceApp would change in each cluster.

The command sends the manifest to the hub as a dry run of kubectl apply, and asks the hub
by a Plan, an object that it deletes again. The hub checks that you may apply the
EcommerceApp, decides the placement, and sends the writes that would follow to each member
as dry runs. You need no access to members, but the permission to create, get, list, watch
and delete plans. Nothing else is written.

For each cluster the placement says

  Chosen    the EcommerceApp runs in the cluster, or would
  Stays     it runs there although the placement rejects the cluster: REASON says why it stays
  Rejected  it does not run there, or would leave: MOVE is Leaves

An EcommerceApp whose placement excludes no cluster runs in all that are ready; the command
says in how many. The changes are those of the copy and of its children. A write that a
member would refuse, as by a policy, is listed as such. What is not known, as in a cluster
that does not respond, is said. Of a Secret only the paths are listed.

The exit code is 1 with changes, also if they would be refused, while what would change in a
cluster is not known, and if the placement would not be as the spec says. It is greater than
1 after an error.`,
		Example: `  kubectl shopfleet plan -f app.yaml -n production
  kubectl shopfleet plan -f app.yaml -o json > plan.json
  kubectl shopfleet plan -f - -o yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output = newReportOutput(cmd)
	c.manifest.add(cmd)
	cmd.Flags().DurationVar(&c.timeout, "timeout", planTimeout, "How long to wait for the hub before the command fails, for example 90s; 0 waits without a limit")
	return cmd
}

func (p *plan) run(ctx context.Context) error {
	if err := errors.Join(p.output.check(), p.manifest.check()); err != nil {
		return err
	}
	if p.timeout < 0 {
		return usagef("--timeout %s: must not be negative", p.timeout)
	}
	hub, err := p.hub()
	if err != nil {
		return err
	}
	applied, err := p.manifest.apply(ctx, hub)
	if err != nil {
		return err
	}
	answered, err := p.ask(ctx, hub, applied)
	if err != nil {
		return err
	}
	return p.show(answered, applied)
}

// ask creates a Plan and returns it when the hub has answered. The Plan is deleted in any case.
func (p *plan) ask(ctx context.Context, hub *cluster, applied appliedManifest) (*v1.Plan, error) {
	review := &authenticationv1.SelfSubjectReview{}
	if err := hub.client.Create(ctx, review); err != nil {
		return nil, fmt.Errorf("asking the hub for your user: %w", err)
	}
	user := review.Status.UserInfo
	asked := &v1.Plan{
		ObjectMeta: metav1.ObjectMeta{Namespace: applied.namespace, GenerateName: applied.name + "-"},
		Spec: v1.PlanSpec{
			Manifest:  applied.json,
			Requester: v1.PlanRequester{Username: user.Username, UID: user.UID, Groups: user.Groups},
		},
	}
	if err := hub.client.Create(ctx, asked); err != nil {
		return nil, fmt.Errorf("creating a Plan: %w", err)
	}
	defer p.forget(ctx, hub, asked)
	return p.await(ctx, hub, asked)
}

// forget deletes a Plan, also after Ctrl-C.
func (p *plan) forget(ctx context.Context, hub *cluster, asked *v1.Plan) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
	defer cancel()
	if err := hub.client.Delete(ctx, asked); client.IgnoreNotFound(err) != nil {
		p.say("The Plan was not deleted; the hub does so some minutes after its answer: %v", err)
	}
}

// await blocks until the hub has answered a Plan.
func (p *plan) await(ctx context.Context, hub *cluster, asked *v1.Plan) (*v1.Plan, error) {
	limited, cancel := (&waitFlags{timeout: p.timeout}).limit(ctx, errTimeout)
	defer cancel()
	query, err := hub.query(p.retrying)
	if err != nil {
		return nil, err
	}
	query.List = &v1.PlanList{}
	query.Options = []client.ListOption{client.InNamespace(asked.Namespace), client.MatchingFields{"metadata.name": asked.Name}}
	var answered *v1.Plan
	err = p.during("waiting for the hub to plan", func() error {
		return query.Run(limited, func(objects []client.Object) (bool, error) {
			for _, o := range objects {
				if found, ok := o.(*v1.Plan); ok && found.Status.CompletionTime != nil {
					answered = found
				}
			}
			return answered != nil, nil
		})
	})
	if errors.Is(err, errTimeout) {
		return nil, hint.With(fmt.Errorf("the hub has not planned: %w after %s", err, p.timeout), "Check that the hub runs: kubectl shopfleet doctor")
	}
	if err != nil {
		return nil, fmt.Errorf("waiting for the Plan: %w", err)
	}
	if ready := meta.FindStatusCondition(answered.Status.Conditions, v1.ConditionReady); ready != nil && ready.Status != metav1.ConditionTrue {
		return nil, fmt.Errorf("%w: %s: %s", errRefused, ready.Reason, ready.Message)
	}
	return answered, nil
}

// planned is the output of the command plan.
type planned struct {
	Namespace     string `json:"namespace"`
	Name          string `json:"name"`
	v1.PlanStatus `json:",inline"`
}

// show prints an answer. It returns errFound if something would change, or is not known, or if the
// placement would not be as the spec says.
func (p *plan) show(answered *v1.Plan, applied appliedManifest) error {
	status := answered.Status
	status.Conditions, status.CompletionTime, status.ObservedGeneration = nil, nil, 0
	if status.Problem != "" {
		p.say("The placement would not be as the spec says: %s.", status.Problem)
	}
	var err error
	if p.output.text() {
		_, err = io.WriteString(p.streams.Out, printers.Plan("EcommerceApp "+answered.Namespace+"/"+applied.name, &status, applied.everywhere))
	} else {
		err = p.output.printReport(p.Program, "Plan", &planned{Namespace: answered.Namespace, Name: applied.name, PlanStatus: status})
	}
	if err != nil {
		return fmt.Errorf("printing the plan: %w", err)
	}
	if status.Application != nil || status.Counts.Changes != (v1.ChangeCounts{}) || status.Counts.Unknown > 0 || status.Problem != "" {
		return errFound
	}
	return nil
}

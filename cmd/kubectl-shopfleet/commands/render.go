package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
)

// render is the command that prints the effective spec of a cluster.
type render struct {
	*Program
	output *output
	member string
}

func (p *Program) renderCommand() *cobra.Command {
	c := &render{Program: p}
	cmd := &cobra.Command{
		Use:   "render APP --member MEMBER",
		Short: "Print an EcommerceApp with its overrides for a member",
		Long: `Print an EcommerceApp with its overrides for a member.

The spec is the one that the hub writes to the member: of the revision that the member
has, with the overrides that select it, with its share of divided replicas, and without
placement, deletion and overrides. The member need not run the EcommerceApp; it has the
revision then that it would get, and the replicas are the total.
What else the hub derives from facts about the member is not in it: the StorageClass of
storageProfile and cloudConfig, the method of backups, and a version of the database that
waits for a backup.

The spec is validated on the hub as a new EcommerceApp is, by a dry run of its creation,
for which you need the permission to create EcommerceApps.`,
		Example: `  kubectl shopfleet render shop -n production --member eu-1
  kubectl shopfleet render shop -n production --member eu-1 -o jsonpath={.spec.frontend.replicas}`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = addOutput(cmd, genericclioptions.NewPrintFlags("").WithDefaultOutput("yaml"))
	cmd.Flags().StringVar(&c.member, "member", "", "The `MEMBER`; required")
	return cmd
}

func (r *render) run(ctx context.Context, name string) error {
	if r.member == "" {
		return usagef("--member is required")
	}
	if err := r.output.check(); err != nil {
		return err
	}
	namespace, err := r.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	app, member := &v1.EcommerceApp{}, &v1.MemberCluster{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	if err := hub.client.Get(ctx, client.ObjectKey{Name: r.member}, member); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting MemberCluster %q: %w", r.member, err), "List all: kubectl get memberclusters")
	}
	rendered := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
		Namespace: namespace, Name: name, Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.ClusterLabel: r.member},
	}}
	has, err := revisions.New(hub.client, hub.client, nil).InMember(ctx, app, member)
	if err != nil {
		return fmt.Errorf("rendering EcommerceApp %q for %s: %w", name, r.member, err)
	}
	if has.Earlier {
		r.say("This is revision %d, which %s has. The spec of EcommerceApp %s is another one: see kubectl shopfleet rollout history %s -n %s.", has.Revision, r.member, name, name, namespace)
	}
	rendered.Spec = has.Spec
	if err := r.validate(ctx, hub, rendered); err != nil {
		return err
	}
	return r.output.print(r.Program, rendered, hub.scheme)
}

// validate sends the spec to the hub as a new object, which is not stored. As an update of the
// application it would also have to keep what cannot change, which copies may differ in.
func (r *render) validate(ctx context.Context, hub *cluster, rendered *v1.EcommerceApp) error {
	created := &v1.EcommerceApp{
		ObjectMeta: metav1.ObjectMeta{Namespace: rendered.Namespace, GenerateName: "render-"},
		Spec:       *rendered.Spec.DeepCopy(),
	}
	if err := client.NewDryRunClient(hub.client).Create(ctx, created); err != nil {
		return fmt.Errorf("validating EcommerceApp %q for %s: %w", rendered.Name, r.member, err)
	}
	return nil
}

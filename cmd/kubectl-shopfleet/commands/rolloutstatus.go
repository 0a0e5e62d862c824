package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// rolloutStatus is the command that waits until clusters are ready with the spec.
type rolloutStatus struct {
	*Program
	output *output
	wait   waitFlags
}

func (p *Program) rolloutStatusCommand() *cobra.Command {
	c := &rolloutStatus{Program: p}
	cmd := &cobra.Command{
		Use:   "status APP",
		Short: "Follow an EcommerceApp until its clusters are ready with its current spec",
		Long: `Follow an EcommerceApp until its clusters are ready with its current spec.

The command prints each change of its status, and ends when the EcommerceApp is ready, or
fails when its rollout has Failed or is RolledBack. It does so without spec.rollout as well,
and for an EcommerceApp that does not exist yet.`,
		Example: `  kubectl shopfleet rollout status shop -n production
  kubectl shopfleet rollout status shop -n production --timeout 2m
  kubectl shopfleet rollout status shop -n production --wait=false`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	c.wait.add(cmd, rolloutTimeout, "the EcommerceApp is ready")
	return cmd
}

func (r *rolloutStatus) run(ctx context.Context, name string) error {
	if err := errors.Join(r.output.check(), r.wait.check()); err != nil {
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
	if r.wait.enabled {
		if err := r.await(ctx, hub, awaiting{
			resource: "ecommerceapp", list: &v1.EcommerceAppList{}, namespace: namespace, names: []string{name}, wait: r.wait,
			progress: readiness,
		}); err != nil {
			return err
		}
	}
	app := &v1.EcommerceApp{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, app); err != nil {
		return hint.IfNotFound(fmt.Errorf("getting EcommerceApp %q: %w", name, err), "List all: kubectl shopfleet status -A")
	}
	return r.output.printDone(r.Program, app, hub.scheme, readiness(app).text)
}

// readiness describes whether an EcommerceApp is ready with its current spec. It is not going to be if the rollout failed
// or was taken back.
func readiness(o client.Object) progress {
	app, ok := o.(*v1.EcommerceApp)
	if !ok || app.Status.ObservedGeneration != app.Generation {
		return progress{text: "waiting for the hub to observe the spec"}
	}
	text := cmp.Or(string(app.Status.Phase), string(v1.PhasePending))
	if app.Status.Ready != "" {
		text += ", " + app.Status.Ready + " clusters ready"
	}
	if app.Status.Rollout != nil && app.Status.Rollout.Message != "" {
		text += ", " + app.Status.Rollout.Message
	}
	ready := progress{
		text: text, message: app.Status.Message,
		done: meta.IsStatusConditionPresentAndEqual(app.Status.Conditions, v1.ConditionReady, metav1.ConditionTrue),
	}
	if r := app.Status.Rollout; !ready.done && r != nil && (r.State == v1.RolloutFailed || r.State == v1.RolloutRolledBack) {
		ready.done, ready.failed, ready.message = true, true, cmp.Or(r.Message, ready.message)
	}
	return ready
}

func (p *Program) rolloutRestartCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.ImageUpdatedAnnotation, done: "restarting", value: p.now}
	return c.many(&cobra.Command{
		Use:   "restart APP...",
		Short: "Restart the backend and the frontend of an EcommerceApp once, pod after pod",
		Long: strings.TrimSpace(`
Restart the backend and the frontend of an EcommerceApp once, pod after pod.

All clusters that respond restart at once, and the others when they are back. The database
is not restarted. The command sets the annotation ` + v1.ImageUpdatedAnnotation + ` to the time.`),
		Example: `  kubectl shopfleet rollout restart shop -n production`,
	})
}

func (p *Program) rolloutReconcileCommand() *cobra.Command {
	c := &annotateCommand{Program: p, key: v1.ReconcileAtAnnotation, done: "reconciling", value: p.now}
	return c.many(&cobra.Command{
		Use:   "reconcile APP...",
		Short: "Compare an EcommerceApp with its clusters now, and repair what differs",
		Long: strings.TrimSpace(`
Compare an EcommerceApp with its clusters now, and repair what differs.

The hub and the agents do so by themselves when something that they watch changes, and
repeat what failed. Use it after you have changed what they do not watch, such as a policy
or a Secret of your own. No pod restarts. The command sets the annotation ` + v1.ReconcileAtAnnotation + ` to the time;
status.lastHandledReconcileAt has it when all clusters that respond are done.`),
		Example: `  kubectl shopfleet rollout reconcile shop -n production`,
	})
}

// now returns the time as the value of an annotation that is handled once.
func (p *Program) now(*v1.EcommerceApp) (string, error) {
	return p.clock.Now().UTC().Format(time.RFC3339Nano), nil
}

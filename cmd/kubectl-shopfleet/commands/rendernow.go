package commands

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

var (
	errNothingHeld = errors.New("no cluster waits to replace pods of an earlier version")
	// errNoVersionYet means that the hub was upgraded a moment ago.
	errNoVersionYet = errors.New("clusters wait for a version that the hub has not named yet: run the command again in a minute")
)

// renderNow is the command that lets EcommerceApps replace pods of an earlier version of the pod templates at once.
type renderNow struct {
	annotateCommand
	all, allNamespaces bool
}

func (p *Program) rolloutRenderNowCommand() *cobra.Command {
	c := &renderNow{annotateCommand: annotateCommand{Program: p, key: v1.RenderNowAnnotation, done: "replacing pods", value: versionThatWaits}}
	cmd := &cobra.Command{
		Use:   "render-now [APP]",
		Short: "Replace the pods that an upgrade of Shopfleet renders differently, in all clusters at once",
		Long: `Replace the pods that an upgrade of Shopfleet renders differently, in all clusters at once.

They are replaced by spec.rollout of each EcommerceApp, or in one cluster after the other.
This command skips that for the version that is being rolled out, as for a security fix.
Clusters that are paused, or do not respond, follow when they are back. In each cluster one
component follows the other.`,
		Example: `  kubectl shopfleet rollout render-now shop -n production
  kubectl shopfleet rollout render-now --all -A`,
	}
	c.command(cmd)
	cmd.Args = usage(cobra.MaximumNArgs(1))
	cmd.Flags().BoolVar(&c.all, "all", false, "Select all EcommerceApps in the namespace")
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "With --all: those of all namespaces")
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), strings.Join(args, "")) }
	return cmd
}

// versionThatWaits returns the version of pod templates that clusters of an application wait for.
func versionThatWaits(app *v1.EcommerceApp) (string, error) {
	if r := app.Status.Rendering; r != nil && r.State != v1.RolloutComplete {
		return strconv.FormatInt(r.Revision, 10), nil
	}
	if slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool { return waitsForVersion(app.Status.Rendering, c) }) {
		return "", errNoVersionYet
	}
	return "", errNothingHeld
}

// waitsForVersion reports whether a cluster waits for a version that is not rolled out yet: not one that missed the last version,
// as a cluster does that is away, paused, left or left behind, or whose agent renders another one.
func waitsForVersion(last *v1.RolloutStatus, c v1.ClusterStatus) bool {
	missed := last != nil && (last.Message != "" || slices.Contains(last.LeftBehind, c.Name))
	return c.HeldTemplates && !missed && !slices.Contains([]v1.Phase{v1.PhaseUnknown, v1.PhasePaused, v1.PhaseDeleting}, c.Phase)
}

func (r *renderNow) run(ctx context.Context, name string) error {
	switch {
	case name != "" && r.all:
		return usagef("a name cannot be used with --all")
	case name == "" && !r.all:
		return usagef("requires the name of an EcommerceApp, or --all")
	case r.allNamespaces && !r.all:
		return usagef("--all-namespaces requires --all")
	case name != "":
		return r.annotateCommand.run(ctx, name)
	}
	if err := r.output.check(); err != nil {
		return err
	}
	hub, err := r.hub()
	if err != nil {
		return err
	}
	var options []client.ListOption
	if !r.allNamespaces {
		namespace, err := r.namespaceFlag()
		if err != nil {
			return err
		}
		options = append(options, client.InNamespace(namespace))
	}
	apps := &v1.EcommerceAppList{}
	if err := hub.client.List(ctx, apps, options...); err != nil {
		return fmt.Errorf("listing EcommerceApps: %w", err)
	}
	return r.annotateAll(ctx, hub, apps.Items)
}

// annotateAll annotates the applications that wait. One that cannot be written does not keep the others from it.
func (r *renderNow) annotateAll(ctx context.Context, hub *cluster, apps []v1.EcommerceApp) error {
	var failed error
	waiting := false
	for i := range apps {
		if _, err := versionThatWaits(&apps[i]); errors.Is(err, errNothingHeld) {
			continue
		}
		waiting = true
		if _, err := r.annotate(ctx, hub, client.ObjectKeyFromObject(&apps[i])); !errors.Is(err, errNothingHeld) {
			failed = errors.Join(failed, err)
		}
	}
	if !waiting {
		r.say("No cluster waits to replace pods of an earlier version.")
	}
	return failed
}

package commands

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	spokerender "github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// imagesReport is the output of the command images.
type imagesReport struct {
	Images []imageReport `json:"images"`
}

type imageReport struct {
	Name string `json:"name"`
	// Mirror is the name in the registry of --mirror; empty without it.
	Mirror string `json:"mirror,omitempty"`
}

// images is the command that lists images.
type images struct {
	*Program
	output        *output
	mirror        string
	allNamespaces bool
}

func (p *Program) imagesCommand() *cobra.Command {
	c := &images{Program: p}
	cmd := &cobra.Command{
		Use:   "images",
		Short: "List the images that a fleet of this version pulls",
		Long: `List the images that a fleet of this version pulls.

One image a line: those of the hub and the spoke as install names them, and those that pods
have although no spec names them. Without -n and -A the command sends no request.

With -n or -A it adds the images of the EcommerceApps that the hub has there: those of the
spec, of the databases in their versions, and of what the overrides change in the members
where an EcommerceApp runs; in all members before it runs anywhere. Those of an earlier
revision, and of the earlier servers of Backups, are not among them. Nor are those of
WebApps and MySQLClusters, which the hub does not know: a spoke runs them in its cluster.

With --mirror each line has a second column, after a tab: the name below that registry by
which pods ask for the image if spec.imageRegistry of their EcommerceApp is the same.`,
		Example: `  kubectl shopfleet images
  kubectl shopfleet images -A
  kubectl shopfleet images -A --mirror mirror.example.com/hub
  kubectl shopfleet images -n production -o yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return c.run(cmd.Context()) },
	}
	c.output = newReportOutput(cmd)
	cmd.Flags().StringVar(&c.mirror, "mirror", "", "`REGISTRY` to copy the images to, a host with an optional port and path: show their names there")
	cmd.Flags().BoolVarP(&c.allNamespaces, "all-namespaces", "A", false, "Add the images of the EcommerceApps of all namespaces")
	return cmd
}

func (i *images) run(ctx context.Context) error {
	if strings.ContainsAny(i.mirror, " \t\n") || strings.Contains(i.mirror, "://") || strings.HasSuffix(i.mirror, "/") {
		return usagef("--mirror %q: must be a host with an optional port and path, such as mirror.example.com:5000/hub", i.mirror)
	}
	if err := i.output.check(); err != nil {
		return err
	}
	spoke := i.images + config.Spoke.Image(i.version)
	found := append(spokerender.DefaultImages(), i.images+config.Hub.Image(i.version), spoke)
	var incomplete error
	if i.allNamespaces || *i.flags.Namespace != "" {
		apps, members, err := i.fleet(ctx)
		if err != nil {
			return err
		}
		for n := range apps {
			of, err := imagesOf(&apps[n], members, spoke)
			found, incomplete = append(found, of...), errors.Join(incomplete, err)
		}
	}
	return errors.Join(i.show(unique(found)), incomplete)
}

// fleet returns the EcommerceApps of the namespace that the user chose, or of all, and the MemberClusters.
func (i *images) fleet(ctx context.Context) ([]v1.EcommerceApp, []v1.MemberCluster, error) {
	namespace := *i.flags.Namespace
	if i.allNamespaces {
		namespace = ""
	}
	hub, err := i.hub()
	if err != nil {
		return nil, nil, err
	}
	apps, members := &v1.EcommerceAppList{}, &v1.MemberClusterList{}
	err = i.during("waiting for the hub at "+hub.config.Host, func() error {
		if err := hub.client.List(ctx, apps, client.InNamespace(namespace)); err != nil {
			return fmt.Errorf("listing EcommerceApps: %w", err)
		}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing MemberClusters: %w", err)
		}
		return nil
	})
	return apps.Items, members.Items, err
}

// imagesOf returns the images of an application, in any order: those of its spec, and those of its copies in the members
// where it is, or in all while it is nowhere. What cannot be rendered is an error beside the images of the others.
func imagesOf(app *v1.EcommerceApp, members []v1.MemberCluster, spoke string) ([]string, error) {
	found := map[string]bool{}
	var failed error
	add := func(spec v1.EcommerceAppSpec) {
		one := &v1.EcommerceApp{ObjectMeta: app.ObjectMeta, Spec: spec}
		images, err := spokerender.Images(one, spoke)
		failed = errors.Join(failed, err)
		for _, image := range images {
			found[image] = true
		}
	}
	add(app.Spec)
	for n := range members {
		m := &members[n]
		isThere := slices.ContainsFunc(app.Status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == m.Name })
		if len(app.Spec.Overrides) == 0 || len(app.Status.Clusters) > 0 && !isThere {
			continue
		}
		copied, err := revisions.TargetOf(app, m).Effective(&app.Spec)
		if err != nil {
			failed = errors.Join(failed, fmt.Errorf("rendering EcommerceApp %q for %s: %w", app.Name, m.Name, err))
			continue
		}
		add(copied.Spec)
	}
	return slices.Collect(maps.Keys(found)), failed
}

func (i *images) show(names []string) error {
	report := imagesReport{}
	for _, name := range names {
		one := imageReport{Name: name}
		if i.mirror != "" {
			one.Mirror = objectparts.Image(i.mirror, name)
		}
		report.Images = append(report.Images, one)
	}
	if !i.output.text() {
		return i.output.printReport(i.Program, "Images", &report)
	}
	for _, image := range report.Images {
		line := strings.TrimSuffix(image.Name+"\t"+image.Mirror, "\t")
		if _, err := fmt.Fprintln(i.streams.Out, line); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	return nil
}

package commands

import (
	"context"
	"fmt"
	"runtime"

	"github.com/spf13/cobra"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/versions"
)

func (s *session) versionCommand() *cobra.Command {
	var only bool
	var o *output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, the hub's cluster and the members",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			found, err := s.versions(cmd.Context(), only)
			// What is known is worth showing when the hub does not answer.
			if shown := found.Write(s.streams.Out, *o.flags.OutputFormat); shown != nil {
				return shown
			}
			return err
		},
	}
	o = newOutput(cmd, "")
	cmd.Flags().BoolVar(&only, "client", false, "Only the version of this program; asks no cluster")
	return cmd
}

func (s *session) versions(ctx context.Context, only bool) (versions.Report, error) {
	found := versions.Report{Program: program, Client: versions.Client{
		Version: s.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}}
	if only {
		return found, nil
	}
	hub, err := s.hub()
	if err != nil {
		return found, err
	}
	err = s.during("waiting for the hub at "+hub.config.Host, func() error {
		kubernetes, err := join.Kubernetes(ctx, hub.config)
		if err != nil {
			return err
		}
		found.Hub = &versions.Cluster{Server: hub.config.Host, Kubernetes: kubernetes}
		members := &v1.MemberClusterList{}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing the members of the hub: %w", err)
		}
		for i := range members.Items {
			found.Members = append(found.Members, versions.Member{
				Name: members.Items[i].Name, Kubernetes: members.Items[i].Status.KubernetesVersion,
			})
		}
		return nil
	})
	return found, err
}

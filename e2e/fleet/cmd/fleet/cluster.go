package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// fault is one thing that can happen to a cluster.
type fault struct {
	name    string
	short   string
	done    string
	inflict func(*fleet.Cluster, context.Context, ...fleet.Component) error
}

func faults() []fault {
	return []fault{
		{name: "kill", short: "End a cluster as a power cut would", done: "is dead", inflict: (*fleet.Cluster).Kill},
		{name: "freeze", short: "Let a cluster's API server hang: it accepts connections and never answers", done: "is frozen", inflict: (*fleet.Cluster).Freeze},
		{name: "thaw", short: "Let a frozen cluster go on", done: "goes on", inflict: (*fleet.Cluster).Thaw},
		{
			name: "restart", short: "Start what has ended of a cluster, with its data", done: "is back",
			inflict: func(c *fleet.Cluster, ctx context.Context, _ ...fleet.Component) error { return c.Restart(ctx) },
		},
	}
}

func newFaults(dir *string) []*cobra.Command {
	all := faults()
	commands := make([]*cobra.Command, 0, len(all))
	for _, each := range all {
		commands = append(commands, &cobra.Command{
			Use:   each.name + " CLUSTER",
			Short: each.short,
			Args:  cobra.ExactArgs(1),
			RunE: func(command *cobra.Command, arguments []string) error {
				return locked(command, *dir, func() error {
					cluster, err := find(*dir, arguments[0])
					if err != nil {
						return err
					}
					if err := each.inflict(cluster, command.Context()); err != nil {
						return err
					}
					_, err = fmt.Fprintf(command.OutOrStdout(), "cluster %s %s\n", cluster.Name(), each.done)
					return err
				})
			},
		})
	}
	return commands
}

func find(dir, name string) (*fleet.Cluster, error) {
	f, err := open(dir)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(f.Clusters()))
	for _, cluster := range f.Clusters() {
		if cluster.Name() == name {
			return cluster, nil
		}
		names = append(names, cluster.Name())
	}
	return nil, fmt.Errorf("there is no cluster %q: the fleet has %s", name, strings.Join(names, ", "))
}

func newKubeconfig(dir *string) *cobra.Command {
	var cluster, namespace, account string
	command := &cobra.Command{
		Use:   "kubeconfig --cluster NAME --namespace NAMESPACE --serviceaccount NAME",
		Short: "Print a kubeconfig for a ServiceAccount, valid for 24 hours",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			found, err := find(*dir, cluster)
			if err != nil {
				return err
			}
			raw, err := found.ServiceAccountKubeconfig(command.Context(), namespace, account)
			if err != nil {
				return err
			}
			_, err = command.OutOrStdout().Write(raw)
			return err
		},
	}
	command.Flags().StringVar(&cluster, "cluster", "", "name of the cluster")
	command.Flags().StringVar(&namespace, "namespace", "default", "namespace of the ServiceAccount")
	command.Flags().StringVar(&account, "serviceaccount", "", "name of the ServiceAccount")
	for _, required := range []string{"cluster", "serviceaccount"} {
		// It fails only for a flag that is not defined.
		cobra.CheckErr(command.MarkFlagRequired(required))
	}
	return command
}

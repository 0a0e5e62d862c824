package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/filelock"
)

const (
	nodesPerMember = 3
	lockFile       = ".lock"
	privateFolder  = 0o700
	cleanupTimeout = 30 * time.Second
)

// errDriver means that an existing cluster has another storage driver than requested.
var errDriver = errors.New("its storage driver cannot be changed while it runs")

// shape returns the fleet that the demonstration and the documentation speak of.
func shape(dir string, driverless []string, progress io.Writer) fleet.Options {
	options := fleet.Options{
		Dir:      dir,
		Progress: progress,
		Hub:      fleet.ClusterSpec{Name: "hub"},
		Members: []fleet.ClusterSpec{
			{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: nodesPerMember},
			{Name: "us-1", Provider: fleet.GCP, Region: "us-central1", Nodes: nodesPerMember},
			{Name: "asia-1", Provider: fleet.Azure, Region: "southeastasia", Nodes: nodesPerMember},
		},
	}
	for i := range options.Members {
		options.Members[i].Driverless = slices.Contains(driverless, options.Members[i].Name)
	}
	return options
}

func newUp(dir *string) *cobra.Command {
	var driverless []string
	command := &cobra.Command{
		Use:   "up",
		Short: "Start the fleet, or what has ended of it, and leave it running",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			return locked(command, *dir, func() error { return up(command.Context(), *dir, driverless, command.OutOrStdout()) })
		},
	}
	command.Flags().StringSliceVar(&driverless, "driverless", nil, "members whose volumes are left to another storage driver")
	return command
}

// locked runs one change of the fleet at a time.
func locked(command *cobra.Command, dir string, change func() error) error {
	if err := os.MkdirAll(dir, privateFolder); err != nil {
		return fmt.Errorf("creating the fleet's folder: %w", err)
	}
	lock, err := filelock.Acquire(command.Context(), filepath.Join(dir, lockFile), func() {
		command.PrintErrln("waiting for another fleet command")
	})
	if err != nil {
		return err
	}
	return errors.Join(change(), lock.Release())
}

func up(ctx context.Context, dir string, driverless []string, out io.Writer) error {
	f, err := fleet.Open(dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return create(ctx, dir, driverless, out)
	case err != nil:
		return err
	case !f.Complete():
		_, _ = fmt.Fprintln(out, "an earlier start was cut off: starting anew")
		if err := f.Stop(ctx); err != nil {
			return err
		}
		return create(ctx, dir, driverless, out)
	}
	for _, name := range driverless {
		if member := f.Member(name); member != nil && !member.Spec().Driverless {
			return fmt.Errorf("cluster %q: %w; end the fleet with fleet down and start it anew", name, errDriver)
		}
	}
	return repair(ctx, f, out)
}

func create(ctx context.Context, dir string, driverless []string, out io.Writer) error {
	f, err := fleet.Up(ctx, shape(dir, driverless, out))
	if ctx.Err() != nil {
		// Interrupted: nothing of it may stay. After a failure the logs do.
		cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
		defer cancel()
		return errors.Join(context.Cause(ctx), down(cleanup, dir, io.Discard))
	}
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(out, "the fleet is up; end it with: fleet down")
	return status(f, out)
}

func repair(ctx context.Context, f *fleet.Fleet, out io.Writer) error {
	repaired := 0
	for _, cluster := range f.Clusters() {
		health := cluster.Health()
		if health == fleet.Running {
			continue
		}
		_, _ = fmt.Fprintf(out, "cluster %s is %s: bringing it back\n", cluster.Name(), health)
		if err := cluster.Restart(ctx); err != nil {
			return err
		}
		repaired++
	}
	if repaired == 0 {
		_, _ = fmt.Fprintln(out, "the fleet is up already")
	}
	return status(f, out)
}

func newAdd(dir *string) *cobra.Command {
	spec := fleet.ClusterSpec{Nodes: nodesPerMember}
	command := &cobra.Command{
		Use:   "add CLUSTER",
		Short: "Start one more member of the fleet",
		Args:  cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return locked(command, *dir, func() error {
				f, err := open(*dir)
				if err != nil {
					return err
				}
				spec.Name = arguments[0]
				if err := f.Add(command.Context(), spec); err != nil {
					return err
				}
				_, err = fmt.Fprintf(command.OutOrStdout(), "cluster %s is up\n", spec.Name)
				return err
			})
		},
	}
	command.Flags().StringVar((*string)(&spec.Provider), "provider", string(fleet.Local), "cloud that it looks like: aws, gcp, azure or local")
	command.Flags().StringVar(&spec.Region, "region", "", "region of its nodes; empty means one of the provider's")
	command.Flags().BoolVar(&spec.Driverless, "driverless", false, "leave its volumes to another storage driver")
	return command
}

func newDown(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "down",
		Short: "End the fleet and remove its data",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			if _, err := os.Stat(*dir); errors.Is(err, fs.ErrNotExist) {
				command.Println("there is no fleet")
				return nil
			}
			return locked(command, *dir, func() error { return down(command.Context(), *dir, command.OutOrStdout()) })
		},
	}
}

func down(ctx context.Context, dir string, out io.Writer) error {
	f, err := fleet.Open(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	message := "there is no fleet"
	if f != nil {
		message = "the fleet is gone"
		if err := f.Remove(ctx); err != nil {
			return err
		}
	}
	// Only now, so that no other command started meanwhile. A folder with foreign
	// files stays.
	if err := os.Remove(filepath.Join(dir, lockFile)); err != nil {
		return fmt.Errorf("removing the lock: %w", err)
	}
	_ = os.Remove(dir)
	_, _ = fmt.Fprintln(out, message)
	return nil
}

func newStatus(dir *string) *cobra.Command {
	return &cobra.Command{
		Use:   "status",
		Short: "Show the clusters and their kubeconfigs",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			f, err := open(*dir)
			if err != nil {
				return err
			}
			return status(f, command.OutOrStdout())
		},
	}
}

func status(f *fleet.Fleet, out io.Writer) error {
	const padding = 2
	table := tabwriter.NewWriter(out, 0, 0, padding, ' ', 0)
	_, _ = fmt.Fprintln(table, "CLUSTER\tPROVIDER\tREGION\tNODES\tSTATE\tKUBECONFIG")
	for _, cluster := range f.Clusters() {
		spec := cluster.Spec()
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%d\t%s\t%s\n",
			spec.Name, spec.Provider, spec.Region, spec.Nodes, cluster.Health(), shortest(cluster.AdminKubeconfig()))
	}
	if err := table.Flush(); err != nil {
		return fmt.Errorf("writing the status: %w", err)
	}
	return nil
}

// shortest returns the path relative to the working folder, if it lies below.
func shortest(path string) string {
	working, err := os.Getwd()
	if err != nil {
		return path
	}
	relative, err := filepath.Rel(working, path)
	if err != nil || !filepath.IsLocal(relative) {
		return path
	}
	return relative
}

// open calls fleet.Open, and adds advice to its error.
func open(dir string) (*fleet.Fleet, error) {
	f, err := fleet.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no fleet in %q; start one with: fleet up: %w", dir, err)
	}
	if err != nil {
		return nil, err
	}
	if !f.Complete() {
		return nil, errors.New("the fleet's start was cut off; repeat it with: fleet up")
	}
	return f, nil
}

func newBinaries() *cobra.Command {
	var withCSI bool
	command := &cobra.Command{
		Use:   "binaries",
		Short: "Print the folder with etcd, kube-apiserver, kubectl and the others; download or build them first if needed",
		Args:  cobra.NoArgs,
		RunE: func(command *cobra.Command, _ []string) error {
			// The folder goes to standard output alone: scripts read it.
			dir, err := binaries.Ensure(command.Context(), command.ErrOrStderr())
			if err != nil {
				return err
			}
			if withCSI {
				if _, err := binaries.EnsureCSI(command.Context(), command.ErrOrStderr()); err != nil {
					return err
				}
			}
			_, err = fmt.Fprintln(command.OutOrStdout(), dir)
			return err
		},
	}
	command.Flags().BoolVar(&withCSI, "csi", false, "build the controllers of storage drivers, and the suite that tests drivers, too")
	return command
}

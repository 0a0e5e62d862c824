package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"
)

const defaultDir = ".fleet"

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run() error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return newCommand().ExecuteContext(ctx)
}

func newCommand() *cobra.Command {
	command := &cobra.Command{
		Use:           "fleet",
		Short:         "Run a hub and three members on this machine",
		SilenceUsage:  true,
		SilenceErrors: true,
	}
	dir := command.PersistentFlags().String("dir", defaultDir, "folder with the fleet's data, logs and kubeconfigs")
	command.AddCommand(
		newUp(dir),
		newAdd(dir),
		newDown(dir),
		newStatus(dir),
		newBinaries(),
		newKubeconfig(dir),
	)
	command.AddCommand(newFaults(dir)...)
	return command
}

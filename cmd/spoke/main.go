package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	// The image holds no certificates: these are for buckets behind public ones.
	_ "golang.org/x/crypto/x509roots/fallback"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/spoke/setup"
	"github.com/shopfleet/shopfleet/spoke/transfer"
)

// version is set by the linker.
var version = "v0.0.0-dev"

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "spoke:", err)
		os.Exit(transfer.Status(err))
	}
}

func command() *cobra.Command {
	options := setup.Options{Version: version}
	cmd := &cobra.Command{
		Use:           "spoke",
		Short:         "Run shops in one cluster",
		Args:          cobra.NoArgs,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return setup.Main(cmd.Context(), options)
		},
	}
	options.Bind(cmd.Flags())
	cmd.CompletionOptions.DisableDefaultCmd = true
	cmd.AddCommand(transferCommand())
	return cmd
}

func transferCommand() *cobra.Command {
	process := transfer.Process{Out: os.Stdout}
	cmd := &cobra.Command{
		Use:   "transfer",
		Short: "Send a dump to a bucket, or fetch one, as an order says",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return transfer.Main(cmd.Context(), process)
		},
	}
	cmd.Flags().StringVar(&process.Order, "order", "", "path of the order")
	cmd.Flags().StringVar(&process.Dir, "dir", "", "folder that the file of the order is in, or is brought to")
	cmd.Flags().StringVar(&process.TerminationLog, "termination-log", "/dev/termination-log",
		"file to write to why it failed; one that does not exist is not made")
	for _, required := range []string{"order", "dir"} {
		cobra.CheckErr(cmd.MarkFlagRequired(required))
	}
	return cmd
}

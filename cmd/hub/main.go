package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	// The image holds no certificates: these are for members behind public ones.
	_ "golang.org/x/crypto/x509roots/fallback"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/hub/setup"
)

// version is set by the linker.
var version = "v0.0.0-dev"

func main() {
	if err := command().ExecuteContext(ctrl.SetupSignalHandler()); err != nil {
		fmt.Fprintln(os.Stderr, "hub:", err)
		os.Exit(1)
	}
}

func command() *cobra.Command {
	options := setup.Options{Version: version}
	cmd := &cobra.Command{
		Use:           "hub",
		Short:         "Run shops on a fleet of clusters",
		Args:          cobra.NoArgs,
		Version:       version,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return setup.Main(cmd.Context(), options)
		},
	}
	options.Bind(cmd.Flags())
	return cmd
}

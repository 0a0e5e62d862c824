package main

import (
	"fmt"
	"os"
	_ "time/tzdata" // The image holds no time zones: these are for the schedules of backups.

	"github.com/spf13/cobra"
	// The image holds no certificates: these are for members behind public ones.
	_ "golang.org/x/crypto/x509roots/fallback"
	ctrl "sigs.k8s.io/controller-runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws"
	awsobjects "github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/azure"
	azureobjects "github.com/shopfleet/shopfleet/cloud/azure/objectstore"
	"github.com/shopfleet/shopfleet/cloud/gcp"
	gcpobjects "github.com/shopfleet/shopfleet/cloud/gcp/objectstore"
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
	options := setup.Options{
		Version: version,
		Clouds: cloud.Registry{
			v1.ProviderAWS: aws.Connect, v1.ProviderGCP: gcp.Connect, v1.ProviderAzure: azure.Connect,
		},
		Buckets: cloud.Buckets{
			v1.ProviderAWS: awsobjects.Open, v1.ProviderGCP: gcpobjects.Open, v1.ProviderAzure: azureobjects.Open,
		},
	}
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

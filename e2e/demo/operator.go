package main

import (
	"context"
	"fmt"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/e2e/demo/background"
)

const (
	operatorState  = "hub-operator.json"
	operatorConfig = "hub-operator.kubeconfig"
	operatorLog    = "hub-operator.log"

	// tokenTTL is for how long the demo can be left running.
	tokenTTL = 8760 * time.Hour
)

// operator returns the hub's process.
func (d *demo) operator() background.Process {
	return background.Process{
		What: "the hub", Program: d.path("bin", "hub"), Dir: d.root, State: d.path(operatorState), Log: d.path(operatorLog),
	}
}

// ensureOperator starts the hub, unless the right one runs already.
func (d *demo) ensureOperator(ctx context.Context) error {
	return d.operator().Ensure(ctx, []string{d.path("hub", "kubeconfig")}, func(ctx context.Context, health string) ([]string, error) {
		metrics, err := background.FreeAddress(ctx)
		if err != nil {
			return nil, err
		}
		return []string{
			"--kubeconfig", d.path(operatorConfig),
			// HTTP, so that no token is needed; only this machine can reach it.
			"--metrics-bind-address", metrics, "--metrics-secure=false", "--health-probe-bind-address", health,
		}, d.writeOperatorConfig(ctx)
	})
}

// writeOperatorConfig writes a kubeconfig with a token of the hub's ServiceAccount.
func (d *demo) writeOperatorConfig(ctx context.Context) error {
	admin, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	at, err := join.EndpointOf(admin, "")
	if err != nil {
		return err
	}
	token, err := join.Member{Config: admin, Client: hub}.Mint(ctx, tokenTTL)
	if err != nil {
		return err
	}
	raw, err := at.Kubeconfig("hub", token)
	if err != nil {
		return err
	}
	file, err := clientcmd.Load(raw)
	if err != nil {
		return fmt.Errorf("reading the kubeconfig of the hub: %w", err)
	}
	if err := clientcmd.WriteToFile(*file, d.path(operatorConfig)); err != nil {
		return fmt.Errorf("writing the kubeconfig of the hub: %w", err)
	}
	return nil
}

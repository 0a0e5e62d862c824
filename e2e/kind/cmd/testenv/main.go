package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"

	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

var errUsage = errors.New("usage: testenv check | testenv down")

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	if len(args) != 1 {
		return errUsage
	}
	switch args[0] {
	case "check":
		return clusters.Usable(ctx)
	case "down":
		root, err := os.Getwd()
		if err != nil {
			return fmt.Errorf("finding the working folder: %w", err)
		}
		return testenv.Down(ctx, testenv.ForTests(root, os.Stderr))
	}
	return errUsage
}

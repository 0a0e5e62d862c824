package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"time"

	"github.com/shopfleet/shopfleet/e2e/mutants"
)

func main() {
	ctx, cancel := signal.NotifyContext(context.Background(), os.Interrupt)
	defer cancel()
	if err := run(ctx, os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "mutants:", err)
		cancel()
		os.Exit(1) //nolint:gocritic // The deferred call was made.
	}
}

func run(ctx context.Context, selected []string) error {
	root, err := os.Getwd()
	if err != nil {
		return fmt.Errorf("finding the module: %w", err)
	}
	dir, err := os.MkdirTemp("", "mutants-")
	if err != nil {
		return fmt.Errorf("creating a folder for mutants: %w", err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	chosen, err := mutants.Select(mutants.All(), selected...)
	if err != nil {
		return err
	}
	runner := mutants.NewRunner(root, dir)
	fmt.Print(mutants.Header())
	var failed error
	for _, m := range chosen {
		began := time.Now()
		if err := runner.Run(ctx, &m); err != nil {
			fmt.Fprintln(os.Stderr, err)
			failed = mutants.ErrSurvivors
		} else {
			fmt.Println(m.Row())
		}
		fmt.Fprintf(os.Stderr, "%s: %s\n", m.ID, time.Since(began).Round(time.Second))
		if ctx.Err() != nil {
			return fmt.Errorf("running the mutants: %w", context.Cause(ctx))
		}
	}
	return failed
}

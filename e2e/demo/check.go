package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

const (
	// scaled is the file of the shop with more replicas, which the demo plans and does not apply.
	scaled = "scaled.yaml"
	// scaledReplicas is their number in the frontend, which has three.
	scaledReplicas = 5
	// exitChanges is the exit code of a plan that has changes.
	exitChanges = 1
)

var (
	// errNoPlan means that a plan did not find the change.
	errNoPlan = errors.New("the plan does not have the change of the replicas")
	// errNoReplicas means that the sample has the replicas of the frontend at another place.
	errNoReplicas = errors.New("spec.frontend does not begin with three replicas")
)

// check asks the product whether everything is as it should be, and what a change would do. It fails
// unless doctor finds nothing, and plan finds the change.
func (d *demo) check(ctx context.Context) error {
	_, _ = fmt.Fprintln(d.screen.out)
	if err := d.show(ctx, d.screen.out, "doctor"); err != nil {
		return err
	}
	file, err := d.writeScaled()
	if err != nil {
		return err
	}
	_, _ = fmt.Fprintln(d.screen.out)
	err = d.show(ctx, d.screen.out, "plan", "--server-side", "-f", file, "-n", namespace)
	switch exit := (*exec.ExitError)(nil); {
	case err == nil:
		return errNoPlan
	case errors.As(err, &exit) && exit.ExitCode() == exitChanges:
		return nil
	}
	return err
}

// writeScaled writes the sample with more replicas, and returns the path of the file.
func (d *demo) writeScaled() (string, error) {
	raw, err := os.ReadFile(filepath.Join(d.root, sample))
	if err != nil {
		return "", fmt.Errorf("reading the sample: %w", err)
	}
	if raw, err = scale(raw); err != nil {
		return "", err
	}
	if err := os.WriteFile(d.path(scaled), raw, 0o600); err != nil {
		return "", fmt.Errorf("writing the scaled sample: %w", err)
	}
	if relative, err := filepath.Rel(d.root, d.path(scaled)); err == nil && filepath.IsLocal(relative) {
		return relative, nil
	}
	return d.path(scaled), nil
}

// scale returns the sample with more replicas of the frontend, and with nothing else changed.
func scale(raw []byte) ([]byte, error) {
	head, rest, found := bytes.Cut(raw, []byte("\n  frontend:\n    replicas: 3\n"))
	if !found {
		return nil, fmt.Errorf("scaling the sample: %w", errNoReplicas)
	}
	return fmt.Appendf(head, "\n  frontend:\n    replicas: %d\n%s", scaledReplicas, rest), nil
}

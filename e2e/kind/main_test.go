package kind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	// enabled is the variable that enables the tests, keep the one that keeps the
	// clusters, artifacts the folder for logs and objects after a failure.
	enabled   = "SHOPFLEET_KIND"
	keep      = "KEEP"
	artifacts = "ARTIFACTS"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(enabled) != "" && os.Getenv(keep) == "" {
		if err := testenv.Down(context.Background(), options()); err != nil {
			fmt.Fprintln(os.Stderr, "deleting the clusters:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// options returns the options of the test environment.
func options() testenv.Options {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return testenv.ForTests(root, os.Stderr)
}

// TestKind runs all subtests on one fleet.
func TestKind(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a container engine and ten minutes: run make e2e-kind")
	}
	w := open(t)
	const installed, joined, applied = "install", "join", "apply"
	const switched, observed, upgraded, removed = "switch modes", "observe and rotate", "upgrade", "uninstall"
	var steps framework.Steps
	steps.Add(installed, w.install)
	steps.Add(joined, w.join, installed)
	steps.Add(applied, w.apply, joined)
	steps.Add("orders", w.orders, applied)
	steps.Add("quiesce", w.quiesceDatabases, applied)
	steps.Add("repair", w.repair, applied)
	steps.Add("database killed", w.databaseKilled, applied)
	steps.Add("dumps", w.dumps, applied)
	steps.Add("rolling update", w.rollingUpdate, applied)
	steps.Add("scale", w.scale, applied)
	steps.Add("storage", w.storage, applied)
	steps.Add("member paused", w.memberPaused, applied)
	steps.Add("leader killed", w.leaderKilled, applied)
	steps.Add(switched, w.switchModes, applied)
	steps.Add("secrets", w.secrets, applied) // Before what follows takes pods and their logs away.
	steps.Add(observed, w.observe, applied)
	steps.Add(upgraded, w.upgrade, applied)
	steps.Add("helm", w.helm, applied)
	steps.Add("kustomize", w.kustomize, applied)
	steps.Add("secrets, again", w.secrets, applied)
	steps.Add(removed, w.uninstall, applied)
	steps.Add("every command", w.everyCommand, switched, observed, upgraded, removed)
	steps.Run(t)
}

// open starts the test environment and collects its state on failure.
func open(t *testing.T) *environment {
	t.Helper()
	o := options()
	l, err := testenv.Up(t.Context(), o)
	if err != nil {
		t.Fatalf("bringing the clusters up: %v", err)
	}
	t.Cleanup(func() {
		if !t.Failed() {
			return
		}
		dir := os.Getenv(artifacts)
		if dir == "" {
			dir = filepath.Join(o.Dir, "artifacts")
		}
		if err := l.Collect(context.WithoutCancel(t.Context()), dir); err != nil {
			t.Logf("collecting what happened: %v", err)
		}
		t.Logf("logs, events and objects of all clusters are in %s", dir)
	})
	return newEnvironment(t, l)
}

package kind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

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

// TestKind runs all subtests on one fleet. The others need the first ones.
func TestKind(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a container engine and ten minutes: run make e2e-kind")
	}
	w := open(t)
	if !t.Run("install", w.install) || !t.Run("join", w.join) || !t.Run("apply", w.apply) {
		return
	}
	t.Run("orders", w.orders)
	t.Run("quiesce", w.quiesceDatabases)
	t.Run("repair", w.repair)
	t.Run("database killed", w.databaseKilled)
	t.Run("dumps", w.dumps)
	t.Run("rolling update", w.rollingUpdate)
	t.Run("scale", w.scale)
	t.Run("storage", w.storage)
	t.Run("member paused", w.memberPaused)
	t.Run("leader killed", w.leaderKilled)
	t.Run("switch modes", w.switchModes)
	t.Run("secrets", w.secrets) // Before what follows takes pods and their logs away.
	t.Run("observe and rotate", w.observe)
	t.Run("upgrade", w.upgrade)
	t.Run("helm", w.helm)
	t.Run("kustomize", w.kustomize)
	t.Run("secrets, again", w.secrets)
	t.Run("uninstall", w.uninstall)
	t.Run("every command", w.everyCommand)
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

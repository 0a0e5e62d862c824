package kind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	// enabled is the variable that enables the tests, keep the one that keeps the clusters, artifacts the folder for logs and
	// objects after a failure.
	enabled   = "SHOPFLEET_KIND"
	keep      = "KEEP"
	artifacts = "ARTIFACTS"
)

func TestMain(m *testing.M) {
	ctrl.SetLogger(klog.Background())
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
	const installed, joined, applied, replicated = "install", "join", "apply", "replica"
	const switched, observed, upgraded, removed = "switch modes", "observe and rotate", "upgrade", "uninstall"
	var steps framework.Steps
	steps.Add("upgrade from the base build", w.testBase)
	steps.Add(installed, w.testInstall)
	steps.Add(joined, w.testJoin, installed)
	steps.Add(applied, w.testApply, joined)
	steps.Add("orders", w.testOrders, applied)
	steps.Add("checkpoint", w.testCheckpoint, applied)
	steps.Add("repair", w.testRepair, applied)
	steps.Add("database killed", w.testDatabaseKilled, applied)
	steps.Add(replicated, w.testReplica, applied)
	steps.Add("dumps", w.testDumps, applied)
	steps.Add("rolling update", w.testRollingUpdate, applied)
	steps.Add("rollout", w.testRollout, applied)
	steps.Add("blue-green", w.testBlueGreen, applied)
	steps.Add("password", w.testPassword, applied)
	steps.Add("scale", w.testScale, applied)
	steps.Add("replica lost", w.testReplicaLost, replicated) // When its pod is old enough to be replaced.
	steps.Add("storage", w.testStorage, applied)
	steps.Add("member paused", w.testMemberPaused, applied)
	steps.Add("pause", w.testPause, applied)
	steps.Add("leader killed", w.testLeaderKilled, applied)
	steps.Add(switched, w.testModeSwitch, applied)
	steps.Add("secrets", w.testSecrets, applied) // Before what follows takes pods and their logs away.
	steps.Add(observed, w.testObserve, applied)
	steps.Add(upgraded, w.testUpgrade, applied)
	steps.Add("helm", w.testHelm, applied)
	steps.Add("kustomize", w.testKustomize, applied)
	steps.Add("secrets, again", w.testSecrets, applied)
	steps.Add(removed, w.testUninstall, applied)
	steps.Add("every command", w.testEveryCommand, switched, observed, upgraded, removed)
	steps.Add("restores", w.testRestores, applied) // The last, because it deletes a cluster.
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

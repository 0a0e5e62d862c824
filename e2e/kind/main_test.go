package kind

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/kind/lab"
)

const (
	// enabled is the variable that has the tests run, keep the one that has the
	// clusters stay afterwards, artifacts the folder for what tells of failures.
	enabled   = "SHOPFLEET_KIND"
	keep      = "KEEP"
	artifacts = "ARTIFACTS"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if os.Getenv(enabled) != "" && os.Getenv(keep) == "" {
		if err := lab.Down(options()); err != nil {
			fmt.Fprintln(os.Stderr, "deleting the clusters:", err)
			code = max(code, 1)
		}
	}
	os.Exit(code)
}

// options say where the lab is.
func options() lab.Options {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return lab.ForTests(root, os.Stderr)
}

// TestKind tells the story. A chapter that others build on ends it when it fails.
func TestKind(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("needs a container engine and ten minutes: run make e2e-kind")
	}
	w := open(t)
	for _, c := range chapters() {
		if !t.Run(c.name, func(t *testing.T) { c.run(t, w) }) && c.essential {
			return
		}
	}
}

// chapter is a part of the story.
type chapter struct {
	name string
	run  func(t *testing.T, w *world)
	// essential tells that nothing after it makes sense without it.
	essential bool
}

func chapters() []chapter {
	return []chapter{
		{name: "install", run: install, essential: true},
		{name: "join", run: join, essential: true},
		{name: "apply", run: apply, essential: true},
		{name: "orders", run: orders},
		{name: "repair", run: repair},
		{name: "database killed", run: databaseKilled},
		{name: "rolling update", run: rollingUpdate},
		{name: "scale", run: scale},
		{name: "storage", run: storage},
		{name: "member paused", run: memberPaused},
		{name: "leader killed", run: leaderKilled},
		{name: "switch modes", run: switchModes},
		{name: "observe and rotate", run: observe},
		{name: "upgrade", run: upgrade},
		{name: "secrets", run: secrets},
		{name: "uninstall", run: uninstall},
	}
}

// open brings the lab up and has it told about on failure.
func open(t *testing.T) *world {
	t.Helper()
	o := options()
	l, err := lab.Up(t.Context(), o)
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
	return newWorld(t, l)
}

package main

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func execute(t *testing.T, arguments ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	command := newCommand()
	command.SetArgs(arguments)
	command.SetOut(&out)
	command.SetErr(&out)
	err := command.ExecuteContext(t.Context())
	return out.String(), err
}

func TestWithoutAFleet(t *testing.T) {
	for _, arguments := range [][]string{
		{"status"},
		{"add", "us-2"},
		{"kill", "eu-1"},
		{"freeze", "eu-1"},
		{"thaw", "eu-1"},
		{"restart", "eu-1"},
		{"kubeconfig", "--cluster", "eu-1", "--serviceaccount", "default"},
	} {
		t.Run(arguments[0], func(t *testing.T) {
			dir := filepath.Join(t.TempDir(), "fleet")
			_, err := execute(t, append(arguments, "--dir", dir)...)
			if !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), "fleet up") {
				t.Errorf("got %v, want advice", err)
			}
		})
	}
}

func TestDownWithoutAFleet(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "fleet")
	out, err := execute(t, "down", "--dir", dir)
	if err != nil || !strings.Contains(out, "there is no fleet") {
		t.Errorf("got %q, %v", out, err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("it made a folder: %v", err)
	}
}

func TestBinariesPrintsNothingButTheFolder(t *testing.T) {
	out, err := execute(t, "binaries")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(strings.TrimSpace(out), "kubectl")); err != nil {
		t.Errorf("printed %q: %v", out, err)
	}
}

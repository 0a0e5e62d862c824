package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"strings"
)

// packageCharts packages the charts, whose default images are those of the registry.
func (r release) packageCharts(ctx context.Context) error {
	folder, err := os.MkdirTemp("", "shopfleet-charts-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(folder) }()
	for _, process := range processes() {
		name := "shopfleet-" + process
		chart, err := r.writeChart(folder, name)
		if err != nil {
			return fmt.Errorf("copying %s: %w", name, err)
		}
		cmd := exec.CommandContext(ctx, r.helm, "package", chart, "--destination", r.output,
			"--version", strings.TrimPrefix(r.version, "v"), "--app-version", r.version)
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("packaging %s: %w: %s", name, err, out)
		}
	}
	return nil
}

// writeChart writes a chart as it is released into a folder, and returns its path.
func (r release) writeChart(folder, name string) (string, error) {
	sources, chart := path.Join("config/charts", name), filepath.Join(folder, name)
	if err := os.CopyFS(chart, os.DirFS(sources)); err != nil {
		return "", err
	}
	if err := replace(filepath.Join(chart, "values.yaml"), "repository: "+name+"\n", "repository: "+r.registry+"/"+name+"\n"); err != nil {
		return "", err
	}
	page, err := os.ReadFile(filepath.Join(chart, "README.md"))
	if errors.Is(err, fs.ErrNotExist) { // Sources from before charts had pages.
		return chart, nil
	}
	if err != nil {
		return "", err
	}
	return chart, os.WriteFile(filepath.Join(chart, "README.md"), []byte(r.withSources(string(page), sources)), 0o644)
}

// replace replaces a text that a file has exactly once.
func replace(path, old, with string) error {
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	if found := bytes.Count(content, []byte(old)); found != 1 {
		return fmt.Errorf("%s has %q %d times, want it once", filepath.Base(path), old, found)
	}
	return os.WriteFile(path, bytes.Replace(content, []byte(old), []byte(with), 1), 0o644)
}

// writeManifests writes what the plugin installs.
func (r release) writeManifests(ctx context.Context) error {
	machine, err := r.native(ctx)
	if err != nil {
		return err
	}
	for _, process := range processes() {
		cmd := exec.CommandContext(ctx, r.program(plugin, machine), "install", process, "--dry-run=client", "--output=yaml")
		cmd.Env = append(os.Environ(), "KUBECONFIG="+os.DevNull)
		cmd.Stderr = os.Stderr
		out, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("printing the manifests of %s: %w", process, err)
		}
		if err := os.WriteFile(filepath.Join(r.output, "install-"+process+".yaml"), out, 0o644); err != nil {
			return err
		}
	}
	return nil
}

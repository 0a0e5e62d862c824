package testenv

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
)

// Collect writes the logs of all nodes and pods, the events and all other objects
// but Secrets of all clusters below the folder. It goes on after errors.
func (e *Environment) Collect(ctx context.Context, dir string) error {
	all := map[string]*clusters.Cluster{hub: e.Hub}
	for _, m := range e.Members {
		if m != nil {
			all[m.MemberName] = m.Cluster
		}
	}
	var failed []error
	for name, c := range all {
		if c == nil {
			continue
		}
		folder := filepath.Join(dir, name)
		if err := os.MkdirAll(folder, 0o755); err != nil {
			return fmt.Errorf("making the folder %q: %w", folder, err)
		}
		failed = append(failed, c.Collect(folder), e.objects(ctx, c, folder))
	}
	return errors.Join(failed...)
}

func (e *Environment) objects(ctx context.Context, c *clusters.Cluster, folder string) error {
	kubectl := func(args ...string) (string, error) {
		return Run(e.Command(ctx, "kubectl", append([]string{"--kubeconfig", c.Kubeconfig}, args...)...))
	}
	out, err := kubectl("api-resources", "--verbs=list,get", "--output=name")
	if err != nil {
		return err
	}
	kinds := slices.DeleteFunc(strings.Fields(out), func(kind string) bool {
		return kind == "secrets" || kind == "componentstatuses" || strings.HasSuffix(kind, ".metrics.k8s.io")
	})
	out, err = kubectl("get", strings.Join(kinds, ","), "--all-namespaces", "--ignore-not-found", "--output=yaml")
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(folder, "objects.yaml"), []byte(out), 0o600); err != nil {
		return fmt.Errorf("writing the objects of cluster %q: %w", c.Name, err)
	}
	return nil
}

package clusters

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kind/pkg/cluster/nodeutils"
	kindexec "sigs.k8s.io/kind/pkg/exec"
)

// Load gives the node an archive of images.
func (c *Cluster) Load(archive io.Reader) error {
	err := nodeutils.LoadImageArchive(c.node, archive)
	if err == nil {
		return nil
	}
	// kind's error has the exit status alone, but a disk without space left shows in the output.
	if run := kindexec.RunErrorForError(err); run != nil {
		err = fmt.Errorf("%w: %s", err, bytes.TrimSpace(run.Output))
	}
	return fmt.Errorf("loading images into cluster %q: %w", c.Name, err)
}

// Has reports whether the node has an image, by its full name and ID.
func (c *Cluster) Has(name, id string) bool {
	found, err := nodeutils.ImageID(c.node, name)
	return err == nil && found == id
}

// Pause freezes all processes of the node, as if the machine did not respond.
func (c *Cluster) Pause(ctx context.Context) error {
	_, err := engine(ctx, "pause", c.Node())
	return err
}

// Unpause resumes a paused node.
func (c *Cluster) Unpause(ctx context.Context) error {
	_, err := engine(ctx, "unpause", c.Node())
	return err
}

// Paused reports whether the node is paused.
func (c *Cluster) Paused(ctx context.Context) (bool, error) {
	out, err := engine(ctx, "inspect", "--format", "{{.State.Paused}}", c.Node())
	return strings.TrimSpace(out) == "true", err
}

// Address returns the address on this machine of one of Spec.Ports.
func (c *Cluster) Address(ctx context.Context, port int32) (string, error) {
	out, err := engine(ctx, "port", c.Node(), fmt.Sprint(port)+"/tcp")
	if err != nil {
		return "", err
	}
	address, _, _ := strings.Cut(out, "\n")
	if _, _, err := net.SplitHostPort(address); err != nil {
		return "", fmt.Errorf("reading where port %d of cluster %q is: %w", port, c.Name, err)
	}
	return address, nil
}

// Exec runs a command in the node and returns its output.
func (c *Cluster) Exec(ctx context.Context, command ...string) (string, error) {
	return engine(ctx, append([]string{"exec", c.Node()}, command...)...)
}

// Collect writes the logs of the node and all its pods below the folder.
func (c *Cluster) Collect(dir string) error {
	if err := c.provider.CollectLogs(c.Name, dir); err != nil {
		return fmt.Errorf("collecting the logs of cluster %q: %w", c.Name, err)
	}
	raw, err := os.ReadFile(filepath.Join(c.Dir, "audit", auditFile))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, auditFile), raw, 0o600)
	}
	if err != nil {
		return fmt.Errorf("copying the audit log of cluster %q: %w", c.Name, err)
	}
	return nil
}

// engine runs the container engine's command.
func engine(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "docker", args...)
	var out, said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &said
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running docker %s: %w: %s", args[0], err, bytes.TrimSpace(said.Bytes()))
	}
	return out.String(), nil
}

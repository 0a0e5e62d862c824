package images

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
)

// version is the one that the product's programs of this tree have.
const version = config.Release + "-e2e"

// pullTimeout bounds the attempt to get a published image.
const pullTimeout = 5 * time.Minute

// Names of images that tests place, and of the object store. The product's are in Set.
const (
	FrontendOld = "ecommerce-frontend:v2.0.0"
	FrontendNew = "ecommerce-frontend:v2.1.0"
	BackendOld  = "ecommerce-backend:v2.0.0"
	BackendNew  = "ecommerce-backend:v2.1.0"
	Customer    = "shopfleet-customer:e2e"
	Objects     = "objectstore"
	Postgres    = "postgres:13.4"
	MySQL       = "mysql:8.4.2"
	login       = "quay.io/oauth2-proxy/oauth2-proxy:v7.15.6"
)

// Builder makes images.
type Builder struct {
	// Root is the repository, Dir a folder for build output, which makes later builds
	// faster.
	Root, Dir string
	// Debian is the image that databases' stand-ins are made from; empty: one that is on
	// this machine, Node at last, the image of kind's nodes.
	Debian, Node string
	// Progress gets a line for each image.
	Progress io.Writer
}

// Set holds all images.
type Set struct {
	// Hub and Spoke are the product's.
	Hub, Spoke string
	// All are the names of all images, with these.
	All []string
}

// Build makes all images, or finds them made.
func (b *Builder) Build(ctx context.Context) (*Set, error) {
	set := &Set{}
	var err error
	if set.Hub, set.Spoke, err = b.Product(ctx, b.Root, version); err != nil {
		return nil, err
	}
	set.All = append(set.All, set.Hub, set.Spoke)
	for _, s := range storefront() {
		if err := b.program(ctx, s); err != nil {
			return nil, err
		}
		set.All = append(set.All, s.image)
	}
	for _, p := range published() {
		if err := b.published(ctx, p); err != nil {
			return nil, err
		}
		set.All = append(set.All, p.image)
	}
	return set, nil
}

// Objects makes the image of the object store, and returns its name.
func (b *Builder) Objects(ctx context.Context) (string, error) {
	s := source{
		image: "shopfleet-" + Objects + ":e2e", module: ".", pkg: "./e2e/kind/cmd/" + Objects, program: Objects, version: "e2e",
		dockerfile: "cmd/Dockerfile",
	}
	return s.image, b.program(ctx, s)
}

// Load gives the images to the clusters, at the same time, where they lack them.
func (b *Builder) Load(ctx context.Context, names []string, to ...*clusters.Cluster) error {
	lacking := make([][]string, len(to))
	for _, name := range names {
		id, err := docker(ctx, "image", "inspect", "--format", "{{.Id}}", name)
		if err != nil {
			return err
		}
		for i, c := range to {
			if !c.Has(name, strings.TrimSpace(id)) {
				lacking[i] = append(lacking[i], name)
			}
		}
	}
	var group sync.WaitGroup
	failed := make([]error, len(to))
	for i, c := range to {
		if len(lacking[i]) > 0 {
			group.Go(func() { failed[i] = load(ctx, c, lacking[i]) })
		}
	}
	group.Wait()
	return errors.Join(failed...)
}

// load streams images from the engine to a node.
func load(ctx context.Context, to *clusters.Cluster, names []string) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	save := exec.CommandContext(ctx, "docker", append([]string{"save"}, names...)...)
	var said bytes.Buffer
	save.Stderr = &said
	archive, err := save.StdoutPipe()
	if err == nil {
		err = save.Start()
	}
	if err != nil {
		return fmt.Errorf("saving images: %w", err)
	}
	loaded := to.Load(archive)
	if loaded != nil {
		cancel() // Its output is not read any more.
	}
	if err := save.Wait(); err != nil && loaded == nil {
		return fmt.Errorf("saving images: %w: %s", err, bytes.TrimSpace(said.Bytes()))
	}
	return loaded
}

// docker runs the engine's command and returns its output.
func docker(ctx context.Context, args ...string) (string, error) {
	return command(exec.CommandContext(ctx, "docker", args...))
}

// command runs a command; the error contains its output. Programs are for Linux, whatever runs the tests.
func command(cmd *exec.Cmd) (string, error) {
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = io.MultiWriter(&out, &all), &all
	cmd.Env = append(os.Environ(), "DOCKER_BUILDKIT=0", "CGO_ENABLED=0", "GOOS=linux")
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("running %s: %w\n%s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(all.Bytes()))
	}
	return out.String(), nil
}

func (b *Builder) say(format string, args ...any) {
	_, _ = fmt.Fprintf(b.Progress, format+"\n", args...)
}

func (b *Builder) path(names ...string) string {
	return filepath.Join(append([]string{b.Dir}, names...)...)
}

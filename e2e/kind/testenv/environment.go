package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
	"github.com/shopfleet/shopfleet/e2e/kind/images"
	"github.com/shopfleet/shopfleet/e2e/kind/volumes"
)

const (
	// PagePort is the port of members' nodes that Cluster.Address maps to this machine,
	// for a Service with a shop's page.
	PagePort = 30080
	// hub is the name of the cluster that is no member.
	hub = "hub"
	// dataFolder is the folder with the data of volumes.
	dataFolder = "volumes"
)

// place represents the location of a member.
type place struct{ name, region, zone string }

func places() []place {
	return []place{
		{name: "eu-1", region: "eu-west-1", zone: "eu-west-1a"},
		{name: "us-1", region: "us-east-1", zone: "us-east-1a"},
	}
}

// Options holds the settings of an environment.
type Options struct {
	// Root is the repository, Dir the folder of the environment's files.
	Root, Dir string
	// Prefix begins the names of the clusters, which are unique on a machine.
	Prefix string
	// Progress receives messages about slow steps.
	Progress io.Writer
}

// ForTests returns the options of the environment that tests use.
func ForTests(root string, progress io.Writer) Options {
	return Options{Root: root, Dir: filepath.Join(root, ".kind", "e2e"), Prefix: "shopfleet-e2e-", Progress: progress}
}

// Environment is a hub and its members.
type Environment struct {
	Options
	Hub     *clusters.Cluster
	Members []*Member
	Images  *images.Set

	builder *images.Builder
}

// Member is a cluster by the name that the hub will know it by.
type Member struct {
	*clusters.Cluster
	MemberName string
}

// Up starts an environment, or finds the one that runs. After an error the clusters that
// were made stay, for Down.
func Up(ctx context.Context, o Options) (*Environment, error) {
	if err := clusters.Usable(ctx); err != nil {
		return nil, err
	}
	l := &Environment{Options: o, builder: &images.Builder{
		Root: o.Root, Dir: filepath.Join(o.Dir, "images"), Progress: o.Progress,
		Debian: os.Getenv("DEBIAN_IMAGE"), Node: os.Getenv("KIND_NODE_IMAGE"),
	}}
	var group sync.WaitGroup
	var built, started, programs error
	group.Go(func() { started = l.startClusters(ctx) })
	// The compiler has the machine to itself while nodes boot by themselves.
	group.Go(func() {
		if l.Images, built = l.builder.Build(ctx); built == nil {
			programs = l.buildPrograms(ctx)
		}
	})
	group.Wait()
	if err := errors.Join(started, built, programs); err != nil {
		return l, err
	}
	l.say("loading images")
	return l, l.load(ctx)
}

// startClusters starts all clusters at the same time.
func (e *Environment) startClusters(ctx context.Context) error {
	var group sync.WaitGroup
	failed := make([]error, 1+len(places()))
	group.Go(func() {
		e.Hub, failed[0] = clusters.Up(ctx, clusters.Spec{Name: e.Prefix + hub, Dir: e.Path(hub), Mounts: e.data()}, e.named(hub))
	})
	e.Members = make([]*Member, len(places()))
	for i, p := range places() {
		group.Go(func() {
			e.Members[i] = &Member{MemberName: p.name}
			mounts := e.data()
			mounts[volumes.RegistryFolder] = e.Registry(p.name)
			e.Members[i].Cluster, failed[i+1] = clusters.Up(ctx, clusters.Spec{
				Name: e.Prefix + p.name, Dir: e.Path(p.name), Region: p.region, Zone: p.zone, Ports: []int32{PagePort}, Mounts: mounts,
			}, e.named(p.name))
		})
	}
	group.Wait()
	return errors.Join(failed...)
}

// data returns where nodes mount the data of volumes.
func (e *Environment) data() map[string]string {
	return map[string]string{volumes.DataFolder: e.Path(dataFolder)}
}

// Registry returns the folder that the kubelet of a member looks in for drivers.
func (e *Environment) Registry(member string) string { return e.Path(member, "drivers") }

func (e *Environment) load(ctx context.Context) error {
	if err := e.builder.Load(ctx, []string{e.Images.Hub}, e.Hub); err != nil {
		return err
	}
	var shops []*clusters.Cluster
	for _, m := range e.Members {
		shops = append(shops, m.Cluster)
	}
	var rest []string
	for _, name := range e.Images.All {
		if name != e.Images.Hub {
			rest = append(rest, name)
		}
	}
	return e.builder.Load(ctx, rest, shops...)
}

// LoadProduct builds the product from another tree of sources, as a version, and gives its
// images to the clusters.
func (e *Environment) LoadProduct(ctx context.Context, root, version string) (hubImage, spokeImage string, err error) {
	hubImage, spokeImage, err = e.builder.Product(ctx, root, version)
	if err != nil {
		return "", "", err
	}
	if err := e.builder.Load(ctx, []string{hubImage}, e.Hub); err != nil {
		return "", "", err
	}
	for _, m := range e.Members {
		if err := e.builder.Load(ctx, []string{spokeImage}, m.Cluster); err != nil {
			return "", "", err
		}
	}
	return hubImage, spokeImage, nil
}

// Down deletes the existing clusters of an environment, and its folder.
func Down(ctx context.Context, o Options) error {
	failed := []error{removeContainer(ctx, o.storeName())}
	if err := clusters.Delete(o.clusterNames(), o.Progress); err != nil {
		return errors.Join(append(failed, err)...)
	}
	for _, name := range append([]string{hub, "bin", dataFolder}, memberNames()...) {
		failed = append(failed, os.RemoveAll(filepath.Join(o.Dir, name)))
	}
	return errors.Join(failed...)
}

// Exists reports whether any cluster of an environment exists.
func Exists(o Options) bool {
	all, err := clusters.Names(io.Discard)
	return err == nil && slices.ContainsFunc(all, func(name string) bool { return slices.Contains(o.clusterNames(), name) })
}

func (o Options) clusterNames() []string {
	names := append([]string{hub}, memberNames()...)
	for i := range names {
		names[i] = o.Prefix + names[i]
	}
	return names
}

func memberNames() []string {
	all := places()
	names := make([]string, len(all))
	for i := range all {
		names[i] = all[i].name
	}
	return names
}

// buildPrograms builds the administrator's programs, and finds kubectl.
func (e *Environment) buildPrograms(ctx context.Context) error {
	bin := e.Path("bin")
	if err := os.MkdirAll(bin, 0o755); err != nil {
		return fmt.Errorf("making the folder of programs: %w", err)
	}
	build := exec.CommandContext(ctx, "go", "build", "-o", bin+string(filepath.Separator), "./cmd/kubectl-shopfleet")
	build.Dir = e.Root
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building kubectl-shopfleet: %w\n%s", err, out)
	}
	if _, err := exec.LookPath("kubectl"); err == nil {
		return nil
	}
	dir, err := binaries.Ensure(ctx, e.Progress)
	if err != nil {
		return fmt.Errorf("finding kubectl: %w", err)
	}
	link := filepath.Join(bin, binaries.Kubectl)
	_ = os.Remove(link)
	if err := os.Symlink(dir.Path(binaries.Kubectl), link); err != nil {
		return fmt.Errorf("linking kubectl: %w", err)
	}
	return nil
}

package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud"
)

// provider is one root in one region.
type provider struct {
	// dir is the root, clean and absolute.
	dir    string
	region string
	clock  clock.PassiveClock
	// names is what zones, volumes and snapshots may be called.
	names *regexp.Regexp
	// hook stands around each operation; nil does it. Tests let them go wrong.
	hook func(ctx context.Context, r request, do func() error) error
}

// request is one operation on the directory, on behalf of a method.
type request struct {
	method string
	op     operation
	what   string
}

// operation is what is done.
type operation string

// The operations.
const (
	opDescribeVolume operation = "DescribeVolume"
	opCreateSnapshot operation = "CreateSnapshot"
	opCopySnapshot   operation = "CopySnapshot"
	opGetSnapshot    operation = "GetSnapshot"
	opListSnapshots  operation = "ListSnapshots"
	opDeleteSnapshot operation = "DeleteSnapshot"
	opCreateVolume   operation = "CreateVolume"
	opDeleteVolume   operation = "DeleteVolume"
	opIdentity       operation = "Identity"
	opOther          operation = "Other"
)

// Connect makes a session on the directory Config.Endpoint, an absolute path. Neither
// credentials nor HTTP are used. Nothing is read.
func Connect(_ context.Context, config cloud.Config) (cloud.Session, error) {
	p, err := newProvider(config)
	if err != nil {
		return cloud.Session{}, err
	}
	return p.session(), nil
}

func newProvider(config cloud.Config) (*provider, error) {
	p := &provider{
		dir: filepath.Clean(config.Endpoint), region: config.Region, clock: config.Clock,
		names: regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`),
	}
	switch {
	case !filepath.IsAbs(config.Endpoint):
		return nil, p.invalid("Connect", fmt.Sprintf("the CloudAccount %q has the endpoint %q, want an absolute path", config.Account, config.Endpoint))
	case !p.names.MatchString(config.Region):
		return nil, p.invalid("Connect", fmt.Sprintf("the CloudAccount %q is asked for the region %q, want up to 128 letters, digits, dots and dashes", config.Account, config.Region))
	case config.Clock == nil:
		return nil, p.invalid("Connect", "no clock was given")
	}
	return p, nil
}

func (p *provider) session() cloud.Session {
	return cloud.Session{Snapshots: snapshots{p}, Volumes: volumes{p}, Access: access{p}}
}

// do does an operation below the root.
func (p *provider) do(ctx context.Context, r request, work func(root *os.Root) error) error {
	do := func() error {
		if err := ctx.Err(); err != nil {
			return p.failed(r, err)
		}
		root, err := os.OpenRoot(p.dir)
		if err != nil {
			return p.failed(r, err)
		}
		defer func() { _ = root.Close() }()
		return p.failed(r, work(root))
	}
	if p.hook != nil {
		return p.hook(ctx, r, do)
	}
	return do()
}

// volumePath is the path of a volume below the root; its handle is not trusted.
func (p *provider) volumePath(method, handle string) (zone, name string, err error) {
	below, ok := strings.CutPrefix(handle, p.dir+string(filepath.Separator))
	parts := strings.Split(below, string(filepath.Separator))
	if !ok || len(parts) != 3 || parts[1] != "volumes" || parts[0] == "snapshots" || !p.names.MatchString(parts[0]) || !p.names.MatchString(parts[2]) {
		return "", "", p.invalid(method, fmt.Sprintf("the handle %q is not <root>/<zone>/volumes/<name> with the root %q", handle, p.dir))
	}
	return parts[0], parts[2], nil
}

// snapshotPath is the path of a snapshot below the root.
func (p *provider) snapshotPath(method, id string) (string, error) {
	name, ok := strings.CutPrefix(id, p.dir+"/snapshots/")
	if !ok || !p.names.MatchString(name) {
		return "", p.invalid(method, fmt.Sprintf("the ID %q is not <root>/snapshots/<name> with the root %q", id, p.dir))
	}
	return path.Join("snapshots", name), nil
}

// access is cloud.Access.
type access struct{ *provider }

// Identity is the user of the process; its account is the root.
func (p access) Identity(ctx context.Context) (cloud.Identity, error) {
	err := p.do(ctx, request{"Identity", opIdentity, p.dir}, func(root *os.Root) error {
		_, err := root.Stat(".")
		return err
	})
	if err != nil {
		return cloud.Identity{}, err
	}
	return cloud.Identity{Name: fmt.Sprintf("uid:%d", os.Geteuid()), Account: p.dir}, nil
}

// Preflight tells whether snapshots can be written: there is one permission.
func (p access) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	check := cloud.PermissionCheck{Permission: "write " + p.dir}
	err := p.do(ctx, request{"Preflight", opOther, p.dir}, func(root *os.Root) error {
		probe := p.temporary()
		switch err := root.Mkdir(probe, 0o700); {
		case errors.Is(err, os.ErrPermission):
			return nil
		case err != nil:
			return err
		}
		check.Granted = true
		return root.Remove(probe)
	})
	if err != nil {
		return nil, err
	}
	return []cloud.PermissionCheck{check}, nil
}

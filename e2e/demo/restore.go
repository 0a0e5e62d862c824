package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/demo/background"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

// refuge is the member in the other region, which only the restore needs.
const refuge = "us-2"

// errNotRunning means that the demo does not run.
var errNotRunning = errors.New("the demo does not run as a whole; start it, or what is not there of it, with: make demo")

// restore brings the shop, with its data, to another region.
func (d *demo) restore(ctx context.Context) error {
	backup, err := d.runs(ctx)
	if err != nil {
		return err
	}
	if err := d.restoring(ctx, backup.Name); err != nil {
		return d.screen.stopped(ctx, err, ending{existed: true, command: "make demo-down"})
	}
	return d.restored()
}

// running checks that the demo runs.
func (d *demo) running(ctx context.Context) error {
	f, err := fleet.Open(d.dir)
	if err != nil {
		return fmt.Errorf("%w (%w)", errNotRunning, err)
	}
	for _, c := range f.Clusters() {
		if c.Health() != fleet.Running {
			return fmt.Errorf("cluster %q is %s: %w", c.Name(), c.Health(), errNotRunning)
		}
	}
	for _, p := range []background.Process{d.operator(), d.provider()} {
		r, err := p.Load()
		if err != nil {
			return err
		}
		if !p.Runs(ctx, r) {
			return fmt.Errorf("%s does not answer: %w", p.What, errNotRunning)
		}
	}
	return nil
}

// runs checks that the demo runs, and returns the Backup to restore.
func (d *demo) runs(ctx context.Context) (*v1.Backup, error) {
	if err := d.running(ctx); err != nil {
		return nil, err
	}
	backup, err := d.latestBackup(ctx)
	if err != nil {
		return nil, err
	}
	if backup == nil {
		return nil, fmt.Errorf("there is no complete backup: %w", errNotRunning)
	}
	return backup, nil
}

func (d *demo) restoring(ctx context.Context, backup string) error {
	if err := d.screen.all(ctx, []step{
		{"Keeping the shop where it is", func(ctx context.Context, _ io.Writer) error { return d.place(ctx, members()) }},
		{"Starting a control plane in " + away, func(ctx context.Context, _ io.Writer) error { return d.ensureRefuge(ctx) }},
		{"Starting the cloud's storage driver there", func(ctx context.Context, _ io.Writer) error { return d.ensureProvider(ctx) }},
		{"Joining " + refuge, func(ctx context.Context, progress io.Writer) error { return d.join(ctx, progress, refuge) }},
		{"Telling the hub whose volumes are there", func(ctx context.Context, progress io.Writer) error {
			return d.introduce(ctx, progress, refuge)
		}},
		{"Restoring the database of " + home + " in " + refuge, func(ctx context.Context, progress io.Writer) error {
			return d.bringBack(ctx, progress, backup)
		}},
		{"Placing the shop there, too", func(ctx context.Context, _ io.Writer) error {
			return d.place(ctx, append(members(), refuge))
		}},
	}); err != nil {
		return err
	}
	if err := d.watch(ctx); err != nil {
		return err
	}
	return d.showMember(ctx, refuge, "pvc,pv")
}

// place places the shop on members and no others, unless it runs in the other region
// already: there it stays. Without a placement it would come to a member that joins
// before its data.
func (d *demo) place(ctx context.Context, names []string) error {
	_, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	app := &v1.EcommerceApp{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, app); err != nil {
		return fmt.Errorf("getting the shop: %w", err)
	}
	if slices.Contains(app.Spec.Placement.ClusterNames, refuge) {
		return nil
	}
	raw, err := json.Marshal(map[string]any{"spec": map[string]any{"placement": map[string]any{"clusterNames": names}}})
	if err != nil {
		return fmt.Errorf("writing the placement: %w", err)
	}
	return d.kubectl(ctx, "patch", "ecommerceapp", shop, "-n", namespace, "--type=merge", "-p", string(raw))
}

// ensureRefuge adds the member to the fleet, unless it is there.
func (d *demo) ensureRefuge(ctx context.Context) error {
	f, err := fleet.Open(d.dir)
	if err != nil || f.Member(refuge) != nil {
		return err
	}
	_, err = quiet(d.command(ctx, d.path("bin", "fleet"), "--dir", d.dir, "add", refuge, "--provider", "aws", "--region", away, "--driverless"))
	return err
}

// bringBack restores the backup, unless one has been restored there before.
func (d *demo) bringBack(ctx context.Context, progress io.Writer, backup string) error {
	done, err := d.latestRestore(ctx)
	if err != nil {
		return err
	}
	if done == nil {
		if err := d.show(ctx, progress, "restore", backup, "--member", refuge, "-n", namespace); err != nil {
			return err
		}
		if done, err = d.latestRestore(ctx); err != nil || done == nil {
			return err
		}
	}
	for _, v := range done.Status.Volumes {
		_, _ = fmt.Fprintf(progress, "claim %s has the volume %s, made by the driver from %s\n", v.Claim, v.PersistentVolume, v.Snapshot)
	}
	return nil
}

// latestRestore returns a complete restore in the other region, or nil.
func (d *demo) latestRestore(ctx context.Context) (*v1.Restore, error) {
	_, hub, err := d.hubClient()
	if err != nil {
		return nil, err
	}
	list := &v1.RestoreList{}
	if err := hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing restores: %w", err)
	}
	for i := range list.Items {
		if r := &list.Items[i]; r.Spec.ClusterRef.Name == refuge && r.Status.Phase == v1.RestoreCompleted {
			return r, nil
		}
	}
	return nil, nil
}

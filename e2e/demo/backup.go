package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// backUp creates a backup and waits for it, unless there is one that can be restored elsewhere.
func (d *demo) backUp(ctx context.Context, progress io.Writer) error {
	if there, err := d.latestBackup(ctx); err != nil || there != nil {
		return err
	}
	return d.show(ctx, progress, "backup", "create", shop, "--member", home, "-n", namespace)
}

// latestBackup returns the newest complete backup with a copy in the other region, or nil.
func (d *demo) latestBackup(ctx context.Context) (*v1.Backup, error) {
	_, hub, err := d.hubClient()
	if err != nil {
		return nil, err
	}
	list := &v1.BackupList{}
	if err := hub.List(ctx, list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("listing backups: %w", err)
	}
	var latest *v1.Backup
	for i := range list.Items {
		b := &list.Items[i]
		complete := b.Spec.AppRef.Name == shop && b.Spec.ClusterRef.Name == home && b.Status.Phase == v1.BackupCompleted &&
			meta.IsStatusConditionTrue(b.Status.Conditions, v1.ConditionCopied)
		if complete && (latest == nil || latest.Status.SnapshotTime.Before(b.Status.SnapshotTime)) {
			latest = b
		}
	}
	return latest, nil
}

// listBackups shows the backups.
func (d *demo) listBackups(ctx context.Context) error {
	_, _ = fmt.Fprintln(d.screen.out)
	return d.show(ctx, d.screen.out, "backup", "list", "-n", namespace, "-o", "wide")
}

// show runs a command of the plugin, and prints it with its output.
func (d *demo) show(ctx context.Context, out io.Writer, args ...string) error {
	_, _ = fmt.Fprintln(out, "$ kubectl shopfleet "+strings.Join(args, " "))
	return d.shown(ctx, out, d.path("bin", "kubectl-shopfleet"), args...)
}

// showHub shows the output of kubectl.
func (d *demo) showHub(ctx context.Context, args ...string) error {
	words := make([]string, 0, len(args))
	for _, arg := range args {
		if strings.ContainsAny(arg, `"(){}$`) {
			arg = "'" + arg + "'"
		}
		words = append(words, arg)
	}
	_, _ = fmt.Fprintln(d.screen.out, "$ kubectl "+strings.Join(words, " "))
	return d.shown(ctx, d.screen.out, d.path("bin", "kubectl"), args...)
}

// showMember shows objects in a member.
func (d *demo) showMember(ctx context.Context, member, what string) error {
	file := d.path(member, "kubeconfig")
	args := []string{"get", what, "-n", namespace}
	short := file
	if relative, err := filepath.Rel(d.root, file); err == nil && filepath.IsLocal(relative) {
		short = relative
	}
	_, _ = fmt.Fprintf(d.screen.out, "\n$ kubectl --kubeconfig %s %s\n", short, strings.Join(args, " "))
	return d.shown(ctx, d.screen.out, d.path("bin", "kubectl"), append([]string{"--kubeconfig", file}, args...)...)
}

func (d *demo) shown(ctx context.Context, out io.Writer, program string, args ...string) error {
	cmd := d.command(ctx, program, args...)
	cmd.Stdout, cmd.Stderr = out, out
	if out == d.screen.out {
		cmd.Stderr = os.Stderr
	}
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("running %s %s: %w; the hub's log ends with:\n%s", filepath.Base(program), args[0], err, d.operator().LogTail())
	}
	return nil
}

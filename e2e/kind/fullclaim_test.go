package kind

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/spoke/render"
)

// testFullClaim dumps to a claim that is full of other dumps: the oldest is removed. The
// provisioner's volumes are folders of the node without a limit, so a small tmpfs is mounted on
// the one of the claim.
func (e *environment) testFullClaim(t *testing.T) {
	t.Helper()
	r := e.regions[0]
	claim, volume := &corev1.PersistentVolumeClaim{}, &corev1.PersistentVolume{}
	if err := r.get(t.Context(), render.DatabaseDumps(shop), claim); err != nil {
		t.Fatal(err)
	}
	if err := r.Get(t.Context(), client.ObjectKey{Name: claim.Spec.VolumeName}, volume); err != nil {
		t.Fatal(err)
	}
	folder := folderOf(volume)
	if folder == "" {
		t.Fatalf("the volume is no folder of the node: %+v", volume.Spec)
	}
	node := func(ctx context.Context, script string) string {
		out, err := r.Exec(ctx, "sh", "-euc", script, "sh", folder)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	node(t.Context(), `mount -t tmpfs -o size=4m,mode=0777 tmpfs "$1"
for day in 01 02; do head -c 2080000 /dev/zero >"$1/backup-202601${day}T000000Z.dump"; done; chmod 0666 "$1"/backup-*`)
	t.Cleanup(func() { node(context.WithoutCancel(t.Context()), `umount "$1"`) })
	made := e.dump(t, shop, r)
	if at := made.Status.Dump.RemovedUpToTime; at == nil || at.UTC().Format("20060102") != "20260101" {
		t.Errorf("the Backup says that dumps up to %v were removed", at)
	}
	files := strings.Fields(node(t.Context(), `ls "$1"`))
	want := []string{strings.TrimSuffix(made.Status.Dump.File, ".dump") + ".json", made.Status.Dump.File, "backup-20260102T000000Z.dump", "early-20260101T000000Z"}
	for _, name := range want {
		if !strings.Contains(" "+strings.Join(files, " ")+" ", " "+name+" ") {
			t.Errorf("%s is missing among %q", name, files)
		}
	}
	if len(files) != len(want) {
		t.Errorf("there are %q, want %q", files, want)
	}
}

// folderOf returns the folder of the node that a volume is; empty if it is none.
func folderOf(volume *corev1.PersistentVolume) string {
	switch {
	case volume.Spec.HostPath != nil:
		return volume.Spec.HostPath.Path
	case volume.Spec.Local != nil:
		return volume.Spec.Local.Path
	default:
		return ""
	}
}

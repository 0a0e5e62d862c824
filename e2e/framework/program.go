package framework

import (
	"context"
	"net"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/config"
)

// Build builds a command of this module, and returns the path of its binary.
func Build(t testing.TB, name string) string {
	t.Helper()
	binary := filepath.Join(t.TempDir(), name)
	out, err := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-o", binary, root+"/cmd/"+name).CombinedOutput()
	if err != nil {
		t.Fatalf("building %s: %v\n%s", name, err, out)
	}
	return binary
}

// FreeAddress returns an address of this machine that refuses connections.
func FreeAddress(t testing.TB) string {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	return l.Addr().String()
}

// OtherHolder is the holder of a Lease after TakeLease.
const OtherHolder = "another-holder"

// TakeLease gives the Lease of a process to OtherHolder, for ten minutes.
func TakeLease(t testing.TB, c client.Client, name string) {
	t.Helper()
	Eventually(t, "the Lease to be taken", func(ctx context.Context) error {
		lease := &coordinationv1.Lease{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: config.Namespace, Name: name}, lease); err != nil {
			return err
		}
		lease.Spec.HolderIdentity = new(OtherHolder)
		lease.Spec.LeaseDurationSeconds = new(int32(600))
		lease.Spec.RenewTime = &metav1.MicroTime{Time: time.Now()}
		// The leader renews the Lease, so this may take several attempts.
		return c.Update(ctx, lease)
	})
}

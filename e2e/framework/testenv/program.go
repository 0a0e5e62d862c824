package testenv

import (
	"net"
	"os/exec"
	"path/filepath"
	"testing"
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

package logs_test

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/internal/logs"
)

func write(t *testing.T, lines ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(file, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestWarningsAreFound(t *testing.T) {
	warnings := []string{
		`W0102 15:04:05.000000       1 watcher.go:1] a watch ended`,
		`E0102 15:04:05.000000       1 run.go:1] a request failed`,
		`F0102 15:04:05.000000       1 run.go:1] it cannot go on`,
		`{"level":"warn","ts":"2006-01-02T15:04:05Z","msg":"etcd is slow"}`,
		`{"time":"2006-01-02T15:04:05Z","level":"ERROR","msg":"KWOK has no server"}`,
		`panic: nothing there`,
		`Error: unknown flag: --colour`,
	}
	others := []string{
		`I0102 15:04:05.000000       1 run.go:1] no Error: it runs`,
		`{"level":"info","msg":"etcd is ready"}`,
		`{"time":"2006-01-02T15:04:05Z","level":"INFO","msg":"error"}`,
		`W0102 15:04:05.000000       1 genericapiserver.go:1] Skipping API apps/v1beta1 because it has no resources.`,
		`W0102 15:04:05.000000       1 logging.go:1] [core] [Channel #1] grpc: failed to connect`,
		`Warm words`,
		``,
	}
	got, err := logs.Warnings(write(t, append(append(others, warnings...), others...)...))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(warnings, got); diff != "" {
		t.Error(diff)
	}
}

func TestTheEndIsShort(t *testing.T) {
	var lines []string
	for i := range 40_000 {
		lines = append(lines, fmt.Sprintf("E0102 number %d %s", i, strings.Repeat("x", 500)))
	}
	file := write(t, lines...)
	found, err := logs.Warnings(file)
	if err != nil {
		t.Fatal(err)
	}
	want := lines[len(lines)-15:]
	for i := range want {
		if cut := want[i][:400]; i >= len(found) || found[i] != cut {
			t.Fatalf("got %d warnings %q, want 15, the last ones", len(found), found)
		}
	}
	tail, err := logs.Tail(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Join(want, "\n"), tail); diff != "" {
		t.Error(diff)
	}
}

func TestAMissingLogIsNamed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "missing")
	if _, err := logs.Tail(file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("the tail: got %v, want what does not exist", err)
	}
	if _, err := logs.Warnings(file); !errors.Is(err, fs.ErrNotExist) || !strings.Contains(err.Error(), file) {
		t.Errorf("the warnings: got %v, want what does not exist", err)
	}
}

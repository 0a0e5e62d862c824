package fleet_test

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// childVariable makes TestChild start a fleet and wait to be killed.
const childVariable = "FLEET_TEST_CHILD"

func smallest() fleet.Options {
	return fleet.Options{Members: []fleet.ClusterSpec{{Name: "bare", APIServerOnly: true}}}
}

// processes reads the fleet's processes from its state file.
func processes(t *testing.T, dir string) []process.ID {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	type cluster struct {
		Processes map[string]process.ID `json:"processes"`
	}
	var state struct {
		Hub     cluster   `json:"hub"`
		Members []cluster `json:"members"`
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	var ids []process.ID
	for _, each := range append(state.Members, state.Hub) {
		for _, id := range each.Processes {
			ids = append(ids, id)
		}
	}
	if len(ids) == 0 {
		t.Fatal("the state file names no process")
	}
	return ids
}

func gone(dir string, ids []process.ID) error {
	for _, id := range ids {
		if id.State() != process.Gone {
			return fmt.Errorf("process %d is there", id.PID)
		}
	}
	if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("folder %q is there", dir)
	}
	return nil
}

func TestStopLeavesNothing(t *testing.T) {
	f, err := fleet.Start(t.Context(), smallest())
	if err != nil {
		t.Fatal(err)
	}
	ids := processes(t, f.Dir())
	for range 2 {
		if err := f.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := gone(f.Dir(), ids); err != nil {
			t.Error(err)
		}
	}
}

// TestKilledProcessLeavesNothing stands for a test binary that runs into its
// timeout or is killed: no cleanup of its own runs then.
func TestKilledProcessLeavesNothing(t *testing.T) {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	child := exec.CommandContext(t.Context(), self, "-test.run=^TestChild$")
	child.Env = append(os.Environ(), childVariable+"=1")
	output, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	dir, err := bufio.NewReader(output).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	dir = strings.TrimSpace(dir)
	ids := processes(t, dir)
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := child.Wait(); err == nil {
		t.Error("the killed process ended well")
	}
	fleettest.Eventually(t, "everything to go", func(context.Context) error { return gone(dir, ids) })
}

func TestChild(t *testing.T) {
	if os.Getenv(childVariable) == "" {
		t.Skip("only runs as a child of TestKilledProcessLeavesNothing")
	}
	f, err := fleet.Start(t.Context(), smallest())
	if err != nil {
		t.Fatal(err)
	}
	fmt.Println(f.Dir())
	<-t.Context().Done()
}

func TestFailedStartShowsTheLog(t *testing.T) {
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	assets, dir := t.TempDir(), t.TempDir()
	for _, name := range []string{
		binaries.Etcd, binaries.ControllerManager, binaries.Scheduler, binaries.Kubectl, binaries.Kwok,
	} {
		if err := os.Symlink(programs.Path(name), filepath.Join(assets, name)); err != nil {
			t.Fatal(err)
		}
	}
	broken := []byte("#!/bin/sh\necho the server has a reason\nexit 1\n")
	if err := os.WriteFile(filepath.Join(assets, binaries.APIServer), broken, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv(binaries.AssetsVariable, assets)
	options := smallest()
	options.Dir = dir
	_, err = fleet.Start(t.Context(), options)
	if err == nil {
		t.Fatal("want an error")
	}
	log := filepath.Join(dir, "bare", "kube-apiserver.log")
	for _, want := range []string{"the server has a reason", log, `"bare"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not show %q:\n%v", want, err)
		}
	}
	f, err := fleet.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	if f.Complete() {
		t.Error("a fleet that did not start is complete")
	}
	if diff := cmp.Diff(fleet.Dead, f.Member("bare").Health()); diff != "" {
		t.Error(diff)
	}
}

func TestUpStaysAndIsFoundAgain(t *testing.T) {
	options := smallest()
	options.Dir = filepath.Join(t.TempDir(), "fleet")
	if _, err := fleet.Open(options.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Fatalf("opening nothing: %v", err)
	}
	up, err := fleet.Up(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = up.Stop(context.WithoutCancel(t.Context())) })
	if _, err := fleet.Up(t.Context(), options); err == nil {
		t.Error("a second fleet started in the same folder")
	}

	again, err := fleet.Open(options.Dir)
	if err != nil {
		t.Fatal(err)
	}
	bare := again.Member("bare")
	if health := bare.Health(); health != fleet.Running || !again.Complete() {
		t.Fatalf("the fleet is %s, complete: %t", health, again.Complete())
	}
	ids := processes(t, options.Dir)
	if err := bare.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := bare.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
	ids = append(ids, processes(t, options.Dir)...)
	if err := again.Add(t.Context(), fleet.ClusterSpec{Name: "bare", APIServerOnly: true}); err == nil {
		t.Error("a second member of the same name was added")
	}
	if err := again.Add(t.Context(), fleet.ClusterSpec{Name: "more", APIServerOnly: true}); err != nil {
		t.Fatal(err)
	}
	if again, err = fleet.Open(options.Dir); err != nil {
		t.Fatal(err)
	}
	if more := again.Member("more"); more == nil || more.Health() != fleet.Running {
		t.Error("the added member is not running after the restart")
	}
	ids = append(ids, processes(t, options.Dir)...)
	classes, err := clientOf(t, bare.AdminConfig()).StorageV1().StorageClasses().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(classes.Items) != 1 {
		t.Errorf("storage classes: got %v, error %v", classes, err)
	}
	if err := again.Remove(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := gone(options.Dir, ids); err != nil {
		t.Error(err)
	}
}

func TestForeignFilesStay(t *testing.T) {
	dir := t.TempDir()
	precious := filepath.Join(dir, "bare", "precious")
	if err := os.Mkdir(filepath.Dir(precious), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	options := smallest()
	options.Dir = dir
	if f, err := fleet.Start(t.Context(), options); err == nil {
		t.Errorf("a fleet started in %s", f.Dir())
	}
	if _, err := os.Stat(precious); err != nil {
		t.Error(err)
	}
}

func TestOptionsAreChecked(t *testing.T) {
	for name, options := range map[string]fleet.Options{
		"no cluster":          {},
		"bad name":            {Hub: fleet.ClusterSpec{Name: "../hub"}},
		"same name":           {Hub: fleet.ClusterSpec{Name: "a"}, Members: []fleet.ClusterSpec{{Name: "a"}}},
		"unknown provider":    {Hub: fleet.ClusterSpec{Name: "a", Provider: "moon"}},
		"nodes without a kcm": {Hub: fleet.ClusterSpec{Name: "a", Nodes: 1, APIServerOnly: true}},
		"too many nodes":      {Hub: fleet.ClusterSpec{Name: "a", Nodes: 1001}},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := fleet.Start(t.Context(), options)
			if err == nil {
				t.Error("want an error", f.Stop(t.Context()))
			}
		})
	}
}

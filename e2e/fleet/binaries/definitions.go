package binaries

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
)

// SnapshotDefinitions returns the definitions of VolumeSnapshot, VolumeSnapshotContent and VolumeSnapshotClass, of the
// version that the controllers of EnsureCSI have.
func SnapshotDefinitions(ctx context.Context) ([]byte, error) {
	pins, err := readPins(csiTools())
	if err != nil {
		return nil, err
	}
	var problem bytes.Buffer
	cmd := exec.CommandContext(ctx, "go", "-C", pins.folder, "mod", "download", "-json", definitionsModule)
	cmd.Env = append(os.Environ(), "GOWORK=off")
	cmd.Stderr = &problem
	raw, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("downloading %s: %w\n%s", definitionsModule, err, problem.Bytes())
	}
	var module struct{ Dir string }
	if err := json.Unmarshal(raw, &module); err != nil {
		return nil, fmt.Errorf("finding %s: %w", definitionsModule, err)
	}
	var all []byte
	for _, plural := range []string{"volumesnapshotclasses", "volumesnapshotcontents", "volumesnapshots"} {
		one, err := os.ReadFile(filepath.Join(module.Dir, "config", "crd", "snapshot.storage.k8s.io_"+plural+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("reading a definition: %w", err)
		}
		all = append(append(all, "\n---\n"...), one...)
	}
	return all, nil
}

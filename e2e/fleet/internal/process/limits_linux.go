package process

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
)

// RaiseLimits allows for more file watches than the usual 128 instances: every
// component watches its certificates, and a machine may run several fleets. Without
// the right to do so the system's limit stays, which is enough for a few clusters.
func RaiseLimits() {
	const folder = "/proc/sys/fs/inotify"
	for name, least := range map[string]int{"max_user_instances": 8192, "max_user_watches": 524288} {
		file := filepath.Join(folder, name)
		raw, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if current, err := strconv.Atoi(string(bytes.TrimSpace(raw))); err != nil || current >= least {
			continue
		}
		_ = os.WriteFile(file, []byte(strconv.Itoa(least)), 0o600)
	}
}

package local

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"strconv"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

// meta is what is known of a snapshot, in meta.json.
type meta struct {
	Name   string    `json:"name"`
	Region string    `json:"region"`
	CutAt  time.Time `json:"cutAt"`
	// SizeBytes is the volume's.
	SizeBytes int64 `json:"sizeBytes"`
	// Source is the handle of the volume, or the ID of the snapshot that it copies.
	Source    string     `json:"source"`
	SourceUID string     `json:"sourceUID,omitempty"`
	IsCopy    bool       `json:"isCopy,omitempty"`
	Tags      cloud.Tags `json:"tags,omitempty"`
	// Locked keeps it from being deleted; a person writes it.
	Locked bool `json:"locked,omitempty"`
}

// note is what is known of a volume, in .<name>.json beside it.
type note struct {
	UID       string     `json:"uid"`
	SizeBytes int64      `json:"sizeBytes"`
	From      string     `json:"from,omitempty"`
	Tags      cloud.Tags `json:"tags,omitempty"`
	// Attached says that somebody uses it, who writes it.
	Attached bool `json:"attached,omitempty"`
}

// temporaryPrefix begins the names of what is not finished, or is going. The time
// follows, then what makes it the only one.
const temporaryPrefix = ".tmp-"

// temporaryAge is how old what is not finished must be to be left by a crash.
const temporaryAge = 24 * time.Hour

func (p *provider) temporary() string {
	return fmt.Sprintf("%s%d-%s", temporaryPrefix, p.clock.Now().Unix(), rand.Text())
}

// clean removes what crashes have left in a folder. What cannot be removed is tried
// again next time.
func (p *provider) clean(root *os.Root, dir string) {
	entries, err := fs.ReadDir(root.FS(), dir)
	if err != nil {
		return
	}
	for _, entry := range entries {
		rest, ok := strings.CutPrefix(entry.Name(), temporaryPrefix)
		began, _, _ := strings.Cut(rest, "-")
		seconds, err := strconv.ParseInt(began, 10, 64)
		if ok && err == nil && p.clock.Since(time.Unix(seconds, 0)) > temporaryAge {
			_ = removeAll(root, path.Join(dir, entry.Name()))
		}
	}
}

// readRecord reads a JSON file. One that makes no sense is an error like any other of
// the disk.
func readRecord(root *os.Root, name string, into any) error {
	text, err := root.ReadFile(name)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, into); err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

// writeRecord writes a new JSON file, down to the disk.
func writeRecord(root *os.Root, name string, record any) error {
	text, err := json.MarshalIndent(record, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %s: %w", name, err)
	}
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(append(text, '\n'))
	return errors.Join(err, f.Sync(), f.Close())
}

// syncDir writes down which names a folder has.
func syncDir(root *os.Root, dir string) error {
	f, err := root.Open(dir)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

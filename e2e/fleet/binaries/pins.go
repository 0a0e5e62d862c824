package binaries

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
)

// hashLength is the number of hex digits that distinguish two sets of pins.
const hashLength = 12

// pins are the versions of a set of programs.
type pins struct {
	set
	// folder contains go.mod and go.sum.
	folder string
	// versions maps modules to their versions.
	versions map[string]string
	// hash identifies the content of both files.
	hash string
}

// readPins reads the pins of the repository that contains the working folder: tests
// run in the folder of their package.
func readPins(s set) (pins, error) {
	start, err := os.Getwd()
	if err != nil {
		return pins{}, fmt.Errorf("finding the working folder: %w", err)
	}
	for dir := start; ; dir = filepath.Dir(dir) {
		folder := filepath.Join(dir, s.folder)
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return s.parsePins(folder)
		}
		if dir == filepath.Dir(dir) {
			return pins{}, fmt.Errorf("finding %q in a folder above %q: run inside the repository: %w", s.folder, start, os.ErrNotExist)
		}
	}
}

func (s set) parsePins(folder string) (pins, error) {
	p := pins{set: s, folder: folder, versions: map[string]string{}}
	sum := sha256.New()
	for _, name := range []string{"go.mod", "go.sum"} {
		raw, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			return pins{}, fmt.Errorf("reading the pinned versions: %w", err)
		}
		_, _ = sum.Write(raw)
		if name != "go.mod" {
			continue
		}
		for line := range strings.Lines(string(raw)) {
			if fields := strings.Fields(line); len(fields) > 1 {
				p.versions[fields[0]] = fields[1]
			}
		}
	}
	for _, module := range s.modules {
		if p.versions[module] == "" {
			return pins{}, fmt.Errorf("reading the pinned versions: %q does not require %s", folder, module)
		}
	}
	p.hash = hex.EncodeToString(sum.Sum(nil))
	return p, nil
}

// linkerFlags returns the flags with which the programs are linked.
func (p pins) linkerFlags() string {
	return linkerFlags(p.versions[kubernetesModule])
}

// cacheDir returns the folder named after everything that decides what is in it.
func (p pins) cacheDir() (Dir, error) {
	cache := os.Getenv("XDG_CACHE_HOME")
	if cache == "" {
		home, err := os.UserHomeDir()
		if err != nil {
			return "", fmt.Errorf("finding the cache folder: %w", err)
		}
		cache = filepath.Join(home, ".cache")
	}
	key := shortHash(runtime.GOOS, runtime.GOARCH, linkerFlags("VERSION"), p.hash)
	return Dir(filepath.Join(cache, "shopfleet", p.versions[p.modules[0]]+"-"+key)), nil
}

func shortHash(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, " ")))
	return hex.EncodeToString(sum[:])[:hashLength]
}

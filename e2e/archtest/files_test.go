package archtest

import (
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// root is the folder of the root module, relative to this package.
const root = "../.."

// file is a file that belongs to the repository.
type file struct {
	path string // Relative to the root, with slashes.
	text string
}

// isGo reports whether the rules for Go code apply: not to code that a tool wrote.
func (f file) isGo() bool {
	return strings.HasSuffix(f.path, ".go") && !f.isGenerated()
}

// isTest reports whether only tests are built from the file.
func (f file) isTest() bool { return strings.HasSuffix(f.path, "_test.go") }

// isGenerated recognises generated code by its name, or by the header that the
// go command knows.
func (f file) isGenerated() bool {
	if strings.HasPrefix(path.Base(f.path), "zz_generated") {
		return true
	}
	header, _, _ := strings.Cut("\n"+f.text, "\npackage ")
	return regexp.MustCompile(`(?m)^// Code generated .*DO NOT EDIT\.$`).MatchString(header)
}

// lines counts as editors do.
func (f file) lines() int { return strings.Count(f.text, "\n") }

// listFiles reads what git tracks, and what it would track after git add.
func listFiles(t *testing.T) []file {
	t.Helper()
	if _, err := os.Stat(filepath.Join(root, ".git")); errors.Is(err, fs.ErrNotExist) {
		t.Skip("not a git checkout: what belongs to the repository is unknown")
	}
	cmd := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	cmd.Dir = root
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing files: %v", err)
	}
	var files []file
	for name := range strings.SplitSeq(strings.TrimSuffix(string(out), "\x00"), "\x00") {
		info, err := os.Lstat(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) || err == nil && !info.Mode().IsRegular() {
			continue // Deleted and not committed yet, or a link.
		}
		files = append(files, file{path: name, text: readFile(t, name)})
	}
	watchFolders(t, files)
	return files
}

// watchFolders opens every folder, so that the go command does not answer from
// its cache of test results after a file was added: it cannot see what git read.
func watchFolders(t *testing.T, files []file) {
	t.Helper()
	seen := map[string]bool{}
	for _, f := range files {
		for dir := path.Dir(f.path); !seen[dir]; dir = path.Dir(dir) {
			seen[dir] = true
			if _, err := os.ReadDir(filepath.Join(root, dir)); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// readFile reads a file by its path from the root.
func readFile(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

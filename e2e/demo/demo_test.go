package main

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// root is the repository.
const root = "../.."

// TestDemo runs the demo as make demo does, and compares its output with the page for users. It fails
// unless doctor finds nothing and plan answers, because the demo does. Then it restores the backup, as make demo-restore does.
func TestDemo(t *testing.T) {
	dir := t.TempDir()
	program := filepath.Join(dir, "program")
	run(t, "go", "build", "-ldflags", "-s -w", "-o", program, "./e2e/demo")
	t.Cleanup(func() { run(t, program, "--dir", dir, "down") })
	since := strconv.FormatInt(time.Now().Unix(), 10)
	out := strings.ReplaceAll(run(t, program, "--dir", dir, "up", "--compiling-since", since), dir, defaultDir)

	page, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	rest := "\n" + normalized(out)
	for _, line := range transcript(string(page)) {
		// Dots stand for any lines, or for the rest of one.
		_, after, found := strings.Cut(rest, "\n"+strings.TrimSuffix(normalized(line), " ..."))
		if !found {
			t.Fatalf("README.md has a line that the demo does not print, or not there:\n%s\noutput:\n%s", line, out)
		}
		rest = after
	}
	for _, want := range []string{"LoginNotConfigured", "\n$ kubectl shopfleet doctor\n", "\n$ kubectl shopfleet plan ", "\nThe demo took "} {
		if !strings.Contains(out, want) {
			t.Errorf("the demo does not print %q:\n%s", want, out)
		}
	}
	restored := run(t, program, "--dir", dir, "restore")
	for _, want := range []string{", made by the driver from snap-", "/" + shop + " Running, 4/4 clusters ready\n"} {
		if !strings.Contains(restored, want) {
			t.Errorf("the restore does not print %q:\n%s", want, restored)
		}
	}
}

// run runs a program in the repository and returns its output. The test fails if the program does.
func run(t *testing.T, program string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir = root
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("running %s %s: %v\n%s%s", program, strings.Join(args, " "), err, out, &errs)
	}
	return string(out)
}

// transcript returns the lines of the output of make demo in the page, between its first and its last.
func transcript(page string) []string {
	const first, last = "\n    Compiling the demo", "\n    The demo took"
	_, after, _ := strings.Cut(page, first)
	between, _, _ := strings.Cut(after, last)
	var lines []string
	for line := range strings.Lines(first + between + last) {
		text, indented := strings.CutPrefix(strings.TrimRight(line, "\n"), "    ")
		if indented && text != "..." {
			lines = append(lines, text)
		}
	}
	return lines
}

var (
	numbers = regexp.MustCompile(`[0-9]+(\.[0-9]+)?(m[0-9]+)?s\b|[0-9]{8}-[0-9]{6}`)
	spaces  = regexp.MustCompile(` +`)
)

// normalized returns a text without what differs between runs: durations, times and the width of columns.
func normalized(text string) string {
	return spaces.ReplaceAllString(numbers.ReplaceAllString(text, "0"), " ")
}

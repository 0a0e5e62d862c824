package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// TestInstruments checks the record of the runs of the instruments: each has a target of make that writes it, and
// each commit is in the history, unless that is not there.
func TestInstruments(t *testing.T) {
	read := func(name string) string {
		content, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Fatal(err)
		}
		return string(content)
	}
	git := func(arguments ...string) (string, error) {
		out, err := exec.CommandContext(t.Context(), "git", append([]string{"-C", root}, arguments...)...).Output()
		return strings.TrimSpace(string(out)), err
	}
	inHistory := func(commit string) bool {
		if shallow, err := git("rev-parse", "--is-shallow-repository"); err != nil || shallow == "true" {
			return true
		}
		_, err := git("merge-base", "--is-ancestor", commit, "HEAD")
		return err == nil
	}
	for _, problem := range checkInstruments(read("e2e/instruments.txt"), read("Makefile"), time.Now(), inHistory) {
		t.Error(problem)
	}
}

// checkInstruments compares the record with the targets that write it.
func checkInstruments(record, makefile string, now time.Time, inHistory func(commit string) bool) []string {
	var problems []string
	recorded := map[string]bool{}
	for line := range strings.Lines(record) {
		fields := strings.Fields(line)
		if len(fields) == 0 || fields[0] == "#" {
			continue
		}
		recorded[fields[0]] = true
		if len(fields) == 2 && fields[1] == "never" {
			continue
		}
		if len(fields) != 3 {
			problems = append(problems, fmt.Sprintf("%q is no target, day and commit", line))
			continue
		}
		if day, err := time.Parse(time.DateOnly, fields[1]); err != nil || day.After(now) {
			problems = append(problems, fmt.Sprintf("%s ran on %s, which is no day in the past", fields[0], fields[1]))
		}
		if !inHistory(fields[2]) {
			problems = append(problems, fmt.Sprintf("%s ran at %s, which is not in the history", fields[0], fields[2]))
		}
	}
	writers := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^(\w+):.*\n(?:\t.*\n)*\t(?:\$\(if .*\$\(recordRun\)\)|\$\(recordRun\))$`).FindAllStringSubmatch(makefile, -1) {
		writers[m[1]] = true
		if !recorded[m[1]] {
			problems = append(problems, fmt.Sprintf("make %s has no line", m[1]))
		}
	}
	for name := range recorded {
		if !writers[name] {
			problems = append(problems, fmt.Sprintf("no target %s records its run", name))
		}
	}
	return problems
}

func TestCheckInstruments(t *testing.T) {
	const makefile = "bench: binaries ## a\n\t$(call runBench)\n\t$(if $(BENCH),,$(recordRun))\n"
	for name, test := range map[string]struct{ record, want string }{
		"never":       {"# a\nbench never\n", ""},
		"once":        {"bench 2026-11-28 953e1389\n", ""},
		"no line":     {"", "make bench has no line"},
		"no target":   {"bench never\nfaults never\n", "no target faults"},
		"tomorrow":    {"bench 2026-11-30 953e1389\n", "no day in the past"},
		"no day":      {"bench today 953e1389\n", "no day in the past"},
		"gone":        {"bench 2026-11-28 00000000\n", "not in the history"},
		"without day": {"bench 953e1389\n", "no target, day and commit"},
	} {
		t.Run(name, func(t *testing.T) {
			now := time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC)
			expectProblem(t, checkInstruments(test.record, makefile, now, func(commit string) bool { return commit == "953e1389" }), test.want)
		})
	}
}

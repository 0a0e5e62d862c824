package archtest

import (
	"fmt"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestSelections selects what does not exist by each variable of make that selects: nothing is run, and
// that is an error which says so.
func TestSelections(t *testing.T) {
	t.Parallel()
	const noPackage, noTest, noFigure = "no package is ./nosuch", "the selection names no test", `"nosuch": no figure has such a name`
	for _, test := range []struct{ target, selection, flags, want string }{
		{"test-unit", "PACKAGES=./nosuch/...", "", noPackage},
		{"test-unit", "PACKAGES=./hub/app/overrides ./nosuch", "", noPackage},
		{"test-unit", "PACKAGES=./e2e/hub", "", "does without a control plane"},
		{"test-unit", "PACKAGES=./hub/app/overrides", "-run=TestNoSuch", noTest},
		{"test-unit", "PACKAGES=./hub/app/overrides", "-run=TestSelectors/nosuch", noTest},
		{"mutants", "MUTANTS=nosuch", "", `no mutant has the ID "nosuch"`},
		{"mutate", "PACKAGES=./hub/app/overrides ./nosuch", "", noPackage},
		{"bench", "BENCH=nosuch", "", noFigure},
		{"isolation", "ISOLATION=nosuch", "", noFigure},
		{"crashpoints", "CRASHPOINTS=nosuch", "", `"nosuch": want all`},
		{"faults", "FAULTS=nosuch", "", `"nosuch": want all`},
		{"screenshots", "", "-run=TestNoSuch", noTest},
		{"bench-page", "", "-bench=BenchmarkNoSuch", noTest},
		{"release-check", "", "-run=TestNoSuch", noTest},
		{"stranger", "", "-run=TestNoSuch", noTest},
	} {
		t.Run(test.target+" "+test.selection+test.flags, func(t *testing.T) {
			t.Parallel()
			args := []string{"--no-print-directory", "--assume-old=binaries", "RESULTS=" + t.TempDir(), "GOTEST_FLAGS=" + test.flags, test.target}
			if test.selection != "" {
				args = append(args, test.selection)
			}
			// No selection gets as far as what needs these programs.
			cmd := exec.CommandContext(t.Context(), "make", append(args, "HELM=", "CYCLONEDX=")...)
			cmd.Dir = root
			cmd.Env = slices.DeleteFunc(os.Environ(), func(pair string) bool { // Those of make test are for that run.
				return strings.HasPrefix(pair, "MAKE") || strings.HasPrefix(pair, "MFLAGS")
			})
			if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), test.want) {
				t.Errorf("error %v, want one that says %q:\n%s", err, test.want, out)
			}
		})
	}
}

// TestTestNames fails on pages, on commands of make and of continuous integration, and on its list of skips
// if they name a test that does not exist, as after a renaming.
func TestTestNames(t *testing.T) {
	files := listFiles(t)
	exist := declaredTests(files)
	for _, f := range files {
		for _, problem := range append(checkTestNames(f, exist), checkSkips(f, exist)...) {
			t.Error(problem)
		}
	}
}

// declaredTests returns the folders of the tests and benchmarks that files declare, by name.
func declaredTests(files []file) map[string][]string {
	declared := map[string][]string{}
	for _, f := range files {
		if f.isTest() {
			for _, m := range regexp.MustCompile(`(?m)^func ((?:Test|Benchmark)\w+)\(`).FindAllStringSubmatch(f.text, -1) {
				declared[m[1]] = append(declared[m[1]], path.Dir(f.path))
			}
		}
	}
	return declared
}

// checkTestNames looks up the tests that a page names as code, and those that a command selects. Subtests
// are not checked.
func checkTestNames(f file, exist map[string][]string) []string {
	names := "`(Test[A-Z]\\w*)[`/]"
	switch {
	case f.path == "Makefile", f.path == ".ci/run":
		names = `\b((?:Test|Benchmark)[A-Z]\w*)`
	case path.Ext(f.path) != ".md":
		return nil
	}
	var problems []string
	for _, m := range regexp.MustCompile(names).FindAllStringSubmatch(f.text, -1) {
		if exist[m[1]] == nil {
			problems = append(problems, fmt.Sprintf("%s names %s, which does not exist", f.path, m[1]))
		}
	}
	return problems
}

// checkSkips looks up the tests of .ci/skips in the packages that it names.
func checkSkips(f file, exist map[string][]string) []string {
	if f.path != ".ci/skips" {
		return nil
	}
	var problems []string
	for line := range strings.Lines(f.text) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[0] == "#" {
			continue
		}
		name, _, _ := strings.Cut(fields[1], "/")
		packages, tests := shellPattern(fields[0]), shellPattern(name)
		found := false
		for test, folders := range exist {
			found = found || tests.MatchString(test) && slices.ContainsFunc(folders, packages.MatchString)
		}
		if !found {
			problems = append(problems, fmt.Sprintf("%s: no test is %s %s", f.path, fields[0], fields[1]))
		}
	}
	return problems
}

// shellPattern returns the regular expression of a shell's pattern, whose asterisk matches slashes too.
func shellPattern(pattern string) *regexp.Regexp {
	return regexp.MustCompile("^" + strings.ReplaceAll(regexp.QuoteMeta(pattern), `\*`, ".*") + "$")
}

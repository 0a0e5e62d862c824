package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// TestRulesNamePackages checks that no rule outlives its package.
func TestRulesNamePackages(t *testing.T) {
	folders := map[string]bool{}
	for _, f := range listFiles(t) {
		for dir := path.Dir(f.path); f.isGo() && dir != "."; dir = path.Dir(dir) {
			folders[dir] = true
		}
	}
	for _, r := range archPackages() {
		for _, named := range append(append([]string{r.path}, r.also...), r.only...) {
			if !folders[named] {
				t.Errorf("packages_test.go names %s, which does not exist", named)
			}
		}
	}
	for _, problem := range checkLinterRules(readFile(t, ".golangci.yml"), folders) {
		t.Error(problem)
	}
}

func TestCheckLinterRules(t *testing.T) {
	folders := map[string]bool{"hub": true, "hub/app": true, "api/v1": true}
	for config, want := range map[string]string{
		"- ${base-path}/hub/app/**\n- ${base-path}/hub/*.go\n":           "",
		"- ${base-path}/hub/webhook/**\n":                                "hub/webhook, which does not exist",
		"- github.com/shopfleet/shopfleet/api/v1$\n":                     "",
		"- github.com/shopfleet/shopfleet/hub/\n":                        "",
		"- {pkg: github.com/shopfleet/shopfleet, desc: x}\n":             "",
		"- github.com/shopfleet/shopfleet/hub/gone$\n":                   "hub/gone, which does not exist",
		"- {pkg: github.com/shopfleet/shopfleet/cmd, desc: x}\n":         "cmd, which does not exist",
		"- ${base-path}/hub/app/**\n  # A.\n- ${base-path}/hub/app/**\n": "",
		"- ${base-path}/hub/app/**\n- ${base-path}/hub/app/**\n":         "twice",
	} {
		expectProblem(t, checkLinterRules(config, folders), want)
	}
}

// checkLinterRules finds lines of the linter's configuration that name no package, or the one of the line before.
func checkLinterRules(config string, folders map[string]bool) []string {
	named := regexp.MustCompile(`(?:\$\{base-path\}|` + regexp.QuoteMeta(module) + `)/([\w/-]+)`)
	var problems []string
	last := ""
	for line := range strings.SplitSeq(config, "\n") {
		found := named.FindStringSubmatch(line)
		if found == nil {
			last = ""
			continue
		}
		if dir := strings.Trim(found[1], "/"); !folders[dir] {
			problems = append(problems, fmt.Sprintf(".golangci.yml names %s, which does not exist", dir))
		}
		if line == last {
			problems = append(problems, fmt.Sprintf(".golangci.yml names %s twice", found[1]))
		}
		last = line
	}
	return problems
}

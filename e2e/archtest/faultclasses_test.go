package archtest

import (
	"fmt"
	"path"
	"regexp"
	"strings"
	"testing"
)

// faultClasses is the number of classes of faults in e2e/README.md.
const faultClasses = 48

// TestFaultClasses fails if a class of faults has no row, a row names no test and no reason or a
// test that does not exist, or no row names a case of TestFaults.
func TestFaultClasses(t *testing.T) {
	tests := map[string]string{}
	for _, f := range listFiles(t) {
		if f.isTest() {
			tests[path.Dir(f.path)] += f.text
		}
	}
	for _, problem := range checkFaultClasses(readFile(t, "e2e/README.md"), tests) {
		t.Error(problem)
	}
}

// checkFaultClasses compares the table of a page with the texts of the tests of each package.
func checkFaultClasses(page string, tests map[string]string) []string {
	var problems []string
	rows := map[string][][]string{}
	for _, m := range regexp.MustCompile(`(?m)^\| F(\d+) \| ([^|\n]+) \| ([^|\n]*) \|([^|\n]*)\|$`).FindAllStringSubmatch(page, -1) {
		rows[m[1]] = append(rows[m[1]], m[3:])
	}
	for i := range faultClasses {
		class := fmt.Sprint(i + 1)
		if n := len(rows[class]); n != 1 {
			problems = append(problems, fmt.Sprintf("F%s has %d rows", class, n))
			continue
		}
		named, reason := rows[class][0][0], strings.TrimSpace(rows[class][0][1])
		if named == "" && !strings.HasPrefix(reason, "Open") && !strings.HasPrefix(reason, "Cannot occur: ") {
			problems = append(problems, fmt.Sprintf("F%s has no test, and no reason", class))
		}
		problems = append(problems, checkNamedTests(class, named, tests)...)
	}
	return append(problems, checkCases(rows, tests["e2e/faults"])...)
}

// checkCases looks up each case of TestFaults in the rows.
func checkCases(rows map[string][][]string, text string) []string {
	cases := regexp.MustCompile(`(?m)^\t+\{"([^"\n]+)", s\.test\w+\},$`).FindAllStringSubmatch(text, -1)
	if len(cases) == 0 {
		return []string{"TestFaults has no cases, or they are not one in a line"}
	}
	var named strings.Builder
	for _, row := range rows {
		named.WriteString(row[0][0])
	}
	var problems []string
	for _, each := range cases {
		if !strings.Contains(named.String(), "`e2e/faults TestFaults/"+each[1]+"`") {
			problems = append(problems, fmt.Sprintf("no class names TestFaults/%s", each[1]))
		}
	}
	return problems
}

// checkNamedTests looks up the tests and subtests of a row: `PACKAGE TEST/SUBTEST`.
func checkNamedTests(class, named string, tests map[string]string) []string {
	var problems []string
	for each := range strings.SplitSeq(named, "`, `") {
		each = strings.Trim(each, "` ")
		if each == "" {
			continue
		}
		folder, name, _ := strings.Cut(each, " ")
		test, subtests, _ := strings.Cut(name, "/")
		missing := !strings.Contains(tests[folder], "func "+test+"(")
		for subtest := range strings.SplitSeq(subtests, "/") {
			if subtest != "" && !strings.Contains(tests[folder], `"`+subtest+`"`) && !strings.Contains(tests[folder], "`"+subtest+"`") {
				missing = true
			}
		}
		if missing {
			problems = append(problems, fmt.Sprintf("F%s names %s, which does not exist", class, each))
		}
	}
	return problems
}

func TestCheckFaultClasses(t *testing.T) {
	var rows strings.Builder
	for i := range faultClasses - 1 {
		fmt.Fprintf(&rows, "| F%d | one | `e2e/faults TestFaults/quota` | |\n", i+1)
	}
	tests := map[string]string{"e2e/faults": "func TestFaults(t *testing.T) {\n\t{\"quota\", s.testQuota},\n"}
	for name, test := range map[string]struct{ last, want string }{
		"complete":     {"| F48 | one | `e2e/faults TestFaults` | |\n", ""},
		"open":         {"| F48 | one |  | Open. |\n", ""},
		"cannot occur": {"| F48 | one |  | Cannot occur: there is none. |\n", ""},
		"missing":      {"", "F48 has 0 rows"},
		"twice":        {"| F48 | one |  | Open. |\n| F48 | one |  | Open. |\n", "F48 has 2 rows"},
		"no reason":    {"| F48 | one |  | |\n", "F48 has no test, and no reason"},
		"no test":      {"| F48 | one | `e2e/faults TestNone` | |\n", "does not exist"},
		"no package":   {"| F48 | one | `e2e/none TestFaults` | |\n", "does not exist"},
		"no subtest":   {"| F48 | one | `e2e/faults TestFaults`, `e2e/faults TestFaults/none` | |\n", "does not exist"},
	} {
		t.Run(name, func(t *testing.T) { expectProblem(t, checkFaultClasses(rows.String()+test.last, tests), test.want) })
	}
	page := rows.String() + "| F48 | one |  | Open: `e2e/faults TestFaults/panics`. |\n"
	for name, test := range map[string]struct{ text, want string }{
		"case without a class": {tests["e2e/faults"] + "\t{\"panics\", s.testPanics},\n", "no class names TestFaults/panics"},
		"no cases":             {"func TestFaults(t *testing.T) { run(\"quota\") }", "no cases"},
	} {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, checkFaultClasses(page, map[string]string{"e2e/faults": test.text}), test.want)
		})
	}
}

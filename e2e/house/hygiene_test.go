package house

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
)

func TestNoMachinePaths(t *testing.T) {
	for _, f := range listFiles(t) {
		for _, problem := range checkMachinePaths(f) {
			t.Error(problem)
		}
	}
}

// checkMachinePaths finds absolute paths into the folders where people and
// build machines keep their checkouts and their homes.
func checkMachinePaths(f file) []string {
	if strings.Contains(f.text, "\x00") {
		return nil // A picture, not a text.
	}
	// An element of a longer path, as in example.com/work/list, is no such
	// path. The pattern does not match itself: a bracket follows the slash.
	machine := regexp.MustCompile(`(?:^|[^\w./-])(/(?:work|root)/)`)
	var problems []string
	number := 0
	for line := range strings.SplitSeq(f.text, "\n") {
		number++
		if m := machine.FindStringSubmatch(line); m != nil {
			problems = append(problems, fmt.Sprintf("%s:%d mentions %s, a path of one machine", f.path, number, m[1]))
		}
	}
	return problems
}

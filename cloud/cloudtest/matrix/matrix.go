package matrix

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
)

// Result represents the result of a case.
type Result string

// The results, as the table shows them.
const (
	Passed      Result = "✓"
	Failed      Result = "✗"
	Unsupported Result = "–"
	// Missing means that the case did not finish.
	Missing Result = "?"
)

// Cell holds the result of a case with a provider.
type Cell struct {
	Result Result
	// Reason is why the case is not supported.
	Reason string
}

// Report holds the results of all cases with all providers, in a table for each suite.
type Report struct {
	Sessions, Buckets Table
	// broken holds the packages that failed outside of a case.
	broken map[string]bool
}

// Table holds the results of the cases of a suite.
type Table struct {
	// cells by case and column.
	cells map[string]map[string]Cell
}

// firstOfBuckets is the number of the first case about buckets.
const firstOfBuckets = "51"

// event is a line of go test -json.
type event struct {
	Action, Package, ImportPath, Test, Output string
}

// errNoCases prevents an empty output from passing.
var errNoCases = errors.New("no case of one of the suites was run")

// Read reads the output of go test -json, and skips lines that are not JSON, such as
// the output of the build.
func Read(r io.Reader) (Report, error) {
	all := Report{
		Sessions: Table{cells: map[string]map[string]Cell{}}, Buckets: Table{cells: map[string]map[string]Cell{}}, broken: map[string]bool{},
	}
	number := regexp.MustCompile(`^(\d\d_|random_faults$)`)
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 16<<20)
	for lines.Scan() {
		var e event
		if json.Unmarshal(lines.Bytes(), &e) != nil {
			continue
		}
		parts := strings.Split(e.Test, "/")
		at := slices.IndexFunc(parts, number.MatchString)
		switch {
		case e.Action == "build-fail":
			all.broken[e.ImportPath] = true
		case e.Test == "" && e.Action == "fail":
			all.broken[e.Package] = true
		case strings.HasPrefix(e.Test, "TestContract") && at > 0 && at == len(parts)-1:
			all.suite(parts[at]).note(strings.ReplaceAll(parts[at], "_", " "), column(e.Package, parts[:at]), e)
		}
	}
	if err := lines.Err(); err != nil {
		return all, fmt.Errorf("reading test output: %w", err)
	}
	if len(all.Sessions.cells) == 0 || len(all.Buckets.cells) == 0 {
		return all, errNoCases
	}
	return all, nil
}

// suite returns the table of a case, by its number.
func (r Report) suite(name string) Table {
	if name[0] <= '9' && name >= firstOfBuckets {
		return r.Buckets
	}
	return r.Sessions
}

// column returns the name of a provider: the last part of its package, and the words that
// distinguish several providers of one package.
func column(pkg string, before []string) string {
	name := path.Base(pkg)
	switch name {
	case "fake", "bucket":
		name = "memory" // The provider without a wire lives with the fakes.
	case "objectstore":
		name = path.Base(path.Dir(pkg))
	}
	words := append([]string{name, strings.ToLower(strings.TrimPrefix(before[0], "TestContract"))}, before[1:]...)
	return strings.TrimSpace(strings.Join(slices.DeleteFunc(words, func(w string) bool { return w == "" }), " "))
}

// note records an event of a case.
func (t Table) note(name, column string, e event) {
	row := t.cells[name]
	if row == nil {
		row = map[string]Cell{}
		t.cells[name] = row
	}
	cell, seen := row[column]
	if !seen {
		cell.Result = Missing
	}
	switch e.Action {
	case "pass":
		cell.Result = Passed
	case "fail":
		cell.Result = Failed
	case "skip":
		cell.Result = Unsupported
	case "output":
		if _, reason, ok := strings.Cut(e.Output, "unsupported: "); ok {
			cell.Reason = strings.TrimSpace(reason)
		}
	}
	row[column] = cell
}

// Columns returns the providers, sorted.
func (t Table) Columns() []string {
	all := map[string]bool{}
	for _, row := range t.cells {
		for column := range row {
			all[column] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}

// Problems returns the failures of the contract, sorted.
func (r Report) Problems() []string {
	out := slices.Concat(r.Sessions.problems(), r.Buckets.problems())
	for pkg := range r.broken {
		out = append(out, "package "+pkg+": failed")
	}
	slices.Sort(out)
	return out
}

func (t Table) problems() []string {
	var out []string
	for name, row := range t.cells {
		for _, column := range t.Columns() {
			switch cell := row[column]; {
			case cell.Result == Failed:
				out = append(out, fmt.Sprintf("%s: failed with %s", name, column))
			case cell.Result == Missing || cell.Result == "":
				out = append(out, fmt.Sprintf("%s: did not finish with %s", name, column))
			case cell.Result == Unsupported && cell.Reason == "":
				out = append(out, fmt.Sprintf("%s: skipped with %s, without a reason", name, column))
			}
		}
	}
	return out
}

// Markdown returns the tables.
func (r Report) Markdown() string {
	return r.Sessions.Markdown() + "\nBuckets:\n\n" + r.Buckets.Markdown()
}

// Markdown returns the table, followed by the reasons of unsupported cases.
func (t Table) Markdown() string {
	columns := t.Columns()
	var out strings.Builder
	fmt.Fprintf(&out, "| case | %s |\n|---|%s\n", strings.Join(columns, " | "), strings.Repeat(":-:|", len(columns)))
	var reasons []string
	for _, name := range slices.Sorted(maps.Keys(t.cells)) {
		fmt.Fprintf(&out, "| %s |", strings.TrimPrefix(name, "0"))
		for _, column := range columns {
			cell := t.cells[name][column]
			text := string(cell.Result)
			if cell.Result == "" {
				text = string(Missing)
			}
			if cell.Reason != "" {
				at := slices.Index(reasons, cell.Reason)
				if at < 0 {
					at = len(reasons)
					reasons = append(reasons, cell.Reason)
				}
				text = fmt.Sprintf("%s %d", text, at+1)
			}
			fmt.Fprintf(&out, " %s |", text)
		}
		out.WriteString("\n")
	}
	for i, reason := range reasons {
		if i == 0 {
			out.WriteString("\n")
		}
		fmt.Fprintf(&out, "%d. %s\n", i+1, reason)
	}
	return out.String()
}

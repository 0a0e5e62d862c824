package printers

import (
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
)

// none stands where there is nothing to show.
const none = "-"

// gap is the space between columns.
const gap = "   "

// Table is a header and rows of as many cells.
type Table struct {
	Header []string
	Rows   [][]string
}

// Options decide what a table shows.
type Options struct {
	// Now is the time that ages are counted to.
	Now time.Time
	// Wide adds the columns that do not fit on every screen.
	Wide bool
	// AllNamespaces adds the namespace where a table may show several.
	AllNamespaces bool
}

// add appends a row; empty cells become a dash.
func (t *Table) add(cells ...string) {
	for i, cell := range cells {
		if cell == "" {
			cells[i] = none
		}
	}
	t.Rows = append(t.Rows, cells)
}

// Text returns what Write writes.
func (t Table) Text() string {
	var b strings.Builder
	_ = t.Write(&b) // A strings.Builder takes everything.
	return b.String()
}

// Write writes the table with aligned columns and no blanks at the ends of lines.
// A table without rows writes nothing.
func (t Table) Write(w io.Writer) error {
	if len(t.Rows) == 0 {
		return nil
	}
	widths := make([]int, len(t.Header))
	lines := append([][]string{t.Header}, t.Rows...)
	for _, line := range lines {
		for i, cell := range line {
			widths[i] = max(widths[i], utf8.RuneCountInString(cell))
		}
	}
	var b strings.Builder
	for _, line := range lines {
		var row strings.Builder
		for i, cell := range line {
			row.WriteString(cell)
			row.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)))
			row.WriteString(gap)
		}
		b.WriteString(strings.TrimRight(row.String(), " "))
		b.WriteByte('\n')
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("writing the table: %w", err)
	}
	return nil
}

// age says how long ago a time was; a time in the future, as clocks differ, is now.
func age(now time.Time, at *metav1.Time) string {
	if at == nil || at.IsZero() {
		return none
	}
	return duration.HumanDuration(max(0, now.Sub(at.Time)))
}

// fraction shows how many of how many.
func fraction(part, whole int32) string { return fmt.Sprintf("%d/%d", part, whole) }

// truth writes a bool as conditions are written.
func truth(yes bool) string {
	if yes {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}

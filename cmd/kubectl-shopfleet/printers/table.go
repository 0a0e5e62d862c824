package printers

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/cli-runtime/pkg/printers"
)

// none stands for an empty cell.
const none = "-"

// Options choose what a table shows.
type Options struct {
	// Now is the time to which ages are counted.
	Now time.Time
	// Wide adds the columns that do not fit on every terminal.
	Wide bool
	// NoHeaders leaves out the names of columns.
	NoHeaders bool
	// Regions are the regions to show; empty for all.
	Regions []string
}

// newTable returns a table with columns, and wide ones that are optional.
func newTable(columns []string, wide ...string) *metav1.Table {
	t := &metav1.Table{}
	for _, name := range columns {
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string"})
	}
	for _, name := range wide {
		t.ColumnDefinitions = append(t.ColumnDefinitions, metav1.TableColumnDefinition{Name: name, Type: "string", Priority: 1})
	}
	return t
}

// addRow appends a row about an object, which may be nil; empty cells become a dash.
func addRow(t *metav1.Table, object runtime.Object, cells ...string) {
	row := metav1.TableRow{Object: runtime.RawExtension{Object: object}}
	for _, cell := range cells {
		if cell == "" {
			cell = none
		}
		row.Cells = append(row.Cells, cell)
	}
	t.Rows = append(t.Rows, row)
}

// Text formats a table; one without rows is empty.
func Text(t *metav1.Table, o Options) string {
	var b strings.Builder
	// Writing to a strings.Builder does not fail.
	_ = printers.NewTablePrinter(printers.PrintOptions{Wide: o.Wide, NoHeaders: o.NoHeaders}).PrintObj(t, &b)
	return b.String()
}

// age returns the time since then; one in the future, as clocks differ, is now.
func age(now time.Time, at *metav1.Time) string {
	if at == nil || at.IsZero() {
		return none
	}
	return duration.HumanDuration(max(0, now.Sub(at.Time)))
}

// fraction formats a part of a whole as kubectl does.
func fraction(part, whole int32) string { return fmt.Sprintf("%d/%d", part, whole) }

// boolean formats a bool as the status of a condition.
func boolean(yes bool) string {
	if yes {
		return string(metav1.ConditionTrue)
	}
	return string(metav1.ConditionFalse)
}

// Rows lists rows that are not about objects. The last columns are optional.
func Rows(rows [][]string, columns []string, wide ...string) *metav1.Table {
	t := newTable(columns, wide...)
	for _, row := range rows {
		addRow(t, nil, row...)
	}
	return t
}

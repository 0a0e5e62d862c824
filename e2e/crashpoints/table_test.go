package crashpoints_test

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"
)

// row is a line of the table.
type row struct {
	writes, points, lost, duplicated, orphaned, destroyed int
	// unreached counts points whose write did not occur.
	unreached int
}

// table counts the outcomes by workload. It is safe for concurrent use.
type table struct {
	begin time.Time

	mu   sync.Mutex
	rows map[string]row
	// spent is the time of all points, by phase.
	spent map[string]time.Duration
}

func newTable() *table {
	return &table{begin: time.Now(), rows: map[string]row{}, spent: map[string]time.Duration{}}
}

// refer adds the writes of a reference.
func (t *table) refer(ref *reference) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[ref.name]
	r.writes = len(ref.sites)
	t.rows[ref.name] = r
}

// add adds the outcome of a point.
func (t *table) add(p point, o outcome) {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.rows[p.workload]
	r.points++
	r.lost += len(o.lost)
	r.duplicated += len(o.duplicated)
	r.orphaned += len(o.orphaned)
	r.destroyed += len(o.destroyed)
	if !o.reached {
		r.unreached++
	}
	t.rows[p.workload] = r
}

// stopwatch returns a function that adds the time since its last call to a phase.
func (t *table) stopwatch() func(phase string) {
	last := time.Now()
	return func(phase string) {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.spent[phase] += time.Since(last)
		last = time.Now()
	}
}

// elapsed returns the time since the begin, in seconds.
func (t *table) elapsed() time.Duration { return time.Since(t.begin).Round(time.Second) }

// phases returns the mean time of a point by phase.
func (t *table) phases() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	points := 0
	for _, r := range t.rows {
		points += r.points
	}
	var all []string
	for _, phase := range slices.Sorted(maps.Keys(t.spent)) {
		all = append(all, fmt.Sprintf("%s %.2f s", phase, t.spent[phase].Seconds()/float64(max(1, points))))
	}
	return strings.Join(all, ", ")
}

// String returns the table in Markdown.
func (t *table) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	var text strings.Builder
	text.WriteString("| workload | writes | points | of them not reached | lost | duplicated | orphaned | destroyed |\n|---|---|---|---|---|---|---|---|\n")
	for _, w := range workloads() {
		if r, ok := t.rows[w.name]; ok {
			fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %d | %d | %d |\n",
				w.name, r.writes, r.points, r.unreached, r.lost, r.duplicated, r.orphaned, r.destroyed)
		}
	}
	return text.String()
}

package crashpoints_test

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

const (
	// pointsVariable is the environment variable that selects points: empty for a sample, all,
	// or the key of one.
	pointsVariable = "SHOPFLEET_CRASHPOINTS"
	everything     = "all"
	// seedVariable is the environment variable with the seed of the sample. The default
	// changes every day, so that one day's runs repeat each other.
	seedVariable = "SHOPFLEET_CRASHPOINTS_SEED"

	sampleSize = 12
	day        = 24 * time.Hour
)

// choice selects points.
type choice struct {
	// variable is the value of pointsVariable.
	variable string
	seed     uint64
}

func seedOf(t *testing.T, text string) uint64 {
	t.Helper()
	if text == "" {
		return uint64(time.Now().Unix()) / uint64(day.Seconds())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", seedVariable, err)
	}
	return seed
}

// String returns the command that makes the same choice.
func (c choice) String() string {
	if c.variable != "" {
		return replay(c.variable)
	}
	return fmt.Sprintf("%s=%d go test -count=1 ./e2e/crashpoints", seedVariable, c.seed)
}

// replay returns the command that runs one point, or all.
func replay(key string) string {
	return fmt.Sprintf("%s='%s' go test -count=1 -timeout 2h ./e2e/crashpoints", pointsVariable, key)
}

// errKey is returned for the key of a point that cannot exist.
var errKey = errors.New("want WORKLOAD/SITE#NUMBER@MOMENT")

// one returns the chosen point, and false if several are chosen.
func (c choice) one() (point, bool, error) {
	if c.variable == "" || c.variable == everything {
		return point{}, false, nil
	}
	name, rest, _ := strings.Cut(c.variable, "/")
	rest, at, _ := strings.Cut(rest, "@")
	site, number, _ := strings.Cut(rest, "#")
	nth, err := strconv.Atoi(number)
	known := slices.ContainsFunc(workloads(), func(w workload) bool { return w.name == name })
	if err != nil || !known || !slices.Contains(moments(), moment(at)) {
		return point{}, false, fmt.Errorf("%s=%q: %w", pointsVariable, c.variable, errKey)
	}
	return point{workload: name, site: site, nth: nth, moment: moment(at)}, true, nil
}

// points returns the chosen points of all workloads. Those about members are last, because
// they need a fleet without other applications.
func (c choice) points(refs map[string]*reference) []point {
	var chosen, last []point
	byWorkload := map[string][]point{}
	for name, ref := range refs {
		for _, site := range ref.sites {
			for _, m := range moments() {
				site.moment = m
				byWorkload[name] = append(byWorkload[name], site)
			}
		}
		slices.SortFunc(byWorkload[name], func(a, b point) int { return strings.Compare(c.rank(a), c.rank(b)) })
	}
	for _, p := range c.take(byWorkload) {
		if refs[p.workload].fleetwide {
			last = append(last, p)
		} else {
			chosen = append(chosen, p)
		}
	}
	return append(chosen, last...)
}

// take returns all points, or a sample: the first points of each workload in turn.
func (c choice) take(byWorkload map[string][]point) []point {
	limit := sampleSize
	if c.variable == everything {
		limit = math.MaxInt
	}
	var chosen []point
	for i, more := 0, true; more; i++ {
		more = false
		for _, name := range slices.Sorted(maps.Keys(byWorkload)) {
			if points := byWorkload[name]; i < len(points) && len(chosen) < limit {
				chosen, more = append(chosen, points[i]), true
			}
		}
	}
	return chosen
}

// rank returns the place of a point in the order of the seed. It depends on nothing else, so
// that an execution with one write more or less changes little of the sample.
func (c choice) rank(p point) string {
	return fmt.Sprintf("%x", sha256.Sum256(fmt.Appendf(nil, "%d %s", c.seed, p)))
}

func keys(all []point) string {
	var lines []string
	for _, p := range all {
		lines = append(lines, p.String())
	}
	return strings.Join(lines, "\n")
}

// row is a line of the table.
type row struct {
	points, lost, duplicated, orphaned, destroyed int
	// unreached counts points whose write did not occur.
	unreached int
}

// table counts the outcomes by workload.
type table map[string]row

func (t table) add(p point, o outcome) {
	r := t[p.workload]
	r.points++
	r.lost += len(o.lost)
	r.duplicated += len(o.duplicated)
	r.orphaned += len(o.orphaned)
	r.destroyed += len(o.destroyed)
	if !o.reached {
		r.unreached++
	}
	t[p.workload] = r
}

// String returns the table in Markdown.
func (t table) String() string {
	var text strings.Builder
	text.WriteString("| workload | points | of them not reached | lost | duplicated | orphaned | destroyed |\n|---|---|---|---|---|---|---|\n")
	for _, w := range workloads() {
		if r, ok := t[w.name]; ok {
			fmt.Fprintf(&text, "| %s | %d | %d | %d | %d | %d | %d |\n",
				w.name, r.points, r.unreached, r.lost, r.duplicated, r.orphaned, r.destroyed)
		}
	}
	return text.String()
}

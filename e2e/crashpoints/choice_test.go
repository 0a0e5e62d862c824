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

	"github.com/shopfleet/shopfleet/e2e/framework/crash"
)

const (
	// pointsVariable is the environment variable that selects points: empty for a sample, all,
	// names of workloads with commas, or the key of one point.
	pointsVariable = "SHOPFLEET_CRASHPOINTS"
	everything     = "all"
	// seedVariable is the environment variable with the seed of the sample. The default
	// changes every day, so that one day's runs repeat each other.
	seedVariable = "SHOPFLEET_CRASHPOINTS_SEED"

	sampleSize = 12
)

// choice selects points.
type choice struct {
	// variable is the value of pointsVariable.
	variable string
	seed     uint64
}

// String returns the command that makes the same choice.
func (c choice) String() string {
	if c.variable != "" {
		return replay(c.variable)
	}
	return fmt.Sprintf("%s=%d go test -count=1 ./e2e/crashpoints", seedVariable, c.seed)
}

// replay returns the command that runs one point, those of workloads, or all.
func replay(key string) string {
	return fmt.Sprintf("%s='%s' go test -count=1 -timeout 2h ./e2e/crashpoints", pointsVariable, key)
}

var (
	// errKey is returned for a selection that cannot be made.
	errKey = errors.New("want all, names of workloads, or WORKLOAD/SITE#NUMBER@MOMENT")
	// errUnwritten is returned for the key of a write that the workload does not make.
	errUnwritten = errors.New("the workload does not write there")
)

// one returns the chosen point, and false if several are chosen.
func (c choice) one() (point, bool, error) {
	if !strings.Contains(c.variable, "@") {
		return point{}, false, nil
	}
	name, rest, _ := strings.Cut(c.variable, "/")
	rest, at, _ := strings.Cut(rest, "@")
	site, number, _ := strings.Cut(rest, "#")
	nth, err := strconv.Atoi(number)
	if err != nil || len(named(name)) == 0 || !slices.Contains(crash.Moments(), crash.Moment(at)) {
		return point{}, false, fmt.Errorf("%s=%q: %w", pointsVariable, c.variable, errKey)
	}
	return point{workload: name, site: site, nth: nth, moment: crash.Moment(at)}, true, nil
}

// named returns the workloads of these names.
func named(names ...string) []workload {
	return slices.DeleteFunc(workloads(), func(w workload) bool { return !slices.Contains(names, w.name) })
}

// groups returns the chosen workloads. Those of a group share a fleet; the groups run at the
// same time.
func (c choice) groups() ([]group, error) {
	p, isOne, err := c.one()
	switch {
	case err != nil:
		return nil, err
	case isOne:
		return []group{{name: p.workload, workloads: named(p.workload)}}, nil
	case c.variable == "":
		return []group{{name: "sample", workloads: workloads()}}, nil
	case c.variable == everything:
		return allGroups(), nil
	}
	names := strings.Split(c.variable, ",")
	chosen := named(names...)
	if len(chosen) != len(names) {
		return nil, fmt.Errorf("%s=%q: %w", pointsVariable, c.variable, errKey)
	}
	return []group{{name: "chosen", workloads: chosen}}, nil
}

// points returns the chosen points of workloads. Those about members are last, because
// they need a fleet without other applications. It fails for the key of a point that no
// workload has.
func (c choice) points(refs map[string]*reference) ([]point, error) {
	p, isOne, err := c.one()
	switch {
	case err != nil:
		return nil, err
	case isOne && (refs[p.workload] == nil || !refs[p.workload].has(p)):
		return nil, fmt.Errorf("%s=%q: %w", pointsVariable, c.variable, errUnwritten)
	case isOne:
		return []point{p}, nil
	}
	var chosen, last []point
	byWorkload := map[string][]point{}
	for name, ref := range refs {
		for _, site := range ref.sites {
			for _, m := range crash.Moments() {
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
	return append(chosen, last...), nil
}

// has reports whether the workload makes the write of a point.
func (r *reference) has(p point) bool {
	return slices.ContainsFunc(r.sites, func(site point) bool { return site.site == p.site && site.nth == p.nth })
}

// take returns all points, or a sample: the first points of each workload in turn.
func (c choice) take(byWorkload map[string][]point) []point {
	limit := sampleSize
	if c.variable != "" {
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

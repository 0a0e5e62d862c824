package view

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
)

// State is how an application is in a region or a cluster; a lower one is worse.
type State int

// States of an application in a place.
const (
	// Down means that customers are observed not to be served.
	Down State = iota
	// DownPaused means that customers are observed not to be served, and that a pause holds back what would change that.
	DownPaused
	// Stale means that the cluster does not answer: what is shown is as old as it says.
	Stale
	// Degraded means that customers are served, and that something is not ready or has failed.
	Degraded
	Starting
	Leaving
	// Paused means that customers are served, and that changes are held back.
	Paused
	Served
	// Absent means that the application does not run there.
	Absent
)

// Word returns the state in a word.
func (s State) Word() string {
	return [...]string{"not served", "not served, paused", "not seen", "degraded", "starting", "leaving", "paused", "served", "not placed"}[s]
}

// Class returns the state as a class of the page's style.
func (s State) Class() string {
	return [...]string{"down", "down", "stale", "degraded", "starting", "leaving", "paused", "served", "absent"}[s]
}

// Glyph returns a sign that is as clear as a colour.
func (s State) Glyph() string {
	return [...]string{"✕", "✕", "?", "▲", "◔", "→", "‖", "●", "·"}[s]
}

// Regions is the answer to: where does each application run, are customers served, and how old is that knowledge?
type Regions struct {
	Notices []Notice
	Columns []Column
	Rows    []Row
	// Total counts the applications that match the query, and All those that there are. Page counts from 0.
	Total, All, Page, Pages int
	Query                   Query
	// AppsKnown is set if the EcommerceApps are known, and IsCurrent if a hub keeps their statuses current.
	AppsKnown, IsCurrent bool
	// Clusters are those of the application that the query names.
	Clusters []Place
	// Counts has how many applications are in each state, the worst first.
	Counts []Count
}

// Count is a number of applications in a state.
type Count struct {
	State State
	Apps  int
}

// Column is a region.
type Column struct {
	Name string
	// Members is the number of its clusters, and Silent how many of them do not answer. Known is set if these are known.
	Members, Silent int
	Known           bool
}

// Row is an application.
type Row struct {
	Name    string
	State   State
	Phase   string
	Message string
	Cells   []Cell
}

// Cell is an application in a region.
type Cell struct {
	Region string
	State  State
	// Was says how the application was in the clusters that do not answer when they were last seen, and Age is the time
	// since then; empty if all answer.
	Was, Age string
	// Clusters and Replicas are how many are ready, of how many.
	Clusters, Replicas string
}

// Place is an application in a cluster.
type Place struct {
	Cluster, Region, Provider string
	Cell
	Reason, Message string
	Components      string
	Revision        int64
	Addresses       string
}

// RegionsOf returns applications by region, those that are worst first.
func RegionsOf(s *hubstate.Snapshot, now time.Time, q Query) Regions {
	r := Regions{
		Notices: NoticesOf(s, now, hubstate.Apps, hubstate.Members), Query: q, All: len(s.Apps),
		AppsKnown: s.Knows(hubstate.Apps), IsCurrent: s.Hub.Lease.IsRenewed(now),
	}
	columns := regionsOf(s)
	r.Columns = columnsOf(s, columns)
	type ranked struct {
		app   *v1.EcommerceApp
		state State
	}
	var all []ranked
	counts := map[State]int{}
	for i := range s.Apps {
		app := &s.Apps[i]
		if q.App != "" && q.App != nameOf(app) || !q.matches(nameOf(app)) {
			continue
		}
		state := stateOf(app)
		counts[state]++
		all = append(all, ranked{app, state})
	}
	// The applications are sorted by name already.
	slices.SortStableFunc(all, func(a, b ranked) int { return cmp.Compare(a.state, b.state) })
	r.Total = len(all)
	for state := Down; state <= Absent; state++ {
		if counts[state] > 0 {
			r.Counts = append(r.Counts, Count{state, counts[state]})
		}
	}
	shown, page, pages := window(all, q)
	r.Page, r.Pages = page, pages
	for _, each := range shown {
		r.Rows = append(r.Rows, rowOf(each.app, columns, now))
		if q.App != "" {
			r.Clusters = placesOf(each.app, now)
		}
	}
	return r
}

func columnsOf(s *hubstate.Snapshot, names []string) []Column {
	columns := make([]Column, len(names))
	for i, name := range names {
		columns[i].Name, columns[i].Known = name, s.Knows(hubstate.Members)
	}
	for i := range s.Members {
		m := &s.Members[i]
		at, _ := slices.BinarySearch(names, memberRegion(m))
		columns[at].Members++
		if !isConnected(m) {
			columns[at].Silent++
		}
	}
	return columns
}

// stateOf returns the worst state of an application in its clusters, or Starting without any.
func stateOf(app *v1.EcommerceApp) State {
	if len(app.Status.Clusters) == 0 {
		return stateOfPhase(app.Status.Phase)
	}
	worst := Absent
	for i := range app.Status.Clusters {
		worst = min(worst, stateIn(&app.Status.Clusters[i]))
	}
	return worst
}

// stateOfPhase returns the state of an application that is in no cluster.
func stateOfPhase(phase v1.Phase) State {
	switch phase {
	case v1.PhaseDeleting:
		return Leaving
	case v1.PhasePaused:
		return Paused
	case v1.PhaseFailed:
		return Down
	default:
		return Starting
	}
}

// stateIn returns the state of an application in a cluster.
func stateIn(c *v1.ClusterStatus) State {
	switch {
	case c.Stale:
		return Stale
	case c.Phase == v1.PhaseDeleting:
		return Leaving
	case c.DatabaseLost:
		return Down
	case c.Available && c.Phase == v1.PhasePaused:
		return Paused
	case c.Available && c.Ready && c.DegradedReason == "":
		return Served
	case c.Available:
		return Degraded
	case c.Phase == v1.PhasePending, c.Phase == v1.PhaseCreating:
		return Starting
	case c.Phase == v1.PhasePaused:
		return DownPaused
	default:
		return Down
	}
}

// How an application was in a cluster that does not answer.
const (
	wasServed   = "served"
	wasNotReady = "not ready"
	wasUnknown  = "unknown"
)

// lastSeen says how an application was in a cluster that does not answer, by its components, which are as last observed:
// if all were ready, customers were served. What else the entry says is of now.
func lastSeen(c *v1.ClusterStatus) string {
	switch {
	case len(c.Components) == 0:
		return wasUnknown
	case slices.ContainsFunc(c.Components, func(part v1.ClusterComponentStatus) bool { return !part.Ready }):
		return wasNotReady
	default:
		return wasServed
	}
}

func rowOf(app *v1.EcommerceApp, columns []string, now time.Time) Row {
	row := Row{Name: nameOf(app), State: stateOf(app), Phase: string(app.Status.Phase), Message: app.Status.Message}
	in := map[string][]*v1.ClusterStatus{}
	for i := range app.Status.Clusters {
		c := &app.Status.Clusters[i]
		in[regionOf(c.Region)] = append(in[regionOf(c.Region)], c)
	}
	for _, region := range columns {
		row.Cells = append(row.Cells, cellOf(app, region, in[region], now))
	}
	return row
}

// cellOf returns an application in a region. The numbers are those of status.regions.
func cellOf(app *v1.EcommerceApp, region string, clusters []*v1.ClusterStatus, now time.Time) Cell {
	cell := Cell{Region: region, State: Absent}
	var oldest time.Time
	for _, c := range clusters {
		cell.State = min(cell.State, stateIn(c))
		if !c.Stale {
			continue
		}
		if was := lastSeen(c); cell.Was == "" || cell.Was == wasServed || was == wasNotReady {
			cell.Was = was
		}
		if at := c.LastObservedTime; at != nil && (oldest.IsZero() || at.Time.Before(oldest)) {
			oldest = at.Time
		}
	}
	if !oldest.IsZero() {
		cell.Age = ageOf(now, oldest)
	}
	i := slices.IndexFunc(app.Status.Regions, func(r v1.RegionStatus) bool { return r.Name == region })
	if i >= 0 {
		r := &app.Status.Regions[i]
		cell.Clusters = fmt.Sprintf("%d/%d", r.ReadyClusters, r.Clusters)
		cell.Replicas = fmt.Sprintf("%d/%d", r.ReadyReplicas, r.Replicas)
	}
	return cell
}

// placesOf returns the clusters of an application by region and name.
func placesOf(app *v1.EcommerceApp, now time.Time) []Place {
	places := make([]Place, 0, len(app.Status.Clusters))
	for i := range app.Status.Clusters {
		c := &app.Status.Clusters[i]
		p := Place{
			Cluster: c.Name, Region: regionOf(c.Region), Provider: string(c.Provider), Reason: cmp.Or(c.DegradedReason, c.Reason), Message: c.Message,
			Revision: c.Revision, Addresses: strings.Join(c.Addresses, ", "),
			Cell: Cell{State: stateIn(c), Replicas: fmt.Sprintf("%d/%d", c.ReadyReplicas, c.Replicas), Age: ageAt(now, c.LastObservedTime)},
		}
		if c.Stale {
			p.Was = lastSeen(c)
		}
		var unready []string
		for _, part := range c.Components {
			if !part.Ready {
				unready = append(unready, part.Name+" "+strings.ToLower(string(part.Phase)))
			}
		}
		p.Components = strings.Join(unready, ", ")
		places = append(places, p)
	}
	slices.SortStableFunc(places, func(a, b Place) int {
		return cmp.Or(cmp.Compare(a.Region, b.Region), cmp.Compare(a.Cluster, b.Cluster))
	})
	return places
}

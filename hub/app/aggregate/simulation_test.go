package aggregate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/placement"
)

// site is a toy member: it takes a copy through its life, one step a turn.
type site struct {
	name, region string
	reachable    bool
	copy         *Copy
	// gone reports whether the copy was absent when the hub last reached the member.
	gone bool
}

// step lets the spoke of a member work.
func (s *site) step() {
	switch c := s.copy; {
	case c == nil:
	case c.Deleting:
		if c.Status.Phase == v1.PhaseDeleting {
			s.copy = nil
			return
		}
		c.Status = copyStatus(v1.PhaseDeleting, false)
		c.Status.Message = "waiting for frontend"
	case c.Status.ObservedGeneration != c.Generation:
		phase := v1.PhaseUpdating
		if c.Generation == 1 {
			phase = v1.PhaseCreating
		}
		c.Status = copyStatus(phase, false)
		c.Status.Message = "waiting for database"
		c.Status.ObservedGeneration = c.Generation
	case c.Status.Phase != v1.PhaseRunning:
		c.Status = copyStatus(v1.PhaseRunning, true)
		c.Status.ObservedGeneration = c.Generation
	}
}

// simulation is an application's life in a toy fleet.
type simulation struct {
	t      *testing.T
	r      *rand.Rand
	log    strings.Builder
	second int

	generation int64
	deleting   bool
	spec       v1.Placement
	status     v1.EcommerceAppStatus
	sites      []*site
	writes     int
}

func newSimulation(t *testing.T, seed uint64) *simulation {
	t.Helper()
	w := &simulation{t: t, r: rand.New(rand.NewPCG(seed, 7)), generation: 1}
	w.status.Phase = v1.PhasePending
	for _, s := range [][2]string{{"asia-1", "southeastasia"}, {"eu-1", "eu-west-1"}, {"us-1", "us-central1"}} {
		w.sites = append(w.sites, &site{name: s[0], region: s[1], reachable: true})
	}
	return w
}

func (w *simulation) site(name string) *site {
	return w.sites[slices.IndexFunc(w.sites, func(s *site) bool { return s.name == name })]
}

func (w *simulation) say(format string, args ...any) {
	fmt.Fprintf(&w.log, format+"\n", args...)
}

// turn simulates one second, in which hub and members work in random order.
func (w *simulation) turn() {
	w.second++
	actors := []func(){w.reconcile}
	for _, s := range w.sites {
		actors = append(actors, func() { w.distribute(s) }, s.step)
	}
	w.r.Shuffle(len(actors), func(i, j int) { actors[i], actors[j] = actors[j], actors[i] })
	for _, act := range actors {
		act()
		w.checkInventory()
	}
}

// settle lets turns pass until nothing changes any more.
func (w *simulation) settle() {
	w.t.Helper()
	quiet := 0
	for range 60 {
		before := w.status.DeepCopy()
		w.turn()
		quiet++
		if !equality.Semantic.DeepEqual(before, &w.status) {
			quiet = 0
		}
		if quiet > 8 {
			return
		}
	}
	w.t.Fatalf("does not settle; log:\n%s", w.log.String())
}

// distribute writes the copies of one member, as the hub does.
func (w *simulation) distribute(s *site) {
	if !s.reachable {
		return
	}
	i := slices.IndexFunc(w.status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == s.name })
	switch {
	case i < 0:
	case w.deleting || w.status.Clusters[i].Phase == v1.PhaseDeleting:
		if s.copy != nil {
			s.copy.Deleting = true
		}
		s.gone = s.copy == nil
	case s.copy == nil:
		s.copy = &Copy{Generation: 1, HubGeneration: w.generation, Status: v1.EcommerceAppStatus{Phase: v1.PhasePending}}
		s.gone = false
	case !s.copy.Deleting && s.copy.HubGeneration != w.generation:
		s.copy.HubGeneration = w.generation
		s.copy.Generation++
	}
}

func (w *simulation) reconcile() {
	in := Input{Generation: w.generation, Deleting: w.deleting, Previous: *w.status.DeepCopy(), Now: at(w.second)}
	var clusters []placement.Cluster
	for _, s := range w.sites {
		c := Cluster{Name: s.name, Region: s.region, Gone: s.gone && s.reachable}
		if s.copy != nil {
			cp := *s.copy
			c.Copy = &cp
		}
		if !s.reachable {
			lost(&c)
			c.Copy = nil
		}
		in.Clusters = append(in.Clusters, c)
		clusters = append(clusters, placement.Cluster{Name: s.name, Region: s.region, Ready: s.reachable})
	}
	// The placement is edited while the shop runs.
	request := placement.Request{Placement: w.spec, Clusters: clusters, Edited: true, Selected: true}
	for _, c := range w.status.Clusters {
		if c.Phase != v1.PhaseDeleting {
			request.Current = append(request.Current, placement.Current{Name: c.Name, Serving: c.Available, Idle: !c.Available && !c.Stale})
		}
	}
	decision, err := placement.Decide(request)
	if err != nil {
		w.t.Fatal(err)
	}
	in.Chosen, in.Rejected = decision.Chosen, decision.Counts()
	next := Compute(in)
	w.check(next)
	if equality.Semantic.DeepEqual(w.status, next) {
		return
	}
	if !Urgent(w.status, next) && w.second-w.status.LastUpdated.Second() < 5 {
		return
	}
	w.status = next
	w.writes++
	w.say("  %2ds  %s", w.second, brief(next))
}

// check holds at every moment.
func (w *simulation) check(next v1.EcommerceAppStatus) {
	w.t.Helper()
	if w.deleting && next.Phase != v1.PhaseDeleting {
		w.t.Fatalf("phase %s of an application that is being deleted", next.Phase)
	}
	if next.Phase != v1.PhaseRunning {
		return
	}
	for _, c := range next.Clusters {
		if c.Phase == v1.PhaseDeleting {
			continue
		}
		s := w.site(c.Name)
		if !s.reachable || s.copy == nil || s.copy.HubGeneration != w.generation || s.copy.Status.Phase != v1.PhaseRunning {
			w.t.Fatalf("Running, but %s is not:\n%s", c.Name, w.log.String())
		}
	}
}

// checkInventory holds at every moment: no copy without an entry.
func (w *simulation) checkInventory() {
	w.t.Helper()
	for _, s := range w.sites {
		listed := slices.ContainsFunc(w.status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == s.name })
		if s.copy != nil && !listed {
			w.t.Fatalf("a copy in %s that the inventory does not list:\n%s", s.name, w.log.String())
		}
	}
}

func brief(s v1.EcommerceAppStatus) string {
	parts := []string{fmt.Sprintf("%-8s %s", s.Phase, s.Ready)}
	for _, c := range s.Clusters {
		text := fmt.Sprintf("%s=%s", c.Name, c.Phase)
		if c.Stale {
			text += fmt.Sprintf("(since %ds)", c.LastObservedTime.Second())
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "  ") + "  | " + s.Message
}

// live takes an application through its whole life.
func (w *simulation) live() {
	w.t.Helper()
	acts := []struct {
		what string
		do   func()
		want v1.Phase
	}{
		{"apply it to a fleet of three", func() {}, v1.PhaseRunning},
		{"edit it", func() { w.generation++ }, v1.PhaseRunning},
		{"us-1 is lost", func() { w.site("us-1").reachable = false }, v1.PhaseUnknown},
		{"edit it meanwhile", func() { w.generation++ }, v1.PhaseUnknown},
		{"us-1 returns", func() { w.site("us-1").reachable = true }, v1.PhaseRunning},
		{"move it to eu-1 and us-1", func() {
			w.generation++
			w.spec.Regions = []string{"eu-west-1", "us-central1"}
		}, v1.PhaseRunning},
		{"eu-1 is lost", func() { w.site("eu-1").reachable = false }, v1.PhaseUnknown},
		{"delete it", func() { w.deleting = true }, v1.PhaseDeleting},
		{"eu-1 returns", func() { w.site("eu-1").reachable = true }, v1.PhaseDeleting},
	}
	for _, act := range acts {
		w.say("%s", act.what)
		act.do()
		w.second, w.status = 0, atSecondZero(w.status)
		w.settle()
		if w.status.Phase != act.want {
			w.t.Fatalf("%s: phase %s, want %s\n%s", act.what, w.status.Phase, act.want, w.log.String())
		}
	}
	if len(w.status.Clusters) > 0 {
		w.t.Fatalf("deleted, and still in %v", w.status.Clusters)
	}
}

// atSecondZero begins a new minute, so that a long life fits into one.
func atSecondZero(s v1.EcommerceAppStatus) v1.EcommerceAppStatus {
	s = *s.DeepCopy()
	if s.LastUpdated != nil {
		s.LastUpdated = new(at(0))
	}
	return s
}

func TestLifeOfAnApplication(t *testing.T) {
	t.Parallel()
	w := newSimulation(t, 1)
	w.live()
	apitest.Golden(t, "life.golden", w.log.String())
}

func TestLifeInAnyOrder(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		newSimulation(t, seed).live()
	}
}

func TestCreationTakesThreeWrites(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		w := newSimulation(t, seed)
		w.settle()
		if w.writes > 3 {
			t.Fatalf("seed %d: %d status writes, want at most 3:\n%s", seed, w.writes, w.log.String())
		}
	}
}

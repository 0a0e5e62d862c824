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

func (si *simulation) site(name string) *site {
	return si.sites[slices.IndexFunc(si.sites, func(s *site) bool { return s.name == name })]
}

func (si *simulation) say(format string, args ...any) {
	fmt.Fprintf(&si.log, format+"\n", args...)
}

// turn simulates one second, in which hub and members work in random order.
func (si *simulation) turn() {
	si.second++
	actors := []func(){si.reconcile}
	for _, s := range si.sites {
		actors = append(actors, func() { si.distribute(s) }, s.step)
	}
	si.r.Shuffle(len(actors), func(i, j int) { actors[i], actors[j] = actors[j], actors[i] })
	for _, act := range actors {
		act()
		si.checkInventory()
	}
}

// settle lets turns pass until nothing changes any more.
func (si *simulation) settle() {
	si.t.Helper()
	quiet := 0
	for range 60 {
		before := si.status.DeepCopy()
		si.turn()
		quiet++
		if !equality.Semantic.DeepEqual(before, &si.status) {
			quiet = 0
		}
		if quiet > 8 {
			return
		}
	}
	si.t.Fatalf("does not settle; log:\n%s", si.log.String())
}

// distribute writes the copies of one member, as the hub does.
func (si *simulation) distribute(s *site) {
	if !s.reachable {
		return
	}
	i := slices.IndexFunc(si.status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == s.name })
	switch {
	case i < 0:
	case si.deleting || si.status.Clusters[i].Phase == v1.PhaseDeleting:
		if s.copy != nil {
			s.copy.Deleting = true
		}
		s.gone = s.copy == nil
	case s.copy == nil:
		s.copy = &Copy{Generation: 1, HubGeneration: si.generation, Status: v1.EcommerceAppStatus{Phase: v1.PhasePending}}
		s.gone = false
	case !s.copy.Deleting && s.copy.HubGeneration != si.generation:
		s.copy.HubGeneration = si.generation
		s.copy.Generation++
	}
}

func (si *simulation) reconcile() {
	in := Input{Generation: si.generation, Deleting: si.deleting, Previous: *si.status.DeepCopy(), Now: at(si.second)}
	var clusters []placement.Cluster
	for _, s := range si.sites {
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
	request := placement.Request{Placement: si.spec, Clusters: clusters, Edited: true, SelectionEdited: true}
	for _, c := range si.status.Clusters {
		if c.Phase != v1.PhaseDeleting {
			request.Current = append(request.Current, placement.Current{Name: c.Name, Serving: c.Available, Idle: !c.Available && !c.Stale})
		}
	}
	decision, err := placement.Decide(request)
	if err != nil {
		si.t.Fatal(err)
	}
	in.Chosen, in.Rejected = decision.Chosen, decision.Counts()
	next := Compute(in)
	si.check(next)
	if equality.Semantic.DeepEqual(si.status, next) {
		return
	}
	if !Urgent(si.status, next) && si.second-si.status.LastUpdated.Second() < 5 {
		return
	}
	si.status = next
	si.writes++
	si.say("  %2ds  %s", si.second, brief(next))
}

// check holds at every moment.
func (si *simulation) check(next v1.EcommerceAppStatus) {
	si.t.Helper()
	if si.deleting && next.Phase != v1.PhaseDeleting {
		si.t.Fatalf("phase %s of an application that is being deleted", next.Phase)
	}
	if next.Phase != v1.PhaseRunning {
		return
	}
	for _, c := range next.Clusters {
		if c.Phase == v1.PhaseDeleting {
			continue
		}
		s := si.site(c.Name)
		if !s.reachable || s.copy == nil || s.copy.HubGeneration != si.generation || s.copy.Status.Phase != v1.PhaseRunning {
			si.t.Fatalf("Running, but %s is not:\n%s", c.Name, si.log.String())
		}
	}
}

// checkInventory holds at every moment: no copy without an entry.
func (si *simulation) checkInventory() {
	si.t.Helper()
	for _, s := range si.sites {
		listed := slices.ContainsFunc(si.status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == s.name })
		if s.copy != nil && !listed {
			si.t.Fatalf("a copy in %s that the inventory does not list:\n%s", s.name, si.log.String())
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
func (si *simulation) live() {
	si.t.Helper()
	acts := []struct {
		what string
		do   func()
		want v1.Phase
	}{
		{"apply it to a fleet of three", func() {}, v1.PhaseRunning},
		{"edit it", func() { si.generation++ }, v1.PhaseRunning},
		{"us-1 is lost", func() { si.site("us-1").reachable = false }, v1.PhaseUnknown},
		{"edit it meanwhile", func() { si.generation++ }, v1.PhaseUnknown},
		{"us-1 returns", func() { si.site("us-1").reachable = true }, v1.PhaseRunning},
		{"move it to eu-1 and us-1", func() {
			si.generation++
			si.spec.Regions = []string{"eu-west-1", "us-central1"}
		}, v1.PhaseRunning},
		{"eu-1 is lost", func() { si.site("eu-1").reachable = false }, v1.PhaseUnknown},
		{"delete it", func() { si.deleting = true }, v1.PhaseDeleting},
		{"eu-1 returns", func() { si.site("eu-1").reachable = true }, v1.PhaseDeleting},
	}
	for _, act := range acts {
		si.say("%s", act.what)
		act.do()
		si.second, si.status = 0, atSecondZero(si.status)
		si.settle()
		if si.status.Phase != act.want {
			si.t.Fatalf("%s: phase %s, want %s\n%s", act.what, si.status.Phase, act.want, si.log.String())
		}
	}
	if len(si.status.Clusters) > 0 {
		si.t.Fatalf("deleted, and still in %v", si.status.Clusters)
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

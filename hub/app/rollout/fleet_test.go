package rollout

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// tick is the time between two steps of a simulation.
const tick = 30 * time.Second

// toy is a cluster with a copy that becomes ready some ticks after it got a revision, or does not.
type toy struct {
	name   string
	has    int64 // The revision of the copy, or 0: then it has none, or one of no revision that has served.
	age    int   // Ticks since the copy got it.
	served bool
	// lost means that it does not respond; it was last seen at one time, and is back since another.
	lost       bool
	seen, back time.Duration
	// refused means that the revision is refused in the cluster.
	refused bool
	// broken means that its monitoring is not ready, whatever the revision.
	broken bool
	// watched is how long it was observed since it was last given a revision.
	watched time.Duration
	// unnoticed means that it was lost in this tick, and that the hub does not know yet.
	unnoticed bool
	// empty means that it has no replicas.
	empty  bool
	logged string
}

// lose makes a cluster not respond any more, and find respond again.
func (t *toy) lose(now time.Duration) {
	if !t.lost {
		t.lost, t.seen, t.unnoticed = true, now, true
	}
}

func (t *toy) find(now time.Duration) {
	if t.lost {
		t.lost, t.back = false, now
	}
}

// fleet is a hub with an application in toy clusters. The hub keeps nothing but what it stores.
type fleet struct {
	t   *testing.T
	log strings.Builder
	now time.Duration
	// begin is the time of the first step, and leads when the hub began to lead.
	begin    time.Time
	leads    time.Duration
	clusters []*toy
	// conduct returns the name of the conduct of a copy.
	conduct func(cluster string, revision int64) string
	// shuffle is the source of the order of the clusters; nil keeps it.
	shuffle *rand.Rand

	// request has what the user wants.
	request Request
	// stored is the status, and revisions those that were stored with it.
	stored    []byte
	revisions map[string]int64
	// crash means that the hub ends before it writes copies, and crashes that it does so in every second step.
	crash, crashes bool
	// connecting means that a loss is seen as a connection that has just begun, at first.
	connecting bool
	// writes are the writes of copies.
	writes []string

	// before are the request and the decision of the last step, and last is the status that it stored.
	before *step
	last   v1.RolloutStatus
	logged string
}

// step is a request with its decision.
type step struct {
	request Request
	Decision
}

// newFleet returns a fleet whose clusters, such as eu-1 in the region eu, have revision 1, which was healthy
// in all of them.
func newFleet(t *testing.T, names ...string) *fleet {
	t.Helper()
	f := &fleet{t: t, begin: start(), conduct: func(string, int64) string { return "good" }, revisions: map[string]int64{}}
	f.request = Request{Spec: v1.Rollout{Order: []string{"eu", "us", "ap"}}, Revision: 1, Hash: "one"}
	completed := metav1.NewTime(f.begin)
	f.store(Decision{Status: v1.RolloutStatus{
		Revision: 1, SpecHash: "one", State: v1.RolloutComplete, CompletionTime: &completed,
		Updated: int32(len(names)), Total: int32(len(names)),
	}, Revisions: map[string]int64{}})
	for _, name := range names {
		f.clusters = append(f.clusters, &toy{name: name, has: 1, age: 99, served: true})
		f.revisions[name] = 1
	}
	return f
}

// start returns the time of the first step of simulations.
func start() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

func (f *fleet) say(format string, args ...any) {
	seconds := int(f.now.Seconds())
	fmt.Fprintf(&f.log, "t=%02d:%02d "+format+"\n", append([]any{seconds / 60, seconds % 60}, args...)...)
}

// find returns a cluster by name, and named nil if there is none.
func (f *fleet) find(name string) *toy {
	c := f.named(name)
	if c == nil {
		f.t.Fatalf("no cluster %s", name)
	}
	return c
}

func (f *fleet) named(name string) *toy {
	for _, c := range f.clusters {
		if c.name == name {
			return c
		}
	}
	return nil
}

// edit gives the spec another revision.
func (f *fleet) edit(revision int64) {
	f.request.Revision, f.request.Hash = revision, fmt.Sprint("hash ", revision)
	f.say("user: edits the spec, revision %d", revision)
}

// observe returns what a hub sees of a cluster.
func (f *fleet) observe(c *toy) Cluster {
	region, _, _ := strings.Cut(c.name, "-")
	seen := Cluster{Name: c.name, Region: region, Revision: f.revisions[c.name], SetAside: c.lost, NoReplicas: c.empty}
	seen.Since = f.begin.Add(max(f.leads, c.back))
	if c.lost && c.unnoticed && f.connecting {
		seen.Since, seen.Connecting = f.begin.Add(max(f.leads, c.back)), true
		return seen
	}
	if c.lost {
		seen.Since, seen.Until = f.begin.Add(f.leads), f.begin.Add(c.seen)
		return seen
	}
	seen.Until = f.begin.Add(f.now)
	if c.has == 0 && !c.served {
		return seen
	}
	does := conductOf(f.conduct(c.name, c.has))(c.age)
	seen.Serving, seen.Copied, seen.Has = c.served && !does.down, c.has, c.has == seen.Revision
	seen.Settled = seen.Has
	if !does.ready {
		seen.Unready = append(seen.Unready, Component{Name: "frontend", Reason: v1.ReasonProgressing, Changing: does.failure == ""})
	}
	if does.seeds {
		seen.Unready = append(seen.Unready, Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true, Growing: true})
	}
	if does.rebuilds {
		seen.Unready = append(seen.Unready, Component{Name: "database", Reason: v1.ReasonCopyingData, Copying: true})
	}
	if c.broken {
		seen.Unready = append(seen.Unready, Component{Name: "monitoring", Reason: v1.ReasonWaitingForReplicas})
	}
	f.addRefusals(c, &seen)
	if !seen.Settled {
		return seen
	}
	if seen.Failure = does.failure; seen.Failure != "" {
		seen.Stalled = v1.ReasonDeadlineExceeded
	}
	switch {
	case does.ready:
	case seen.Serving:
		seen.Cause = "WaitingForReplicas: frontend: 1 of 2 replicas are ready"
	default:
		seen.Cause = "WaitingForReplicas: frontend: 0 of 2 replicas are ready"
	}
	return seen
}

// observed returns the request of a hub that knows what is stored.
func (f *fleet) observed() Request {
	r := f.request
	r.Now = f.begin.Add(f.now)
	r.Clusters = nil
	for _, c := range f.clusters {
		r.Clusters = append(r.Clusters, f.observe(c))
	}
	if f.shuffle != nil {
		f.shuffle.Shuffle(len(r.Clusters), func(i, j int) { r.Clusters[i], r.Clusters[j] = r.Clusters[j], r.Clusters[i] })
	}
	r.Last = nil
	if f.stored != nil {
		r.Last = &v1.RolloutStatus{}
		if err := json.Unmarshal(f.stored, r.Last); err != nil {
			f.t.Fatal(err)
		}
	}
	return r
}

// store stores a decision as the status of an application, where times are those of JSON.
func (f *fleet) store(d Decision) {
	raw, err := json.Marshal(d.Status)
	if err != nil {
		f.t.Fatal(err)
	}
	f.stored, f.revisions = raw, maps.Clone(d.Revisions)
}

// next returns the decision about a request, and fails the test if it depends on the order of the clusters
// or changes the request.
func (f *fleet) next(r Request) Decision {
	f.t.Helper()
	last := r.Last.DeepCopy()
	d, err := Next(r)
	if err != nil {
		f.t.Fatal(err)
	}
	if diff := difference(last, r.Last); diff != "" {
		f.fatal("Next changed the request: %s", diff)
	}
	reversed := r
	reversed.Clusters = slices.Clone(r.Clusters)
	slices.Reverse(reversed.Clusters)
	again, err := Next(reversed)
	if diff := difference(d, again); diff != "" || err != nil {
		f.fatal("the order of the clusters matters: %v%s", err, diff)
	}
	return d
}

// step makes a decision, stores and writes it once, and checks it. Then a tick passes.
func (f *fleet) step() {
	f.t.Helper()
	r := f.observed()
	d := f.next(r)
	f.checkQuiet(r, d)
	f.checkBegun(r, d)
	f.checkStatus(r, d)
	known := f.hasAlready(d)
	for _, c := range f.clusters {
		if d.Revisions[c.name] != f.revisions[c.name] {
			c.watched, c.refused = 0, false
		}
	}
	f.store(d)
	f.request.RollbackTo = 0 // The hub removes the annotation after it stored the status.
	f.logRollout(d.Status)

	again := f.next(f.observed())
	sameTime := again
	sameTime.Until = d.Until
	if diff := difference(d, sameTime); diff != "" && !known {
		f.fatal("another decision without a reason (-first +second): %s", diff)
	}
	if !again.Until.IsZero() && d.Until.After(again.Until) && !known {
		f.fatal("due at %s, and then earlier, at %s", d.Until, again.Until)
	}
	f.before = &step{request: f.observed(), Decision: again}
	if known {
		f.before = nil // The next step sees it.
	}
	f.last = d.Status
	if f.crash || f.crashes && f.now%(2*tick) != 0 {
		f.say("hub: crashes before it writes copies")
		f.crash = false
	} else {
		f.write()
	}
	for _, c := range f.clusters {
		f.logCluster(c)
		c.age++
		c.unnoticed = false
		if !c.lost {
			c.watched += tick
		}
	}
	f.now += tick
}

// away passes ticks in which there is no hub.
func (f *fleet) away(ticks int) {
	f.say("hub: is away for %s", time.Duration(ticks)*tick)
	for range ticks {
		f.now += tick
		for _, c := range f.clusters {
			c.age++
			if conductOf(f.conduct(c.name, c.has))(c.age).ready && c.has != 0 {
				c.served = true
			}
		}
	}
	f.leads, f.before = f.now, nil
}

// hasAlready reports whether a copy is found to have what was decided for it: it was lost when it was to get
// something else in the meantime.
func (f *fleet) hasAlready(d Decision) bool {
	return slices.ContainsFunc(f.clusters, func(c *toy) bool {
		wanted := d.Revisions[c.name]
		return wanted != f.revisions[c.name] && wanted == c.has
	})
}

// write writes the copies that differ.
func (f *fleet) write() {
	for _, c := range f.clusters {
		wanted := f.revisions[c.name]
		switch {
		case c.lost || wanted == 0 || c.has == wanted:
		case c.has != 0 && f.last.Target() == f.last.Revision && conductOf(f.conduct(c.name, wanted))(0).refuses: // What returns keeps its server.
			c.refused = true
		default:
			c.has, c.age = wanted, 0
			f.writes = append(f.writes, fmt.Sprintf("%s=%d", c.name, wanted))
		}
		if conductOf(f.conduct(c.name, c.has))(c.age + 1).ready {
			c.served = true
		}
	}
}

// logRollout logs the state of the rollout if it changed.
func (f *fleet) logRollout(s v1.RolloutStatus) {
	text := string(s.State)
	if s.Region != "" {
		text += " in " + s.Region
	}
	text = fmt.Sprintf("%s, revision %d in %d of %d clusters", text, s.Revision, s.Updated, s.Total)
	if s.Message != "" {
		text += ": " + s.Message
	}
	if text != f.logged {
		f.say("rollout: %s", text)
	}
	f.logged = text
}

// logCluster logs the state of a cluster if it changed.
func (f *fleet) logCluster(c *toy) {
	seen := f.observe(c)
	text := fmt.Sprintf("revision %d, ", c.has)
	switch {
	case c.lost:
		text = "does not respond"
	case c.has == 0 && c.served:
		text = "has a copy of no revision"
	case c.has == 0:
		text = "has no copy yet"
	case c.has != seen.Revision:
		text += fmt.Sprintf("is to get revision %d", seen.Revision)
	case seen.Failure != "":
		text += "needs a user: " + seen.Failure
	case seen.Cause == "" && seen.Serving && c.broken:
		text += "ready but for its monitoring"
	case seen.Cause == "" && seen.Serving && len(seen.Unready) > 0:
		text += "ready, and its database seeds a replica"
	case seen.Cause == "" && seen.Serving:
		text += "ready"
	case !seen.Serving && c.served:
		text += "does not serve customers"
	default:
		text += "progressing"
	}
	if text != c.logged && (c.logged != "" || f.now > 0) {
		f.say("%s: %s", c.name, text)
	}
	c.logged = text
}

// difference returns what differs, or an empty string. It is quick if nothing does.
func difference(a, b any) string {
	if reflect.DeepEqual(a, b) {
		return ""
	}
	return cmp.Diff(a, b)
}

func (f *fleet) fatal(format string, args ...any) {
	f.t.Helper()
	f.t.Fatalf(format+"\nlog:\n%s", append(args, f.log.String())...)
}

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
	has    int64 // The revision of the copy, or 0.
	age    int   // Ticks since the copy got it.
	served bool
	lost   bool
	// empty means that it has no replicas.
	empty  bool
	logged string
}

// conduct is how a copy behaves in the ticks after it got a revision: whether it is ready, whether it
// ceases to serve customers, and why it needs a user.
type conduct func(age int) (ready, down bool, failure string)

// conductOf returns the conduct of a name.
func conductOf(name string) conduct {
	switch name {
	case "slow":
		return func(age int) (bool, bool, string) { return age >= 6, false, "" }
	case "stuck":
		return func(age int) (bool, bool, string) { return false, false, after(age, 40, noProgress("1 of 2")) }
	case "flapping":
		return func(age int) (bool, bool, string) { return age >= 2 && age%3 != 0, false, "" }
	case "bad": // The pods of the earlier revision stay.
		return func(age int) (bool, bool, string) { return false, false, after(age, 3, noProgress("1 of 2")) }
	case "down":
		return func(age int) (bool, bool, string) { return false, age >= 1, after(age, 4, noProgress("0 of 2")) }
	case "late": // A Deployment that was complete once reports no deadline.
		return func(age int) (bool, bool, string) { return age >= 2 && age < 9, age >= 9, "" }
	case "leaking": // It runs out of memory after longer than it soaks.
		return func(age int) (bool, bool, string) { return age >= 2 && age%7 != 0, age > 0 && age%7 == 0, "" }
	default:
		return func(age int) (bool, bool, string) { return age >= 2, false, "" }
	}
}

// noProgress returns what a copy says of a Deployment whose own deadline has passed.
func noProgress(ready string) string {
	return "ProgressDeadlineExceeded: frontend: Deployment shop-frontend made no progress within its deadline: " + ready + " replicas are ready"
}

func after(age, ticks int, failure string) string {
	if age < ticks {
		return ""
	}
	return failure
}

// fleet is a hub with an application in toy clusters. The hub keeps nothing but what it stores.
type fleet struct {
	t   *testing.T
	log strings.Builder
	now time.Duration
	// begin is the time of the first step.
	begin    time.Time
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

// start is the time of the first step of simulations.
func start() time.Time { return time.Date(2026, 3, 2, 9, 0, 0, 0, time.UTC) }

func (f *fleet) say(format string, args ...any) {
	seconds := int(f.now.Seconds())
	fmt.Fprintf(&f.log, "t=%02d:%02d "+format+"\n", append([]any{seconds / 60, seconds % 60}, args...)...)
}

// find returns a cluster by name.
func (f *fleet) find(name string) *toy {
	for _, c := range f.clusters {
		if c.name == name {
			return c
		}
	}
	f.t.Fatalf("no cluster %s", name)
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
	if c.has == 0 || c.lost {
		return seen
	}
	ready, down, failure := conductOf(f.conduct(c.name, c.has))(c.age)
	seen.Serving = c.served && !down
	if c.has == seen.Revision {
		seen.Ready, seen.Failure = ready, failure
		switch {
		case ready:
		case seen.Serving:
			seen.Cause = "WaitingForReplicas: frontend: 1 of 2 replicas are ready"
		default:
			seen.Cause = "WaitingForReplicas: frontend: 0 of 2 replicas are ready"
		}
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

// step decides, stores and writes once, and checks the decision. Then a tick passes.
func (f *fleet) step() {
	f.t.Helper()
	r := f.observed()
	d := f.next(r)
	f.checkQuiet(r, d)
	f.checkBegun(r, d)
	f.checkStatus(r, d)
	known := f.hasAlready(d)
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
	}
	f.now += tick
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
		if wanted := f.revisions[c.name]; !c.lost && wanted != 0 && c.has != wanted {
			c.has, c.age = wanted, 0
			f.writes = append(f.writes, fmt.Sprintf("%s=%d", c.name, wanted))
		}
		if ready, _, _ := conductOf(f.conduct(c.name, c.has))(c.age + 1); ready {
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
	case c.has == 0:
		text = "has no copy yet"
	case c.has != seen.Revision:
		text += fmt.Sprintf("is to get revision %d", seen.Revision)
	case seen.Failure != "":
		text += "needs a user: " + seen.Failure
	case seen.Ready:
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

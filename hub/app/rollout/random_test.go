package rollout

import (
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// seedVariable is the environment variable with the seed of another run of TestRandom, for example that
// of a day.
const seedVariable = "SHOPFLEET_ROLLOUT_SEED"

// TestRandom runs rollouts through random faults, edits and wishes of users. Every step is checked.
func TestRandom(t *testing.T) {
	const fleets = 200
	seed := uint64(1)
	if given := os.Getenv(seedVariable); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	ends, ran := map[v1.RolloutState]int{}, 0
	for i := range uint64(fleets) {
		if !t.Run(fmt.Sprint(i), func(t *testing.T) {
			ends[runRandom(t, rand.New(rand.NewPCG(seed, i)))]++
			ran++
		}) {
			t.Fatalf("repeat it with %s=%d go test -run 'TestRandom/^%d$' ./hub/app/rollout", seedVariable, seed, i)
		}
	}
	for _, state := range []v1.RolloutState{v1.RolloutComplete, v1.RolloutRolledBack, v1.RolloutFailed} {
		if ran == fleets && ends[state] < fleets/50 {
			t.Errorf("%d of %d end with %s: the fleets show too little", ends[state], fleets, state)
		}
	}
}

// runRandom runs one fleet, and returns its last state.
func runRandom(t *testing.T, r *rand.Rand) v1.RolloutState {
	t.Helper()
	f := randomFleet(t, r)
	c := &chaos{fleet: f, r: r, revision: 1, begun: map[string]bool{}}
	for range 120 {
		c.disturb()
		c.step()
	}
	c.calm()
	for range 1000 {
		c.step()
		if c.settled() {
			return f.last.State
		}
	}
	f.fatal("no end: %+v", f.last)
	return ""
}

// randomFleet returns a fleet with a random rollout. A third has no revision yet, and may have copies.
func randomFleet(t *testing.T, r *rand.Rand) *fleet {
	t.Helper()
	var names []string
	for _, region := range []string{"eu", "us", "ap"}[:1+r.IntN(3)] {
		for i := range 1 + r.IntN(4) {
			names = append(names, fmt.Sprintf("%s-%d", region, i+1))
		}
	}
	f := newFleet(t, names...)
	f.shuffle, f.connecting = r, len(names)%2 == 0
	for _, c := range f.clusters {
		c.empty, c.broken = r.IntN(8) == 0, r.IntN(8) == 0
	}
	f.request.Spec.MaxConcurrentClusters = int32(r.IntN(4))
	f.request.Spec.Soak = seconds(30 * r.IntN(5))
	f.request.Spec.ProgressDeadline = seconds(60 * (2 + r.IntN(6)))
	f.request.Spec.Strategy = pick(r, "", v1.RolloutProgressive, v1.RolloutAll)
	f.request.Spec.OnFailure = pick(r, "", v1.FailureRollback, v1.FailurePause)
	f.request.Spec.Approval = pick(r, v1.ApprovalNone, v1.ApprovalNone, v1.ApprovalBetweenRegions)
	if r.IntN(3) == 0 {
		f.request.Spec.Windows = []v1.RolloutWindow{{Schedule: "*/15 * * * *", Duration: metav1.Duration{Duration: 7 * time.Minute}}}
	}
	conducts := map[string]string{}
	f.conduct = func(cluster string, revision int64) string {
		key := fmt.Sprintf("%s=%d", cluster, revision)
		if conducts[key] == "" {
			conducts[key] = pick(r, kinds()...)
		}
		return conducts[key]
	}
	if r.IntN(3) == 0 {
		f.stored, f.revisions = nil, map[string]int64{}
		for _, c := range f.clusters {
			c.has, c.served = 0, r.IntN(4) == 0
		}
	} else {
		for _, name := range names {
			conducts[name+"=1"] = "good"
		}
	}
	return f
}

// kinds returns the names of conducts, as often as they are to occur.
func kinds() []string {
	bad := []string{"slow", "slow", "bad", "down", "stuck", "flapping", "late", "leaking", "seeding", "refused"}
	return append(bad, slices.Repeat([]string{"good"}, 40)...)
}

func pick[T any](r *rand.Rand, of ...T) T { return of[r.IntN(len(of))] }

// chaos disturbs a fleet, and checks what one step does not show.
type chaos struct {
	*fleet
	r        *rand.Rand
	revision int64 // The last one.
	// begun are the clusters that got the target since it was last changed.
	begun  map[string]bool
	target int64
}

// disturb changes something in one of three ticks.
func (c *chaos) disturb() {
	victim := c.clusters[c.r.IntN(len(c.clusters))]
	switch c.r.IntN(30) {
	case 0, 1:
		victim.lose(c.now)
		c.say("%s is lost", victim.name)
	case 2, 3, 4, 5:
		for _, each := range c.clusters {
			if c.r.IntN(2) == 0 {
				each.find(c.now)
			}
		}
	case 6:
		if c.r.IntN(2) == 0 {
			c.revision++
			c.edit(c.revision)
		} else if c.revision > 1 {
			c.edit(1 + c.r.Int64N(c.revision))
		}
	case 7:
		c.request.Paused = !c.request.Paused
	case 8:
		c.request.Approved = pick(c.r, "eu", "us", "ap")
	case 9:
		c.crash = true
	case 10:
		if c.r.IntN(4) == 0 {
			c.request.RollbackTo = 1 + c.r.Int64N(c.revision)
			c.say("user: asks for revision %d", c.request.RollbackTo)
		}
	case 11:
		c.exchange(victim)
	case 12:
		c.away(1 + c.r.IntN(30))
	case 13:
		raise(victim.name)(c.fleet)
	default:
	}
}

// exchange removes a cluster, and adds another one.
func (c *chaos) exchange(victim *toy) {
	if c.r.IntN(2) == 0 {
		c.clusters = append(c.clusters, &toy{name: fmt.Sprintf("%s-x%d", pick(c.r, "eu", "us"), int(c.now.Seconds()))})
	} else if len(c.clusters) > 1 {
		c.clusters = slices.DeleteFunc(c.clusters, func(each *toy) bool { return each == victim })
		delete(c.begun, victim.name)
	}
}

// calm ends what may keep a rollout from its end.
func (c *chaos) calm() {
	c.say("calm")
	for _, each := range c.clusters {
		each.find(c.now)
	}
	c.request.Paused = false
	c.request.Spec.Approval = v1.ApprovalNone
}

// step steps, and fails if a cluster got a revision twice for one wish.
func (c *chaos) step() {
	c.t.Helper()
	wish := c.request.RollbackTo != 0
	before := len(c.writes)
	c.fleet.step()
	s := c.last
	if wish || s.Target() != c.target {
		c.target, c.begun = s.Target(), map[string]bool{}
	}
	for _, write := range c.writes[before:] {
		if c.begun[write] {
			c.fatal("%s is written twice", write)
		}
		c.begun[write] = true
	}
}

// settled reports whether the rollout has come to an end that lasts. Failed is one where nothing may be
// taken back, or where no cluster serves customers, and none did before. A cluster where the earlier revision is bad needs a user, as does one that fails after the
// completion and keeps those that come late from beginning.
func (c *chaos) settled() bool {
	s := c.last
	switch s.State {
	case v1.RolloutComplete, v1.RolloutRolledBack:
		return true
	case v1.RolloutFailed:
		worse := slices.ContainsFunc(s.Updating, func(u v1.ClusterUpdate) bool { return u.Before != nil && u.Before.Serving && !c.find(u.Name).refused })
		return !worse || c.request.Spec.OnFailure == v1.FailurePause || s.PreviousRevision == 0 || s.CompletionTime != nil || s.PreviousRevision == s.Revision
	default:
		return (s.State == v1.RolloutRollingBack || s.CompletionTime != nil) && c.isBad(s.Target())
	}
}

// isBad reports whether a cluster has a revision and does not stay ready with it.
func (c *chaos) isBad(revision int64) bool {
	return slices.ContainsFunc(c.clusters, func(each *toy) bool {
		return each.has == revision && !slices.Contains([]string{"good", "slow"}, c.conduct(each.name, each.has))
	})
}

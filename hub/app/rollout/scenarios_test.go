package rollout

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// scenario is a simulation that a golden file describes.
type scenario struct {
	name, about string
	clusters    []string
	spec        v1.Rollout
	// conduct is that of the copies by cluster, and revision; others are good.
	conduct map[string]map[int64]string
	// events happen at their times.
	events map[time.Duration]func(*fleet)
	until  time.Duration
	// state is the last state.
	state v1.RolloutState
}

// threeRegions returns the clusters of most scenarios.
func threeRegions() []string { return []string{"ap-1", "eu-1", "eu-2", "us-1", "us-2"} }

// edit returns an event.
func edit(revision int64) func(*fleet) { return func(f *fleet) { f.edit(revision) } }

func lose(name string) func(*fleet) { return func(f *fleet) { f.find(name).lose(f.now) } }

func find(name string) func(*fleet) { return func(f *fleet) { f.find(name).find(f.now) } }

func approve(region string) func(*fleet) {
	return func(f *fleet) {
		f.request.Approved = region
		f.say("user: approves %s", region)
	}
}

func pause(paused bool) func(*fleet) {
	return func(f *fleet) {
		f.request.Paused = paused
		f.say("user: pauses the rollout: %t", paused)
	}
}

func rollbackTo(revision int64) func(*fleet) {
	return func(f *fleet) {
		f.request.RollbackTo = revision
		f.say("user: asks for revision %d", revision)
	}
}

// join adds a cluster without a copy.
func join(name string) func(*fleet) {
	return func(f *fleet) { f.clusters = append(f.clusters, &toy{name: name}) }
}

// withoutRollout takes what is stored, and the numbers of all copies, as of an application that had no rollout.
func withoutRollout(f *fleet) {
	f.stored, f.revisions = nil, map[string]int64{}
	for _, c := range f.clusters {
		c.has = 0
	}
	f.say("user: adds spec.rollout")
}

// repair makes the copies of a cluster good.
func repair(name string) func(*fleet) {
	return func(f *fleet) {
		f.say("user: repairs %s", name)
		before := f.conduct
		f.conduct = func(cluster string, revision int64) string {
			if cluster == name {
				return "good"
			}
			return before(cluster, revision)
		}
	}
}

// raise lets the databases of clusters follow every server.
func raise(names ...string) func(*fleet) {
	return func(f *fleet) {
		f.say("user: raises the servers of the databases of %s", strings.Join(names, " and "))
		before := f.conduct
		f.conduct = func(cluster string, revision int64) string {
			if is := before(cluster, revision); is != "refused" || !slices.Contains(names, cluster) {
				return is
			}
			return "good"
		}
	}
}

// away lets the hub be away for a time.
func away(d time.Duration) func(*fleet) { return func(f *fleet) { f.away(int(d / tick)) } }

// down makes a cluster serve no customers whatever revision it has, unless its conduct is another one.
func down(names ...string) func(*fleet) {
	return func(f *fleet) {
		before := f.conduct
		f.conduct = func(cluster string, revision int64) string {
			if is := before(cluster, revision); is != "" || !slices.Contains(names, cluster) {
				return is
			}
			return "dead"
		}
		for _, name := range names {
			f.find(name).served = false
		}
	}
}

// breakMonitoring makes a component of a cluster not ready, whatever revision it has.
func breakMonitoring(name string) func(*fleet) { return func(f *fleet) { f.find(name).broken = true } }

// inOrder returns an event of several.
func inOrder(events ...func(*fleet)) func(*fleet) {
	return func(f *fleet) {
		for _, event := range events {
			event(f)
		}
	}
}

// crash makes the hub crash in a step.
func crash(f *fleet) { f.crash = true }

func seconds(n int) *metav1.Duration {
	return &metav1.Duration{Duration: time.Duration(n) * time.Second}
}

// run runs a scenario to its end.
func (s scenario) run(t *testing.T, prepare func(*fleet)) *fleet {
	t.Helper()
	f := newFleet(t, s.clusters...)
	order := f.request.Spec.Order
	f.request.Spec = s.spec
	f.request.Spec.Order = order
	f.conduct = func(cluster string, revision int64) string { return s.conduct[cluster][revision] }
	f.log.WriteString("# " + s.about + "\n")
	if prepare != nil {
		prepare(f)
	}
	for f.now <= s.until {
		if event := s.events[f.now]; event != nil {
			event(f)
		}
		f.step()
	}
	if got := f.last.State; got != s.state {
		t.Errorf("ends with state %s, want %s; log:\n%s", got, s.state, f.log.String())
	}
	return f
}

// TestScenarios compares the logs of simulations with ones that people have read.
func TestScenarios(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(successes(), wishes(), failures(), recoveries(), breakdowns(), judgements(), absences(), comparisons()) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			apitest.Golden(t, s.name+".golden", s.run(t, nil).log.String())
		})
	}
}

// TestCrashes checks that a hub that crashes in every second step writes the same copies, each as often, and in the
// same order.
func TestCrashes(t *testing.T) {
	t.Parallel()
	for _, s := range slices.Concat(successes(), wishes(), failures(), recoveries(), breakdowns(), judgements(), absences(), comparisons()) {
		switch s.name {
		case "regions", "concurrent", "all", "bad-image", "second-region", "deadline":
		default:
			continue // What happens depends on the time of other events.
		}
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			want := s.run(t, nil).writes
			s.until *= 2
			got := s.run(t, func(f *fleet) { f.crashes = true }).writes
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("writes (-without +with crashes): %s", diff)
			}
		})
	}
}

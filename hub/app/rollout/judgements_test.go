package rollout

import (
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// judgements returns the scenarios about what a rollout holds against a revision, and what not.
func judgements() []scenario {
	four := func() []string { return []string{"eu-1", "eu-2", "us-1", "us-2"} }
	return []scenario{
		{
			name: "down", clusters: four(), until: 26 * time.Minute, state: v1.RolloutComplete,
			about:  "eu-1 does not serve customers before the edit, and not after it. It is not the first, takes no place, gets what is proven, and is left behind.",
			events: map[time.Duration]func(*fleet){tick: inOrder(down("eu-1"), edit(2))},
		}, {
			name: "down-two-at-a-time", clusters: four(), until: 20 * time.Minute, state: v1.RolloutComplete,
			about:  "The same with two clusters at a time.",
			spec:   v1.Rollout{MaxConcurrentClusters: 2},
			events: map[time.Duration]func(*fleet){tick: inOrder(down("eu-1"), edit(2))},
		}, {
			name: "down-and-bad", clusters: four(), until: 16 * time.Minute, state: v1.RolloutRolledBack,
			about:   "eu-1 does not serve customers. That eu-2 fails takes the revision back all the same.",
			conduct: map[string]map[int64]string{"eu-2": {2: "bad"}},
			events:  map[time.Duration]func(*fleet){tick: inOrder(down("eu-1"), edit(2))},
		}, {
			name: "repairing", clusters: four(), until: 16 * time.Minute, state: v1.RolloutComplete,
			about:   "Only revision 2 repairs us-2. It gets it as soon as eu-1 has proven it, before its turn.",
			conduct: map[string]map[int64]string{"us-2": {2: "good"}},
			events:  map[time.Duration]func(*fleet){tick: inOrder(down("us-2"), edit(2))},
		}, {
			name: "all-down", clusters: four(), until: 16 * time.Minute, state: v1.RolloutComplete,
			about:   "No cluster serves customers. One gets the revision at once, and the others when it serves.",
			conduct: everywhere("good"),
			events:  map[time.Duration]func(*fleet){tick: inOrder(func(f *fleet) { breakRevision(f, 1) }, edit(2))},
		}, {
			name: "all-stay-down", clusters: []string{"eu-1", "us-1"}, until: 24 * time.Minute, state: v1.RolloutFailed,
			about:  "No cluster serves customers, and the revision does not change that: one after the other tries it.",
			events: map[time.Duration]func(*fleet){tick: inOrder(down("eu-1", "us-1"), edit(2))},
		},
	}
}

// absences returns the scenarios about time that does not count, and about clusters that are new.
func absences() []scenario {
	return []scenario{
		{
			name: "hub-away", clusters: []string{"eu-1", "us-1"}, until: 30 * time.Minute, state: v1.RolloutComplete,
			about:   "The hub is away for longer than the deadline while eu-1 waits for a node. That time does not count.",
			conduct: map[string]map[int64]string{"eu-1": {2: "patient"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2), 2 * time.Minute: away(15 * time.Minute)},
		}, {
			name: "away-while-soaking", clusters: []string{"eu-1", "us-1"}, until: 20 * time.Minute, state: v1.RolloutComplete,
			about:  "The time that the hub is away is no soak time.",
			spec:   v1.Rollout{Soak: seconds(120)},
			events: map[time.Duration]func(*fleet){tick: edit(2), 2 * time.Minute: away(5 * time.Minute)},
		}, {
			name: "long-soak", clusters: []string{"eu-1", "us-1"}, until: 380 * time.Minute, state: v1.RolloutComplete,
			about: "No hub observes eu-1 for as long as it soaks. What each has observed adds up, but for less than a quarter.",
			spec:  v1.Rollout{Soak: seconds(7200)},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 50 * time.Minute: away(tick), 100 * time.Minute: away(tick), 150 * time.Minute: away(tick),
				200 * time.Minute: away(tick), 250 * time.Minute: away(tick), 300 * time.Minute: away(tick),
			},
		}, {
			name: "failed-and-away", clusters: []string{"eu-1", "us-1"}, until: 30 * time.Minute, state: v1.RolloutFailed,
			about:   "eu-1 is not ready within the deadline, and the others wait. The next hub knows that it failed.",
			spec:    v1.Rollout{OnFailure: v1.FailurePause},
			conduct: map[string]map[int64]string{"eu-1": {2: "dead"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2), 20 * time.Minute: away(5 * time.Minute)},
		}, {
			name: "lost-deadline", clusters: []string{"eu-1", "us-1"}, until: 40 * time.Minute, state: v1.RolloutRolledBack,
			about:   "eu-1 is lost again and again. The time in which it is observed adds up to the deadline.",
			spec:    v1.Rollout{Soak: seconds(900)},
			conduct: map[string]map[int64]string{"eu-1": {2: "stuck"}},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 4 * time.Minute: lose("eu-1"), 9 * time.Minute: find("eu-1"), 12 * time.Minute: lose("eu-1"), 15 * time.Minute: find("eu-1"),
			},
		}, {
			name: "lost-and-connecting", clusters: []string{"eu-1", "us-1"}, until: 40 * time.Minute, state: v1.RolloutRolledBack,
			about:   "The same, where a hub that loses eu-1 takes it for one that connects at first. No time is lost by that.",
			spec:    v1.Rollout{Soak: seconds(900)},
			conduct: map[string]map[int64]string{"eu-1": {2: "dead"}},
			events: map[time.Duration]func(*fleet){
				0: func(f *fleet) { f.connecting = true }, tick: edit(2),
				4 * time.Minute: lose("eu-1"), 9 * time.Minute: find("eu-1"), 12 * time.Minute: lose("eu-1"), 15 * time.Minute: find("eu-1"),
			},
		}, {
			name: "join-before-proof", clusters: []string{"eu-1", "us-1"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about: "ap-1 and eu-0 join in the step of the edit. They run what was healthy until the revision is proven.",
			events: map[time.Duration]func(*fleet){
				tick: inOrder(join("ap-1"), join("eu-0"), edit(2)),
			},
		}, {
			name: "join-after-proof", clusters: []string{"eu-1", "us-1"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about:  "us-0 joins after the proof, and gets the revision at once, outside of the limits.",
			events: map[time.Duration]func(*fleet){tick: edit(2), 4 * time.Minute: join("us-0")},
		},
	}
}

// comparisons returns the scenarios about components that were not ready before, or become so for a good reason.
func comparisons() []scenario {
	return []scenario{
		{
			name: "replicas-raised", clusters: []string{"eu-1", "us-1"}, until: 8 * time.Minute, state: v1.RolloutComplete,
			about:   "The revision adds a replica to a large database, which copies for an hour. The database serves, and nothing waits for the copy.",
			conduct: everywhere("seeding"),
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "rebuilding", clusters: []string{"eu-1", "us-1"}, until: 20 * time.Minute, state: v1.RolloutComplete,
			about:   "In eu-1 a replica of the database is lost again and again, and copies the data each time. That is no setback.",
			conduct: map[string]map[int64]string{"eu-1": {2: "rebuilding"}},
			spec:    v1.Rollout{Soak: seconds(180)},
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "unready-before", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about:  "The monitoring of eu-1 is not ready before the edit, and not after it. It is not the first, and not held against the revision.",
			events: map[time.Duration]func(*fleet){tick: inOrder(breakMonitoring("eu-1"), edit(2))},
		}, {
			name: "worse", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 14 * time.Minute, state: v1.RolloutRolledBack,
			about:   "The monitoring of eu-1 was not ready before. That its frontend is not ready either is worse, and takes the revision back.",
			conduct: map[string]map[int64]string{"eu-1": {2: "bad"}},
			events:  map[time.Duration]func(*fleet){tick: inOrder(breakMonitoring("eu-1"), edit(2))},
		},
	}
}

// breakRevision makes all clusters with a revision serve no customers.
func breakRevision(f *fleet, revision int64) {
	before := f.conduct
	f.conduct = func(cluster string, has int64) string {
		if has == revision {
			return "dead"
		}
		return before(cluster, has)
	}
	for _, c := range f.clusters {
		c.served = false
	}
}

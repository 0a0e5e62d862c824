package rollout

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// successes returns the scenarios in which the revision of the spec stays.
func successes() []scenario {
	return []scenario{
		{
			name: "regions", clusters: threeRegions(), until: 16 * time.Minute, state: v1.RolloutComplete,
			about:  "One cluster of the first region comes first. The next begins when it was ready for a minute.",
			events: map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "concurrent", clusters: []string{"eu-1", "eu-2", "eu-3", "eu-4", "us-1", "us-2", "us-3"}, until: 10 * time.Minute, state: v1.RolloutComplete,
			about:  "Three clusters at a time, of one region at a time. The first cluster comes alone.",
			spec:   v1.Rollout{MaxConcurrentClusters: 3},
			events: map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "all", clusters: threeRegions(), until: 4 * time.Minute, state: v1.RolloutComplete,
			about:  "With strategy All the clusters of all regions begin at once.",
			spec:   v1.Rollout{Strategy: v1.RolloutAll},
			events: map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "lost", clusters: threeRegions(), until: 20 * time.Minute, state: v1.RolloutComplete,
			about: "eu-2 is lost. It does not delay the others, and catches up when it is back after the completion.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 2 * time.Minute: lose("eu-2"), 16 * time.Minute: find("eu-2"),
			},
		}, {
			name: "lost-in-progress", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about: "eu-1 is lost while it is being updated. Its time goes on when it is back, and the region waits for it.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 90 * time.Second: lose("eu-1"), 4 * time.Minute: find("eu-1"),
			},
		},
	}
}

// wishes returns those in which users intervene, or the hub crashes.
func wishes() []scenario {
	return []scenario{
		{
			name: "superseded", clusters: threeRegions(), until: 20 * time.Minute, state: v1.RolloutComplete,
			about: "A second edit supersedes the first one. Clusters that the first has not reached never get it.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 5 * time.Minute: edit(3),
			},
		}, {
			name: "approval", clusters: threeRegions(), until: 30 * time.Minute, state: v1.RolloutComplete,
			about: "The rollout waits before each region but the first for the approval of a user.",
			spec:  v1.Rollout{Approval: v1.ApprovalBetweenRegions},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 10 * time.Minute: approve("us"), 20 * time.Minute: approve("ap"),
			},
		}, {
			name: "window", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 70 * time.Minute, state: v1.RolloutComplete,
			about: "Clusters begin in the first five minutes of each half hour in Dublin. The first step is at 9:00 there. What has begun goes on.",
			spec: v1.Rollout{Windows: []v1.RolloutWindow{{
				Schedule: "*/30 9-17 * * *", Duration: metav1.Duration{Duration: 5 * time.Minute}, TimeZone: "Europe/Dublin",
			}}},
			events: map[time.Duration]func(*fleet){2 * time.Minute: edit(2)},
		}, {
			name: "paused", clusters: []string{"eu-1", "eu-2"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about: "A user pauses the rollout while eu-1 is being updated. That goes on, and eu-2 begins when the pause is over.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 90 * time.Second: pause(true), 8 * time.Minute: pause(false),
			},
		}, {
			name: "crash", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 8 * time.Minute, state: v1.RolloutComplete,
			about: "The hub crashes twice after it stored the status, and before it writes copies. It resumes with the same clusters and times.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 150 * time.Second: crash, 5 * time.Minute: crash,
			},
		}, {
			name: "added", clusters: []string{"eu-1", "us-1"}, until: 4 * time.Minute, state: v1.RolloutComplete,
			about:  "A user adds spec.rollout, without a soak time, to an application that runs. It is complete when the copies have the revision.",
			spec:   v1.Rollout{Soak: seconds(0)},
			events: map[time.Duration]func(*fleet){0: withoutRollout},
		}, {
			name: "joined", clusters: []string{"eu-1", "us-1"}, until: 12 * time.Minute, state: v1.RolloutComplete,
			about: "A cluster that is new during a rollout begins with what was healthy. One that is new after it gets the revision at once.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), time.Minute: join("eu-2"), 10 * time.Minute: join("us-2"),
			},
		},
	}
}

// everywhere returns a conduct of revision 2 in all clusters.
func everywhere(name string) map[string]map[int64]string {
	all := map[string]map[int64]string{}
	for _, cluster := range threeRegions() {
		all[cluster] = map[int64]string{2: name}
	}
	return all
}

// refusing returns the conduct of a cluster that refuses two revisions.
func refusing() map[int64]string { return map[int64]string{2: "refused", 3: "refused"} }

// failures returns the scenarios in which clusters fail.
func failures() []scenario {
	return []scenario{
		{
			name: "bad-image", clusters: threeRegions(), until: 8 * time.Minute, state: v1.RolloutRolledBack,
			about:   "A bad image reaches one cluster, and is taken back there.",
			conduct: everywhere("bad"),
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "second-region", clusters: threeRegions(), until: 15 * time.Minute, state: v1.RolloutRolledBack,
			about:   "A failure in the second region takes the revision back in both, at once.",
			conduct: map[string]map[int64]string{"us-1": {2: "down"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "deadline", clusters: threeRegions(), until: 15 * time.Minute, state: v1.RolloutRolledBack,
			about:   "A cluster that is not ready in time fails, although it does not say why.",
			spec:    v1.Rollout{ProgressDeadline: seconds(300)},
			conduct: everywhere("stuck"),
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "refused", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 18 * time.Minute, state: v1.RolloutComplete,
			about:   "The data of eu-1 is of a server before the one that revision 2 raises: its copy stays. eu-2 proves the revision, and eu-1 gets revision 3, which has an override for it.",
			conduct: map[string]map[int64]string{"eu-1": {2: "refused"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2), 8 * time.Minute: edit(3)},
		}, {
			name: "refusals-pass", clusters: []string{"eu-1", "eu-2", "us-1", "us-2"}, until: 20 * time.Minute, state: v1.RolloutComplete,
			about:   "Three clusters refuse revision 2, and then revision 3: they keep revision 1, also when they could follow while the rollout is paused. Then each has its turn.",
			conduct: map[string]map[int64]string{"eu-2": refusing(), "us-1": refusing(), "us-2": refusing()},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 4 * time.Minute: edit(3), 8 * time.Minute: inOrder(pause(true), raise("eu-2", "us-1", "us-2")), 10 * time.Minute: pause(false),
			},
		}, {
			name: "setbacks", clusters: threeRegions(), until: 10 * time.Minute, state: v1.RolloutRolledBack,
			about:   "Containers restart again and again: the third setback is a failure.",
			conduct: everywhere("flapping"),
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		},
	}
}

// recoveries returns those in which more follows on a failure.
func recoveries() []scenario {
	return []scenario{
		{
			name: "pause-policy", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 20 * time.Minute, state: v1.RolloutComplete,
			about:   "With onFailure Pause the others wait until the failed cluster is ready. Here a user repairs eu-2.",
			spec:    v1.Rollout{OnFailure: v1.FailurePause},
			conduct: map[string]map[int64]string{"eu-2": {2: "bad"}},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 8 * time.Minute: repair("eu-2"),
			},
		}, {
			name: "fixed-forward", clusters: []string{"eu-1", "eu-2", "us-1", "us-2"}, until: 25 * time.Minute, state: v1.RolloutComplete,
			about:   "With onFailure Pause us-1 no longer serves customers. The next edit repairs it as soon as that is proven, and the others wait for it: it served them before revision 2.",
			spec:    v1.Rollout{OnFailure: v1.FailurePause},
			conduct: map[string]map[int64]string{"us-1": {2: "down"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2), 12 * time.Minute: edit(3)},
		}, {
			name: "retried", clusters: []string{"eu-1", "eu-2"}, until: 16 * time.Minute, state: v1.RolloutComplete,
			about:   "A user asks for the revision again that was taken back.",
			conduct: map[string]map[int64]string{"eu-1": {2: "bad"}},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 8 * time.Minute: func(f *fleet) { repair("eu-1")(f); rollbackTo(2)(f) },
			},
		}, {
			name: "rollback-to", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 22 * time.Minute, state: v1.RolloutComplete,
			about: "A user returns to revision 1 after the completion of revision 2. An edit back to it is complete when all are ready.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 12 * time.Minute: rollbackTo(1), 18 * time.Minute: edit(1),
			},
		}, {
			name: "again", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 28 * time.Minute, state: v1.RolloutRolledBack,
			about: "Revision 2 is complete, and a user returns to revision 1, and then to revision 2 again. It is bad now, and taken back.",
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 12 * time.Minute: rollbackTo(1), 18 * time.Minute: func(f *fleet) {
					f.conduct = func(_ string, revision int64) string { return map[int64]string{2: "bad"}[revision] }
					rollbackTo(2)(f)
				},
			},
		},
	}
}

// breakdowns returns those in which clusters fail that were ready, or that others do not wait for.
func breakdowns() []scenario {
	return []scenario{
		{
			name: "late", clusters: []string{"eu-1", "eu-2", "us-1"}, until: 12 * time.Minute, state: v1.RolloutRolledBack,
			about:   "eu-1 fails when it was ready for long and others have followed. Nothing else begins meanwhile.",
			spec:    v1.Rollout{ProgressDeadline: seconds(180)},
			conduct: map[string]map[int64]string{"eu-1": {2: "late"}},
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "leaking", clusters: threeRegions(), until: 16 * time.Minute, state: v1.RolloutRolledBack,
			about:   "The containers run out of memory again and again, each time after they were ready for longer than they soak.",
			conduct: everywhere("leaking"),
			events:  map[time.Duration]func(*fleet){tick: edit(2)},
		}, {
			name: "rollback-down", clusters: []string{"eu-1", "us-1"}, until: 10 * time.Minute, state: v1.RolloutRolledBack,
			about:   "us-1 goes down with the earlier revision. The rollback of eu-1 does not wait for it.",
			conduct: map[string]map[int64]string{"eu-1": {2: "bad"}},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 90 * time.Second: func(f *fleet) {
					before := f.conduct
					f.conduct = func(cluster string, revision int64) string {
						if cluster == "us-1" {
							return "down"
						}
						return before(cluster, revision)
					}
				},
			},
		}, {
			name: "rollback-lost", clusters: []string{"eu-1", "eu-2"}, until: 16 * time.Minute, state: v1.RolloutRolledBack,
			about:   "eu-1 is lost before it is rolled back. It has the earlier revision as soon as it is back.",
			conduct: map[string]map[int64]string{"eu-2": {2: "bad"}},
			events: map[time.Duration]func(*fleet){
				tick: edit(2), 3 * time.Minute: lose("eu-1"), 12 * time.Minute: find("eu-1"),
			},
		},
	}
}

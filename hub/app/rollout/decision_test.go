package rollout

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// decisionCase is one decision about revision 2, where revision 1 was healthy.
type decisionCase struct {
	name string
	// last is the state that is stored; nil for an application without one.
	last *v1.RolloutStatus
	// clusters are described as by clustersOf.
	clusters string
	// with changes the request.
	with func(*Request)
	// want is described by describe.
	want string
}

func runDecisions(t *testing.T, cases []decisionCase) {
	t.Helper()
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := Request{Revision: 2, Hash: "two", Last: c.last, Clusters: clustersOf(t, c.clusters), Now: start()}
			r.Spec.Order = []string{"eu", "us"}
			if c.with != nil {
				c.with(&r)
			}
			d, err := Next(r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, describe(d)); diff != "" {
				t.Errorf("(-want +got): %s", diff)
			}
			observed := slices.DeleteFunc(slices.Clone(d.Status.LeftBehind), func(name string) bool {
				return slices.ContainsFunc(r.Clusters, func(c Cluster) bool { return c.Name == name && c.SetAside })
			})
			if diff := cmp.Diff(leftIn(d.Status.Message), observed, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("left behind (-in the message +in the status): %s", diff)
			}
		})
	}
}

// leftIn returns the clusters that a message names as left behind, by name; nil if there are none.
func leftIn(message string) []string {
	_, list, found := strings.Cut(message, "left behind: ")
	if !found {
		return nil
	}
	names := strings.Split(list, ", ")
	slices.Sort(names)
	return names
}

// clustersOf returns clusters such as "eu-1=2 eu-2=1,down", with their revisions. They are ready, or of
// what follows: updating (not ready, and serving customers), down (neither), failed (it needs a user),
// aside, empty (ready, without replicas), copied (ready, with a copy of no revision),
// refused (ready, and its copy stays as it was), refuses (ready, and its database cannot follow the revision of the
// spec), backup (it waits for one before the upgrade of its database), and replacing (ready, and pods of an earlier version are being
// replaced).
func clustersOf(t *testing.T, text string) []Cluster {
	t.Helper()
	var clusters []Cluster
	for field := range strings.FieldsSeq(text) {
		field, state, _ := strings.Cut(field, ",")
		name, number, _ := strings.Cut(field, "=")
		revision, err := strconv.ParseInt(number, 10, 64)
		if err != nil {
			t.Fatal(err)
		}
		region, _, _ := strings.Cut(name, "-")
		clusters = append(clusters, clusterIn(state, Cluster{Name: name, Region: region, Revision: revision}))
	}
	return clusters
}

// clusterIn returns a cluster in a state of clustersOf.
func clusterIn(state string, c Cluster) Cluster {
	c.Settled, c.Serving, c.Until = c.Revision != 0, c.Revision != 0, start()
	c.Has = c.Settled
	switch state {
	case "updating":
		c.Unready = []Component{{Name: "frontend", Reason: v1.ReasonProgressing, Changing: true}}
	case "down":
		c.Serving, c.Unready = false, []Component{{Name: "frontend", Reason: v1.ReasonWaitingForReplicas}}
	case "failed":
		c.Unready = []Component{{Name: "frontend", Reason: v1.ReasonDeadlineExceeded}}
		c.Stalled, c.Failure = v1.ReasonDeadlineExceeded, v1.ReasonDeadlineExceeded
	case "aside":
		c.SetAside, c.Settled, c.Serving, c.Until = true, false, false, time.Time{}
	case "copied":
		c.Has, c.Settled, c.Serving = true, true, true
	case "refused":
		c.Has, c.Settled = false, false
		c.Stalled, c.Failure = v1.ReasonUpgradeRefused, "UpgradeRefused: "+tooEarly
	case "refuses":
		c.Refused = tooEarly
	case "empty":
		c.NoReplicas = true
	case "backup":
		c.Waiting = true
	case "replacing":
		c.Replacing = true
	}
	return c
}

// describe returns a decision as text: the state, the region, how many clusters are updated, and the
// message; the revisions, each with its update in progress; and when it is due again.
func describe(d Decision) string {
	var text strings.Builder
	s := d.Status
	fmt.Fprintf(&text, "%s %s %d/%d %s |", s.State, s.Region, s.Updated, s.Total, s.Message)
	for _, name := range slices.Sorted(maps.Keys(d.Revisions)) {
		fmt.Fprintf(&text, " %s=%d", name, d.Revisions[name])
		for _, u := range s.Updating {
			if u.Name == name {
				text.WriteString(describeUpdate(u))
			}
		}
	}
	for _, u := range s.Superseded {
		fmt.Fprintf(&text, " | superseded %s%s", u.Name, describeUpdate(v1.ClusterUpdate{Name: u.Name, Before: &u.Before}))
	}
	if len(d.Refused) > 0 {
		text.WriteString(" | refused " + strings.Join(slices.Sorted(maps.Keys(d.Refused)), " "))
	}
	if s.CompletionTime != nil {
		fmt.Fprintf(&text, " | completed %s", since(s.CompletionTime))
	}
	if !d.Until.IsZero() {
		fmt.Fprintf(&text, " | until %s", d.Until.Sub(start()))
	}
	return strings.Join(strings.Fields(text.String()), " ")
}

// describeUpdate returns the times of an update, and what was bad before, in parentheses.
func describeUpdate(u v1.ClusterUpdate) string {
	text := "(" + since(u.StartTime)
	if u.ReadyTime != nil {
		text = "(ready " + since(u.ReadyTime)
	}
	if u.ProgressingSeconds > 0 {
		text += fmt.Sprintf(" after %ds", u.ProgressingSeconds)
	}
	if u.ReadySeconds > 0 {
		text += fmt.Sprintf(" after %ds of health", u.ReadySeconds)
	}
	if u.Setbacks > 0 {
		text += fmt.Sprintf(", %d setbacks", u.Setbacks)
	}
	switch b := u.Before; {
	case b == nil:
		text += ", before not observed"
	case b.Unknown:
		text += ", before unknown"
	case !b.Serving:
		text += ", down before"
	case isNotable(b):
		text += fmt.Sprintf(", before %s%v", b.Stalled, b.Unready)
	}
	return text + ")"
}

func since(at *metav1.Time) string {
	if at == nil {
		return "never"
	}
	return at.Sub(start()).String()
}

// rolling returns the state of a rollout of revision 2 in progress.
func rolling(updates ...v1.ClusterUpdate) *v1.RolloutStatus {
	return &v1.RolloutStatus{Revision: 2, SpecHash: "two", PreviousRevision: 1, State: v1.RolloutProgressing, Updating: updates}
}

// inState returns the state of a rollout of revision 2 that is not in progress.
func inState(state v1.RolloutState) *v1.RolloutStatus {
	s := rolling()
	s.State = state
	return s
}

// complete returns the state of a rollout that was complete an hour ago.
func complete(revision int64) *v1.RolloutStatus {
	s := &v1.RolloutStatus{Revision: revision, SpecHash: "hash", PreviousRevision: revision - 1, State: v1.RolloutComplete}
	s.CompletionTime = minutes(-60)
	return s
}

func minutes(n int) *metav1.Time {
	return new(metav1.NewTime(start().Add(time.Duration(n) * time.Minute)))
}

// began returns an update that began some minutes ago.
func began(name string, ago int) v1.ClusterUpdate {
	return v1.ClusterUpdate{Name: name, StartTime: minutes(-ago), Before: &v1.ClusterBefore{Serving: true}}
}

// ready returns an update of a cluster that is ready since some seconds.
func ready(name string, ago int) v1.ClusterUpdate {
	u := began(name, 0)
	u.StartTime, u.ReadyTime = nil, new(metav1.NewTime(start().Add(-time.Duration(ago)*time.Second)))
	return u
}

// BenchmarkNext decides about a rollout over as many clusters as a shop may run in, of which half are
// updated.
func BenchmarkNext(b *testing.B) {
	const clusters = 500
	r := Request{Revision: 2, Hash: "two", Last: rolling(), Now: start()}
	for i := range clusters {
		c := Cluster{Name: fmt.Sprintf("member-%03d", i), Region: fmt.Sprintf("region-%02d", i/25), Revision: 1, Settled: true, Serving: true}
		if i < clusters/2 {
			c.Revision = 2
		}
		r.Clusters = append(r.Clusters, c)
	}
	b.ReportAllocs()
	for b.Loop() {
		if d, err := Next(r); err != nil || len(d.Revisions) != clusters || len(d.Status.Updating) != 1 {
			b.Fatal(err, describe(d))
		}
	}
}

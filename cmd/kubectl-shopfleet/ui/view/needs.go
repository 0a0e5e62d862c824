package view

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// Severity orders needs: a lower one comes first.
type Severity int

// Severities of a need.
const (
	// Outage means that customers are not served, or that data is lost.
	Outage Severity = iota
	// Lost means that a region or a cluster does not answer.
	Lost
	// Unseen means that it is not known, for that, whether customers are served.
	Unseen
	// Blocked means that nothing goes on without a user.
	Blocked
	// Risk means that something would be lost if something else failed.
	Risk
	// Minor means that something is wrong that does no harm yet.
	Minor
)

// Word returns the severity in a word.
func (s Severity) Word() string {
	return [...]string{"outage", "lost", "unseen", "blocked", "risk", "minor"}[s]
}

// Needs is the answer to: what needs me now, and what do I type?
type Needs struct {
	Notices []Notice
	// Urgent holds the problems that a user has to do something about, worst first, and Waiting those that only take time.
	Urgent, Waiting []Need
	// Apps and Members are how many there are, Serving and Connected how many of them are well, as far as is known.
	Apps, Serving, Members, Connected int
	// AppsKnown and MembersKnown are set if these numbers are known.
	AppsKnown, MembersKnown bool
}

// Need shows one problem of one or several objects.
type Need struct {
	Severity Severity
	// Title says what the problem is, Kind what has it, and Reason is a word for the cause; empty if there is none.
	Title, Kind, Reason string
	// Explained is set if kubectl shopfleet explain knows the reason.
	Explained bool
	Message   string
	// Age is the time since it began, of the object that has it for longest.
	Age     string
	Objects []NeedObject
	// More counts the objects that are not listed.
	More  int
	since time.Time
}

// NeedObject shows one object with a problem, and what to do about it.
type NeedObject struct {
	Name, Age, Message string
	// Remedy is a command if IsCommand is set, else a sentence.
	Remedy    string
	IsCommand bool
	since     time.Time
}

// maxObjects bounds the objects that are listed for one need.
const maxObjects = 50

// First returns the object whose remedy stands for all.
func (n Need) First() NeedObject { return n.Objects[0] }

// Count returns how many objects have the problem.
func (n Need) Count() int { return len(n.Objects) + n.More }

// finder collects needs.
type finder struct {
	s   *hubstate.Snapshot
	now time.Time
	// found has the needs by what they have in common.
	found map[needKey]*Need
	order []needKey
}

func newFinder(s *hubstate.Snapshot, now time.Time) *finder {
	return &finder{s: s, now: now, found: map[needKey]*Need{}}
}

// needs returns what was found.
func (f *finder) needs() []Need {
	all := make([]Need, 0, len(f.order))
	for _, key := range f.order {
		all = append(all, f.found[key].closed(f.now))
	}
	return all
}

// needKey identifies the problems that are one need.
type needKey struct{ kind, check, reason string }

// problem is a need of one object.
type problem struct {
	key      needKey
	severity Severity
	title    string
	object   NeedObject
}

// NeedsOf returns what needs the user.
func NeedsOf(s *hubstate.Snapshot, now time.Time) Needs {
	urgent, waiting := newFinder(s, now), newFinder(s, now)
	needs := Needs{
		Notices: NoticesOf(s, now, hubstate.Kinds()...),
		Apps:    len(s.Apps), Members: len(s.Members),
		AppsKnown: s.Knows(hubstate.Apps), MembersKnown: s.Knows(hubstate.Members),
	}
	for i := range s.Apps {
		if meta.IsStatusConditionTrue(s.Apps[i].Status.Conditions, v1.ConditionAvailable) {
			needs.Serving++
		}
	}
	for i := range s.Members {
		if isConnected(&s.Members[i]) {
			needs.Connected++
		}
	}
	urgent.hub()
	urgent.members(waiting)
	urgent.fleet(waiting)
	urgent.rollouts()
	needs.Urgent, needs.Waiting = urgent.needs(), waiting.needs()
	slices.SortStableFunc(needs.Urgent, func(a, b Need) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), a.since.Compare(b.since), cmp.Compare(a.Title, b.Title))
	})
	return needs
}

// closed returns a need with its objects sorted and bounded, the one that has the problem for longest first.
func (n Need) closed(now time.Time) Need {
	slices.SortStableFunc(n.Objects, func(a, b NeedObject) int {
		return cmp.Or(a.since.Compare(b.since), cmp.Compare(a.Name, b.Name))
	})
	n.More = max(0, len(n.Objects)-maxObjects)
	n.Objects = n.Objects[:len(n.Objects)-n.More]
	n.since, n.Message = n.First().since, n.First().Message
	_, n.Explained = runbook.Explain(n.Reason)
	if !n.since.IsZero() {
		n.Age = ageOf(now, n.since)
	}
	return n
}

func (f *finder) add(p problem) {
	if f.found[p.key] == nil {
		f.found[p.key] = &Need{Severity: p.severity, Title: p.title, Kind: p.key.kind, Reason: p.key.reason}
		f.order = append(f.order, p.key)
	}
	p.object.IsCommand = doctor.IsCommand(p.object.Remedy)
	if !p.object.since.IsZero() {
		p.object.Age = ageOf(f.now, p.object.since)
	}
	f.found[p.key].Objects = append(f.found[p.key].Objects, p.object)
}

// check adds the problem that a check of doctor found in an object with conditions.
func (f *finder) check(kind string, c doctor.Check, conditions []metav1.Condition) {
	object := NeedObject{Name: c.Object, Message: c.Message, Remedy: c.Remedy}
	if condition := meta.FindStatusCondition(conditions, c.Check); condition != nil {
		object.since = condition.LastTransitionTime.Time
	}
	title, severity := titleOf(kind, c)
	f.add(problem{key: needKey{kind, c.Check, c.Reason}, severity: severity, title: title, object: object})
}

// fleet adds the problems of applications, backups, restores and accounts, and to waiting those that only take time.
func (f *finder) fleet(waiting *finder) {
	conditions := map[string][]metav1.Condition{}
	for i := range f.s.Apps {
		conditions[hubstate.Apps+nameOf(&f.s.Apps[i])] = f.s.Apps[i].Status.Conditions
	}
	for i := range f.s.Backups {
		conditions[hubstate.Backups+nameOf(&f.s.Backups[i])] = f.s.Backups[i].Status.Conditions
	}
	for i := range f.s.Restores {
		conditions[hubstate.Restores+nameOf(&f.s.Restores[i])] = f.s.Restores[i].Status.Conditions
	}
	for i := range f.s.Accounts {
		conditions[hubstate.Accounts+f.s.Accounts[i].Name] = f.s.Accounts[i].Status.Conditions
	}
	for _, part := range []struct {
		kind  string
		facts doctor.FleetFacts
	}{
		{hubstate.Apps, doctor.FleetFacts{Apps: f.s.Apps}},
		{hubstate.Backups, doctor.FleetFacts{Backups: f.s.Backups}},
		{hubstate.Restores, doctor.FleetFacts{Restores: f.s.Restores}},
		{hubstate.Accounts, doctor.FleetFacts{Accounts: f.s.Accounts}},
	} {
		_, problems := doctor.Fleet(part.facts)
		for _, c := range problems {
			to := waiting
			if c.Failed {
				to = f
			}
			to.check(part.kind, c, conditions[part.kind+c.Object])
		}
	}
}

// hub adds that no hub leads, as doctor says it.
func (f *finder) hub() {
	lease := f.s.Hub.Lease
	if !lease.IsKnown() || lease.IsRenewed(f.now) {
		return
	}
	f.add(problem{
		key: needKey{kind: "Hub", check: doctor.CheckLeader}, severity: Outage, title: "No hub runs",
		object: NeedObject{
			Name: f.s.Hub.Server, Remedy: "kubectl shopfleet doctor", since: lease.Renewed,
			Message: "no hub renews its Lease, so the status of all objects is outdated. What runs in clusters is not affected by that",
		},
	})
}

// members adds regions of which no cluster answers, the problems of other members, and to waiting what the hub deletes
// later.
func (f *finder) members(waiting *finder) {
	lost := f.lostRegions()
	for i := range f.s.Members {
		m := &f.s.Members[i]
		isLost := lost[memberRegion(m)]
		for _, c := range doctor.Member(m, f.s.Hub.Version) {
			if c.Failed && (!isLost || c.Check != v1.ConditionConnected) {
				f.check(hubstate.Members, c, m.Status.Conditions)
			}
		}
		if m.Status.ResidueCount > 0 {
			waiting.add(problem{
				key: needKey{kind: hubstate.Members, check: "Residue"}, severity: Minor, title: "Copies of deleted EcommerceApps are left",
				object: NeedObject{
					Name: m.Name, Remedy: "Wait until the cluster answers.",
					Message: counted(int(m.Status.ResidueCount), "copy is", "copies are") + " deleted by the hub when the cluster returns",
				},
			})
		}
		if m.Status.OrphanCount > 0 {
			f.add(problem{
				key: needKey{kind: hubstate.Members, check: "Orphans"}, severity: Minor, title: "Copies run that no EcommerceApp owns",
				object: NeedObject{
					Name: m.Name, Remedy: "kubectl shopfleet recover list -A",
					Message: counted(int(m.Status.OrphanCount), "copy continues to run, and nothing deletes it", "copies continue to run, and nothing deletes them"),
				},
			})
		}
	}
}

// lostRegions adds each region that has members of which none answers, and returns the names.
func (f *finder) lostRegions() map[string]bool {
	lost, members := map[string]bool{}, map[string][]*v1.MemberCluster{}
	for i := range f.s.Members {
		m := &f.s.Members[i]
		members[memberRegion(m)] = append(members[memberRegion(m)], m)
	}
	for _, region := range regionsOf(f.s) {
		of := members[region]
		gone := func(m *v1.MemberCluster) bool {
			return meta.IsStatusConditionFalse(m.Status.Conditions, v1.ConditionConnected) && !m.IsPaused()
		}
		if len(of) == 0 || slices.ContainsFunc(of, func(m *v1.MemberCluster) bool { return !gone(m) }) {
			continue
		}
		lost[region] = true
		names := make([]string, 0, len(of))
		var since time.Time
		for _, m := range of {
			names = append(names, m.Name)
			if c := meta.FindStatusCondition(m.Status.Conditions, v1.ConditionConnected); c.LastTransitionTime.After(since) {
				since = c.LastTransitionTime.Time
			}
		}
		f.add(problem{
			key:      needKey{kind: "Region " + region, check: v1.ConditionConnected, reason: v1.ReasonProbeFailed},
			severity: Lost, title: "Region " + region + " is lost",
			object: NeedObject{
				Name: region, Remedy: "kubectl shopfleet doctor " + strings.Join(names, " "), since: since,
				Message: "none of its clusters answers (" + listed(names) + "). What runs there is not affected by that, and what is shown of it is outdated",
			},
		})
	}
	return lost
}

// rollouts adds rollouts that wait for an approval, which is as the user wants it and no problem for doctor.
func (f *finder) rollouts() {
	for i := range f.s.Apps {
		app := &f.s.Apps[i]
		_, r := rollout.ToApprove(app)
		if r == nil {
			continue
		}
		object := NeedObject{Name: nameOf(app), Message: r.Message, Remedy: forApp(app, runbook.Remedy(v1.ReasonWaitingForApproval))}
		if c := meta.FindStatusCondition(app.Status.Conditions, v1.ConditionProgressing); c != nil && c.Reason == v1.ReasonWaitingForApproval {
			object.since = c.LastTransitionTime.Time
		}
		f.add(problem{
			key:      needKey{hubstate.Apps, v1.ConditionProgressing, v1.ReasonWaitingForApproval},
			severity: Blocked, title: "A rollout waits for your approval", object: object,
		})
	}
}

// forApp returns a remedy of the runbook with the names of an application.
func forApp(app *v1.EcommerceApp, remedy string) string {
	return strings.NewReplacer("APP", app.Name, "NAMESPACE", app.Namespace).Replace(remedy)
}

// titleOf says what a failed check means for the person who reads it, and how bad that is.
func titleOf(kind string, c doctor.Check) (string, Severity) {
	switch kind {
	case hubstate.Members:
		return memberTitle(c)
	case hubstate.Backups:
		if c.Reason == v1.ReasonPartiallyCompleted {
			return "The newest backup is missing in some places", Risk
		}
		return "The newest backup failed", Risk
	case hubstate.Restores:
		return "A database waits for a Restore that is Stalled", Outage
	case hubstate.Accounts:
		return "A CloudAccount does not work", Risk
	}
	switch {
	case c.Reason == v1.ReasonDatabaseLost:
		return "A database has lost its data", Outage
	case c.Check == v1.ConditionAvailable && c.Status == metav1.ConditionFalse:
		return "Customers are not served", Outage
	case c.Check == v1.ConditionAvailable:
		return "It is not known whether customers are served", Unseen
	case c.Reason == v1.ReasonLoginNotConfigured:
		return "Nobody can log in", Blocked
	case c.Reason == v1.ReasonRolloutFailed, c.Reason == v1.ReasonRolledBack:
		return "A rollout was stopped", Blocked
	case c.Check == v1.ConditionStalled:
		return "A change waits for a user", Blocked
	case c.Check == v1.ConditionBackupReady:
		return "More data is at risk than allowed", Risk
	default:
		return "An EcommerceApp is degraded", Minor
	}
}

func memberTitle(c doctor.Check) (string, Severity) {
	switch {
	case c.Check == v1.ConditionReady && c.Status == metav1.ConditionFalse:
		return "A cluster is not ready", Blocked
	case c.Check == v1.ConditionConnected:
		return "A cluster does not answer", Lost
	case c.Check == v1.ConditionAgentReady:
		return "An agent does not answer", Lost
	case c.Check == v1.ConditionCredentialsValid, c.Check == v1.ConditionCredentialsRenewed:
		return "Credentials expire or do not work", Risk
	default:
		return "A cluster is not as it should be", Minor
	}
}

package doctor

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// The checks of what the hub manages. Each stands for all objects of its kind if none has a problem.
const (
	CheckApplications = "Applications"
	CheckBackups      = "Backups"
	CheckRestores     = "Restores"
	CheckAccounts     = "CloudAccounts"
)

// FleetFacts holds the objects that the hub manages besides members, and the errors of reading them.
type FleetFacts struct {
	Apps       []v1.EcommerceApp
	Backups    []v1.Backup
	Restores   []v1.Restore
	Accounts   []v1.CloudAccount
	Unreadable map[string]error
}

// Fleet returns the checks of applications, of their newest Backups, of Restores and of CloudAccounts: one of the hub for each kind
// without a problem or that cannot be read, and one for each problem.
func Fleet(f FleetFacts) (kinds, problems []Check) {
	for _, kind := range []struct {
		name  string
		check func() []Check
	}{{CheckApplications, f.applications}, {CheckBackups, f.backups}, {CheckRestores, f.restores}, {CheckAccounts, f.accounts}} {
		if err := f.Unreadable[kind.name]; err != nil {
			kinds = append(kinds, unreadable(kind.name, err))
			continue
		}
		found := kind.check()
		if len(found) == 0 {
			kinds = append(kinds, good(kind.name, reasonNoProblem))
		}
		problems = append(problems, found...)
	}
	return kinds, problems
}

func (f *FleetFacts) applications() []Check {
	var all []Check
	for i := range f.Apps {
		app := &f.Apps[i]
		for _, c := range app.Status.Conditions {
			wanted := metav1.ConditionTrue
			switch c.Type {
			case v1.ConditionDegraded, v1.ConditionStalled:
				wanted = metav1.ConditionFalse
			case v1.ConditionAvailable, v1.ConditionBackupReady:
			default:
				continue // It is progress, or the cause is in one of these.
			}
			if c.Status != wanted && c.Reason != v1.ReasonNoBackupYet {
				all = appendProblem(all, app, c)
			}
		}
	}
	return all
}

// backups checks the newest Backup of each application in each cluster.
func (f *FleetFacts) backups() []Check {
	newest := map[[3]string]*v1.Backup{}
	for i := range f.Backups {
		b := &f.Backups[i]
		key := [3]string{b.Namespace, b.Spec.AppRef.Name, b.Spec.ClusterRef.Name}
		if last := newest[key]; last == nil || last.CreationTimestamp.Before(&b.CreationTimestamp) {
			newest[key] = b
		}
	}
	var all []Check
	for i := range f.Backups {
		b := &f.Backups[i]
		failed := b.Status.Phase == v1.BackupFailed || b.Status.Phase == v1.BackupPartiallyCompleted
		ready := meta.FindStatusCondition(b.Status.Conditions, v1.ConditionReady)
		if failed && newest[[3]string{b.Namespace, b.Spec.AppRef.Name, b.Spec.ClusterRef.Name}] == b {
			if ready == nil {
				ready = &metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: reasonBackupFailed, Message: b.Status.Message}
			}
			all = appendProblem(all, b, *ready)
		}
	}
	return all
}

// restores checks that each Restore can go on: a database waits for one that is Stalled. What one says that has failed is for
// those who asked for it.
func (f *FleetFacts) restores() []Check {
	var all []Check
	for i := range f.Restores {
		r := &f.Restores[i]
		c := meta.FindStatusCondition(r.Status.Conditions, v1.ConditionStalled)
		if c == nil || c.Status != metav1.ConditionTrue {
			continue
		}
		all = appendProblem(all, r, *c)
		// Whatever the reason is, a user has to act, and this brings the database back.
		if last := &all[len(all)-1]; !r.PutsBack() && len(r.Status.Replaced()) > 0 {
			last.Remedy = "kubectl shopfleet restore undo " + r.Name + " -n " + r.Namespace
		}
		all[len(all)-1].Failed = true
	}
	return all
}

func (f *FleetFacts) accounts() []Check {
	var all []Check
	for i := range f.Accounts {
		for _, c := range f.Accounts[i].Status.Conditions {
			if c.Status == metav1.ConditionFalse {
				all = appendProblem(all, &f.Accounts[i], c)
			}
		}
	}
	return all
}

// appendProblem appends a check about a condition of an object, unless the object has one for the same reason. It fails
// if the runbook has something for a user to do but wait.
func appendProblem(all []Check, object metav1.Object, c metav1.Condition) []Check {
	name := object.GetName()
	if namespace := object.GetNamespace(); namespace != "" {
		name = namespace + "/" + name
	}
	if slices.ContainsFunc(all, func(known Check) bool { return known.Object == name && known.Reason == c.Reason }) {
		return all
	}
	var values []string
	switch o := object.(type) {
	case *v1.EcommerceApp:
		values = []string{"APP", o.Name, "NAMESPACE", o.Namespace}
	case *v1.Backup:
		values = []string{"BACKUP", o.Name, "NAMESPACE", o.Namespace, "APP", o.Spec.AppRef.Name}
	case *v1.Restore:
		values = []string{"RESTORE", o.Name, "NAMESPACE", o.Namespace, "BACKUP", o.Spec.BackupRef.Name}
	case *v1.CloudAccount:
		values = []string{"ACCOUNT", o.Name}
	}
	remedy := remedyOf(c.Reason, values...)
	check := Check{Object: name, Check: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Remedy: remedy,
		Failed: remedy != "" && !strings.HasPrefix(remedy, "Wait")}
	if !check.Failed {
		check.Remedy = explain(c.Reason)
	}
	return append(all, check)
}

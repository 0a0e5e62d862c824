package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/steps"
)

const (
	// auditPeriod is how often the snapshots of an account are compared with the Backups.
	auditPeriod = time.Hour
	// auditAgain is how soon an audit goes on that did not come to the end.
	auditAgain = 5 * time.Minute
	// listTimeout bounds the list of a region, and getTimeout a look at one snapshot.
	listTimeout = 10 * time.Minute
	getTimeout  = 30 * time.Second
	// maxLooks bounds the snapshots of a region that one pass looks at, within the rate limit of an
	// account. The others have their turn in the next passes: what is missing already comes last.
	maxLooks = 40
	// completedByAccount indexes the successful Backups with data in the cloud by their account.
	completedByAccount = "completed-by-account"
)

// auditor compares successful Backups with what the cloud has, for one account at a time. Only an
// answer that a snapshot does not exist counts: what cannot be read stays as it was.
type auditor struct{ *Reconciler }

// completedIn returns the account of a successful Backup with snapshots, or with a dump in a bucket.
func completedIn(o client.Object) []string {
	b, ok := o.(*v1.Backup)
	if !ok || !b.Status.Phase.IsSuccessful() || !b.DeletionTimestamp.IsZero() || len(b.Status.Snapshots) == 0 && !wasSent(b) {
		return nil
	}
	return []string{b.Status.Account}
}

// Reconcile audits the Backups of an account. An account that is not Ready may be another one than that
// which has the snapshots, and is not asked.
func (a *auditor) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	account := &v1.CloudAccount{}
	if err := a.client.Get(ctx, request.NamespacedName, account, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	ready, readyBucket := isTrue(account, v1.ConditionReady), isTrue(account, v1.ConditionObjectStorageReady)
	if !ready && !readyBucket {
		return a.options.Waits.Later(steps.Refused), nil
	}
	list := &v1.BackupList{}
	if err := a.client.List(ctx, list, client.MatchingFields{completedByAccount: account.Name}, client.UnsafeDisableDeepCopy); err != nil {
		return reconcile.Result{}, fmt.Errorf("listing backups: %w", err)
	}
	has, all := inCloud{}, true
	if ready {
		has.snapshots, all = a.compare(ctx, account, list.Items)
	}
	if readyBucket {
		has.dumps = a.compareDumps(ctx, account.Name, list.Items)
	}
	var failed error
	for i := range list.Items {
		// A Backup that another controller writes at the same time has its turn in the next audit.
		if err := a.audit(ctx, &list.Items[i], has); !apierrors.IsConflict(err) {
			failed = errors.Join(failed, client.IgnoreNotFound(err))
		}
	}
	next := auditPeriod
	if !all {
		next = auditAgain
	}
	return a.conflicts.Retry(a.options.Waits, request, a.options.Waits.Later(next), failed)
}

// inCloud says of snapshots, and of dumps by their prefix, whether they exist. Those that are not known are left out.
type inCloud struct {
	snapshots map[cloud.SnapshotRef]seen
	dumps     map[string]bool
}

// seen says of a snapshot whether it exists, and whose tag it has then; empty if it is not one of its Backup.
type seen struct {
	exists bool
	hub    string
}

// isTrue reports whether a condition of an account is True for its current spec.
func isTrue(account *v1.CloudAccount, kind string) bool {
	c := meta.FindStatusCondition(account.Status.Conditions, kind)
	return c != nil && c.Status == metav1.ConditionTrue && c.ObservedGeneration == account.Generation
}

// audit writes what the cloud does not have any more of a Backup.
func (a *auditor) audit(ctx context.Context, stored *v1.Backup, has inCloud) error {
	w := &work{Reconciler: a.Reconciler, stored: stored, backup: stored.DeepCopy(), now: a.options.Clock.Now()}
	w.concludeAudit(has.snapshots)
	lostDump := w.concludeDump(has.dumps)
	if err := w.concludeLostDump(ctx); err != nil {
		return err
	}
	if err := w.write(ctx); err != nil {
		return err
	}
	if w.backup.IsMissing() && !stored.IsMissing() {
		a.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, readyOf(w.backup).Reason, "Audit", "%s", w.backup.Status.Message)
	}
	if lostDump {
		a.options.Recorder.Eventf(w.backup, nil, corev1.EventTypeWarning, v1.ReasonDumpMissing, "Audit", dumpLost)
	}
	return nil
}

// compare returns which snapshots of Backups exist and which do not, without those that are not known. All is false if
// there are more to look at soon.
func (a *auditor) compare(ctx context.Context, account *v1.CloudAccount, backups []v1.Backup) (has map[cloud.SnapshotRef]seen, all bool) {
	has, all = map[cloud.SnapshotRef]seen{}, true
	checked := false
	for region, snapshots := range listOnce(&account.Spec, a.byRegion(backups)) {
		say := func(err error) {
			log.FromContext(ctx).Info("Backups are not compared with the cloud", "account", account.Name, "region", region, "cause", err.Error())
		}
		session, err := a.options.Accounts.Session(ctx, account.Name, region)
		if err != nil {
			all = all && !isUnset(err)
			say(err)
			continue
		}
		if !checked {
			if err := checkIdentity(ctx, session, account); err != nil {
				say(err)
				return nil, all
			}
			checked = true
		}
		listed, err := a.list(ctx, session, snapshots)
		if err != nil {
			say(err)
			continue
		}
		fresh, missing := unlisted(snapshots, listed, has)
		if err := lookFor(ctx, session, append(fresh, missing...), has); err != nil {
			say(err)
		}
		all = all && len(fresh) <= maxLooks
	}
	return has, all
}

// isUnset reports whether an error means that an account was not set yet, as shortly after a start of the hub.
func isUnset(err error) bool {
	e, ok := errors.AsType[*cloud.Error](err)
	return ok && e.Code == accounts.CodeUnknownAccount
}

// errAnotherIdentity means that the session has another identity than the one that is in the status of its account.
var errAnotherIdentity = errors.New("the credentials are of another identity than the one that was verified")

// checkIdentity returns an error unless a session has the identity that the status of the account names: credentials that were
// exchanged since may be of another account, which has none of the snapshots.
func checkIdentity(ctx context.Context, session cloud.Session, account *v1.CloudAccount) error {
	ctx, cancel := context.WithTimeout(ctx, getTimeout)
	defer cancel()
	who, err := session.Access.Identity(ctx)
	if err == nil && who.Name != account.Status.Identity {
		err = errAnotherIdentity
	}
	return err
}

// audited is a snapshot of a Backup, which has a hub and an application.
type audited struct {
	*v1.CloudSnapshot

	owner cloud.Owner
}

func (s audited) ref() cloud.SnapshotRef { return cloud.SnapshotRef{Region: s.Region, ID: s.ID} }

// byRegion returns the snapshots of Backups by their region, without those that were completed just now, which a cloud may
// not show everywhere yet.
func (a *auditor) byRegion(backups []v1.Backup) map[string][]audited {
	regions := map[string][]audited{}
	for i := range backups {
		s := &backups[i].Status
		if at := s.CompletionTime; at == nil || a.options.Clock.Now().Sub(at.Time) < a.options.Waits.Scaled(duplicateWindow) {
			continue
		}
		for _, c := range completed(&backups[i]) {
			regions[c.Region] = append(regions[c.Region], audited{c, cloud.Owner{Hub: s.HubUID, App: s.AppUID}})
		}
	}
	return regions
}

// listOnce puts the snapshots of all regions into one, which may be used, if each list has those of all.
func listOnce(account *v1.CloudAccountSpec, regions map[string][]audited) map[string][]audited {
	if csi.CapabilitiesOf(account.Provider).Copy != csi.CopyByLocation || len(regions) < 2 {
		return regions
	}
	sorted := slices.Sorted(maps.Keys(regions))
	one := sorted[max(slices.IndexFunc(sorted, func(region string) bool {
		return len(account.Regions) == 0 || slices.Contains(account.Regions, region)
	}), 0)]
	var all []audited
	for _, region := range sorted {
		all = append(all, regions[region]...)
	}
	return map[string][]audited{one: all}
}

// unlisted notes the snapshots that are in a list, and returns the others: those that were there, and those that are
// missing already.
func unlisted(snapshots []audited, listed map[string]string, has map[cloud.SnapshotRef]seen) (fresh, missing []audited) {
	for _, c := range snapshots {
		switch hub := listed[c.ID]; {
		case hub != "":
			has[c.ref()] = seen{exists: true, hub: hub}
		case c.State == v1.SnapshotMissing:
			missing = append(missing, c)
		default:
			fresh = append(fresh, c)
		}
	}
	return fresh, missing
}

// lookFor looks at snapshots that are not in the list, as those that lost their tags or are of another hub are
// not, and notes which exist. An error other than that one does not exist says nothing, and ends it.
func lookFor(ctx context.Context, session cloud.Session, wanted []audited, has map[cloud.SnapshotRef]seen) error {
	for _, c := range wanted[:min(len(wanted), maxLooks)] {
		ctx, cancel := context.WithTimeout(ctx, getTimeout)
		found, err := session.Snapshots.GetSnapshot(ctx, c.ref())
		cancel()
		if err != nil && cloud.ClassOf(err) != cloud.ClassNotFound {
			return err
		}
		is := seen{exists: err == nil}
		if found.Tags[cloud.TagApp] == c.owner.App {
			is.hub = found.Tags[cloud.TagHub]
		}
		has[c.ref()] = is
	}
	return nil
}

// list returns the hubs of the snapshots in the region of a session, by their ID: of this hub, and of those whose snapshots
// are looked for.
func (a *auditor) list(ctx context.Context, session cloud.Session, snapshots []audited) (map[string]string, error) {
	ctx, cancel := context.WithTimeout(ctx, listTimeout)
	defer cancel()
	hubs := map[string]bool{a.options.HubUID: true}
	for _, c := range snapshots {
		hubs[cmp.Or(c.owner.Hub, a.options.HubUID)] = true
	}
	listed := map[string]string{}
	for _, hub := range slices.Sorted(maps.Keys(hubs)) {
		for s, err := range session.Snapshots.ListSnapshots(ctx, cloud.Owner{Hub: hub}) {
			if err != nil {
				return nil, err
			}
			listed[s.Ref.ID] = hub
		}
	}
	return listed, nil
}

// completed returns the snapshots and copies of a Backup that exist, or did once.
func completed(b *v1.Backup) []*v1.CloudSnapshot {
	var out []*v1.CloudSnapshot
	for i := range b.Status.Snapshots {
		s := &b.Status.Snapshots[i]
		out = append(out, &s.CloudSnapshot)
		for j := range s.Copies {
			out = append(out, &s.Copies[j])
		}
	}
	return slices.DeleteFunc(out, func(c *v1.CloudSnapshot) bool {
		return c.ID == "" || c.State != string(cloud.StateReady) && c.State != v1.SnapshotMissing
	})
}

// concludeAudit sets the states of snapshots that are known to exist or not, and the conditions.
func (w *work) concludeAudit(has map[cloud.SnapshotRef]seen) {
	for _, c := range completed(w.backup) {
		is, known := has[cloud.SnapshotRef{Region: c.Region, ID: c.ID}]
		// One without a hub is of the hub whose tag it has.
		w.backup.Status.HubUID = cmp.Or(w.backup.Status.HubUID, is.hub)
		switch {
		case !known:
		case is.exists && c.State == v1.SnapshotMissing:
			c.State, c.Message = string(cloud.StateReady), ""
		case !is.exists && c.State != v1.SnapshotMissing:
			c.State, c.Message = v1.SnapshotMissing, "the cloud does not have it any more"
		}
	}
	var claims, regions []string
	for i := range w.backup.Status.Snapshots {
		s := &w.backup.Status.Snapshots[i]
		if s.State == v1.SnapshotMissing {
			claims = append(claims, s.Claim+" in "+s.Region)
		}
		for _, c := range s.Copies {
			if c.State == v1.SnapshotMissing {
				regions = append(regions, c.Region)
			}
		}
	}
	w.concludeMissing(claims)
	w.concludeMissingCopies(regions)
}

// concludeMissing sets the condition Ready of a Backup some of whose snapshots may be missing.
func (w *work) concludeMissing(claims []string) {
	ready := metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "The backup can be restored"}
	switch {
	case len(claims) > 0:
		message := "The cloud does not have the snapshot of " + strings.Join(claims, ", ") + " any more"
		if left := csi.RegionsOf(w.backup); len(left) > 0 {
			message += "; the copy in " + strings.Join(left, ", ") + " can be restored there"
		}
		ready = metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotMissing, Message: v1.Excerpt(message, steps.MaxMessage)}
	case readyOf(w.backup).Reason != v1.ReasonSnapshotMissing:
		return
	case w.backup.Status.Phase == v1.BackupPartiallyCompleted:
		ready.Reason, ready.Message = v1.ReasonPartiallyCompleted, "The backup can be restored where it is"
	}
	w.backup.Status.Message = ready.Message
	w.set(v1.ConditionReady, ready)
}

// concludeMissingCopies sets the condition Copied of a Backup some of whose copies may be missing.
func (w *work) concludeMissingCopies(regions []string) {
	slices.Sort(regions)
	before := meta.FindStatusCondition(w.backup.Status.Conditions, v1.ConditionCopied)
	switch {
	case len(regions) > 0:
		message := "The cloud does not have the copy in " + strings.Join(slices.Compact(regions), ", ") + " any more"
		w.set(v1.ConditionCopied, metav1.Condition{Status: metav1.ConditionFalse, Reason: v1.ReasonSnapshotMissing, Message: message})
	case before != nil && before.Reason == v1.ReasonSnapshotMissing:
		w.concludeCopies(w.failedCopies())
	}
}

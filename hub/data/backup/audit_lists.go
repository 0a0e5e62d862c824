package backup

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// lists holds what one audit reads of an account.
type lists struct {
	account *v1.CloudAccount
	has     inCloud
	orphans *orphans
	// claims are those of the hubs that have backups in the account; nil if they are not known.
	claims []v1.HubClaim
	// more is true if there is more to look at soon, and unknown if it is not known whose account it is.
	more, unknown bool
}

// compareAll compares Backups with what the regions and the bucket of an account have.
func (a *auditor) compareAll(ctx context.Context, l *lists, backups []v1.Backup) error {
	regions := a.byRegion(backups)
	if err := a.addRegions(ctx, l.account, regions); err != nil {
		return err
	}
	if isTrue(l.account, v1.ConditionReady) {
		a.compare(ctx, l, listOnce(&l.account.Spec, regions))
	} else {
		l.orphans.unlisted = slices.Collect(maps.Keys(regions))
	}
	if isTrue(l.account, v1.ConditionObjectStorageReady) {
		l.has.dumps = a.compareDumps(ctx, l, backups)
		l.claims = a.claims(ctx, l.account, backups)
	} else if l.account.Spec.ObjectStorage != nil {
		l.orphans.unlisted = append(l.orphans.unlisted, unlistedBucket)
	}
	return nil
}

// compare notes which snapshots of Backups exist and which do not, but not those that are not known.
func (a *auditor) compare(ctx context.Context, l *lists, regions map[string][]audited) {
	l.has.snapshots = map[cloud.SnapshotRef]seen{}
	checked := false
	for _, region := range slices.Sorted(maps.Keys(regions)) {
		found := len(l.orphans.found)
		err := a.compareRegion(ctx, l, region, regions[region], &checked)
		if err == nil {
			continue
		}
		log.FromContext(ctx).Info("Backups are not compared with the cloud", "account", l.account.Name, "region", region, "cause", err.Error())
		l.orphans.found, l.orphans.unlisted = l.orphans.found[:found], append(l.orphans.unlisted, region)
		switch {
		case errors.Is(err, errAnotherIdentity):
			l.has.snapshots, l.unknown = nil, true
			return
		case isUnset(err):
			l.more, l.unknown = true, true
		}
	}
}

// compareRegion does so in a region, for some snapshots. Checked is true once the identity of the account was checked.
func (a *auditor) compareRegion(ctx context.Context, l *lists, region string, snapshots []audited, checked *bool) error {
	session, err := a.options.Accounts.Session(ctx, l.account.Name, region)
	if err != nil {
		return err
	}
	if !*checked {
		if err := checkIdentity(ctx, session, l.account); err != nil {
			return err
		}
		*checked = true
	}
	listed, err := a.list(ctx, session, l.orphans, snapshots)
	if err != nil {
		return err
	}
	fresh, missing := unlisted(snapshots, listed, l.has.snapshots)
	if err := lookFor(ctx, session, append(fresh, missing...), l.has.snapshots); err != nil {
		log.FromContext(ctx).Info("Not all Backups are compared with the cloud", "account", l.account.Name, "region", region, "cause", err.Error())
	}
	l.more = l.more || len(fresh) > maxLooks
	return nil
}

// addRegions adds the regions in which an account may have snapshots that no Backup names.
func (a *auditor) addRegions(ctx context.Context, account *v1.CloudAccount, regions map[string][]audited) error {
	more := account.Spec.Regions
	if len(more) == 0 {
		members := &v1.MemberClusterList{}
		if err := a.client.List(ctx, members, client.UnsafeDisableDeepCopy); err != nil {
			return fmt.Errorf("listing member clusters: %w", err)
		}
		for i := range members.Items {
			m := &members.Items[i]
			if m.Spec.CloudAccountRef != nil && m.Spec.CloudAccountRef.Name == account.Name && m.Status.Provider == account.Spec.Provider && m.Status.Region != "" {
				more = append(more, m.Status.Region)
			}
		}
	}
	for _, region := range more {
		if _, known := regions[region]; !known {
			regions[region] = nil
		}
	}
	return nil
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

func (a audited) ref() cloud.SnapshotRef { return cloud.SnapshotRef{Region: a.Region, ID: a.ID} }

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
func (a *auditor) list(ctx context.Context, session cloud.Session, all *orphans, snapshots []audited) (map[string]string, error) {
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
			if hub != a.options.HubUID {
				continue
			}
			if err := all.snapshot(ctx, s); err != nil {
				return nil, err
			}
		}
	}
	return listed, nil
}

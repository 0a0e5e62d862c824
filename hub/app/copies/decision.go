package copies

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"

	"k8s.io/utils/ptr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

// undivided is not a number of replicas: a share may be 0.
const undivided = -1

// hashLength is the length of the hash of an order, in bytes.
const hashLength = 8

// DecisionOf returns the Decision that follows from a status of an application, the computed or the stored one. It
// shares the memory of both. Its spec lists the objects that are known to be needed by its clusters.
func DecisionOf(app *v1.EcommerceApp, status *v1.EcommerceAppStatus, sources state.Sources) *state.Decision {
	decided := *app
	decided.Status = *status
	d := &state.Decision{
		App:       &v1.EcommerceApp{TypeMeta: app.TypeMeta, ObjectMeta: app.ObjectMeta, Spec: *rollout.RevisionSpec(&decided)},
		MayReturn: revisions.MayReturn(&decided) || sources.Partial, Unknown: map[string]string{},
		Orders: make(map[string]*state.Order, len(status.Clusters)),
	}
	if len(sources.Listed) > 0 {
		d.App.Spec.Propagate = sources.Listed
	}
	for i := range status.Clusters {
		if entry := &status.Clusters[i]; entry.UnknownOrigin != "" {
			d.Unknown[entry.Name] = entry.UnknownOrigin
		}
	}
	common := commonOf(d)
	revisionOf := revisions.Decided(&decided)
	for i := range status.Clusters {
		entry := &status.Clusters[i]
		o := &state.Order{
			Delete: app.Ending() || entry.Phase == v1.PhaseDeleting, Share: entry.Share.DeepCopy(), Recorded: decided.RecordedServer(entry.Name),
			Applied: entry.AppliedGeneration, DatabaseCreated: entry.DatabaseCreated, Region: entry.Region, Provider: entry.Provider,
			Rendering: entry.RenderingVersion,
		}
		o.Revision, o.Earlier = revisionOf(entry.Revision)
		o.Hash = hashOf(common, d.App.Spec.Database, o)
		d.Orders[entry.Name] = o
	}
	return d
}

// commonOf returns the part of a hash that all orders of a Decision share.
func commonOf(d *state.Decision) []byte {
	server := d.App.Spec.Database.Server()
	text := fmt.Appendf(nil, "%q %d %t %t %q %q", d.App.UID, d.App.Generation, d.App.Ending(), d.MayReturn, server, d.App.Spec.Propagate)
	for _, key := range []string{v1.ReconcileAtAnnotation, v1.RestartedAtAnnotation, v1.StartEmptyAnnotation, v1.RecoverAnnotation} {
		text = fmt.Appendf(text, " %q", d.App.Annotations[key])
	}
	for _, name := range slices.Sorted(maps.Keys(d.Unknown)) {
		text = fmt.Appendf(text, " %q=%q", name, d.Unknown[name])
	}
	return text
}

// hashOf returns the hash of an order. With backups, a recorded server that is the one of the spec counts as none: without a
// record a copy keeps its server or, if there is none, gets the one of the spec. The server of the copy is recorded before an
// upgrade is approved, which changes the hash.
func hashOf(common []byte, db *v1.Database, o *state.Order) string {
	recorded := o.Recorded
	if db != nil && db.Backup.Enabled && recorded == db.Server() {
		recorded = v1.DatabaseServer{}
	}
	share := ptr.Deref(o.Share, v1.ReplicaShare{})
	sum := sha256.Sum256(fmt.Appendf(slices.Clone(common), " %t %d %t %d %d %q %q", o.Delete, o.Revision, o.Earlier,
		ptr.Deref(share.Frontend, undivided), ptr.Deref(share.Backend, undivided), recorded, o.Rendering))
	return hex.EncodeToString(sum[:hashLength])
}

// IsStored reports whether a Decision is that of the stored status: its orders may be carried out before another
// status is stored. So may those about a new application whose clusters are recorded in its metadata.
func (d *Dispatcher) IsStored(app *v1.EcommerceApp, decision *state.Decision) bool {
	stored := d.DecisionOf(app, &app.Status)
	return decision.Ahead || maps.EqualFunc(stored.Orders, decision.Orders, func(a, b *state.Order) bool { return a.Hash == b.Hash })
}

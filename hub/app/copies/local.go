package copies

import (
	"errors"
	"fmt"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/state"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// localize replaces the fields of a spec that depend on the member: the storage profile
// and cloudConfig by a storage class, the backup method by the one in use, and the server
// by the one that is released for the cluster. An existing database keeps its class, as
// its volumes do.
func localize(app *v1.EcommerceApp, spec *v1.EcommerceAppSpec, facts memberFacts, live *v1.EcommerceApp) error {
	spec.CloudConfig = v1.CloudConfig{}
	db := spec.Database
	if db == nil || facts.member == nil {
		return nil
	}
	keepServer(app, db, facts.order, live)
	db.StorageProfile = ""
	if csi.BySnapshots(db.Backup.Method, facts.member) && db.Backup.Enabled {
		db.Backup.Method = v1.BackupSnapshot
	}
	db.Backup.CopyToRegions, db.Backup.MaxRPO = nil, nil
	switch {
	case db.StorageClassName != nil:
		return nil
	case live != nil && live.Spec.Database != nil:
		db.StorageClassName = live.Spec.Database.StorageClassName
		return nil
	}
	class, err := facts.effective.DatabaseClass(csi.ClusterOf(facts.member))
	if err == nil && class != nil {
		db.StorageClassName = &class.Name
		// Rendering the copy reports a malformed size.
		if size, malformed := db.StorageQuantity(); malformed == nil {
			err = csi.CheckSize(class, size)
		}
	}
	switch {
	case errors.Is(err, csi.ErrDriverMissing):
		return &apierror.SpecError{Reason: v1.ReasonDriverMissing, Err: err}
	case err != nil:
		return &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	default:
		return nil
	}
}

// keepServer gives a database that is to be upgraded, and waits for a backup, the server that it has.
func keepServer(app *v1.EcommerceApp, db *v1.Database, order *state.Order, live *v1.EcommerceApp) {
	copied, recorded := v1.CopiedServerOf(live), v1.DatabaseServer{}
	if order != nil {
		recorded = order.Recorded
	}
	server := app.ServerAfter(recorded, db.Server(), copied)
	db.SetServer(server)
	if server == copied.DatabaseServer {
		db.Image = live.Spec.Database.Image // It may name the official image.
	}
}

// checkServer returns an error if the server of a spec is refused in a copy.
func checkServer(spec *v1.EcommerceAppSpec, live *v1.EcommerceApp) error {
	if _, err := refusal(spec.Database, live); err != nil {
		return &apierror.SpecError{Reason: v1.ReasonUpgradeRefused, Err: err}
	}
	return nil
}

// refusal returns an error if a copy would get a server that its database cannot run, or that the user has
// not agreed to: overrides and earlier revisions pass the schema of the hub. It has to follow the server that the
// data is of, which is not that of the copy if no pod has started with the latter: starting means that it may follow
// when one has. While the status is behind the spec the data may be of either. A server that stays is not checked.
func refusal(db *v1.Database, live *v1.EcommerceApp) (starting bool, err error) {
	if db == nil || db.Server() == v1.CopiedServerOf(live).DatabaseServer {
		return false, nil
	}
	err = v1.CheckServer(v1.DatabaseOfData(live), db)
	if live == nil || live.Spec.Database == nil {
		return false, refusedServer(err)
	}
	if started := v1.ValidServer(live.Status.StartedServer); err == nil && started != nil {
		last := live.Spec.Database.DeepCopy()
		last.SetServer(*started)
		err = v1.CheckServer(last, db)
	}
	return err != nil && v1.CheckServer(live.Spec.Database, db) == nil, refusedServer(err)
}

// addRefusal adds to the copy in a cluster whether it is refused the server that it would get from the spec.
func addRefusal(c *aggregate.Cluster, live *v1.EcommerceApp) {
	switch starting, err := refusal(c.Database, live); {
	case err == nil || c.Copy == nil:
	case starting:
		c.Copy.Starting = true
	default:
		c.Copy.UpgradeRefused = err.Error()
	}
}

// refusedServer returns the error of a server that a rule refuses; nil if none does.
func refusedServer(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("the server of the database is refused: %w", err)
}

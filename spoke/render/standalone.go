package render

import (
	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Unsupported describes the part of a spec that needs a hub, of an application without one.
type Unsupported struct {
	// Fields are the paths of the fields that have no effect, in the order of the schema.
	Fields []string
	// NoBackups is true if backups are enabled and nothing makes any.
	NoBackups bool
}

// WithoutHub returns what of an application's spec only a hub carries out. It is empty for a
// copy, which a hub has created.
func WithoutHub(app *v1.EcommerceApp) Unsupported {
	var u Unsupported
	if app.Annotations[v1.HubAppUIDAnnotation] != "" {
		return u
	}
	note := func(set bool, field string) {
		if set {
			u.Fields = append(u.Fields, field)
		}
	}
	if db := app.Spec.Database; db != nil {
		note(db.StorageProfile != "", "spec.database.storageProfile")
		note(db.Backup.Method == v1.BackupSnapshot, "spec.database.backup.method")
		note(len(db.Backup.CopyToRegions) > 0, "spec.database.backup.copyToRegions")
		note(db.Backup.MaxRPO != nil, "spec.database.backup.maxRPO")
		note(db.Backup.Verify != v1.VerifyPolicy{}, "spec.database.backup.verify")
		u.NoBackups = db.Backup.Enabled && db.Backup.Method == v1.BackupSnapshot
	}
	note(app.Spec.Ingress.ExternalDNS != nil, "spec.ingress.externalDNS")
	note(app.Spec.CloudConfig != v1.CloudConfig{}, "spec.cloudConfig")
	note(!equality.Semantic.DeepEqual(app.Spec.Placement, v1.Placement{}), "spec.placement")
	note(len(app.Spec.Overrides) > 0, "spec.overrides")
	note(app.Spec.Rollout != nil, "spec.rollout")
	note(len(app.Spec.Propagate) > 0, "spec.propagate")
	note(app.Spec.Deletion.UnreachableTimeout != nil, "spec.deletion.unreachableTimeout")
	return u
}

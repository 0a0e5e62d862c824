package render

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Unsupported describes the part of a spec that has no effect.
type Unsupported struct {
	// Message names the fields that have no effect, in the order of the schema; empty if there is none.
	Message string
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
	var fields []string
	note := func(set bool, field string) {
		if set {
			fields = append(fields, field)
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
	if len(fields) > 0 {
		u.Message = "without a hub these fields have no effect: " + strings.Join(fields, ", ")
	}
	return u
}

// WithoutRDS returns what of a MySQLCluster's spec describes a managed database.
func WithoutRDS(db *mysqlv1.MySQLCluster) Unsupported {
	var u Unsupported
	if aws := db.Spec.CloudConfig.AWS; aws != nil && aws.RDS != (mysqlv1.RDSConfig{}) {
		u.Message = "spec.cloudConfig.aws.rds has no effect, because the database runs in the cluster and not in RDS: remove it, " +
			"and set spec.backup.retention if dumps are to be kept for another time than 30 days"
	}
	return u
}

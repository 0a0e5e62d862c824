package api_test

import "testing"

// testUpdates tests rules that compare an object with its previous state.
func (s *server) testUpdates(t *testing.T) {
	s.namespace(t, "updates")
	t.Run("EcommerceApp", s.testAppUpdates)
	t.Run("MySQLCluster", s.testMySQLUpdates)
	t.Run("Versions", s.testVersionUpdates)
	t.Run("CloudAccount", s.testAccountUpdates)
	t.Run("Bucket", s.testBucketUpdates)
	t.Run("Backup", s.testBackupUpdates)
	t.Run("Restore", s.testRestoreUpdates)
	t.Run("Plan", s.testPlanUpdates)
}

func (s *server) testAppUpdates(t *testing.T) {
	k := ecommerceApps()
	const class = "spec.database.storageClassName"
	const shrink = "storage cannot shrink: volumes only grow"
	const keep = "storageClassName cannot be changed: existing volumes keep their class"
	at := edits{"metadata.namespace": "updates"}
	stored := s.create(t.Context(), t, k, at)
	s.checkUpdates(t, k, stored, []testCase{
		{name: "nothing"},
		{name: "storage grows", edits: edits{"spec.database.storage": "200Gi"}},
		{name: "storage in other units", edits: edits{"spec.database.storage": "102400Mi"}},
		{name: "storage grows in smaller units", edits: edits{"spec.database.storage": "102401Mi"}},
		{name: "storage shrinks", edits: edits{"spec.database.storage": "99Gi"}, field: "spec.database.storage", says: shrink},
		{name: "storage shrinks in larger digits", edits: edits{"spec.database.storage": "900Mi"}, field: "spec.database.storage", says: shrink},
		{
			name: "storage that is no size", edits: edits{"spec.database.storage": "200GB"},
			field: "spec.database.storage", says: "storage must be a whole number of Ki, Mi, Gi or Ti",
		},
		{name: "other engine", edits: edits{"spec.database.engine": "mysql"}, field: "spec.database.engine", says: "engine cannot be changed"},
		{name: "database removed", edits: edits{"spec.database": absent()}, field: "spec.database", says: "database cannot be removed"},
		{name: "fixed users in words", edits: edits{"spec.security.podUserIDs": "Fixed"}},
		{
			name: "other users", edits: edits{"spec.security.podUserIDs": "Namespace"},
			field: "spec.security", says: "security.podUserIDs cannot be changed while there is a database",
		},
		{name: "a later version", edits: edits{"spec.database.version": "13.5"}},
		{name: "a later build", edits: edits{"spec.database.version": "13.10-2"}},
		{name: "an earlier version", edits: edits{"spec.database.version": "13.3"}, field: "spec.database.version", says: "version cannot be lowered"},
		{
			name: "another major version", edits: edits{"spec.database.version": "14.1"},
			field: "spec.database.version", says: "version must keep its major version, because PostgreSQL",
		},
		{name: "more replicas", edits: edits{"spec.database.replicas": int64(3)}},
		{name: "class given later", edits: edits{class: "gp3"}, field: class, says: keep},
		{name: "backend removed", edits: edits{"spec.backend": absent()}},
		{name: "backup off", edits: edits{"spec.database.backup.enabled": false}},
	})
	t.Run("with a class", func(t *testing.T) {
		stored := s.create(t.Context(), t, k, at, edits{"metadata.name": "classed", class: "gp3"})
		s.checkUpdates(t, k, stored, []testCase{
			{name: "nothing"},
			{name: "other class", edits: edits{class: "gp2"}, field: class, says: keep},
			{name: "class removed", edits: edits{class: absent()}, field: class, says: keep},
		})
	})
	t.Run("with users of the namespace", func(t *testing.T) {
		const field, keep = "spec.security.podUserIDs", "security.podUserIDs cannot be changed while there is a database"
		stored := s.create(t.Context(), t, k, at, edits{"metadata.name": "assigned", field: "Namespace"})
		s.checkUpdates(t, k, stored, []testCase{
			{name: "nothing"},
			{name: "fixed users", edits: edits{field: "Fixed"}, field: "spec.security", says: keep},
			{name: "no users", edits: edits{field: absent()}, field: "spec.security", says: keep},
			{name: "no security", edits: edits{"spec.security": absent()}, field: "spec.security", says: keep},
		})
	})
	t.Run("without a database", func(t *testing.T) {
		database := k.object(t).Object["spec"].(map[string]any)["database"]
		stored := s.create(t.Context(), t, k, at, edits{"metadata.name": "bare", "spec.database": absent()})
		s.checkUpdates(t, k, stored, []testCase{{name: "database added", edits: edits{"spec.database": database}}})
	})
}

func (s *server) testMySQLUpdates(t *testing.T) {
	k := mySQLClusters()
	const class, alias = "spec.storage.storageClass", "spec.storage.storageClassName"
	const keep = "storageClass cannot be changed: existing volumes keep their class"
	stored := s.create(t.Context(), t, k, edits{"metadata.namespace": "updates"})
	s.checkUpdates(t, k, stored, []testCase{
		{name: "size grows", edits: edits{"spec.storage.size": "1Ti"}},
		{name: "size shrinks", edits: edits{"spec.storage.size": "99Gi"}, field: "spec.storage.size", says: "size cannot shrink: volumes only grow"},
		{name: "other class", edits: edits{class: "gp2"}, field: class, says: keep},
		{name: "class removed", edits: edits{class: absent()}, field: class, says: keep},
		{name: "same class by its other name", edits: edits{class: absent(), alias: "gp3"}},
		{name: "other class by its other name", edits: edits{class: absent(), alias: "gp2"}, field: class, says: keep},
	})
}

package apitest_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestSeeds decodes each sample strictly, which panics on a field without a type.
func TestSeeds(t *testing.T) {
	if app := apitest.Seed(); app.Name != "my-ecommerce-app" || app.Spec.Database.Engine != v1.EnginePostgreSQL {
		t.Errorf("the shop is %+v", app)
	}
	if app := apitest.SeedWebApp(); app.Name != "nginx-app" {
		t.Errorf("the web application is %+v", app)
	}
	if cluster := apitest.SeedMySQLCluster(); cluster.Name != "my-mysql" {
		t.Errorf("the database is %+v", cluster)
	}
	if account := apitest.SeedCloudAccount(); account.Spec.Credentials.Type != v1.CredentialsFederated {
		t.Errorf("the account is %+v", account)
	}
	backup, restore := apitest.SeedBackup(), apitest.SeedRestore()
	if backup.Spec.AppRef.Name != apitest.Seed().Name || restore.Spec.BackupRef.Name != backup.Name || restore.Namespace != backup.Namespace {
		t.Errorf("the backup is %+v, the restore %+v", backup, restore)
	}
}

// TestBuildersMakeCopies uses one builder as the base of two objects.
func TestBuildersMakeCopies(t *testing.T) {
	base := apitest.App("shop").Database(v1.EnginePostgreSQL, "13.4", "10Gi").Label("a", "b")
	first := base.Obj()
	want := first.DeepCopy()
	base.DatabaseReplicas(3).Label("a", "c").Backup("0 2 * * *")
	if diff := cmp.Diff(want, first); diff != "" {
		t.Errorf("what was built before changed (-before +after):\n%s", diff)
	}
	if second := base.Obj(); *second.Spec.Database.Replicas != 3 || second.Labels["a"] != "c" {
		t.Errorf("the second object is %+v", second)
	}
}

// TestBackupsFitTogether builds an account, a backup and a restore of it.
func TestBackupsFitTogether(t *testing.T) {
	account := apitest.CloudAccount("production").AWS("123456789012").Secret("keys").Obj()
	if account.Spec.Provider != v1.ProviderAWS || account.Spec.Credentials.SecretRef.Name != "keys" {
		t.Errorf("the account is %+v", account.Spec)
	}
	base := apitest.Backup("monday").Namespace("shops").Of("shop", "eu-1")
	first := base.Obj()
	second := base.Phase(v1.BackupCompleted).With(func(b *v1.Backup) { b.Spec.Deletion = v1.DeletionRetain }).Obj()
	if first.Status.Phase != "" || second.Status.Phase != v1.BackupCompleted || second.Spec.Deletion != v1.DeletionRetain {
		t.Errorf("the backups are %+v and %+v", first, second)
	}
	restore := apitest.Restore("tuesday").Namespace("shops").From("monday").To("us-1").Overwrite().Obj()
	want := v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: "monday"}, ClusterRef: v1.ObjectReference{Name: "us-1"}, Overwrite: true}
	if diff := cmp.Diff(want, restore.Spec); diff != "" {
		t.Errorf("restore (-want +got):\n%s", diff)
	}
}

// TestConditionsReplace replaces the condition of a cluster that was not ready.
func TestConditionsReplace(t *testing.T) {
	member := apitest.MemberCluster("eu-1").NotReady(v1.ReasonProbeFailed).Ready().Obj()
	if got := len(member.Status.Conditions); got != 1 || member.Status.Conditions[0].Reason != v1.ReasonConnected {
		t.Errorf("conditions = %+v", member.Status.Conditions)
	}
}

// TestRestartedWorkloads reads the lines of what is not released, whichever heading that has, and of nothing else.
func TestRestartedWorkloads(t *testing.T) {
	const line, released = "\n\n- Restarts pods of backend, the login: flags\n- Restarts nothing\n", "\n## [0.1.0] - 2026-12-01\n\n- Restarts pods of database: probes\n"
	for changelog, want := range map[string][]string{
		"# Changelog\n\n## [Unreleased]" + line + released:         {"backend", "the login"},
		"# Changelog\n\n## [0.2.0] - unreleased" + line + released: {"backend", "the login"},
		"# Changelog\n" + released:                                 nil,
		"# Changelog\n":                                            nil,
	} {
		if diff := cmp.Diff(want, apitest.RestartedWorkloads(changelog)); diff != "" {
			t.Errorf("%q (-want +got):\n%s", changelog, diff)
		}
	}
}

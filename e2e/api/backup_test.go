package api_test

import (
	"slices"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// policyCases test the backup policy of an application.
func policyCases() []testCase {
	const backup = "spec.database.backup"
	const copies, rpo = backup + ".copyToRegions", backup + ".maxRPO"
	regions := edits{copies: []any{"eu-central-1", "us-east-1"}}
	cases := []testCase{
		{name: "copies of snapshots", edits: join(regions, edits{backup + ".method": "Snapshot"})},
		{name: "copies by the default method", edits: regions},
		{name: "copies by method Auto", edits: join(regions, edits{backup + ".method": "Auto"})},
		{name: "dumps", edits: edits{backup + ".method": "Dump"}},
		{
			name: "copies of dumps", edits: join(regions, edits{backup + ".method": "Dump"}),
			field: copies, says: "copyToRegions must be absent when method is Dump: dumps go to the one bucket of their account",
		},
		{name: "copies to one region twice", edits: edits{copies: []any{"eu", "eu"}}, field: copies + "[1]", says: "Duplicate value"},
		{name: "age as a number", edits: edits{rpo: int64(3600)}, field: rpo, says: `must be of type string: "integer"`},
	}
	for _, age := range []string{"1m", "60s", "26h", "1h30m", "26h0m0s", "87600h", "5256000m", "315360000s", "000026h"} {
		cases = append(cases, testCase{name: "age " + age, edits: edits{rpo: age}})
	}
	for _, age := range []string{
		"", "0s", "59s", "87600h1s", "87601h", "1d", "1.5h", "-1h", "+1h", "1h ", "24", "30m1h", "100ms", "9999999h", "99999999999999999999h", "999999h9999999m",
	} {
		cases = append(cases, testCase{
			name: "age " + age, edits: edits{rpo: age}, field: rpo,
			says: "maxRPO must be a duration of at least 1m and at most 87600h, for example 26h",
		})
	}
	return append(cases, regionCases(copies)...)
}

// regionCases test a list of regions.
func regionCases(field string) []testCase {
	cases := []testCase{{name: field, edits: edits{field: []any{"eu-west-1", "westeurope", "eu", "1"}}}}
	for _, region := range badRegions() {
		cases = append(cases, testCase{
			name: field + " " + region, edits: edits{field + "[]": region}, field: field + "[0]", says: "should match '^",
		})
	}
	return cases
}

// named returns a reference to an object.
func named(name string) map[string]any { return map[string]any{"name": name} }

func (s *server) testBackup(t *testing.T) {
	cases := []testCase{
		{name: "smallest", edits: edits{"spec": map[string]any{"appRef": named("shop"), "clusterRef": named("eu-1")}}},
		{name: "of a schedule", edits: edits{"spec.scheduledTime": "2026-03-01T02:00:00Z"}},
		{name: "scheduledTime in words", edits: edits{"spec.scheduledTime": "at night"}, field: "spec.scheduledTime", says: "must be of type date-time"},
		{
			name: "method that only a shop has", edits: edits{"spec.method": "Auto"},
			field: "spec.method", says: "method must be Snapshot or Dump",
		},
	}
	for _, field := range []string{"spec", "spec.appRef", "spec.appRef.name", "spec.clusterRef", "spec.clusterRef.name"} {
		cases = append(cases, testCase{name: "no " + field, edits: edits{field: absent()}, field: field, says: "Required value"})
	}
	s.check(t, backups(), slices.Concat(cases, referenceCases("spec.appRef.name", nil), referenceCases("spec.clusterRef.name", nil),
		regionCases("spec.copyToRegions")))
}

func (s *server) testRestore(t *testing.T) {
	cases := []testCase{
		{name: "smallest", edits: edits{"spec": map[string]any{"backupRef": named("monday")}}},
		{name: "in a zone", edits: edits{"spec.zone": "eu-west-1a"}},
		{name: "zone by its number", edits: edits{"spec.zone": "1"}},
		{name: "overwriting in words", edits: edits{"spec.overwrite": "yes"}, field: "spec.overwrite", says: "must be of type boolean"},
	}
	for _, field := range []string{"spec", "spec.backupRef", "spec.backupRef.name", "spec.clusterRef.name"} {
		cases = append(cases, testCase{name: "no " + field, edits: edits{field: absent()}, field: field, says: "Required value"})
	}
	s.check(t, restores(), slices.Concat(cases, referenceCases("spec.backupRef.name", nil), referenceCases("spec.clusterRef.name", nil)))
}

// kept returns the case of an immutable field.
func kept(field string, value any) testCase {
	name := split(field)[1]
	return testCase{
		name: "other " + name, edits: edits{field: value}, field: field, says: name + " cannot be changed: create another Backup",
	}
}

func (s *server) testBackupUpdates(t *testing.T) {
	k := backups()
	const scheduledTime, copies = "spec.scheduledTime", "spec.copyToRegions"
	at := edits{"metadata.namespace": "updates"}
	bare := s.create(t.Context(), t, k, at, edits{"metadata.name": "bare", copies: absent()})
	s.checkUpdates(t, k, bare, []testCase{
		{name: "nothing"},
		{name: "kept in the cloud", edits: edits{"spec.deletion": "Retain"}},
		{name: "deleted in the cloud", edits: edits{"spec.deletion": "Delete"}},
		{name: "deletion by default", edits: edits{"spec.deletion": absent()}},
		{name: "method by default", edits: edits{"spec.method": absent()}},
		kept("spec.appRef", named("bakery")),
		kept("spec.clusterRef", named("us-1")),
		kept("spec.method", "Dump"),
		kept(scheduledTime, "2026-03-01T02:00:00Z"),
		kept(copies, []any{"us-east-1"}),
	})
	full := s.create(t.Context(), t, k, at, edits{"metadata.name": "full", scheduledTime: "2026-03-01T02:00:00Z", copies: []any{"eu", "us"}})
	s.checkUpdates(t, k, full, []testCase{
		{name: "nothing"},
		{name: "copies in another order", edits: edits{copies: []any{"us", "eu"}}},
		kept(copies, []any{"eu"}),
		kept(copies, absent()),
		kept(scheduledTime, "2026-03-01T02:00:01Z"),
		kept(scheduledTime, absent()),
	})
}

func (s *server) testRestoreUpdates(t *testing.T) {
	k := restores()
	const says = "spec cannot be changed: create another Restore"
	stored := s.create(t.Context(), t, k, edits{"metadata.namespace": "updates"})
	cases := []testCase{{name: "nothing"}, {name: "a label", edits: edits{"metadata.labels": map[string]any{"a": "b"}}}}
	for field, value := range map[string]any{
		"spec.backupRef.name": "other", "spec.clusterRef.name": "other", "spec.zone": "other", "spec.overwrite": false,
	} {
		cases = append(cases, testCase{name: "other " + field, edits: edits{field: value}, field: "spec", says: says})
	}
	s.checkUpdates(t, k, stored, append(cases, testCase{
		name: "no cluster", edits: edits{"spec.clusterRef": absent()}, field: "spec", says: says,
	}))
}

// volumeSnapshots returns snapshots of n volumes, each with the given number of copies.
func volumeSnapshots(n, copies int) []v1.VolumeSnapshot {
	all := make([]v1.VolumeSnapshot, n)
	for i := range all {
		all[i].Claim, all[i].Region = numbered("data", i), "eu"
		for j := range copies {
			all[i].Copies = append(all[i].Copies, v1.CloudSnapshot{Region: numbered("region", j)})
		}
	}
	return all
}

// testBackupStatus writes statuses of kinds and fields of backups.
func (s *server) testBackupStatus(t *testing.T) {
	const tooMany, unsupported, twice = "Too many: ", "Unsupported value", "Duplicate value"
	type m = map[string]any
	progress := func(percent int64) m {
		return m{"snapshots": []any{m{"claim": "data", "region": "eu", "progress": percent}}}
	}
	for _, row := range []struct {
		kind     kind
		accepted []any
		refused  []refusal
	}{
		{backups(), append(backupStatuses(), dumpStatuses()...), append(refusedDumps(), []refusal{
			{"status.phase", unsupported, m{"phase": "Starting"}},
			{"status.consistency", unsupported, m{"consistency": "Best"}},
			{"status.snapshots", tooMany + "17: must have at most 16 items", v1.BackupStatus{Snapshots: volumeSnapshots(17, 0)}},
			{"status.snapshots[0].copies", tooMany + "9: must have at most 8 items", v1.BackupStatus{Snapshots: volumeSnapshots(1, 9)}},
			{"status.snapshots[1]", twice, v1.BackupStatus{Snapshots: append(volumeSnapshots(1, 0), volumeSnapshots(1, 0)...)}},
			{"status.snapshots[0].progress", "should be less than or equal to 100", progress(101)},
			{"status.snapshots[0].progress", "should be greater than or equal to 0", progress(-1)},
			{"status.snapshots[0].region", "Required value", m{"snapshots": []any{m{"claim": "data"}}}},
		}...)},
		{restores(), append(restoreStatuses(), restoredDumps()...), append(refusedRestoredDumps(), []refusal{
			{"status.phase", unsupported, m{"phase": "Finalizing"}},
			{"status.volumes", tooMany + "17: must have at most 16 items", v1.RestoreStatus{Volumes: restoredVolumes(17)}},
			{"status.volumes[0].state", unsupported, m{"volumes": []any{m{"claim": "data", "state": "Taken"}}}},
			{"status.volumes[1]", twice, v1.RestoreStatus{Volumes: append(restoredVolumes(1), restoredVolumes(1)...)}},
		}...)},
		{cloudAccounts(), []any{m{"identity": letters(2048)}}, []refusal{
			{"status.identity", "Too long: may not be more than 2048 bytes", m{"identity": letters(2049)}},
		}},
		{ecommerceApps(), []any{v1.EcommerceAppStatus{Backups: clusterBackups(500)}}, []refusal{
			{"status.backups", tooMany + "501: must have at most 500 items", v1.EcommerceAppStatus{Backups: clusterBackups(501)}},
			{"status.backups[1]", twice, v1.EcommerceAppStatus{Backups: append(clusterBackups(1), clusterBackups(1)...)}},
		}},
		{memberClusters(), []any{m{"storageClasses": []any{m{"profile": "Standard"}, m{"profile": "Fast", "className": "gp3"}, m{"profile": "Archive"}}}}, []refusal{
			{"status.storageClasses[1]", twice, m{"storageClasses": []any{m{"profile": "Fast"}, m{"profile": "Fast"}}}},
			{"status.storageClasses[0].profile", unsupported, m{"storageClasses": []any{m{"profile": "fast"}}}},
		}},
	} {
		object := s.create(t.Context(), t, row.kind, edits{"metadata.name": "backup-status"}, inNamespace(row.kind, "status"))
		for _, status := range row.accepted {
			if err := s.patchStatus(t, row.kind, object, status); err != nil {
				t.Errorf("%s: %+v is refused: %v", row.kind.name, status, err)
			}
		}
		for _, r := range row.refused {
			s.checkAnswer(t, row.kind, testCase{field: r.field, says: r.says}, s.patchStatus(t, row.kind, object, r.status))
		}
	}
}

// refusal is a status that the API server must refuse.
type refusal struct {
	field, says string
	status      any
}

// backupStatuses returns statuses with every phase and consistency level, and one of
// maximum size.
func backupStatuses() []any {
	all := []any{v1.BackupStatus{Snapshots: volumeSnapshots(16, 8)}}
	for _, phase := range []v1.BackupPhase{
		v1.BackupPending, v1.BackupInProgress, v1.BackupFinalizing, v1.BackupCompleted, v1.BackupPartiallyCompleted, v1.BackupFailed,
		v1.BackupDeleting,
	} {
		all = append(all, v1.BackupStatus{Phase: phase})
	}
	for _, level := range []v1.Consistency{v1.ConsistencyCrash, v1.ConsistencyApplication} {
		all = append(all, v1.BackupStatus{Consistency: level})
	}
	return all
}

func restoreStatuses() []any {
	all := []any{v1.RestoreStatus{Volumes: restoredVolumes(16)}}
	for _, phase := range []v1.RestorePhase{
		v1.RestorePending, v1.RestoreInProgress, v1.RestoreStarting, v1.RestoreCompleted, v1.RestoreFailed,
	} {
		all = append(all, v1.RestoreStatus{Phase: phase})
	}
	for _, state := range []v1.RestoredVolumeState{
		v1.RestoredVolumeCreating, v1.RestoredVolumeReady, v1.RestoredVolumeFailed, v1.RestoredVolumeReplacing, v1.RestoredVolumeBound,
	} {
		all = append(all, v1.RestoreStatus{Volumes: []v1.RestoredVolume{{Claim: "data", State: state}}})
	}
	return all
}

func restoredVolumes(n int) []v1.RestoredVolume {
	all := make([]v1.RestoredVolume, n)
	for i := range all {
		all[i].Claim = numbered("data", i)
	}
	return all
}

func clusterBackups(n int) []v1.ClusterBackups {
	all := make([]v1.ClusterBackups, n)
	for i := range all {
		all[i].Name = numbered("cluster", i)
	}
	return all
}

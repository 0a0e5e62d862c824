package mutants

const (
	backupScheduler  = backup + "/scheduler"
	restorePackage   = "hub/data/restore"
	retentionPackage = "hub/data/retention"
)

// ofPlaces returns mistakes about where backups are.
func ofPlaces() []Mutant {
	return []Mutant{
		{
			"copy-condemns-backup", "the failure of a copy fails the Backup",
			backup + "/copy.go", "	if result = w.limitToCompletion(result); result.Fatal {\n", "	if result = w.limitToCompletion(result); result.Fatal && result.Reason == \"\" {\n",
			backup, "TestACopyFailsAlone",
		},
		{
			"unsent-dump-failed", "a dump that cannot be sent to the bucket has failed",
			backup + "/dump.go", "	if result.Fatal && result.Reason != v1.ReasonDumpFailed && result.Reason != v1.ReasonDumpMissing {\n",
			"	if result.Fatal && result.Reason == \"\" {\n",
			backup, "TestBackups/whether_a_dump_is_sent",
		},
		{
			"partial-backup-unusable", "a Backup whose copy failed cannot be restored",
			restorePackage + "/find.go", "	case !b.Phase.IsSuccessful() && b.Phase != v1.BackupFinalizing:", "	case b.Phase != v1.BackupCompleted && b.Phase != v1.BackupFinalizing:",
			restorePackage, "TestPossible",
		},
		{
			"partial-backup-not-counted", "a Backup whose copy failed is no good one",
			backupScheduler + "/catalog.go", "	case b.Status.Phase.IsSuccessful():\n		return retention.StateCompleted", "	case b.Status.Phase == v1.BackupCompleted:\n		return retention.StateCompleted",
			backupScheduler, "TestPartialBackupsAreGood",
		},
		{
			"complete-backup-displaced", "backups that are missing in a region let those go that are there",
			retentionPackage + "/decision.go", "if in[place] < p.policy.KeepLast && slices.Contains(b.Places, place) {", "if in[place] < 0 && slices.Contains(b.Places, place) {",
			retentionPackage, "TestKeepLastCountsInEachPlace",
		},
		{
			"backups-anywhere", "BackupReady does not look at where backups are",
			backupScheduler + "/offsite.go", "		if good == nil || !o.last.Before(pointInTime(good)) {\n", "		if good == nil || !o.last.After(pointInTime(good)) {\n",
			backupScheduler, "TestWhereSnapshotsAre",
		},
		{
			"second-region-dropped", "a Backup leaves out all but one region in silence",
			backup + "/begin.go", "	case len(b.Spec.CopyToRegions) > 1 && can.Copy == csi.CopyByLocation:", "	case len(b.Spec.CopyToRegions) > 8 && can.Copy == csi.CopyByLocation:",
			backup, "TestAllowed",
		},
		{
			"one-group", "snapshots of each region of Azure are in the resource group of one",
			"cloud/azure/connect.go", "group: config.Spec.Azure.GroupOf(region(config.Region)), region", "group: config.Spec.Azure.GroupOf(\"eastus\"), region",
			"cloud/azure", "TestEachRegionHasItsGroup",
		},
		{
			"checksum-unsigned", "dumps are sent without checksums to a bucket that takes none without",
			"cloud/aws/objectstore/sign.go", "		if w.CRC32C != \"\" {\n", "		if w.CRC32C == \"-\" {\n",
			"cloud/aws/objectstore", "TestRetentionNeedsChecksums/the_checksum,_signed",
		},
	}
}

// ofLoss returns mistakes about what can be restored, and about databases that are lost.
func ofLoss() []Mutant {
	return []Mutant{
		{
			"impossible-restore-begun", "a Restore begins in a cluster that makes no volumes from snapshots",
			restorePackage + "/snapshot_import.go", "	case !csi.HasSnapshots(w.member):\n", "	case w.member.Name == \"-\":\n",
			restorePackage, "TestCanImport",
		},
		{
			"verified-in-vain", "a Backup is verified that cannot be restored",
			backupScheduler + "/verify.go", "|| csi.HasSnapshots(in.members[own])", "|| own != \"-\"",
			backupScheduler, "TestWithoutSnapshotKinds",
		},
		{
			"verified-unread", "a Backup counts as verified although its data was not read",
			restorePackage + "/snapshot_import.go", "Prove: w.restore.Spec.Verify,", "Prove: w.restore.Spec.Overwrite,",
			restorePackage, "TestAVerificationReadsEverything",
		},
		{
			"dump-unread", "a dump counts as verified although its data was not read",
			"spoke/render/database/jobs/prove.go", "Prove: true}", "Prove: false}",
			"spoke/render/database/jobs", "TestProveDumpPod",
		},
		{
			"copy-not-verified", "a Backup is never verified from its copy",
			backupScheduler + "/verify.go", "		if found != \"\" {\n			return found\n", "		if found == \"-\" {\n			return found\n",
			backupScheduler, "TestWhereBackupsAreProven",
		},
		{
			"restores-not-said", "BackupReady does not name the clusters in which snapshots cannot be restored",
			backupScheduler + "/decide.go", "if c.method == v1.BackupSnapshot && !csi.HasSnapshots", "if c.method == v1.BackupDump && !csi.HasSnapshots",
			backupScheduler, "TestWithoutSnapshotKinds",
		},
		{
			"lost-database-backed-up", "a database that is lost is backed up",
			backupScheduler + "/catalog.go", "	if in.safeMode || in.app.IsDatabaseLost(cluster) {\n", "	if in.safeMode {\n",
			backupScheduler, "TestALostDatabase",
		},
		{
			"lost-database-pruned", "retention deletes backups of a database that is lost",
			backupScheduler + "/prune.go", "	if in.app.IsDatabaseLost(cluster) {\n", "	if in.app.IsDatabaseLost(\"\") {\n",
			backupScheduler, "TestALostDatabase",
		},
		{
			"empty-volume-backed-up", "a Backup does not ask the member whether the database is lost",
			backup + "/dump/make.go", "	if meta.IsStatusConditionTrue(copied.Status.Conditions, v1.ConditionDatabaseLost) {\n", "	if meta.IsStatusConditionTrue(nil, v1.ConditionDatabaseLost) {\n",
			backup + "/dump", "TestAvailable",
		},
		{
			"last-good-backup-failed", "the backup of a volume that was lost later fails",
			backup + "/lost.go", "		if volumes[s.Snapshots[i].Claim] == s.Snapshots[i].Volume && ", "		if s.Snapshots[i].Volume != \"\" && ",
			backup, "TestTakenOfNothing",
		},
		{
			"lost-database-waited-for", "a load waits for a lost database before it consents to its initialization",
			restorePackage + "/logical_shop.go", "	if result := s.dumping(ctx); result.Stops() {\n", "	if result := s.serves(ctx); result.Stops() {\n",
			restorePackage, "TestRestores/dumps/of_a_lost_database",
		},
	}
}

// ofRestores returns mistakes with the database that data is restored to.
func ofRestores() []Mutant {
	return []Mutant{
		{
			"stopped-before-use", "a Restore stops the database before a pod has used the volume that is to replace its own",
			restorePackage + "/snapshot_import.go", "	_, result, err := w.importJob(ctx, v)\n	if result.Stops() || err != nil {\n",
			"	_, result, err := w.importJob(ctx, v)\n	if result.Stops() && err != nil {\n",
			restorePackage, "TestNothingStopsWithoutAVolume/no_pod_can_use_the_volume",
		},
		{
			"former-replicas-overlooked", "a Restore leaves the data of replicas, with which they go on",
			restorePackage + "/snapshot_replicas.go", "			err = w.retire(ctx, live)\n", "",
			restorePackage, "TestReplicasAreRetired",
		},
	}
}

// ofKeeping returns mistakes about which backups are kept, and whose they are.
func ofKeeping() []Mutant {
	return []Mutant{
		{
			"former-hub-pruned", "retention deletes backups of a hub that was not taken over",
			backupScheduler + "/claims.go", "	case hub != in.hub && !claimed:\n", "	case hub == \"\" && !claimed:\n",
			backupScheduler, "TestClaims",
		},
		{
			"claimed-backups-pruned", "retention deletes backups that another hub has taken over",
			backupScheduler + "/claims.go", "	case other != \"\":\n", "	case other == \"-\":\n",
			backupScheduler, "TestClaims",
		},
		{
			"pruned-at-once", "an application that has left a cluster for a moment keeps one backup there",
			retentionPackage + "/decision.go", "	return i < 0 || p.now.After(p.expiry(sorted[i]))\n", "	return i < 0 || p.now.After(sorted[i].age())\n",
			retentionPackage, "TestPruneAfterTheEnd",
		},
		{
			"expiring-while-backed-up", "spec.deletion.backups lets the newest backup go while an application is backed up",
			retentionPackage + "/decision.go", "	if policy.Ended {\n		sorted", "	{\n		sorted",
			retentionPackage, "TestPruneHoldsForRandomHoards",
		},
		{
			"backups-of-another-let-go", "the deletion of an application lets the backups of another one of its name go",
			"hub/app/deletion.go", "if b.Status.AppUID != string(app.UID) || ", "if ",
			"hub/app", "TestWrites/backups_are_let_go",
		},
		{
			"lock-ended-by-the-hub", "a clock of the hub that is ahead ends the lock of a deletion",
			backup + "/deletelock.go", "w.now.Add(min(ahead, 0))", "w.now.Add(0 * ahead)",
			backup, "TestUnderLock",
		},
		{
			"lock-ended-by-annotation", "an annotation ends the lock of a deletion",
			backup + "/deletelock.go", "b.Status.Expired && r", "(b.Status.Expired || b.Annotations[v1.PrunedAnnotation] != \"\") && r",
			backup, "TestLockEnd",
		},
		{
			"lost-status-ends", "an application whose status was lost has left its clusters",
			backupScheduler + "/ended.go", "	case in.app.InventoryLost():\n", "	case in.app.InventoryLost() && in.safeMode:\n",
			backupScheduler, "TestRetentionGoesOn",
		},
	}
}

// ofFinding returns mistakes about what is in a cloud, and what is in that.
func ofFinding() []Mutant {
	return []Mutant{
		{
			"former-hub-unsearched", "the backups of a former hub are looked for under the UID of this one",
			"hub/data/rediscover/reconciler.go", "		owner.Hub = other\n", "		owner.Hub = r.options.HubUID\n",
			"hub/data/rediscover", "TestBackupsOfAFormerHub/former",
		},
		{
			"loss-unnoticed", "a snapshot that the cloud does not have any more counts as there",
			backup + "/audit.go", "		case !is.exists && c.State != v1.SnapshotMissing:\n", "		case !is.exists && c.State == \"\":\n",
			backup, "TestAudit/the_snapshot_is_gone",
		},
		{
			"region-ends-search", "a region that does not answer ends the search for backups",
			"hub/data/rediscover/snapshots.go", "	f.snapshot, f.unlisted = slices.Concat(listed...), append(f.unlisted, failed...)\n",
			"	if f.unlisted = append(f.unlisted, failed...); len(failed) == 0 {\n		f.snapshot = slices.Concat(listed...)\n	}\n",
			"hub/data/rediscover", "TestARegionThatIsAway",
		},
		{
			"missing-deleted", "the deletion of a Backup waits for a region whose snapshot it knows to be gone",
			backup + "/finalize.go", "	if c.State == v1.SnapshotMissing && c.Attempt == 0 && c.Requests < 2 {\n", "	if c.State == v1.SnapshotMissing && c.Attempt == 0 && c.Requests < 0 {\n",
			backup, "TestDeletion",
		},
		{
			"unfinished-orphan", "a snapshot of a Backup that is under way is an orphan",
			backup + "/orphans.go", "	if !Done(b) || !b.DeletionTimestamp.IsZero() {\n", "	if !b.DeletionTimestamp.IsZero() {\n",
			backup, "TestOrphans",
		},
		{
			"position-not-compared", "a snapshot with older data than its Backup says is restored",
			restorePackage + "/snapshot_import.go", "Position: w.backup.Status.Position,", "Position: w.backup.Name,",
			restorePackage, "TestAVerificationReadsEverything",
		},
		{
			"position-of-last-request", "a Backup has the position before the last request, and its snapshot is of an earlier one",
			backup + "/snapshot.go", "	if s.Consistency == \"\" && err == nil {\n", "	if err == nil {\n",
			backup, "TestCheckpoint/postgresql,_again",
		},
	}
}

// ofClouds returns mistakes about what a cloud keeps, and by which identity and key.
func ofClouds() []Mutant {
	return []Mutant{
		{
			"lost-backup-good", "a backup that the cloud does not have any more is the newest good one",
			backupScheduler + "/catalog.go", "IsSuccessful() && !b.IsMissing() }", "IsSuccessful() }",
			backupScheduler, "TestMissingBackups",
		},
		{
			"deletion-by-writer", "snapshots are deleted with the identity that writes them",
			"cloud/deletion.go", "	return s.deleting.DeleteSnapshot(ctx, ref, owner)\n", "	return s.Snapshots.DeleteSnapshot(ctx, ref, owner)\n",
			"cloud", "TestWithDeletion",
		},
		{
			"versions-stay", "a deletion in a bucket with versions only hides the object",
			"cloud/aws/objectstore/versions.go", "	for _, id := range ids {\n		if _, err := d.send(ctx, &id); err != nil {\n",
			"	for range ids {\n		if _, err := d.send(ctx, nil); err != nil {\n",
			"cloud/aws/objectstore", "TestDeletionLeavesNoVersion",
		},
		{
			"copy-without-key", "a copy is not encrypted with the key of its region",
			"cloud/azure/snapshots.go", "	if want.key != \"\" {\n", "	if want.key == \"-\" {\n",
			"cloud/azure", "TestContract/47_a_copy_is_encrypted_with_the_key_of_its_region",
		},
	}
}

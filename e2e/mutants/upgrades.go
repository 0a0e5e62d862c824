package mutants

// ofUpgrades returns mistakes with databases that change their server.
func ofUpgrades() []Mutant {
	return []Mutant{
		{
			"image-not-held", "an upgrade by image does not wait for its backup",
			dispatch + "/local.go", "	db.SetServer(server)\n", "	db.Version = server.Version\n",
			dispatch, "TestTheVersionOfACopy/waits,_and_only_the_hub_knows",
		},
		{
			"image-not-backed-up", "another image of the same version is no upgrade",
			backup + "/scheduler/upgrade.go", "	if h.Server == wanted {\n", "	if h.Server.Version == wanted.Version {\n",
			backup + "/scheduler", "TestAnUpgradeWaitsForABackup/by_image",
		},
		{
			"server-of-mysql-returns", "a rollback puts an earlier MySQL on the files of a later one",
			"hub/app/rollout/template.go", "live.Engine == v1.EngineMySQL", "false",
			"hub/app/rollout", "TestKeepMySQL/a_digest_of_the_same_tag_does_not_return",
		},
		{
			"started-unnoticed", "a server counts as one that never started before the status is about it",
			"api/v1/database_status.go", " && copied.Status.ObservedGeneration == copied.Generation {", " {",
			"hub/app/rollout", "TestKeepOfAnOlderStatus",
		},
		{
			"revision-before", "a pod of the revision before says that the server of the next one has started",
			"spoke/component/started.go", "pod.Labels[appsv1.StatefulSetRevisionLabel] == newest && ", "",
			"spoke/component", "TestHasStarted/of_the_revision_before",
		},
		{
			"data-unchecked", "what follows a server that may have started is not compared with it",
			dispatch + "/local.go", "v1.CheckServer(v1.DatabaseOfData(live), ", "v1.CheckServer(nil, ",
			dispatch, "TestTheServerOfACopy/instead_of_one_that_may_have",
		},
		{
			"override-unchecked", "an override gets past the rules about servers",
			dispatch + "/copies.go", "	return out, cmp.Or(err, checkServer(&out.Spec, live))\n", "	return out, err\n",
			dispatch, "TestTheServerOfACopy/upgraded_by_a_JSON_patch",
		},
	}
}

// ofServers returns mistakes with the rules about the servers of databases.
func ofServers() []Mutant {
	const (
		server = "api/v1/database_server.go"
		schema = "e2e/api"
		alike  = "TestServersAreCheckedAlike"
	)
	return []Mutant{
		{
			"alpine-accepted", "an image of Alpine is accepted",
			server, `strings.Contains(r.tag, "alpine")`, `strings.Contains(r.tag, "@")`,
			"api/v1", "TestServersThatStay",
		},
		{
			"distribution-changes", "a database changes its distribution, and sorts texts in another way",
			server, "family(before.tag) != family(after.tag)", "false",
			schema, alike,
		},
		{
			"floating-tag", "a tag of MySQL may mean several servers",
			server, "len(named) < maxNumbers", "len(named) < 2",
			schema, alike,
		},
		{
			"consent-for-good", "consent to one major version is consent to the next one",
			server, "case !covers(numbersOf(allowed), r.version):", `case allowed == "":`,
			schema, alike,
		},
	}
}

// ofDumps returns mistakes with the logs and the dumps of databases.
func ofDumps() []Mutant {
	const database = "spoke/render/database"
	return []Mutant{
		{
			"log-unbounded", "the binary log of MySQL has days of changes",
			database + "/mysql.go", "	seconds, file := 3600, 64<<20\n", "	seconds, file := 259200, 1<<30\n",
			database, "TestSizesOfVolumes",
		},
		{
			"one-clock", "a node whose clock is ahead prunes the dumps",
			database + "/dump.go", `if [ "$skew" -ge 300 ]; then`, `if [ "$skew" -lt 0 ]; then`,
			database, "TestPruneTrustsNoSingleClock/the_node_is_ahead_postgresql",
		},
		{
			"small-packets", "a dump ends at a large row",
			database + "/dump.go", ` --max-allowed-packet=1G "$DB_NAME"`, ` "$DB_NAME"`,
			database, "TestRowsOfAnySize",
		},
	}
}

package mutants

import "slices"

const (
	initialization = "spoke/dataloss"
	nextMark       = initialization + "/initialization.go"
)

// ofLostData returns mistakes after which an empty database is served, dumped or backed up in place of one
// that was there.
func ofLostData() []Mutant {
	return slices.Concat(ofMarks(), ofConsents(), ofLosses(), ofImports())
}

// ofImports returns mistakes with the credentials of data that a Restore has imported.
func ofImports() []Mutant {
	const imported, swap = reconciler + "/imported.go", restorePackage + "/snapshot_swap.go"
	return []Mutant{
		{
			"imported-needs-credentials", "an application that comes to imported data has no credentials",
			imported, "		if exists || !isImported(claim) {\n", "		if exists || claim != nil {\n",
			reconciler, "TestDependentClaim/imported_data",
		},
		{
			"imported-of-old", "an old cache decides that data was not started since it was imported",
			imported, "err != nil || !imported {", "err != nil && !imported {",
			reconciler, "TestDependentClaim/imported,_and_started_since",
		},
		{
			"imported-for-ever", "credentials that imported data was started with are generated again when they are lost",
			imported, "	for _, key := range component.Claims(set) {\n", "	for _, key := range component.Claims(nil) {\n",
			reconciler, "TestEndImports/the_StatefulSet",
		},
		{
			"put-back-is-imported", "data that is put back is taken for data that takes any passwords",
			swap, "	return v.PersistentVolume != v.Replaced && ", "	return v.PersistentVolume != \"\" && ",
			restorePackage, "TestWhichClaimsAreImported/put_back",
		},
	}
}

// ofMarks returns mistakes with the mark that a database was created.
func ofMarks() []Mutant {
	const database = "spoke/render/database"
	return []Mutant{
		{
			"initialized-again", "the primary of a database that was created initializes an empty volume",
			database + "/guard.go", "  exit 66\n", "  :\n",
			database, "TestPrepareRefusesAnEmptyVolume/mysql",
		},
		{
			"mark-optional", "a pod starts without the mark that the database was created",
			database + "/guard.go", `"DATABASE_CREATED"`, `"DATABASE_MADE"`,
			database, "TestPodsNeedTheMark",
		},
		{
			"bound-claim-unmarked", "a database from before there were marks counts as new",
			nextMark, "isBound(s.Claim) || s.serves(), StartEmpty", "s.serves(), StartEmpty",
			initialization, "TestNext/the_first_pass,_with_a_bound_claim",
		},
		{
			"hub-forgotten", "a mark that is lost with its claim is not restored by what the hub knows",
			nextMark, "Created: s.Known || isBound", "Created: isBound",
			initialization, "TestNext/the_mark_is_lost_with_the_claim",
		},
	}
}

// ofConsents returns mistakes with what may end a loss.
func ofConsents() []Mutant {
	return []Mutant{
		{
			"token-kept", "a token that was there before the loss consents to it",
			nextMark, "	mark.StartEmpty = s.StartEmpty\n	if !lost", "	if !lost",
			initialization, "TestNext/a_token_of_before_the_loss",
		},
		{
			"load-consents-twice", "a load of a dump consents to each loss of the volume",
			nextMark, "s.Loading != \"\" && s.Loading != mark.Load", "s.Loading != \"\"",
			initialization, "TestNext/its_volume_is_lost_again",
		},
		{
			"initialized-under-backend", "the database is initialized for a dump while the backend can write to it",
			nextMark, "lost && s.Stopped && s.Loading", "lost && s.Loading",
			initialization, "TestNext/a_load_while_the_backend_runs",
		},
		{
			"loaded-before-success", "a load of a dump that failed ends the loss",
			nextMark, "mark.Consent == database.ConsentLoad && s.Loaded && ", "mark.Consent == database.ConsentLoad && ",
			initialization, "TestNext/the_load_failed",
		},
	}
}

// ofLosses returns mistakes with what a loss means.
func ofLosses() []Mutant {
	return []Mutant{
		{
			"lost-and-available", "an application whose data is lost is available",
			component + "/summarize.go", "			s.Unavailable = \"the data of the database is lost\"\n", "",
			component, "TestDatabaseLost",
		},
		{
			"lost-forgotten-by-entry", "the entry of a cluster forgets that there was a database",
			"hub/app/aggregate/clusters.go", "e.DatabaseCreated = e.DatabaseCreated || status.DatabaseCreated", "e.DatabaseCreated = status.DatabaseCreated",
			"hub/app/aggregate", "TestDatabaseLost/the_status_of_a_copy_is_lost",
		},
		{
			"volumes-of-leavers", "an application that leaves a cluster takes its volumes with it",
			memberQueue, "	return app.Ending() && app.Spec.Deletion.Volumes", "	return app.Spec.Deletion.Volumes",
			dispatch, "TestMemberQueue/volumes",
		},
		{
			"dumped-when-lost", "the schedule of the dumps goes on while the data is lost",
			"spoke/render/ecommerceapp.go", "Suspended: s.cluster.DatabaseLost || ", "Suspended: ",
			controller, "TestWrites/lost_postgresql",
		},
	}
}

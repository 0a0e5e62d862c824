package mutants

import "slices"

// The packages of the tests, and files that several mutants are in.
const (
	member     = "hub/members"
	dispatch   = "hub/app/copies"
	appPackage = "hub/app"
	recovery   = "hub/app/recovery"
	backup     = "hub/data/backup"
	controller = "spoke/controller"
	reconciler = "spoke/controller/reconciler"
	component  = "spoke/component"
	applier    = "spoke/apply"

	memberRunner   = "spoke/runtime/controller"
	metricsPackage = "hub/metrics"
	memberQueue    = dispatch + "/member_queue.go"
	intent         = dispatch + "/intent.go"
)

// All returns all mutants: the mistakes of a naive operator, and those that an earlier suite
// did not notice.
func All() []Mutant {
	return slices.Concat(ofErrors(), ofOrder(), ofMembers(), ofDecisions(), ofWrites(), ofBackups(), ofRetries(), ofOutages(), ofPlacement(), ofLostData(), ofPermissions(), ofFacts(), ofCauses(), ofReports(), ofHolds(), ofParts(), ofPlaces(), ofUpgrades(), ofServers(), ofFields(), ofDumps(), ofLoss(), ofRestores(), ofKeeping(), ofFinding(), ofClouds())
}

// ofErrors returns mistakes with errors, conflicts and races.
func ofErrors() []Mutant {
	return []Mutant{
		{
			"status-error-ignored", "an error of a status write is ignored",
			reconciler + "/status.go", `p.fail("", fmt.Errorf("writing the status: %w", err))`, `_ = fmt.Errorf("writing the status: %w", err)`,
			controller, "TestWrites/statuses_are_locked",
		},
		{
			"status-in-each-pass", "each pass writes the status, with the present time",
			reconciler + "/status.go", "if equality.Semantic.DeepEqual(before, p.object) {", "if before := before; equality.Semantic.DeepEqual(before, nil) {",
			"e2e/spoke", "TestSerial/unchanged",
		},
		{
			"error-swallowed", "an unknown error of a read counts as absence",
			memberQueue, "	case apierrors.IsNotFound(err), meta.IsNoMatchError(err):\n",
			"	case err != nil, meta.IsNoMatchError(err):\n",
			dispatch, "TestMemberQueue/absence",
		},
		{
			"conflict-at-once", "a conflict is retried at once from the same cache",
			appPackage + "/reconciler.go", "	result, err := r.reconcile(ctx, app)\n",
			"	result, err := r.reconcile(ctx, app)\n	if apierrors.IsConflict(err) {\n		return r.Reconcile(ctx, request)\n	}\n",
			appPackage, "TestWrites/conflicts_are_no_errors",
		},
		{
			"given-up", "an application is dropped after an error",
			appPackage + "/reconciler.go", "	result, err = r.retry(request, result, err)\n", "	err = nil\n",
			appPackage, "TestWrites/conflicts_are_no_errors",
		},
		{
			"check-then-act", "an object that was created after the check is merged into",
			applier + "/missing.go", "	intent.SetResourceVersion(noVersion)\n", "",
			applier, "TestApplier/lost_race",
		},
	}
}

// ofOrder returns mistakes with readiness, deletion and ownership.
func ofOrder() []Mutant {
	return []Mutant{
		{
			"created-is-ready", "a component counts as serving once it is created",
			component + "/decide.go", "p.serving[c.Name] = state.Ready || state.Serving || state.Growing", "p.serving[c.Name] = true",
			component, "TestDecideGates",
		},
		{
			"readiness-of-a-copy", "the readiness of a component is set on a copy and lost",
			component + "/decide.go", "p.serving[c.Name] = state.Ready || state.Serving || state.Growing", "p.serving[c.Name] = false",
			component, "TestDecideGates",
		},
		{
			"switched-at-once", "requests go to new pods before these are ready",
			component + "/bluegreen.go", "	pending.waits = !ready && (!available || pending.serving.Status.AvailableReplicas > 0)\n", "	pending.waits = !ready && !available\n",
			component, "TestBlueGreen",
		},
		{
			"serving-pods-deleted", "the pods that serve are deleted when others are to replace them",
			component + "/bluegreen.go", "	if exists == Resource(c.serving) {\n		return true\n	}\n", "",
			component, "TestBlueGreen",
		},
		{
			"annotation-ends-the-pass", "a pass that handles an annotation skips the rest",
			reconciler + "/reconciler.go", "	} else {\n		r.converge(ctx, p)\n	}", "	} else if p.object.GetAnnotations()[v1.RestartedAtAnnotation] == \"\" {\n		r.converge(ctx, p)\n	}",
			"e2e/spoke", "TestSpoke/restart_annotation",
		},
		{
			"ready-before-deletion", "an application that runs is never deleted",
			reconciler + "/reconciler.go", "if p.object.GetDeletionTimestamp() != nil {", "if p.object.GetDeletionTimestamp() != nil && *r.kind.Status(p.object).Phase != v1.PhaseRunning {",
			"e2e/spoke", "TestSpoke/deletion",
		},
		{
			"finalizer-without-cleanup", "the finalizer is removed before the children are deleted",
			reconciler + "/finalize.go", "if len(decision.States) == 0 && !p.paused {", "if (decision.States != nil || len(decision.States) == 0) && !p.paused {",
			"e2e/spoke", "TestSpoke/deletion",
		},
		{
			"owner-in-another-cluster", "copies have the application on the hub as their owner",
			dispatch + "/copies.go", "			Finalizers:  []string{v1.SpokeFinalizer},\n",
			"			Finalizers:  []string{v1.SpokeFinalizer},\n			OwnerReferences: []metav1.OwnerReference{{APIVersion: \"ecommerce.io/v1\", Kind: \"EcommerceApp\", Name: app.Name, UID: app.UID}},\n",
			dispatch, "TestCopyForSaysWhatTheHubSaysAndNoMore",
		},
		{
			"finalizer-from-a-stale-object", "the finalizer is written over what changed meanwhile",
			reconciler + "/reconciler.go", "retry.MergeFromLocked(before),",
			"map[bool]client.Patch{true: client.MergeFrom(before), false: retry.MergeFromLocked(before)}[true],",
			controller, "TestWrites/finalizers_of_others",
		},
	}
}

// ofMembers returns mistakes with connections to members and with copies there.
func ofMembers() []Mutant {
	return []Mutant{
		{
			"no-pings", "HTTP/2 connections to members are not pinged",
			member + "/connect/transport/transport.go", "SendPingTimeout:  pingAfter,", "SendPingTimeout:  0,",
			member + "/connect/transport", "TestDeadConnectionsEnd",
		},
		{
			"one-failure-loses", "one failed probe loses a member",
			member + "/outcome.go", "if l.misses >= l.target.Health.FailureThreshold {", "if l.misses >= 1 {",
			member, "TestThresholds",
		},
		{
			"one-success-connects", "one successful probe connects a lost member",
			member + "/loop.go", "a.Probes = l.target.Health.SuccessThreshold", "a.Probes = 1",
			member, "TestThresholds",
		},
		{
			"strangers-overwritten", "an application that is not the copy is written",
			intent, "Owned: adoptable(app)", "Owned: func(component.Resource) bool { return true }",
			dispatch, "TestMemberQueue/stranger",
		},
		{
			"strangers-deleted", "an application that is not the copy is deleted",
			memberQueue, "	absent := live == nil || !r.owned(live)\n", "	absent := live == nil\n",
			dispatch, "TestMemberQueue/stranger",
		},
		{
			"absence-from-the-cache", "the cache alone proves that a copy is gone",
			memberQueue, "		return m.ask(ctx, key)\n", "		return nil, nil\n",
			dispatch, "TestMemberQueue/absence",
		},
		{
			"protected-copies-deleted", "the copies of a protected application that was deleted are deleted",
			dispatch + "/decision.go", "Delete: app.Ending() ||", "Delete: app.DeletionTimestamp != nil ||",
			"e2e/hub", "TestHub/protection",
		},
		{
			"another-field-manager", "copies have another field manager",
			dispatch + "/dispatcher.go", "FieldManager: v1.HubFieldManager", "FieldManager: \"other\"",
			dispatch, "TestMemberQueue/manager",
		},
	}
}

// ofDecisions returns mistakes with what queues are told, and when.
func ofDecisions() []Mutant {
	return []Mutant{
		{
			"resyncs-first", "an edit waits for a resync of all applications",
			memberRunner + "/priority.go", "l.store(request, l.raised[request] || !l.lowered[request])", "l.store(request, true)",
			memberRunner, "TestPriorities",
		},
		{
			"rollout-unstored", "members get an edit before the end of a rollout is stored",
			dispatch + "/decision.go", "d.App.Ending(), d.MayReturn, server, d.App.Spec.Propagate)", "d.App.Ending(), false, server, d.App.Spec.Propagate)",
			dispatch, "TestEditsPrecedeTheirStatus",
		},
		{
			"propagated-before-the-copy", "a Secret is written in a member before the copy lists it",
			appPackage + "/state/beside.go", " || c.result.Hash != order.Hash {", " {",
			appPackage + "/state", "TestOwner",
		},
		{
			"absence-of-another-order", "that a copy is gone counts for an order that came later",
			appPackage + "/state/handover.go", "			c.result = c.result.outdated()\n", "",
			appPackage + "/state", "TestResultsAreAboutOneOrder",
		},
		{
			"orders-as-told", "a queue that has acted on another order than the last one is not woken",
			appPackage + "/state/member.go", "(c.result == nil || c.result.Hash != order.Hash)", "c.result == nil",
			appPackage + "/state", "TestHandOver",
		},
		{
			"edits-wait", "members get an edit after its status is stored",
			appPackage + "/reconciler.go", "isDecided && r.dispatcher.IsStored(app, decision)", "false",
			"e2e/hub", "TestHub/edit_precedes_its_status",
		},
	}
}

// ofWrites returns mistakes with what is written when, and with what is left behind.
func ofWrites() []Mutant {
	return []Mutant{
		{
			"progress-at-once", "progress of an application is written at once",
			appPackage + "/status.go", "rest > 0 {", "rest < 0 {",
			appPackage, "TestWrites/progress_waits",
		},
		{
			"scheduler-writes-too", "the backup scheduler writes its condition to the status as well",
			backup + "/scheduler/reconciler.go", "	c.ObservedGeneration = app.Generation\n",
			"	c.ObservedGeneration = app.Generation\n	written := app.DeepCopy()\n	if meta.SetStatusCondition(&written.Status.Conditions, c) {\n" +
				"		_ = r.client.Status().Patch(context.Background(), written, client.MergeFrom(app))\n	}\n",
			backup + "/scheduler", "TestPublish",
		},
		{
			"created-over-what-exists", "an object that the cache does not have is applied over what exists",
			applier + "/missing.go", "	intent.SetResourceVersion(noVersion)\n", "",
			applier, "TestApplier/missing_in_the_cache",
		},
		{
			"clusters-unrecorded", "copies are written in clusters that are not recorded before",
			appPackage + "/inventory.go", "	setClustersAnnotation(app, names)\n", "	_ = names\n",
			appPackage, "TestWrites/written_ahead",
		},
		{
			"metrics-of-a-deleted-member", "a deleted member keeps its series of applications",
			appPackage + "/members.go", "				c.options.Metrics.forgetMember(after.Name)\n", "",
			appPackage, "TestMembersThatLeave",
		},
		{
			"metrics-of-a-member-that-leaves", "a MemberCluster that is being deleted keeps its series",
			metricsPackage + "/metrics.go", "	if member.DeletionTimestamp != nil {\n		return\n	}\n", "",
			metricsPackage, "TestMembers",
		},
		{
			"metrics-of-a-cluster-that-is-left", "an application keeps its series in a cluster that it leaves",
			metricsPackage + "/metrics.go", "c.Phase == v1.PhaseDeleting", "false",
			metricsPackage, "TestApps",
		},
		{
			"metrics-of-a-former-cluster", "a cluster that left keeps its series",
			controller + "/cluster_runner.go", "	defer r.options.Metrics.Leave(name)\n", "",
			controller, "TestWrites/metrics",
		},
	}
}

// ofBackups returns mistakes with backups, and with statuses of copies.
func ofBackups() []Mutant {
	return []Mutant{
		{
			"intent-not-stored", "the intent of a snapshot is not stored before the request",
			backup + "/snapshot.go", "	return w.saveStatus(ctx)\n}\n\n// saveStatus", "	return nil\n}\n\n// saveStatus",
			backup, "TestBackups",
		},
		{
			"duplicates-kept", "snapshots of lost responses are not deleted",
			backup + "/snapshot.go", "for _, ref := range kept.Duplicates {", "for _, ref := range kept.Duplicates[:0] {",
			backup, "TestBackups",
		},
		{
			"backup-in-use-deleted", "a Backup is deleted that a Restore uses",
			backup + "/finalize.go", `if err != nil || restoring == "" {`, `if err != nil || restoring != "-" {`,
			backup, "TestBackups",
		},
		{
			"counts-at-once", "counts of replicas are written at once",
			reconciler + "/status.go", "last == nil || !r.isMinor(before, after) {", "last == nil || r.isMinor(before, after) {",
			controller, "TestWrites/counts_wait",
		},
		{
			"status-without-lock", "the status of a copy is written over what changed meanwhile",
			reconciler + "/status.go", "retry.MergeFromLocked(before),", "client.MergeFrom(before),",
			controller, "TestWrites/statuses_are_locked",
		},
	}
}

// ofPlacement returns mistakes with the clusters that an application leaves.
func ofPlacement() []Mutant {
	const placement = "hub/app/placement"
	return []Mutant{
		{
			"data-left-behind", "an application leaves a cluster that is drained, and its data there",
			placement + "/placement.go", "		c.stays = v1.ReasonDataStays\n", "",
			placement, "TestDecideWithData",
		},
		{
			"left-before-served", "a cluster is left before another one serves customers",
			placement + "/placement.go", "		default:\n			awaits = append(awaits, c.Cluster.Name)\n", "		default:\n",
			placement, "TestDecideLeaving",
		},
		{
			"exchanged-unasked", "clusters are exchanged although the placement was not edited",
			placement + "/placement.go", "	s = chooseFrom(r, all, !r.Edited)\n", "	s = chooseFrom(r, all, false)\n",
			placement, "TestDecideSpread",
		},
	}
}

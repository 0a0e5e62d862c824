package mutants

// ofFacts returns mistakes with what the hub does not know of a member, and with what members report.
func ofFacts() []Mutant {
	const placement = "hub/app/placement"
	return []Mutant{
		{
			"unknown-as-mismatch", "a member whose status was lost does not match the placement",
			placement + "/member.go", "		all[i].Region, all[i].Provider = cmp.Or(c.Region, entry.Region), cmp.Or(c.Provider, entry.Provider)\n", "		_ = cmp.Or(entry.Region)\n",
			appPackage, "TestDecideLostFacts",
		},
		{
			"left-while-unknown", "an application leaves a cluster of which nothing is known yet",
			placement + "/unknown.go", "	of.stays = v1.ReasonFactsUnknown\n", "",
			placement, "TestUnknownFacts",
		},
		{
			"members-believed", "what members report goes into the status of the application as it is",
			"hub/app/aggregate/reported.go", "		copied.Status = reported(&c.Copy.Status)\n", "",
			"hub/app/aggregate", "FuzzBounded",
		},
		{
			"facts-believed", "what a cluster says of itself goes into its status as it is",
			"hub/members/controller/status.go", "bounded(f.state.Info)", "f.state.Info",
			"hub/members/controller", "TestBounded",
		},
		{
			"refused-for-ever", "a status that the API server refuses is tried again and again",
			appPackage + "/status.go", "	if apierrors.IsInvalid(err) {\n", "	if apierrors.IsInvalid(err) && ctx.Err() != nil {\n",
			appPackage, "TestRefused",
		},
		{
			"degraded-is-failed", "an application is Degraded only where it has failed or a cluster is lost",
			"hub/app/aggregate/conditions.go", "slices.Concat(s.failed, s.impaired, s.lost)", "slices.Concat(s.failed, s.lost)",
			"hub/app/aggregate", "TestDegraded",
		},
		{
			"nothing-waits", "Stalled says that nothing waits for a user while something is wrong",
			"hub/app/aggregate/conditions.go", "message: s.notStalledMessage()}", "message: \"nothing waits for a user\"}",
			"hub/app/aggregate", "TestDegraded",
		},
	}
}

// ofParts returns mistakes with errors in one part of what a reconciler does, and with what follows from them.
func ofParts() []Mutant {
	return []Mutant{
		{
			"silent-revision", "a revision that cannot be stored keeps the status from being written",
			appPackage + "/reconciler.go", "	if err := r.decideRollout(ctx, app, &in); isConflict(err) {", "	if err := r.decideRollout(ctx, app, &in); err != nil {",
			appPackage, "TestPartsFail",
		},
		{
			"name-taken-for-ever", "an object of another owner with the name of a revision is a conflict",
			appPackage + "/revisions/store.go", "	if apierrors.IsAlreadyExists(err) {\n", "	if apierrors.IsAlreadyExists(err) && next.template == nil {\n",
			appPackage, "TestPartsFail",
		},
		{
			"failed-reconciled", "Progressing says nothing about a rollout that failed",
			"hub/app/aggregate/conditions.go", "	case s.in.Unrevised != nil || s.in.Rollout != nil && s.in.Rollout.State == v1.RolloutFailed:\n", "	case s.in.Unrevised != nil:\n",
			"hub/app/aggregate", "TestFailedRollout",
		},
		{
			"planned-at-once", "a plan says that all clusters change at once while no revision was healthy",
			"hub/app/rollout/waves.go", "	return p.status.PreviousRevision != 0 || slices", "	return p.status.PreviousRevision != 0 || r.RollbackTo != 0 && slices",
			"hub/app/rollout", "TestGuardedWithoutHealthy",
		},
		{
			"replaced-meanwhile", "a revision does not know where pods of an earlier version are being replaced",
			appPackage + "/rollout.go", ".Replacing = c.IsReplacing(in.Previous.Rendering)", ".Replacing = c.IsReplacing(nil)",
			appPackage, "TestPodsThatAreReplacedCount",
		},
		{
			"orphans-for-ever", "the record of orphans stays when the member is gone",
			"hub/members/controller/reconciler.go", "errors.Join(r.register(ctx, name), r.forgetOrphans(ctx, name))", "errors.Join(r.register(ctx, name))",
			"hub/members/controller", "TestRecordOfOrphans",
		},
	}
}

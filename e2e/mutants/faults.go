package mutants

// faults is the package of the tests behind proxies that fail.
const faults = "e2e/faults"

// ofRetries returns mistakes with retries and reports, which classes of faults protect from.
// The classes of package faults without a mutant say in their comments what they guard.
func ofRetries() []Mutant {
	return []Mutant{
		{
			"conflicts-as-often", "a conflict that repeats is retried as soon as the first",
			"spoke/runtime/apierror/policy.go", "delay *= 2;", "delay *= 1;",
			"spoke/runtime/retry", "TestConflictsGrow",
		},
		{
			"throttled-as-failed", "a throttled request is retried like one that failed",
			"spoke/runtime/apierror/classify.go", "		return Throttled", "		return Transient",
			faults, "TestFaults/throttled_member",
		},
		{
			"denied-as-failed", "a request that is denied is retried like one that failed",
			"spoke/runtime/apierror/policy.go", "d.Reason, d.Blocking, d.Wait = v1.ReasonForbidden, true, BlockedWait", "d.Reason, d.Return = v1.ReasonApplyFailed, true",
			faults, "TestFaults/quota",
		},
		{
			"failures-not-retried", "a request that failed is not retried",
			"spoke/runtime/apierror/policy.go", "d.Reason, d.Return = v1.ReasonApplyFailed, true\n", "d.Reason, d.Return = v1.ReasonApplyFailed, false\n",
			"spoke/runtime/apierror", "TestDecide/deadline_of_a_request",
		},
		{
			"failures-not-reported", "a member that refuses a copy is not reported",
			memberQueue, "	err = m.confirmUnknown(ctx, t, err)\n	next.Failure = state.FailureOf(err)", "	err = m.confirmUnknown(ctx, t, err)",
			faults, "TestFaults/etcd_of_a_member_is_full",
		},
	}
}

// ofOutages returns mistakes with watches, lists and probes, which classes of faults protect
// from.
func ofOutages() []Mutant {
	return []Mutant{
		{
			"own-writes-forgotten", "what was written is not remembered until the watch delivers it",
			"spoke/runtime/ownwrites/write.go", "slices.Contains(w.replaced, cached.GetResourceVersion()) && ", "slices.Contains(w.replaced, \"\") && ",
			reconciler, "TestNewest",
		},
		{
			"deleted-revived", "an application from an older list is created again in members that recorded its deletion",
			recovery + "/assess.go", "	if err := assessDeletion(f); err != nil {\n		return err\n	}\n", "",
			faults, "TestFaults/older_list_after_a_restart",
		},
		{
			"silence-unnoticed", "a watch of a member may be silent for ever",
			member + "/connect/transport/transport.go", "watchtimeout.Wrap(timeouts.Watch)(base)", "watchtimeout.Wrap(time.Hour)(base)",
			faults, "TestFaults/silent_watch",
		},
		{
			"lease-given-up", "the leader gives up when the API server restarts",
			"spoke/runtime/manager/options.go", "new(renewDeadline(lease)), new(min(retryPeriod, lease/renewals))", "new(time.Second), new(500*time.Millisecond)",
			faults, "TestFaults/hub_API_server_and_etcd_restart",
		},
		{
			"misses-without-an-answer", "a probe without an answer does not count",
			member + "/outcome.go", "		l.misses++\n", "		if l.now().Sub(r.started) < time.Second {\n			l.misses++\n		}\n",
			faults, "TestFaults/member_behind_a_blackhole",
		},
		{
			"misses-add-up", "failed probes count though others succeed in between",
			member + "/outcome.go", "	l.misses = 0\n	l.state.LastProbe", "	l.state.LastProbe",
			faults, "TestFaults/flapping_member",
		},
	}
}

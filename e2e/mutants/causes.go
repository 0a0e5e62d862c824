package mutants

// ofCauses returns mistakes with why nothing is created or written: objects that the API server fails on, and
// causes that only events tell.
func ofCauses() []Mutant {
	return []Mutant{
		{
			"internal-as-outage", "an API server that fails on one object counts as away",
			"spoke/runtime/apierror/classify.go", "	case internal(err):\n		return Internal\n", "",
			"spoke/runtime/apierror", "TestDecideInternal",
		},
		{
			"internal-stops-all", "nothing is written after an object that the API server fails on",
			reconciler + "/pass.go", "Lasting: true})\n		return true", "Lasting: true})\n		return false",
			reconciler, "TestFail/failed_on",
		},
		{
			"internal-never-stalls", "an object that the API server fails on never waits for a user",
			reconciler + "/failures.go", "problem.Blocking = now.Sub(since) >=", "problem.Blocking = false && now.Sub(since) >=",
			reconciler, "TestEscalate",
		},
		{
			"internal-copy-never-stalls", "a copy that the API server fails on never waits for a user",
			appPackage + "/state/failure.go", "		r.Failing = last.Failing\n	}\n	r.Failure.Lasting", "		r.Failing = now\n	}\n	r.Failure.Lasting",
			appPackage + "/state", "TestEscalate",
		},
		{
			"addresses-shown", "messages of API servers have addresses",
			"spoke/runtime/apierror/message.go", "Stable(serverMessage(err))", "serverMessage(err)",
			"spoke/runtime/apierror", "TestDecideInternal",
		},
		{
			"refused-image-announced", "an event says that an image is rolled out that the API server refused",
			component + "/change.go", "return written != nil && ", "return written != nil && false && ",
			component, "TestClassifyWritten",
		},
		{
			"events-unread", "why the pods of a StatefulSet are not created is not read",
			component + "/refusal.go", "found = append(found, warnings(set, e)...)", "_ = warnings(set, e)",
			component, "TestExplainByEvents",
		},
		{
			"claim-before-cause", "a claim that waits for its first pod is the cause",
			component + "/summarize.go", "s.Reason, s.Message = p.Reason, v1.Excerpt(p.Message, maxMessage)\n		return", "return",
			component, "TestEventsOutrankClaims",
		},
		{
			"refusal-counts", "why pods are refused changes with each attempt",
			"spoke/runtime/apierror/stable.go", "{`, used: .*?, limited: `, \", limited: \"},\n", "",
			component, "TestRefusedDeployment",
		},
		{
			"refusal-dropped", "the cache drops why pods are refused",
			controller + "/slim.go", "kept.Message = c.Message", "kept.Message = \"\"",
			controller, "TestSlimDecisions",
		},
	}
}

// ofReports returns mistakes with what is said about a component, and where.
func ofReports() []Mutant {
	return []Mutant{
		{
			"unscaled-unnoticed", "an autoscaler that does not scale is not reported",
			component + "/autoscaler.go", `if s := &states[i]; s.Unscaled != "" && `, `if s := &states[i]; s.Unscaled == "" && `,
			component, "TestInactiveAutoscaler",
		},
		{
			"cut-in-a-word", "a long message ends within a word",
			"api/v1/text.go", "end > len(text)/2 {", "end > len(text) {",
			"api/v1", "TestExcerpt",
		},
		{
			"on-another-row", "a message is on the row of a component that it is not about",
			"cmd/kubectl-shopfleet/printers/apps.go", "part.Name == name })", "part.Name != name })",
			"cmd/kubectl-shopfleet/printers", "TestAppWide",
		},
	}
}

// ofHolds returns mistakes with what others hold, change and scale.
func ofHolds() []Mutant {
	return []Mutant{
		{
			"autoscaler-unnamed", "a message asks to stop the field manager of an autoscaler, which a user cannot",
			applier + "/errors.go", "case e.Autoscaler != \"\":", "case e.Autoscaler == \"none\":",
			applier, "TestContendedError",
		},
		{
			"contention-fails", "a field that another client changes makes a component fail that works",
			component + "/summarize.go", "if p.Blocking && !p.Harmless &&", "if p.Blocking &&",
			component, "TestContendedField",
		},
		{
			"contended-copy-silent", "a copy that another client keeps changing does not wait for a user",
			"hub/app/aggregate/clusters.go", "e.Stalled = e.Stalled || c.Failure.Contended()", "e.Stalled = e.Stalled && true",
			"hub/app/aggregate", "TestContendedCopy",
		},
		{
			"finalizer-unnamed", "a deletion does not name the finalizer that holds an object",
			component + "/delete.go", "		state.holdBy(objects)\n", "",
			component, "TestHeldDeletion",
		},
		{
			"held-copy-silent", "a copy that a finalizer holds does not wait for a user",
			"hub/app/aggregate/clusters.go", "if in.Now.Sub(c.Copy.HeldSince) >= heldAfter {", "if in.Now.Sub(c.Copy.HeldSince) < 0 {",
			"hub/app/aggregate", "TestHeldCopy",
		},
		{
			"autoscaler-unobserved", "an autoscaler that does not scale is not reported",
			component + "/observe.go", "		state.observeAutoscaler(c, exists)\n", "",
			component, "TestInactiveAutoscaler",
		},
		{
			"budget-by-minimum", "pods that an autoscaler adds have no budget",
			"spoke/render/workload.go", "if w.mostReplicas() > 1 {", "if w.leastReplicas() > 1 {",
			"spoke/render", "TestAutoscaling",
		},
		{
			"starts-with-one", "an autoscaled workload that was stopped starts with one pod",
			applier + "/replicas.go", "return int64(u.start)", "return 0",
			applier, "TestApplier/hand_over_the_number_of_pods",
		},
		{
			"agents-copies-released", "a copy that an agent finalizes loses its finalizer when the hub leaves",
			"cmd/kubectl-shopfleet/join/release.go", "copied.ManagedByMode() == v1.ManagedByHub && ", "",
			"cmd/kubectl-shopfleet/join", "TestHoldsAfterwards",
		},
	}
}

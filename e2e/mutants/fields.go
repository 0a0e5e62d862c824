package mutants

import "slices"

const (
	render = "spoke/render"
)

// ofFields returns mistakes with what clusters and users do to objects: admission that changes what is
// applied, claims that are deleted, and fields that an intent leaves to others.
func ofFields() []Mutant {
	return slices.Concat(ofStored(), ofClaims(), ofIntents())
}

// ofStored returns mistakes with objects that admission stores otherwise than they are applied.
func ofStored() []Mutant {
	return []Mutant{
		{
			"rendered-is-compared-with-live", "a workload is current if its live fields are as rendered",
			component + "/workload.go", "	w.changing = outdated(want.object, live.object)\n",
			"	w.changing = outdated(want.object, live.object) || !sameVersion(want.template, live.template)\n",
			component, "TestObserveDeployment/stored_with_another_image",
		},
		{
			"images-of-live", "whether images change is read from the live object",
			component + "/rendered.go", "		return was.images == imagesHash(want.template)\n", "		return was.images != \"\" && sameVersion(want.template, live.template)\n",
			component, "TestMirroredImages",
		},
		{
			"stored-replicas-awaited", "the rendered number of pods is awaited where another one is stored",
			component + "/workload.go", "want.replicas == nil || !w.changing && stored > 0 && w.wanted > 0", "want.replicas == nil",
			component, "TestObserveDeployment/scaled_by_a_stranger",
		},
		{
			"stored-claim-templates", "a StatefulSet is replaced for claim templates that admission changes",
			component + "/rendered.go", `	return ok && was.fixed != "" && was.fixed == to.fixed`, `	return ok && was.fixed == "" && was.fixed == to.fixed`,
			component, "TestStoredClaimTemplates",
		},
		{
			"difference-not-said", "what admission changes is not reported",
			component + "/conditions.go", "	own = append(own, storedAsApplied(in)...)\n", "	_ = storedAsApplied(in)\n",
			component, "TestStoredAsApplied",
		},
		{
			"difference-forgotten", "what admission changed is dropped while it is not known again",
			component + "/conditions.go", "case last != nil && (in.Paused || in.RewritesUnknown):", "case last != nil && in.Paused:",
			component, "TestStoredAsApplied",
		},
		{
			"difference-not-said-on-the-hub", "the hub does not say what admission changes in a member",
			"hub/app/aggregate/compute.go", "	setStored(in, next)\n", "",
			"hub/app/aggregate", "TestStoredAsApplied",
		},
	}
}

// ofClaims returns mistakes with claims that are deleted while a database uses them.
func ofClaims() []Mutant {
	return []Mutant{
		{
			"deleted-claim-overlooked", "a StatefulSet is written although one of its claims is being deleted",
			component + "/decide.go", "	if p.holdsClaims(component, want, exists) {\n		return\n	}\n", "	p.holdsClaims(component, want, exists)\n",
			component, "TestDeletedClaims",
		},
		{
			"deleted-claim-not-said", "nothing is said about a claim that is being deleted",
			component + "/claims.go", "Blocking: true, Optional: exists != nil && !outdated(want, exists),", "Optional: exists != nil,",
			component, "TestDeletedClaims",
		},
	}
}

// ofIntents returns mistakes with the fields that an intent has, and with how they are compared with the
// live ones.
func ofIntents() []Mutant {
	return []Mutant{
		{
			"defaults-left-to-others", "the type of a Service belongs to the client that sets it",
			render + "/objectparts/objects.go", "			Type: corev1.ServiceTypeClusterIP, InternalTrafficPolicy: new(corev1.ServiceInternalTrafficPolicyCluster),\n", "",
			render, "TestOwnedDefaults",
		},
		{
			"partition-left-to-others", "the partition of a StatefulSet belongs to the client that sets it",
			render + "/database/statefulset.go", ", RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))},", ",",
			render, "TestOwnedDefaults",
		},
		{
			"rewrite-not-noted", "the answer to a write is not compared with what was applied",
			applier + "/update.go", "	if err := a.noteStored(written, intent); err != nil {\n		return Result{}, err\n	}\n", "",
			applier, "TestMirror",
		},
		{
			"futile-patch", "the expansion of a claim is sent in each pass although a policy keeps the size",
			applier + "/grow.go", "	if futile {\n		return Unchanged, nil\n	}\n", "	_ = futile\n",
			applier, "TestFutilePatches",
		},
		{
			"zeros-omitted", "an intent has no field that is zero",
			applier + "/hash.go", "	setZeros(r, content)\n", "",
			applier, "TestZeros",
		},
		{
			"order-not-compared", "lists with keys are compared in any order",
			applier + "/contains.go", "	return !orderedLists(field) || inOrder(live, intent, keys)\n", "	return true\n",
			applier, "TestContains",
		},
		{
			"order-not-seen", "a fingerprint does not cover the order of lists",
			applier + "/order.go", "			write(c.Name)\n			for _, e := range c.Env {\n				write(e.Name)\n			}\n", "			_ = c\n",
			applier, "TestOrderOf",
		},
	}
}

package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

// plans returns the reasons of Plans that no other object has.
func plans() []Entry {
	return []Entry{
		{v1.ReasonPolicyMissing, "In doctor, admission policies of the hub or their bindings are missing, which the message names: deletion is not protected, Plans are refused, or users are not warned. A Plan: the admission policy that compares the requester of a Plan with the user who creates it, or its binding, is missing or newer than the Plan, so that the hub does not know for certain which user asks.",
			"kubectl get validatingadmissionpolicies,validatingadmissionpolicybindings shopfleet-plan-requester",
			"kubectl shopfleet install hub   # with the same flags\nThen run kubectl shopfleet plan again: it creates another Plan.\nOf a hub that the Operator Lifecycle Manager installed: kubectl apply --server-side -f install-hub-policies.yaml, of its release."},
		{v1.ReasonManagedByAgent, "The member has an agent, which writes the children of the copy. The hub may not read or write them, so that its Plan has the change of the copy only.",
			"", ""},
	}
}

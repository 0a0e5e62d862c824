package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const revisions = "kubectl shopfleet rollout history APP -n NAMESPACE"

// rollouts returns the reasons of an application whose clusters do not all have the revision of the spec.
func rollouts() []Entry {
	return []Entry{
		{v1.ReasonRollingOut, "The clusters get the revision of the spec one after the other. Those that have yet to get it run the previous one.",
			statusApp, ""},
		{v1.ReasonWaitingForWindow, "The next cluster gets the revision of the spec when a window of spec.rollout.windows begins.",
			statusApp, "To go on before: remove spec.rollout.windows."},
		{v1.ReasonWaitingForApproval, "The next region gets the revision of the spec when a user approves it.",
			statusApp, "kubectl shopfleet rollout approve APP -n NAMESPACE\nTo return to the previous revision: kubectl shopfleet rollout undo APP -n NAMESPACE."},
		{v1.ReasonRolloutPaused, "A user paused the rollout. The clusters have the revision of the spec or the previous one.",
			revisions, "kubectl shopfleet rollout resume APP -n NAMESPACE"},
		{v1.ReasonRolloutFailed, "A cluster failed with the revision of the spec. The others are not changed until it is ready.",
			statusApp, "Correct the spec, or what keeps the cluster from being ready.\nTo return to the previous revision: kubectl shopfleet rollout undo APP -n NAMESPACE."},
		{v1.ReasonRolledBack, "A cluster failed with the revision of the spec, or a user rolled it back. All clusters run the revision that the message names. The database keeps its version and size.",
			revisions, "Correct the spec: the next edit is rolled out.\nTo try the same revision again: kubectl shopfleet rollout undo APP -n NAMESPACE --to-revision REVISION."},
		{v1.ReasonRevisionNotStored, "The revision of the spec cannot be read or stored as a ControllerRevision, so that no cluster gets it: each keeps what it has. The message has the cause: a quota, an admission policy, or a ControllerRevision of another owner with the name APP-revision-NUMBER.",
			"kubectl get controllerrevisions -n NAMESPACE", "Raise the quota, or correct the policy or the object that the message names.\nThe hub tries again within five minutes."},
		{v1.ReasonRevisionNotFound, "The revision that a cluster is to have does not exist: its ControllerRevision was deleted, or the annotation ecommerce.io/rollback-to names none that was healthy. The cluster keeps what it has.",
			revisions, "Edit the spec, or roll out another revision.\nkubectl shopfleet rollout undo APP -n NAMESPACE --to-revision REVISION"},
	}
}

// TemplatesRemedy returns what to do about a rollout of a version of the pod templates in a state, in one line, a command or
// a sentence. It is empty if the rollout goes on by itself, as while it waits for a revision and no user paused it.
func TemplatesRemedy(state v1.RolloutState, paused bool) string {
	switch {
	case state == v1.RolloutWaitingForApproval:
		return Remedy(v1.ReasonWaitingForApproval)
	case state == v1.RolloutWaitingForWindow:
		return "It goes on when a window begins. Before that, as for a security fix: kubectl shopfleet rollout render-now APP -n NAMESPACE."
	case state == v1.RolloutPaused && paused:
		return Remedy(v1.ReasonRolloutPaused)
	case state == v1.RolloutFailed:
		return "Correct what keeps the cluster from being as before: the others follow by themselves. Nothing is taken back."
	default:
		return ""
	}
}

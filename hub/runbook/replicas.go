package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

// replicas returns the states of the replicas of databases, and the reason that reports those that a
// user has to do something about.
func replicas() []Entry {
	const (
		states = "kubectl get ecommerceapp APP -n NAMESPACE -o jsonpath='{.status.databaseReplicas}'   # in the member"
		logs   = "kubectl logs -n NAMESPACE APP-database-N -c database   # in the member"
		dump   = "kubectl exec -n NAMESPACE APP-database-N -c database -- sh -c 'pg_dump -h /var/run/postgresql -U postgres -Fc \"$APP_DATABASE\"' > FILE   # in the member"
		remove = "\nN is the number of the replica that the message names. Keep the dump until you know that the primary has everything in it." +
			"\nThen delete the claim and the pod of that replica; the next pod copies the primary's data:" +
			" kubectl delete pvc -n NAMESPACE data-APP-database-N --wait=false && kubectl delete pod -n NAMESPACE APP-database-N, in the member." +
			"\nNever do this with the number 0: APP-database-0 is the primary, and its claim is the database."
	)
	return []Entry{
		{string(v1.ReplicaFollowing), "The replica receives the changes of the primary. lagSeconds says how far it is behind.", "", ""},
		{string(v1.ReplicaDisconnected), "The replica does not receive the changes of the primary, which still has all that the replica needs. It keeps its data, is left out of reads while the primary serves, and goes on when it is connected.",
			logs, "Wait; if it stays so, do as the log says: the network between the pods, or a volume that is full."},
		{string(v1.ReplicaLost), "The primary no longer has the changes that the replica needs next. The replica is a standby of the same database, and the primary has all of its data.",
			states, "Wait; it is evicted within minutes, when the PodDisruptionBudget allows it, and its next start copies the primary's data into its volume.\n" +
				"That start checks against the primary once more. If it refuses, the log of the container prepare says why: kubectl logs -n NAMESPACE APP-database-N -c prepare, in the member. It is asked again after an hour."},
		{string(v1.ReplicaPromoted), "A user promoted the server: it is no replica any more, and may have what the primary lacks. It keeps its data, whatever happens, and is left out of reads while the primary serves.",
			states, dump + remove},
		{string(v1.ReplicaDiverged), "The data of the replica is of another database than the primary's, of a timeline that does not fit, or ahead of the primary, as after a restore of the primary. It may be the only copy, and is kept. A replica of an older timeline, as after a promoted server became the primary, is kept too when the primary no longer has the changes that it needs next, even if the primary has all of its data.",
			states, dump + remove},
		{string(v1.ReplicaUnknown), "The replica did not answer: it starts, copies data, or hangs. It keeps its data.",
			logs, "Wait; if it stays so, look at the events of the pod: kubectl describe pod -n NAMESPACE APP-database-N, in the member."},
		{v1.ReasonReplicaDiverged, "Replicas of the database are Promoted or Diverged: they may have what the primary lacks. Their data is kept, and only you may remove it.",
			states, dump + remove},
	}
}

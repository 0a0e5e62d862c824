package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const (
	lostWhere = "kubectl get ecommerceapp APP -n NAMESPACE -o jsonpath='{.status.conditions[?(@.type==\"DatabaseLost\")].message}'   # in the member"
	lostFirst = "To restore a Backup, if nothing has newer data: kubectl shopfleet restore BACKUP -n NAMESPACE --overwrite"
)

// lostDatabase returns the reason of a database whose data is gone.
func lostDatabase() []Entry {
	return []Entry{{
		v1.ReasonDatabaseLost,
		"The volume of the database's primary, the pod whose name ends with -0, is empty or gone, although the database was created before: its claim was deleted, or its node was lost with a local volume. " +
			"Shopfleet starts no empty database in its place. No dump or Backup is made and none is pruned meanwhile, so that the good ones stay. Replicas go on serving what they have, and the message names those whose claims are bound. " +
			"The condition DatabaseLost ends when the primary has data again.",
		lostWhere, lostFirst + backThen,
	}}
}

// backThen says how the data comes back, by what is left of it.
const backThen = "\nIf the volume still exists, as a PersistentVolume that is Released, put it back, in the member: kubectl patch pv VOLUME --type=json -p '[{\"op\":\"remove\",\"path\":\"/spec/claimRef/uid\"},{\"op\":\"remove\",\"path\":\"/spec/claimRef/resourceVersion\"}]' reserves it for the next claim of that name (VOLUME is its name). Then let there be one: " +
	"kubectl delete pvc -n NAMESPACE data-APP-database-0 --wait=false && kubectl delete pod -n NAMESPACE APP-database-0." +
	"\nFrom a Backup, of those that this command lists: kubectl shopfleet backup list APP -n NAMESPACE\nA snapshot replaces the volume. A dump is loaded into a new database, for which the Restore is the consent; nothing uses the database until that has succeeded. It deletes the claims of replicas too, which copy its data again; status.replicaVolumes of the Restore names their volumes, which are kept: dump a replica first, if it has more than the Backup." +
	"\nFrom a replica that the message names, if it has more than the newest Backup (N is its number). PostgreSQL: kubectl exec -n NAMESPACE APP-database-N -c database -- sh -c 'pg_dump -h /var/run/postgresql -U postgres -Fc \"$APP_DATABASE\"' > FILE, in the member. Then start with an empty database, as below, and load it: " +
	"kubectl exec -i -n NAMESPACE APP-database-0 -c database -- sh -c 'pg_restore -h /var/run/postgresql -U postgres --clean --if-exists --no-owner --role=\"$APP_USER\" --single-transaction --exit-on-error -d \"$APP_DATABASE\"' < FILE. The replica keeps its data until a Restore of a snapshot, or you, delete its claim and its pod." +
	"\nIf nothing is left, or the data does not matter: kubectl annotate ecommerceapp APP -n NAMESPACE --overwrite ecommerce.io/start-empty=$(date +%s), on the hub, or for a MySQLCluster in its cluster. Each value consents once, in every cluster in which the data is lost at that time; a value that is there before the loss consents to nothing." +
	"\nA MySQLCluster has no Restore: annotate it so, and load one of its dumps by hand."

package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const (
	fleetOverview = "kubectl get memberclusters -o wide"
	rejections    = "kubectl shopfleet why APP -n NAMESPACE"
	memberTaints  = "kubectl get membercluster MEMBER -o jsonpath='{.spec.scheduling} {.spec.taints}'"
	memberLabels  = "kubectl get membercluster --show-labels"
)

// placementFailures returns the reasons of an application without a cluster, or that waits for one.
func placementFailures() []Entry {
	return []Entry{
		{v1.ReasonNoReadyCluster, "No cluster that matches the placement is ready, or none is registered.",
			fleetOverview, "Look up the reason of the members that are not ready, or join one.\nTo join: " + joinAgain + "."},
		{v1.ReasonNoMatchingCluster, "No cluster matches the placement, or spec.placement.clusterNames lists one that does not exist. The application stays where it runs.",
			rejections, fixSpec + "\nCorrect spec.placement, or the labels of the MemberClusters."},
		{v1.ReasonClusterUnreachable, "A cluster of the application does not answer, or its agent does not. What runs there goes on, and its status on the hub is outdated. A deletion waits for it.",
			fleetOverview, "kubectl shopfleet doctor\nIt names the reason of the MemberCluster, and what to do.\nA deletion that must not wait: kubectl shopfleet delete APP -n NAMESPACE --skip-unreachable. The hub cleans up when the cluster returns."},
		{v1.ReasonClusterNotReady, "The placement rejected a cluster that is not ready. Where the application already runs, it stays.",
			fleetOverview, "kubectl shopfleet doctor\nIt names the reason of the MemberCluster, and what to do."},
		{v1.ReasonClusterDetached, "The cluster has left the fleet: its registration Secret or its MemberCluster is gone. What runs there goes on and is not updated. A Backup or Restore that needs it waits or has failed.",
			fleetOverview, joinAgain + "\nJoin it under the same name. If it is gone for good, restore its Backups in another cluster."},
		{v1.ReasonSpreadNotMet, "The chosen clusters do not meet spread or maxClusters of spec.placement: there are too few, or the application ran in others before. It runs in those that are chosen.",
			rejections, "Join clusters in other regions, zones or providers, or lower the limits.\nClusters that run the application are exchanged for others when spec.placement is edited, and one with its database when the annotation ecommerce.io/move-empty names it: see DataStays."},
		{v1.ReasonDataStays, "The application should leave a cluster, and its database is there: it stays.",
			rejections, "To let the database start empty elsewhere: kubectl annotate ecommerceapp APP -n NAMESPACE ecommerce.io/move-empty=MEMBER\nVolumes and backups of the cluster are kept. Back up the database before, and restore it where the application runs then."},
		{v1.ReasonReplacementPending, "The application should leave a cluster, and serves customers there until the other clusters that are chosen for it do.",
			statusApp, "Look up the reason of the clusters that are not ready."},
		{v1.ReasonFactsUnknown, "The placement depends on the region, the provider or the zones of a cluster that runs the application, and they are not known: the status of its MemberCluster was lost, or the hub has yet to connect. The application stays.",
			fleetOverview, "Wait until the MemberCluster is Ready.\nA cluster that does not respond: " + joinAgain + " --region REGION --provider PROVIDER."},
		{v1.ReasonNoOtherCluster, "The application should leave a cluster, and no other cluster can run it: it stays.",
			rejections, "Join a cluster that matches the placement, or change the placement.\nTo end a drain: kubectl shopfleet uncordon MEMBER."},
		{v1.ReasonWaitingForClusters, "Some clusters do not have the current spec yet, or are not ready with it.",
			statusApp, "Look up the reason of the clusters that are not ready."},
	}
}

// placementRejections returns the reasons why the placement rejects a cluster. They are facts
// and not failures: a remedy applies if the cluster should run the application.
func placementRejections() []Entry {
	return []Entry{
		{v1.ReasonNotSelected, "spec.placement.clusterSelector does not match the labels of the cluster.",
			memberLabels, "If the cluster should run the application, label it.\nkubectl label membercluster MEMBER KEY=VALUE"},
		{v1.ReasonNameNotListed, "spec.placement.clusterNames does not list the cluster.",
			rejections, "If the cluster should run the application, add its name to spec.placement.clusterNames."},
		{v1.ReasonRegionNotListed, "spec.placement.regions does not list the region of the cluster, or that is not known.",
			fleetOverview, "If the cluster should run the application, add its region to spec.placement.regions.\nA region that is not known: " + joinAgain + " --region REGION."},
		{v1.ReasonProviderNotListed, "spec.placement.providers does not list the provider of the cluster, or that is not known.",
			fleetOverview, "If the cluster should run the application, add its provider to spec.placement.providers.\nA provider that is not known: " + joinAgain + " --provider PROVIDER."},
		{v1.ReasonMaxClustersReached, "spec.placement.maxClusters is reached, by clusters that already run the application, are preferred, have more free capacity, or come first by name.",
			rejections, "If more clusters should run the application, raise spec.placement.maxClusters."},
		{v1.ReasonSpreadLimit, "The cluster matches, and spec.placement.spread allows no more clusters in its region, zone or provider, or that is not known.",
			rejections, "If more clusters should run the application, raise the limits of spec.placement.spread."},
		{v1.ReasonTaintNotTolerated, "The cluster has a taint that spec.placement.tolerations does not tolerate, or no longer.",
			memberTaints, "If the cluster should run the application, add a toleration, or remove the taint from the MemberCluster."},
		{v1.ReasonCordoned, "spec.scheduling of the MemberCluster is Cordoned: it is not chosen for other applications.",
			memberTaints, "kubectl shopfleet uncordon MEMBER"},
		{v1.ReasonDrained, "spec.scheduling of the MemberCluster is Drained: applications leave it, and it is chosen for none.",
			memberTaints, "kubectl shopfleet uncordon MEMBER"},
	}
}

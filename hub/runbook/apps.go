package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const (
	statusApp   = "kubectl shopfleet status APP -n NAMESPACE"
	describeApp = "kubectl describe ecommerceapp APP -n NAMESPACE"
	memberPods  = "kubectl get pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member"
	recoverAll  = "kubectl shopfleet recover list -A"
	fixSpec     = "kubectl edit ecommerceapp APP -n NAMESPACE"
)

// appProgress returns the reasons of an application that is ready, or on its way.
func appProgress() []Entry {
	return []Entry{
		{v1.ReasonRunning, "Everything that the spec asks for is observed to be ready.", "", ""},
		{v1.ReasonReconciled, "Every cluster has the current spec, no change is in progress, and nothing has failed.", "", ""},
		{v1.ReasonDisabled, "The spec disables the component.", "", ""},
		{v1.ReasonPaused, "The application or the member is paused, or all members are by the hub's safe mode: nothing is written there, and the status lists what would be.",
			"kubectl shopfleet diff APP -n NAMESPACE",
			"Set spec.paused of the EcommerceApp or MemberCluster that the message names to false, or end the safe mode of the hub, when the changes are right."},
		{v1.ReasonPlaced, "The placement chose at least one cluster.", "", ""},
		{v1.ReasonProgressing, "A change is being rolled out: an object is being created or updated, or the hub waits for a cluster to reconcile the current generation.",
			statusApp,
			"Wait; after 10 minutes without success the reason becomes ProgressDeadlineExceeded.\nIf one cluster alone does not move, look up the reason of its MemberCluster."},
		{v1.ReasonCreating, "The first rollout is in progress: components are created in order, database, backend, frontend, ingress.",
			statusApp, "Wait; the reason of the condition Ready says which component is waited for.\nA StatefulSet or Deployment that makes no progress for 10 minutes becomes ProgressDeadlineExceeded."},
		{v1.ReasonUpdating, "A change is being rolled out, or something that was ready recovers, such as a pod that was deleted.",
			statusApp, "Wait; the reason of the condition Ready says which component is waited for.\nA StatefulSet or Deployment that makes no progress for 10 minutes becomes ProgressDeadlineExceeded."},
		{v1.ReasonScaling, "Only the number of replicas is changing.", statusApp, "Wait; the reason ends with the last pod."},
		{v1.ReasonWaitingForDependency, "The component waits for another one, which the message names: database, then backend, then frontend, then ingress. In a new copy it waits about ten seconds for the Secrets and ConfigMaps of `spec.propagate` that it refers to.",
			statusApp, "Look up the reason of the component that the message names. If it names a Secret or a ConfigMap, see the condition `Propagated` of the application."},
		{v1.ReasonCopyingData, "A new replica of the database copies the data of the primary. That takes as long as the data is large, and has no deadline; customers are served.",
			memberPods, "Wait; the log of the pod that the message names shows the progress."},
		{v1.ReasonWaitingForAddress, "The Ingress has a class, and no controller has given it an address, so that customers may not reach the shop.",
			"kubectl describe ingress -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Check that the IngressClass exists, that its controller runs, and that its load balancer has an address."},
		{v1.ReasonWaitingForGateway, "The Gateway that spec.ingress.gatewayRef names has not accepted the HTTPRoute, so that customers may not reach the shop. An Ingress from before stays until it has.",
			"kubectl describe httproute -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Check that the Gateway exists, that a listener has the host and allows routes from the namespace, and that the controller of its GatewayClass runs."},
		{v1.ReasonGatewayAPINotServed, "spec.ingress.gatewayRef is set, and the cluster does not serve HTTPRoutes of the Gateway API, version v1. An Ingress from before stays as it is.",
			"kubectl get crd httproutes.gateway.networking.k8s.io   # in the member",
			"Install the Gateway API and a Gateway in the member, or set spec.ingress.className for an Ingress in clusters without it."},
		{v1.ReasonWaitingForCertificate, "cert-manager has not issued the certificate of the Ingress.",
			"kubectl describe certificate,certificaterequest -n NAMESPACE   # in the member",
			"Do as the events of the Certificate say: the issuer does not exist or is not ready, or the host does not lead to this cluster yet."},
		{v1.ReasonStorageNotExpandable, "spec.database.storage was raised, and the StorageClass of the claim does not allow expansion. The database keeps its volume and runs, and the rest of the spec is in effect. Stalled is True, because the size is not. Only Degraded is True if the claim of dumps alone cannot grow.",
			"kubectl get storageclass   # in the member",
			"kubectl patch storageclass CLASS -p '{\"allowVolumeExpansion\":true}'   # in the member\nIt is tried again within five minutes. The message says if a quota or a permission is the cause instead." +
				"\nIf the driver of the class cannot expand volumes, restore a dump into a new application of another class: spec.database.storage cannot be set back."},
		{v1.ReasonClaimBeingDeleted, "A volume claim of the database was deleted. Kubernetes keeps it until its pod restarts, and the volume is lost then. Nothing is written that restarts the pod: changes of the database wait, the rest of the spec is in effect. A deletion cannot be taken back.",
			"kubectl get persistentvolumeclaims,pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			backupAgain + "\nWait until the Backup is complete. Then delete the pod that the message names, in the member, and restore the Backup: kubectl shopfleet restore." +
				"\nIf only the claim of a replica is deleted, delete its pod: it copies the data of the primary to a new volume.\nIf it is the claim of dumps, copy them elsewhere while a pod uses it."},
		{v1.ReasonDeadlineExceeded, "A component did not become ready within 10 minutes. It is left as it is, and the reason ends when the component is ready or the spec changes.",
			memberPods,
			"kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member\nIf the last change broke it, set the image or the field back: that is a new spec, and rolls out at once."},
	}
}

// appPods returns the reasons why pods or volumes are waited for.
func appPods() []Entry {
	return []Entry{
		{v1.ReasonWaitingForReplicas, "Pods are not ready, or not removed yet. When they have not been for 30 seconds, the pods and the events of their workload are read: what they say becomes the reason.",
			memberPods,
			"kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member\nThe events of the pods say why: image, resources, probes. Correct the spec, or the cluster.\nIf pods are missing, look at the events of the workload: kubectl get events -n NAMESPACE --field-selector type=Warning   # in the member"},
		{v1.ReasonFailedCreate, "The cluster rejects the pods of a workload, so that there is none to describe: a quota is used up or asks for requests or limits, a LimitRange, Pod Security or a webhook denies them, or a webhook cannot be called. The message has what the cluster says, of a Deployment from its own condition, of a StatefulSet from its events.",
			"kubectl get events -n NAMESPACE --field-selector type=Warning   # in the member",
			"kubectl describe resourcequota,limitrange -n NAMESPACE   # in the member\nRaise the quota, or set resources of the component as it asks. For Pod Security and webhooks, correct the spec or the policy; start what serves a webhook that cannot be called.\nKubernetes tries again within 17 minutes, and at once after a change of the component."},
		{v1.ReasonCrashLoopBackOff, "A container of the component that the message names ends each time it is started, and the kubelet waits longer and longer before it starts it again. The message has the exit code of its last run, or says that the container cannot be started. The pods are read when they have not been ready for 30 seconds, then after one minute, two, four and so on up to ten.",
			memberPods,
			"kubectl logs -n NAMESPACE -l app.kubernetes.io/instance=APP,app.kubernetes.io/component=COMPONENT --all-containers --ignore-errors --previous   # in the member\nIf the last change broke it, set the image or the field back. With OOMKilled, raise the memory limit of the component."},
		{v1.ReasonImagePullBackOff, "The kubelet cannot pull the image of a container: it does not exist, the registry does not respond, or it asks for credentials.",
			memberPods,
			"kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member\nCorrect the image, or name a Secret in imagePullSecrets of the component; spec.propagate copies it to the members."},
		{v1.ReasonCreateContainerConfigError, "A container cannot be created: mostly because a Secret, a ConfigMap or a key that its environment refers to does not exist, or because its image runs as root.",
			memberPods,
			"Create what the message names in the member, or list it in spec.propagate. An image that runs as root needs another user."},
		{v1.ReasonUnschedulable, "No node of the cluster fits a pod, for the reasons that the message has from the scheduler. The events of the pod have the numbers of nodes.",
			"kubectl get nodes   # in the member",
			"Add nodes, lower the requests of the component, or correct its nodeSelector, tolerations or topology. With spec.placement.replicas divided by FreeCapacity, the hub counts what is free."},
		{v1.ReasonWaitingForStorage, "A claim of the database has no volume yet, or its volume is still growing. A claim may wait for its first pod: when that has lasted 30 seconds, pods and events are read, and what they say becomes the reason.",
			"kubectl describe pvc -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Do as the events of the claim say. Without any, look at the pods: kubectl get pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member\nA claim without a class needs a default StorageClass: kubectl get storageclass   # in the member"},
		{v1.ReasonProvisioningFailed, "A claim of the database gets no volume, or its volume does not grow: its StorageClass does not exist, the pool or the zone has no capacity, or the driver fails. The message has what the events of the claim say.",
			"kubectl describe pvc -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member",
			"Create the StorageClass that the message names, add capacity, or repair the driver. Kubernetes then tries again to create the volume.\nA claim keeps its class. While the database is new, delete the claim and its application, and create it with another class."},
	}
}

// appService returns the reasons about what an application is to its users.
func appService() []Entry {
	return []Entry{
		{v1.ReasonAvailable, "Customers can be served: the primary of the database is ready, backend and frontend have a pod each, and the Ingress or HTTPRoute exists.", "", ""},
		{v1.ReasonUnavailable, "Customers cannot be served in a cluster that answers. The message names the cluster, or the component that they lack.",
			statusApp, "kubectl describe pods -n NAMESPACE -l app.kubernetes.io/instance=APP   # in the member\nBegin with the component that the message names: database before backend before frontend."},
		{v1.ReasonSelfSignedCertificate, "spec.security.tls.issuerRef is set, and the cluster has no cert-manager: browsers do not trust the self-signed certificate that is in use. Customers are served.",
			"kubectl get crd certificates.cert-manager.io   # in the member", "Install cert-manager and the issuer in the member: the certificate is then issued and replaces the self-signed one.\n" +
				"Or create a Secret of type kubernetes.io/tls there, and name it in spec.security.tls.secretRef in place of issuerRef."},
		{v1.ReasonAutoscalerInactive, "The HorizontalPodAutoscaler of a component has not scaled for five minutes: its pods request no CPU, of which the target is a part, or the cluster serves no metrics. The component runs with the pods that it has.",
			"kubectl describe hpa -n NAMESPACE   # in the member",
			"Set resources.requests.cpu of the component that the message names, or a default in a LimitRange of the namespace, and restart its pods.\nFor metrics, install metrics-server: kubectl get apiservice v1beta1.metrics.k8s.io   # in the member"},
		{v1.ReasonChangedByAdmission, "An admission policy or a webhook of the cluster stores fields of the application's objects other than they are applied. The message names the first field and both values; the API server does not say which policy it was. The application runs with what is stored.",
			"kubectl get mutatingadmissionpolicies,mutatingwebhookconfigurations   # in the member",
			"Nothing, if it is intended, as with a registry mirror.\nOtherwise exempt the application from the policy, and apply its objects again: kubectl shopfleet rollout reconcile APP -n NAMESPACE"},
		{v1.ReasonLoginNotConfigured, "No user can log in: the login has no credentials of its provider, or admits neither a domain nor a group.",
			describeApp, fixSpec + "\nThe message names the Secret or the field of spec.security.authentication that is missing."},
		{v1.ReasonCredentialsInvalid, "The credentials Secret of the database has content that cannot be used: another user or database than those of the data, a name that the engine reserves, or a line break. Clients keep the login that they have.",
			describeApp, "Correct the key of the Secret that the message names; it is read again within 5 minutes."},
		{v1.ReasonRotationFailed, "The new password of the credentials Secret could not be set in the database. Clients keep the old one, which works. It is tried again.",
			describeApp, "Look at the log of the primary of the database.\nTo stop trying, set the old password in the Secret again."},
		{v1.ReasonPropagated, "The hub can read every Secret and ConfigMap that spec.propagate lists, and has written them in each cluster that it reaches.", "", ""},
		{v1.ReasonMissing, "A Secret or ConfigMap that the spec refers to does not exist in a cluster: pods wait for it, or the Ingress serves another certificate. Everything is written all the same. " +
			"The condition Propagated: one that spec.propagate lists does not exist on the hub. What a cluster has of it stays.",
			"kubectl get secrets,configmaps -n NAMESPACE   # in the member, or on the hub for Propagated",
			"Create what the message names in the namespace of the application in the member, or create it on the hub and list it in spec.propagate: see [Propagate](README.md#propagate). A member is asked again within seven minutes, and at once by kubectl shopfleet rollout reconcile APP -n NAMESPACE." +
				"\nFor the condition Propagated, create it on the hub, or remove it from spec.propagate. It is read again within two minutes."},
		{v1.ReasonNotSupported, "The spec has fields that have no effect: those that only a hub carries out, as snapshots, storage profiles and placement, in an application without a hub, or the description of a managed database in a MySQLCluster. " +
			"On a Restore: a hub of an older version began it, and nothing was replaced.",
			"kubectl describe ecommerceapp APP -n NAMESPACE   # in the cluster, or mysqlcluster, restore",
			"Remove the fields that the message names, or create the application on a hub.\nFor backups without a hub, set spec.database.backup.method to Dump.\nFor a Restore, create another one."},
	}
}

// createSecrets creates the Secrets that the data of a database depends on.
const createSecrets = "\nThe Secret of clients, APP-database-credentials or that of spec.database.credentialsSecretRef: " +
	"`kubectl create secret generic APP-database-credentials -n NAMESPACE --from-literal=username=USER --from-literal=password=PASSWORD --from-literal=database=DATABASE`." +
	" The Secret APP-database-login has the user in its key owner, and the other two as they are." +
	"\nThe Secret of the database itself, in which root-password is for MySQL only: " +
	"`kubectl create secret generic APP-database-system -n NAMESPACE --from-literal=replication-password=PASSWORD --from-literal=root-password=PASSWORD`." +
	"\nThen, unless it is that of credentialsSecretRef, hand it over: `kubectl annotate secret SECRET -n NAMESPACE ecommerce.io/adopt=Always`. It is taken up within five minutes. " +
	"A MySQLCluster has NAME-credentials, NAME-login and NAME-system."

// appFailures returns the reasons of an application that needs a user.
func appFailures() []Entry {
	return []Entry{
		{v1.ReasonInvalidSpec, "The spec cannot be carried out: a member's API server rejects an object, or fields contradict each other, or an override cannot be applied, or the placement names what does not exist. CloudAccount, Backup and Restore have it, too.",
			describeApp, fixSpec + "\nThe message names the field, the override or the object: `kubectl shopfleet render APP -n NAMESPACE --member MEMBER` shows the spec for a cluster. Nothing is retried before the spec changes; rejections by a member are, every 5 minutes."},
		{v1.ReasonUpgradeRefused, "By an override or a JSON patch, or because it missed a version, a cluster would get a server of its database that cannot run, that cannot read the data, or that needs consent. The copy there stays as it is, with all that changes with it; the other clusters go on. With spec.rollout the cluster keeps its revision, and gets the next one in its turn when its database can follow.",
			"kubectl get ecommerceapp APP -n NAMESPACE -o jsonpath='{range .status.backups[*]}{.name} {.version} {.image}{\"\\n\"}{end}'",
			fixSpec + "\nGive the image in spec.overrides the version as its tag, and raise spec.database.version with it. A major version of MySQL needs spec.database.allowUpgradeTo.\nIf the cluster was away or down when the version between was rolled out, raise its copy to that one, and the image if the spec has one; the hub goes on when the database has started with it: kubectl patch ecommerceapp APP -n NAMESPACE --type=merge -p '{\"spec\":{\"database\":{\"version\":\"8.4.2\"}}}'   # in the member\nThere is no way back to an earlier version: restore a dump into a new application."},
		{v1.ReasonConflict, "An object with the name of a child exists and is not the application's. It was not touched. On a Restore: the claim was given another volume meanwhile.",
			describeApp,
			"Adopt the object with the annotation that the message gives, or delete or rename it.\nFor example: kubectl annotate KIND NAME -n NAMESPACE ecommerce.io/adopt=IfNoDiff, in the member."},
		{v1.ReasonFieldManagerConflict, "Another client changes fields of a child each time they are repaired: an autoscaler, a GitOps tool or a policy. They are repaired once in five minutes. The component works all the same; Stalled is True, because the spec and the other client want different things.",
			describeApp,
			"Stop the client that the message names from changing the field, or set the same value in the application.\nA HorizontalPodAutoscaler that you made: delete it, and set autoscaling of the component in place of replicas. kubectl get hpa -n NAMESPACE   # in the member"},
		{v1.ReasonForbidden, "A member refuses a write: a permission is missing, or an admission policy or a quota denies it. The condition Propagated: the hub may not read what spec.propagate lists. CloudAccount: the provider denies reading the identity or listing the bucket. On a Restore: the files belong to another user than the pods there, which ends it. In doctor, you may not read what the check is about.",
			describeApp,
			joinAgain + "\nThe command grants what the hub needs. If the message names a policy or a quota, change that in the member; the hub tries again within 5 minutes." +
				"\nFor the condition Propagated, see [Propagate](README.md#propagate). In doctor, ask an administrator for the permission in the message, or for the output of the command."},
		{v1.ReasonApplyFailed, "A write in a member failed for a reason that may pass: throttling, a kind that is not served, a timeout, or the API server answers and fails on this one object, because it cannot call a webhook or a definition lacks a field. The hub retries, and writes the other components meanwhile. Stalled becomes True when the API server has failed on the object for some minutes.",
			describeApp, "If it stays for 10 minutes, do as the message says.\nA webhook that cannot be called: start what serves it, or remove it: kubectl get validatingwebhookconfigurations,mutatingwebhookconfigurations   # in the member" +
				"\nA field that is not declared in the schema, or a kind that is not served, needs a newer CustomResourceDefinition in the member. Otherwise look at the load of the member's API server."},
		{v1.ReasonCredentialsMissing, "A Secret that the data of the database depends on is gone, or a key of it. New passwords would not open the data, so nothing was written. On a Restore: the Secret is missing, or the data lacks the user or the database that it names.",
			"kubectl get secrets -n NAMESPACE   # in the member",
			"Create the Secret that the message names again, in the member, with the values that the data has." + createSecrets +
				"\nIf the values are lost: delete the claim that the message names, and do as [DatabaseLost](#databaselost) says."},
		{v1.ReasonNamespaceTerminating, "The namespace is being deleted in the member, so that nothing can be created there. The hub goes on when it is gone.",
			"kubectl get namespace NAMESPACE -o yaml   # in the member",
			"Wait; if the namespace stays, its conditions name the objects whose finalizers hold it."},
		{v1.ReasonNewerInMember, "The hub was restored from an older backup: the cluster has a later generation of the application, or one of another application of this name. The hub changes nothing there.",
			recoverAll,
			"To make the hub's spec the truth: kubectl shopfleet recover overwrite APP -n NAMESPACE\nTo take the spec of the cluster instead, use kubectl shopfleet recover import."},
		{v1.ReasonDeletedInMember, "The hub was restored from an older backup: the cluster has recorded that the application was deleted.",
			recoverAll,
			"If it is to be deleted everywhere: kubectl shopfleet delete APP -n NAMESPACE\nOr create it there again: kubectl shopfleet recover overwrite APP -n NAMESPACE."},
		{v1.ReasonNewerElsewhere, "The hub was restored from an older backup: the application has left this cluster since, or another cluster has a later generation. No copy is created, so that the shop does not run twice.",
			recoverAll,
			"Settle the other clusters first, or correct the placement.\nThen, if the application belongs here: kubectl shopfleet recover overwrite APP -n NAMESPACE."},
	}
}

// appDeletion returns the reasons of an application that is being deleted.
func appDeletion() []Entry {
	return []Entry{
		{v1.ReasonDeleting, "The application, its copy in a cluster, or the data of a Backup or Restore is being deleted. The message names what is left.",
			statusApp, "Wait; if a cluster does not move, look up the reason of its MemberCluster."},
		{v1.ReasonSomeFinalizersRemain, "An object of the application, or its copy, has been waiting for its deletion for five minutes: a finalizer holds it that is neither the application's nor the garbage collector's. The message names the object and the finalizer.",
			statusApp,
			"See that the controller of the finalizer runs in the member: it removes the finalizer when it has cleaned up.\nIf it is gone for good, remove the finalizer: kubectl edit KIND NAME -n NAMESPACE   # in the member"},
		{v1.ReasonProtected, "The application is protected from deletion: it has the annotation ecommerce.io/deletion-protection. Nothing is deleted.",
			describeApp,
			"To delete the application in all its clusters: kubectl annotate ecommerceapp APP -n NAMESPACE ecommerce.io/deletion-protection-\nA deletion cannot be taken back; to keep the shop, leave the annotation."},
		{v1.ReasonStatusRejected, "The hub's API server refuses the status of the application with what members report about their copies. The hub writes it without that: phases, and which clusters are ready and serve customers, are right; messages, components and numbers are missing for all clusters.",
			describeApp, "kubectl get ecommerceapp APP -n NAMESPACE -o yaml   # in the member that the condition StatusRejected names\nIts status was written by another client, or by an agent of another version. Detach a member that you do not trust: kubectl shopfleet unjoin MEMBER."},
		{v1.ReasonResidueFull, "The application is leaving a cluster that does not answer, and the record of what stays behind there is full.",
			"kubectl get configmap -n shopfleet-system shopfleet-residue-MEMBER",
			"Connect the cluster again; the hub then cleans up.\nIf it never returns: kubectl delete configmap -n shopfleet-system shopfleet-residue-MEMBER. What runs there is then forgotten."},
	}
}

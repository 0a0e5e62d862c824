package runbook

import v1 "github.com/shopfleet/shopfleet/api/v1"

const (
	describeMember = "kubectl describe membercluster MEMBER"
	hubLog         = "kubectl logs -n shopfleet-system deployment/shopfleet-hub --since=15m"
	joinAgain      = "kubectl shopfleet join MEMBER --member-kubeconfig FILE"
)

// memberConnection returns the reasons of the connection of a MemberCluster.
func memberConnection() []Entry {
	return []Entry{
		{v1.ReasonConnected, "The hub is connected to the member, and its last probe succeeded.", "", ""},
		{v1.ReasonConnecting, "The hub has not connected since it started or since the member was registered, or it has not yet seen the agent renew its Lease twice. It takes seconds, for a large fleet a minute.",
			hubLog,
			"Wait a minute; if the reason stays, the log of the hub names the member and the error."},
		{v1.ReasonProbeFailed, "The member does not answer, or answers with an error: network, host name, load balancer or API server. What runs there is not affected, and its status on the hub becomes Unknown. The hub retries on its own.",
			describeMember,
			"Restore the network path from the hub to the API server of the member.\nThe message says which part fails. Try the address of the kubeconfig from a pod beside the hub. If the hub needs another address than you do: kubectl shopfleet join MEMBER --member-kubeconfig FILE --member-server URL."},
		{v1.ReasonCertificateInvalid, "The certificate of the member's API server is not signed by the authority in the kubeconfig, not valid for its host name, or expired. A rotation of the cluster's authority is the usual cause.",
			describeMember,
			joinAgain + "\nThe command stores the authority of the kubeconfig FILE; get a fresh one from the provider first. Renew a certificate that has expired in the member."},
		{v1.ReasonSetupFailed, "The hub is connected, but cannot work in the member: a CustomResourceDefinition is missing or being deleted, the record of the hub cannot be read, or lists and watches fail. The hub retries.",
			describeMember,
			"Do as the message says.\nIf the hub panicked, keep its log and report it."},
		{v1.ReasonKubernetesTooOld, "The API server of the member is older than the oldest Kubernetes that is supported. The hub does not connect, writes nothing there and places nothing new. What runs in the cluster stays, and a deletion waits, for spec.deletion.unreachableTimeout if it is set.",
			"kubectl get membercluster MEMBER -o jsonpath='{.status.conditions[?(@.type==\"Ready\")].message}'",
			"Upgrade the cluster, one minor version after the other. The hub connects by itself then; if its credentials have expired meanwhile, join the cluster again.\nkubectl shopfleet unjoin MEMBER\nIf it is to leave the fleet instead. Its applications go on without the hub."},
		{v1.ReasonNotChecked, "The hub has not checked this yet, because an earlier condition is not True: connect first, then credentials, then permissions. MemberCluster and CloudAccount have it, BackupReady while the backups were not compared with the cloud, and Propagated while the hub's API server has not answered.",
			"kubectl get membercluster,cloudaccount -o wide",
			"Look up the reason of the condition that is False."},
		{v1.ReasonSecretNotFound, "MemberCluster: its registration Secret is gone, so the member is detached; what runs there stays and is not updated. CloudAccount: the Secret of its credentials is missing in the hub's namespace, or has no label ecommerce.io/cloud-account: \"true\".",
			"kubectl get secrets -n shopfleet-system -l ecommerce.io/member-cluster=true",
			joinAgain + "\nIf the member is to leave: kubectl shopfleet unjoin MEMBER. For a CloudAccount, create the Secret that the message names, with the label."},
	}
}

// memberIdentity returns the reasons about which cluster a member is.
func memberIdentity() []Entry {
	return []Entry{
		{v1.ReasonVerified, "MemberCluster: the cluster is the one that was registered. CloudAccount: the provider accepts the credentials, or the hub can list the bucket. Restore with verification: the database started on the restored data, and all of it was read.", "", ""},
		{v1.ReasonDuplicateCluster, "The same cluster is registered under two names. The older registration works; this one is not used.",
			"kubectl get membercluster -o custom-columns=NAME:.metadata.name,UID:.status.clusterUID",
			"Remove the name that you do not want: kubectl shopfleet unjoin MEMBER\nWhat runs in the cluster stays."},
		{v1.ReasonManagedByAnotherHub, "Another hub has written its record into the cluster, or a later process of this hub has. This hub writes nothing there, so that two hubs do not fight.",
			"kubectl shopfleet recover list -A",
			"If the other hub is gone for good: kubectl shopfleet recover take-over MEMBER\nIf it lives, unjoin the member from one of the two. If the message names a later process of this hub, restart the older pod."},
		{v1.ReasonHubItself, "The kubeconfig is for the hub's own cluster, which cannot be a member.",
			describeMember,
			"Remove it from the fleet: kubectl shopfleet unjoin MEMBER\nThen join the right cluster; check the current context of the kubeconfig."},
		{v1.ReasonClusterIdentityChanged, "The kubeconfig leads to another cluster than the one first registered under this name: it was rebuilt, or the wrong kubeconfig was stored.",
			"kubectl get membercluster MEMBER -o jsonpath='{.status.clusterUID}'",
			"If the cluster was rebuilt: kubectl shopfleet unjoin MEMBER\nThen join the new cluster; applications are placed there again. If the wrong kubeconfig was stored, join with the right one instead."},
	}
}

// memberCredentials returns the reasons of the credentials and permissions of a member.
func memberCredentials() []Entry {
	return []Entry{
		{v1.ReasonValid, "The cluster or the provider accepts the credentials.", "", ""},
		{v1.ReasonKubeconfigMissing, "The registration Secret has no kubeconfig, or an empty one. The connection is closed.",
			"kubectl describe secrets -n shopfleet-system -l ecommerce.io/member-cluster=true",
			joinAgain},
		{v1.ReasonKubeconfigInvalid, "The kubeconfig in the registration Secret cannot be used: not YAML, too large, no current context, or a certificate without its key. A previous one stays in use.",
			describeMember, joinAgain},
		{v1.ReasonUnsafeKubeconfig, "The kubeconfig asks the hub to run a program, read a file, skip TLS verification or use plain HTTP, which the hub refuses. A previous one stays in use.",
			describeMember,
			joinAgain + "\nThe command stores a kubeconfig of its own, with a token and an inline authority."},
		{v1.ReasonUnauthorized, "MemberCluster: the cluster rejects the token or the client certificate; it was revoked, or its ServiceAccount was deleted. CloudAccount: the provider or the bucket rejects the credentials.",
			describeMember,
			"kubectl shopfleet renew MEMBER --member-kubeconfig FILE\nIf the ServiceAccount is gone, join again. For a CloudAccount, store new credentials in its Secret, or repair the workload identity."},
		{v1.ReasonExpired, "The credentials of the member have expired. What runs there stays; the hub does not update or repair it.",
			describeMember,
			"kubectl shopfleet renew MEMBER --member-kubeconfig FILE\nFor credentials that the hub does not renew, store new ones in the registration Secret, or join again."},
		{v1.ReasonAuthorized, "MemberCluster: the credentials grant every permission that the hub needs. CloudAccount: they grant those that the provider tests, which the message names; the first backup and copy show the others.", "", ""},
		{v1.ReasonPermissionsMissing, "MemberCluster: the credentials lack permissions, which the message lists; a newer hub may need more than the member granted. CloudAccount: the identity lacks permissions of the provider.",
			describeMember,
			joinAgain + "\nThe command applies the permissions again. For a CloudAccount, grant what the message lists, in the regions that it names; see cloud/README.md."},
		{v1.ReasonNotDue, "The credentials expire, but not soon. The message says when, and whether the hub renews them.", "", ""},
		{v1.ReasonExpiring, "The credentials expire within a week, or within the last third of a shorter life, and nothing has renewed them.",
			describeMember,
			"kubectl shopfleet renew MEMBER\nIf the hub does not renew these credentials, store new ones in the registration Secret, or join again."},
		{v1.ReasonRenewalDenied, "The member denies the hub a new token for its ServiceAccount. The present one works until it expires.",
			describeMember,
			joinAgain + "\nThe command grants the permission, which members that joined an older hub lack."},
		{v1.ReasonPoliciesInForce, "The member denies the hub a write in kube-system: the admission policies that bound its account are in force.", "", ""},
		{v1.ReasonPoliciesMissing, "The member would let the hub write in kube-system: the admission policies that bound its account are not there, or the account is not the one that kubectl shopfleet join creates. What runs there is not affected.",
			describeMember,
			joinAgain + "\nThe command installs the policies. An account of your own needs a policy of your own: config/admission/member is an example."},
		{v1.ReasonRenewalFailed, "Renewing the token failed for another reason than a permission: the ServiceAccount is gone, the member does not answer, or the new token is not accepted. The hub retries.",
			describeMember,
			"kubectl shopfleet renew MEMBER --member-kubeconfig FILE"},
	}
}

// memberAgent returns the reasons of AgentReady and DefinitionsCurrent.
func memberAgent() []Entry {
	const agentPods = "kubectl get pods -n shopfleet-system -l app.kubernetes.io/name=shopfleet-spoke   # in the member"
	return []Entry{
		{v1.ReasonAgentAlive, "The agent of the member renews its Lease.", "", ""},
		{v1.ReasonAgentSilent, "The agent has stopped renewing its Lease. Shops keep running, but are not repaired, and the reported status is outdated.",
			agentPods,
			"kubectl rollout restart -n shopfleet-system deployment/shopfleet-spoke   # in the member\nIf the pods run, their log says why they cannot write the Lease."},
		{v1.ReasonAgentMissing, "A member in mode Agent has no agent, or lacks its CustomResourceDefinition.",
			agentPods,
			joinAgain + " --mode agent\nTo have the hub reconcile the applications instead, give --mode agentless."},
		{v1.ReasonDefinitionOutdated, "In doctor, of the hub: a CustomResourceDefinition lacks fields that the plugin knows. A member: a CustomResourceDefinition in a member in mode Agent lacks fields that the hub's has: the hub was upgraded, and the agent was not. Applications are placed and updated there; a field that the definition lacks is refused there, and the status of the application says so.",
			describeMember,
			joinAgain + "\nUse the plugin of the hub's release, whose definitions the command installs, and add --spoke-image with the image of that release: without it the agent keeps its image.\nOf the hub: install it again with the same flags, unless it is of an earlier release than the plugin: kubectl shopfleet install hub."},
	}
}

// memberStorage returns the reasons of StorageReady.
func memberStorage() []Entry {
	return []Entry{
		{v1.ReasonProvisioned, "The StorageClasses of the storage profiles exist in the member.", "", ""},
		{v1.ReasonDriverMissing, "The member has no CSI driver for its provider, so storage profiles and snapshots do not work there. On a Restore: it serves no VolumeSnapshots, or the StorageClass is missing or of a driver that makes no volumes from the snapshots of the provider.",
			"kubectl get csidrivers   # in the member",
			"Install the CSI driver that the message names in the member.\nUntil then use spec.database.storageClassName with a class that the member has. The hub sees the driver by itself."},
		{v1.ReasonProviderUnknown, "The provider of the member, or its region, is not known, so the hub cannot choose storage classes or volumes. It is detected from the nodes: there are none yet, or they have no providerID.",
			"kubectl get membercluster MEMBER -o jsonpath='{.status.provider} {.status.region}'",
			joinAgain + " --provider PROVIDER --region REGION"},
	}
}

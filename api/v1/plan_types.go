package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Plan represents what applying an EcommerceApp would change on the hub and in the members. The
// hub answers with dry runs, once, and deletes the Plan some minutes later.
//
// +kubebuilder:object:root=true
// +kubebuilder:subresource:status
// +kubebuilder:metadata:annotations="ecommerce.io/deletion-protection=true"
// +kubebuilder:resource:shortName=epl,categories=shopfleet
// +kubebuilder:printcolumn:name="Requester",type=string,JSONPath=`.spec.requester.username`
// +kubebuilder:printcolumn:name="Ready",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].status`
// +kubebuilder:printcolumn:name="Reason",type=string,JSONPath=`.status.conditions[?(@.type=="Ready")].reason`
// +kubebuilder:printcolumn:name="Age",type=date,JSONPath=`.metadata.creationTimestamp`
// +kubebuilder:printcolumn:name="Message",type=string,priority=1,JSONPath=`.status.conditions[?(@.type=="Ready")].message`
type Plan struct {
	metav1.TypeMeta `json:",inline"`
	// metadata is the standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// spec defines what is planned, and for which user. It is immutable.
	// +required
	// +kubebuilder:validation:XValidation:rule="self == oldSelf",message="spec cannot be changed: create another Plan"
	Spec PlanSpec `json:"spec"`

	// status holds what would change.
	// +optional
	Status PlanStatus `json:"status,omitempty,omitzero"`
}

// PlanList is a list of Plans.
//
// +kubebuilder:object:root=true
type PlanList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`
	Items           []Plan `json:"items"`
}

// PlanSpec defines what is planned, and for which user.
type PlanSpec struct {
	// manifest is the EcommerceApp as it would be stored on the hub, in JSON: with its defaults,
	// in the namespace of the Plan. 2 to 262144 characters.
	// +required
	// +kubebuilder:validation:MinLength=2
	// +kubebuilder:validation:MaxLength=262144
	Manifest string `json:"manifest"`

	// requester is the user who creates the Plan. The hub plans nothing that this user may not
	// apply.
	// +required
	Requester PlanRequester `json:"requester"`
}

// PlanRequester identifies a user as the hub's API server authenticated it. An admission policy
// rejects a Plan that names another user than the one who creates it.
type PlanRequester struct {
	// username is the name of the user. 1 to 1024 characters.
	// +required
	// +kubebuilder:validation:MinLength=1
	// +kubebuilder:validation:MaxLength=1024
	Username string `json:"username"`

	// uid is the UID of the user, if the user has one. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	UID string `json:"uid,omitempty"`

	// groups are the groups of the user. At most 512, of at most 1024 characters.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=512
	// +kubebuilder:validation:items:MaxLength=1024
	Groups []string `json:"groups,omitempty"`
}

// Bounds of the status of a Plan.
const (
	MaxPlannedClusters = 200
	MaxPlannedChanges  = 100
)

// PlanStatus holds what would change.
type PlanStatus struct {
	// conditions are the latest observations of the Plan. The known type is Ready: True when the
	// Plan is complete, False when it was refused. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=type
	// +kubebuilder:validation:MaxItems=16
	Conditions []metav1.Condition `json:"conditions,omitempty"`

	// observedGeneration is the generation of the spec that this status reflects.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`

	// completionTime is the time at which the Plan was completed or refused. The hub deletes the
	// Plan some minutes later.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// application is the change of the EcommerceApp on the hub; absent if it would stay as it is.
	// +optional
	Application *PlannedChange `json:"application,omitempty"`

	// problem says in which respect the placement is not as the spec says; empty if it is. At most
	// 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Problem string `json:"problem,omitempty"`

	// counts are the numbers of clusters and of changes, also of those that are not listed.
	// +optional
	Counts PlanCounts `json:"counts,omitempty,omitzero"`

	// waves are the clusters whose copies change, in the order in which they would: each wave
	// begins when the one before it has ended. At most 200.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=200
	Waves []PlannedWave `json:"waves,omitempty"`

	// rendering says how far a version of the pod templates is, and which clusters have pods of an earlier one, which
	// the changes leave as they are unless they edit them; empty if none has. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Rendering string `json:"rendering,omitempty"`

	// clusters are the decisions about the clusters of the fleet and the changes in them, sorted by
	// name. At most 200: those that the EcommerceApp runs in or leaves come before the others.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=200
	Clusters []PlannedCluster `json:"clusters,omitempty"`
}

// PlanCounts are numbers of clusters and of changes in all of them.
type PlanCounts struct {
	// clusters is the number of clusters that the placement decided about.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Clusters int32 `json:"clusters,omitempty"`

	// chosen is the number of clusters that the placement chose.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Chosen int32 `json:"chosen,omitempty"`

	// unknown is the number of clusters whose changes are not known.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Unknown int32 `json:"unknown,omitempty"`

	// changes are the numbers of changes.
	// +optional
	Changes ChangeCounts `json:"changes,omitempty,omitzero"`
}

// ChangeCounts are numbers of changes by action.
type ChangeCounts struct {
	// create is the number of objects that would be created.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Create int32 `json:"create,omitempty"`

	// update is the number of objects that would be changed.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Update int32 `json:"update,omitempty"`

	// recreate is the number of objects that would be deleted and created again.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Recreate int32 `json:"recreate,omitempty"`

	// expand is the number of volume claims that would grow.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Expand int32 `json:"expand,omitempty"`

	// delete is the number of objects that would be deleted.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Delete int32 `json:"delete,omitempty"`

	// refuse is the number of writes that the cluster or the hub would refuse.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Refuse int32 `json:"refuse,omitempty"`
}

// PlannedWave is a set of clusters that may change together, at most
// spec.rollout.maxConcurrentClusters at a time.
type PlannedWave struct {
	// clusters are the names of the MemberClusters, sorted. At most 500.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=63
	Clusters []string `json:"clusters,omitempty"`

	// notServing are those of the clusters that run the application and do not serve customers, sorted: a rollout does not
	// wait for them, and leaves them behind if they do not serve any with the revision either. At most 500.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=63
	NotServing []string `json:"notServing,omitempty"`
}

// PlannedDecision is a decision of the placement about a cluster.
//
// +kubebuilder:validation:Enum=Chosen;Stays;Rejected
type PlannedDecision string

// PlannedMove represents the effect of a placement on a cluster that runs the application, or does not.
//
// +kubebuilder:validation:Enum=Joins;Leaves
type PlannedMove string

// Moves.
const (
	// PlannedJoins means that the application does not run in the cluster yet.
	PlannedJoins PlannedMove = "Joins"
	// PlannedLeaves means that the application runs in the cluster and would leave it: at once if
	// the cluster is rejected, else when its replacement serves customers.
	PlannedLeaves PlannedMove = "Leaves"
)

// PlannedCluster is the decision about a cluster, and the changes in it.
type PlannedCluster struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// decision is Chosen if the EcommerceApp runs in the cluster or would, Stays if it runs there
	// although the placement rejects the cluster, or Rejected.
	// +optional
	Decision PlannedDecision `json:"decision,omitempty"`

	// move is Joins or Leaves; empty if the placement changes nothing for the cluster.
	// +optional
	Move PlannedMove `json:"move,omitempty"`

	// reason is the reason of the decision; empty for a chosen cluster. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message explains the decision. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`

	// unknown is the reason why changes in the cluster are not known, or not all of them; empty if
	// they are. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Unknown string `json:"unknown,omitempty"`

	// unknownMessage explains unknown. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	UnknownMessage string `json:"unknownMessage,omitempty"`

	// paused is set if the changes are held back, because the EcommerceApp or the MemberCluster is
	// paused or the hub is in safe mode.
	// +optional
	Paused bool `json:"paused,omitempty"`

	// counts are the numbers of changes, also of those that are not listed.
	// +optional
	Counts ChangeCounts `json:"counts,omitempty,omitzero"`

	// changes are the changes, in the order in which they would be written. At most 100, and fewer
	// if the status would be too large.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=100
	Changes []PlannedChange `json:"changes,omitempty"`
}

// PlannedAction is the kind of a planned change.
//
// +kubebuilder:validation:Enum=Create;Update;Recreate;Expand;Delete;Refuse
type PlannedAction string

// PlannedRefuse means that the cluster or the hub would refuse the write. The other actions are
// those of pending changes.
const PlannedRefuse PlannedAction = "Refuse"

// PlannedChange is a write that applying the EcommerceApp would cause.
type PlannedChange struct {
	// kind is the kind of the object, for example Deployment. The kind of the copy is
	// EcommerceApp. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Kind string `json:"kind"`

	// name is the name of the object. At most 253 characters.
	// +required
	// +kubebuilder:validation:MaxLength=253
	Name string `json:"name"`

	// action is Create, Update, Recreate, Expand, Delete or Refuse.
	// +required
	Action PlannedAction `json:"action"`

	// fields are the fields that would change, by path, in the form "path: old -> new". Long
	// values are cut, and of a Secret only the paths are listed. At most 10, of at most 256
	// characters; absent for Create, Delete and Refuse.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	// +kubebuilder:validation:items:MaxLength=256
	Fields []string `json:"fields,omitempty"`

	// reason is the reason of Refuse. At most 64 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Reason string `json:"reason,omitempty"`

	// message is the answer of the cluster to what it refuses. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Message string `json:"message,omitempty"`
}

package v1

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// RolloutStrategy defines how many clusters get a new revision at a time.
//
// +kubebuilder:validation:Enum=All;Progressive
type RolloutStrategy string

// Values of spec.rollout.strategy.
const (
	// RolloutAll updates all clusters at once.
	RolloutAll RolloutStrategy = "All"
	// RolloutProgressive updates one cluster first, and then region after region.
	RolloutProgressive RolloutStrategy = "Progressive"
)

// FailurePolicy defines what follows when a cluster fails with a new revision.
//
// +kubebuilder:validation:Enum=Rollback;Pause
type FailurePolicy string

// Values of spec.rollout.onFailure.
const (
	FailureRollback FailurePolicy = "Rollback"
	FailurePause    FailurePolicy = "Pause"
)

// ApprovalPolicy defines where a rollout waits for a user.
//
// +kubebuilder:validation:Enum=None;BetweenRegions
type ApprovalPolicy string

// Values of spec.rollout.approval.
const (
	ApprovalNone           ApprovalPolicy = "None"
	ApprovalBetweenRegions ApprovalPolicy = "BetweenRegions"
)

// Defaults of a Rollout.
const (
	DefaultSoak             = time.Minute
	DefaultProgressDeadline = 10 * time.Minute
)

// Rollout defines how a new revision of an application reaches its clusters. A revision is all of
// the spec that copies have, but for the numbers of replicas and spec.paused, which apply at once.
type Rollout struct {
	// strategy is All or Progressive. With All the clusters get a new revision at once. With
	// Progressive one cluster gets it first, then the others of its region, then region after region.
	// The default is Progressive. The first revision that the application has with a rollout is
	// given to all clusters.
	// +optional
	Strategy RolloutStrategy `json:"strategy,omitempty"`

	// order lists regions from first to last. Others follow by name. At most 100, of 1 to 63
	// characters.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=100
	// +kubebuilder:validation:items:MinLength=1
	// +kubebuilder:validation:items:MaxLength=63
	Order []string `json:"order,omitempty"`

	// maxConcurrentClusters bounds the clusters that serve customers and are being updated at a time. It does
	// not bound a rollback. 1 to 500; the default is 1, with All the number of clusters.
	// +optional
	// +kubebuilder:validation:Minimum=1
	// +kubebuilder:validation:Maximum=500
	MaxConcurrentClusters int32 `json:"maxConcurrentClusters,omitempty"`

	// soak is how long a cluster must be observed healthy with a new revision before others follow.
	// 0s to 168h; the default is 1m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?$') && duration(self) <= duration('168h')",message="soak must be a duration of at most 168h, for example 5m"
	Soak *metav1.Duration `json:"soak,omitempty"`

	// progressDeadline is how long a cluster may take to become healthy with a new revision while the hub
	// observes it. 1s to 168h; the default is 10m.
	// +optional
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?$') && duration(self) >= duration('1s') && duration(self) <= duration('168h')",message="progressDeadline must be a duration of 1s to 168h, for example 10m"
	ProgressDeadline *metav1.Duration `json:"progressDeadline,omitempty"`

	// onFailure is Rollback or Pause. With Rollback the clusters return to the revision that was
	// last healthy when one fails that served customers before; the database keeps its version and size. With Pause no other
	// cluster is changed until the failed one is ready. The default is Rollback.
	// +optional
	OnFailure FailurePolicy `json:"onFailure,omitempty"`

	// approval is None or BetweenRegions. With BetweenRegions the rollout waits before each region
	// but the first until kubectl shopfleet rollout approve, which sets the annotation
	// ecommerce.io/approve to the revision, a slash, and the region. The default is None.
	// +optional
	Approval ApprovalPolicy `json:"approval,omitempty"`

	// windows are the times at which clusters may begin to be updated. Without any they always may.
	// At most 10.
	// +optional
	// +listType=atomic
	// +kubebuilder:validation:MaxItems=10
	Windows []RolloutWindow `json:"windows,omitempty"`
}

// RolloutWindow is a recurring period.
type RolloutWindow struct {
	// schedule is when the period begins: a cron expression in the form of that of backups, for example
	// 0 2 * * 1-5. At most 128 characters.
	// +required
	Schedule CronSchedule `json:"schedule"`

	// duration is how long it lasts, for example 4h. 1m to 168h.
	// +required
	// +kubebuilder:validation:Type=string
	// +kubebuilder:validation:MaxLength=32
	// +kubebuilder:validation:XValidation:rule="self != '' && self.matches('^([0-9]{1,4}h)?([0-9]{1,5}m)?([0-9]{1,7}s)?$') && duration(self) >= duration('1m') && duration(self) <= duration('168h')",message="duration must be a duration of 1m to 168h, for example 4h"
	Duration metav1.Duration `json:"duration"`

	// timeZone is the IANA time zone of schedule, for example Europe/Dublin. The default is UTC. At
	// most 64 characters.
	// +optional
	TimeZone TimeZone `json:"timeZone,omitempty"`
}

// RolloutState is the state of a rollout.
//
// +kubebuilder:validation:Enum=Progressing;WaitingForApproval;WaitingForWindow;Paused;Failed;RollingBack;RolledBack;Complete
type RolloutState string

// States of a rollout.
const (
	RolloutProgressing        RolloutState = "Progressing"
	RolloutWaitingForApproval RolloutState = "WaitingForApproval"
	RolloutWaitingForWindow   RolloutState = "WaitingForWindow"
	// RolloutPaused means that a user paused the rollout.
	RolloutPaused RolloutState = "Paused"
	// RolloutFailed means that a cluster failed, and that others are not changed until it is ready.
	RolloutFailed      RolloutState = "Failed"
	RolloutRollingBack RolloutState = "RollingBack"
	// RolloutRolledBack means that the clusters run previousRevision, until the spec is edited.
	RolloutRolledBack RolloutState = "RolledBack"
	RolloutComplete   RolloutState = "Complete"
)

// RolloutStatus is the observed state of a rollout.
type RolloutStatus struct {
	// revision is the number of the revision in the spec.
	// +required
	// +kubebuilder:validation:Minimum=1
	Revision int64 `json:"revision"`

	// specHash is a hash of the revision. At most 64 characters.
	// +required
	// +kubebuilder:validation:MaxLength=64
	SpecHash string `json:"specHash"`

	// previousRevision is the revision that was last healthy: of the clusters that are not updated
	// yet, and of all after a rollback. Absent if there is none.
	// +optional
	// +kubebuilder:validation:Minimum=1
	PreviousRevision int64 `json:"previousRevision,omitempty"`

	// state is Progressing, WaitingForApproval, WaitingForWindow, Paused, Failed, RollingBack,
	// RolledBack or Complete.
	// +required
	State RolloutState `json:"state"`

	// message explains the state. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Message string `json:"message,omitempty"`

	// region is the region that is being updated, or is next. At most 63 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=63
	Region string `json:"region,omitempty"`

	// updated is the number of clusters that run the revision and have been ready with it.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Updated int32 `json:"updated,omitempty"`

	// total is the number of clusters.
	// +optional
	// +kubebuilder:validation:Minimum=0
	Total int32 `json:"total,omitempty"`

	// databaseServer is the server that clusters get until the rollout is complete, in place of a later major
	// version of MySQL in the spec.
	// +optional
	DatabaseServer *DatabaseServer `json:"databaseServer,omitempty"`

	// completionTime is when all clusters that responded were healthy with the revision for the first time, but for
	// those left behind. Absent until then, and while a user has the revision rolled out again.
	// +optional
	CompletionTime *metav1.Time `json:"completionTime,omitempty"`

	// updating are the clusters that have got the revision and have yet to prove healthy, and those left behind
	// with it, by name; until the completion also those with setbacks, or not ready before. While the state is
	// RollingBack, they are those that change back. At most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Updating []ClusterUpdate `json:"updating,omitempty"`

	// leftBehind are the clusters, by name, that the rollout does not wait for. Their entries in status.clusters
	// say why. At most 500.
	// +optional
	// +listType=set
	// +kubebuilder:validation:MaxItems=500
	// +kubebuilder:validation:items:MaxLength=63
	LeftBehind []string `json:"leftBehind,omitempty"`

	// superseded has the state of clusters before updates that another revision ended, by name. It counts as the
	// state before the update to that revision, and is absent when that begins. At most 500.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=500
	Superseded []SupersededUpdate `json:"superseded,omitempty"`
}

// SupersededUpdate is an update of one cluster that did not end, because another revision was to be rolled out.
type SupersededUpdate struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// before is the state of the cluster when the update began.
	// +required
	Before ClusterBefore `json:"before"`
}

// ClusterUpdate is the update of one cluster to another revision. Its times count while the hub observes the
// cluster: when that ends, what has passed is added to the seconds.
type ClusterUpdate struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// before is the state of the cluster when the update began. Absent until it is observed.
	// +optional
	Before *ClusterBefore `json:"before,omitempty"`

	// startTime is since when the cluster is observed to be updated. Absent while it is healthy, does not
	// respond, is paused, copies data, or waits for a backup.
	// +optional
	StartTime *metav1.Time `json:"startTime,omitempty"`

	// progressingSeconds is how long it was observed to be updated before startTime.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ProgressingSeconds int64 `json:"progressingSeconds,omitempty"`

	// readyTime is since when the cluster is observed to be healthy: it serves customers with the revision, and
	// nothing is worse than before.
	// +optional
	ReadyTime *metav1.Time `json:"readyTime,omitempty"`

	// readySeconds is how long it was observed to be healthy before readyTime.
	// +optional
	// +kubebuilder:validation:Minimum=0
	ReadySeconds int64 `json:"readySeconds,omitempty"`

	// setbacks counts how often the cluster was not healthy any more. 0 to 3.
	// +optional
	// +kubebuilder:validation:Minimum=0
	// +kubebuilder:validation:Maximum=3
	Setbacks int32 `json:"setbacks,omitempty"`
}

// ClusterBefore is the state of a cluster when an update began. What was bad then is not held against the revision.
type ClusterBefore struct {
	// unknown is true if nothing else is known, because the cluster had the revision when it was first observed.
	// Such a cluster cannot fail, and proves the revision when all its components are ready.
	// +optional
	Unknown bool `json:"unknown,omitempty"`

	// serving is true if customers were served. A cluster that did not serve any cannot fail.
	// +optional
	Serving bool `json:"serving,omitempty"`

	// stalled is the reason why the cluster needed a user. Absent if it did not. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Stalled string `json:"stalled,omitempty"`

	// unready are the components that were not ready, by name. At most 16.
	// +optional
	// +listType=map
	// +listMapKey=name
	// +kubebuilder:validation:MaxItems=16
	Unready []UnreadyComponent `json:"unready,omitempty"`
}

// UnreadyComponent is a component that was not ready when an update began.
type UnreadyComponent struct {
	// name is the name of the component. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// reason is a CamelCase word for the cause. At most 1024 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=1024
	Reason string `json:"reason,omitempty"`
}

// Target returns the revision that the clusters are to run: that of the spec, or the previous one after a
// rollback.
func (s *RolloutStatus) Target() int64 {
	if s.State == RolloutRollingBack || s.State == RolloutRolledBack {
		return s.PreviousRevision
	}
	return s.Revision
}

package v1

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// ManagedByMode names the controller that turns a copy into workloads. The copy itself
// carries it, so that one write hands the copy over. A controller that the copy does not
// name leaves it alone.
type ManagedByMode string

// Values of the annotation ecommerce.io/managed-by-mode.
const (
	// ManagedByHub is the hub, which writes the workloads through the member's API server.
	ManagedByHub ManagedByMode = "hub"
	// ManagedByAgent is the agent that runs in the member.
	ManagedByAgent ManagedByMode = "agent"
)

// Mode decides whether the hub or an agent turns the copies of a member into workloads.
//
// +kubebuilder:validation:Enum=Agentless;Agent
type Mode string

// Modes of a member. The default is ModeAgentless.
const (
	// ModeAgentless needs nothing in the member except a kubeconfig: the hub writes the
	// workloads.
	ModeAgentless Mode = "Agentless"
	// ModeAgent needs an agent in the member, which continues while the hub is down.
	ModeAgent Mode = "Agent"
)

// ManagedBy returns the controller that manages the copies of a member in mode m.
func (m Mode) ManagedBy() ManagedByMode {
	if m == ModeAgent {
		return ManagedByAgent
	}
	return ManagedByHub
}

// IsCopy reports whether an application in a member is a copy that a hub wrote, and not one
// that a user applied there. Either mark is enough: a copy that lost one of them is
// repaired and not orphaned.
func (a *EcommerceApp) IsCopy() bool {
	return a.Annotations[HubAppUIDAnnotation] != "" || a.Labels[ManagedByLabel] == ManagedBy
}

// deletedPrefix stands before the time in the origin of an application that was deleted.
const deletedPrefix = "deleted/"

// DeletionOrigin returns the origin that stands for one deletion of an application: its UID,
// "/deleted/", and the time of the deletion in seconds.
func DeletionOrigin(app types.UID, at time.Time) string {
	return string(app) + "/" + deletedPrefix + at.UTC().Format(time.RFC3339)
}

// ParseDeletionOrigin returns the arguments of DeletionOrigin, and whether the origin is that of
// a deletion.
func ParseDeletionOrigin(origin string) (app types.UID, at time.Time, ok bool) {
	uid, rest, _ := strings.Cut(origin, "/")
	text, ok := strings.CutPrefix(rest, deletedPrefix)
	if !ok {
		return "", time.Time{}, false
	}
	at, err := time.Parse(time.RFC3339, text)
	return types.UID(uid), at, err == nil
}

// leftPrefix stands before the generation in the origin of an application that left a member.
const leftPrefix = "left/"

// LeavingOrigin returns the origin that stands for an application that left a member by a
// generation: its UID, "/left/", and the generation. It differs from that of a copy of this
// generation, which another member may have.
func LeavingOrigin(app types.UID, generation int64) string {
	return string(app) + "/" + leftPrefix + strconv.FormatInt(generation, 10)
}

// ParseLeavingOrigin returns the arguments of LeavingOrigin, and whether the origin is that of an
// application that left a member.
func ParseLeavingOrigin(origin string) (app types.UID, generation int64, ok bool) {
	uid, rest, _ := strings.Cut(origin, "/")
	text, ok := strings.CutPrefix(rest, leftPrefix)
	if !ok {
		return "", 0, false
	}
	generation, err := strconv.ParseInt(text, 10, 64)
	return types.UID(uid), generation, err == nil
}

// Origin is the application on the hub, and its generation, that a copy was made from.
type Origin struct {
	// App is empty if the copy lost it.
	App types.UID
	// Generation is 0 if the copy lost it.
	Generation int64
}

// maxUID bounds the UIDs in annotations of copies, which members may change.
const maxUID = 64

// OriginOf returns the origin in the annotations of a copy.
func OriginOf(annotations map[string]string) Origin {
	// A value that is not a number was edited by hand and is about to be corrected.
	generation, err := strconv.ParseInt(annotations[HubGenerationAnnotation], 10, 64)
	if err != nil || generation < 0 {
		generation = 0
	}
	// A UID that is longer is none of ours, and its beginning is none either.
	uid := annotations[HubAppUIDAnnotation]
	return Origin{App: types.UID(uid[:min(len(uid), maxUID)]), Generation: generation}
}

// RevisionOf returns the number of the revision in the annotations of a copy, or 0.
func RevisionOf(annotations map[string]string) int64 {
	revision, err := strconv.ParseInt(annotations[RevisionAnnotation], 10, 64)
	if err != nil || revision < 0 {
		return 0 // A value that was edited by hand is about to be corrected.
	}
	return revision
}

// String returns the UID, a slash, and the generation, as in the annotation
// ecommerce.io/recover.
func (o Origin) String() string { return string(o.App) + "/" + strconv.FormatInt(o.Generation, 10) }

// WithSpecOf returns an application on the hub with the spec of its copy in a member, which
// the hub would then write there unchanged, unless overrides change it again. It keeps what copies do
// not have: placement, overrides, propagate, and what the hub derives from the facts about the member.
func (a *EcommerceApp) WithSpecOf(copied *EcommerceApp) *EcommerceApp {
	next := a.DeepCopy()
	copied.Spec.DeepCopyInto(&next.Spec)
	next.Spec.Placement, next.Spec.Deletion, next.Spec.CloudConfig = a.Spec.Placement, a.Spec.Deletion, a.Spec.CloudConfig
	next.Spec.Overrides, next.Spec.Rollout, next.Spec.Propagate = a.Spec.Overrides, a.Spec.Rollout, a.Spec.Propagate
	if to := next.Spec.Database; to != nil {
		from := cmp.Or(a.Spec.Database, &Database{})
		to.StorageProfile = from.StorageProfile
		if from.StorageClassName == nil {
			to.StorageClassName = nil // An existing database keeps its class.
		}
		to.Backup.CopyToRegions, to.Backup.MaxRPO = from.Backup.CopyToRegions, from.Backup.MaxRPO
		if to.Backup.Method == BackupSnapshot && from.Backup.Method != BackupDump {
			to.Backup.Method = from.Backup.Method
		}
	}
	if restarted := copied.Annotations[RestartedAtAnnotation]; restarted != "" {
		metav1.SetMetaDataAnnotation(&next.ObjectMeta, RestartedAtAnnotation, restarted)
	} else {
		delete(next.Annotations, RestartedAtAnnotation)
	}
	return next
}

// ManagedByMode returns the controller that turns an application in a member into
// workloads. The hub manages copies that do not name the agent. It never manages an
// application that a user applied in the member.
func (a *EcommerceApp) ManagedByMode() ManagedByMode {
	if a.IsCopy() && a.Annotations[ManagedByModeAnnotation] != string(ManagedByAgent) {
		return ManagedByHub
	}
	return ManagedByAgent
}

// InventoryLost reports whether the status of an application on the hub does not list the
// clusters of its copies. The hub observes a generation with the first inventory that it
// writes, and counts the clusters in it: a status without a generation, or with fewer
// clusters than it counts, was wiped, edited or never written.
func (a *EcommerceApp) InventoryLost() bool {
	return a.Status.ObservedGeneration == 0 || len(a.Status.Clusters) < int(a.Status.ClusterCount)
}

// RecordedClusters returns the clusters in ClustersAnnotation, and whether it is there.
func (a *EcommerceApp) RecordedClusters() (names []string, recorded bool) {
	text, recorded := a.Annotations[ClustersAnnotation]
	return strings.FieldsFunc(text, func(r rune) bool { return r == ',' }), recorded
}

// Protected reports whether an application on the hub is protected from deletion.
func (a *EcommerceApp) Protected() bool {
	return a.Annotations[DeletionProtectionAnnotation] == "true"
}

// Ending reports whether an application is being deleted and is not protected. A protected
// one that is deleted nevertheless, past the admission policies, is kept as it is.
func (a *EcommerceApp) Ending() bool {
	return a.DeletionTimestamp != nil && !a.Protected()
}

package v1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// DatabaseReplica is the observed state of a replica of a database.
type DatabaseReplica struct {
	// name is the name of the pod. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// state is Following, Disconnected, Lost, Promoted, Diverged or Unknown.
	// +required
	State ReplicaState `json:"state"`

	// lagSeconds is the time in seconds that the replica is behind the primary, rounded down:
	// below 10 to 0, below 60 to tens, below 3600 to whole minutes, then to whole hours. A change
	// by less than a quarter is not reported. Absent unless state is Following.
	// +optional
	// +kubebuilder:validation:Minimum=0
	LagSeconds *int64 `json:"lagSeconds,omitempty"`
}

// ReplicaState is the state of a replica of a database.
//
// +kubebuilder:validation:Enum=Following;Disconnected;Lost;Promoted;Diverged;Unknown
type ReplicaState string

// States of a replica.
const (
	// ReplicaFollowing means that the replica receives the changes of the primary.
	ReplicaFollowing ReplicaState = "Following"
	// ReplicaDisconnected means that it does not, and can go on when it is connected.
	ReplicaDisconnected ReplicaState = "Disconnected"
	// ReplicaLost means that the primary no longer has the changes that the replica needs next:
	// it copies the primary's data again.
	ReplicaLost ReplicaState = "Lost"
	// ReplicaPromoted means that the server is no replica: it may have what the primary lacks, and
	// keeps its data.
	ReplicaPromoted ReplicaState = "Promoted"
	// ReplicaDiverged means that the replica may have what the primary lacks, since its data is of
	// another database, of a timeline that does not fit, or ahead of the primary. It keeps its data.
	ReplicaDiverged ReplicaState = "Diverged"
	// ReplicaUnknown means that the replica could not be observed.
	ReplicaUnknown ReplicaState = "Unknown"
)

// ClusterBackups is the state of the backups of one cluster.
type ClusterBackups struct {
	// name is the name of the MemberCluster. At most 63 characters.
	// +required
	// +kubebuilder:validation:MaxLength=63
	Name string `json:"name"`

	// lastScheduledTime is the last time of the schedule that a Backup was created for.
	// +optional
	LastScheduledTime *metav1.Time `json:"lastScheduledTime,omitempty"`

	// lastBackupTime is the point in time of the newest completed backup.
	// +optional
	LastBackupTime *metav1.Time `json:"lastBackupTime,omitempty"`

	// nextBackupTime is the time at which the next backup begins.
	// +optional
	NextBackupTime *metav1.Time `json:"nextBackupTime,omitempty"`

	// lastVerifyScheduledTime is the last time of the verify schedule that a Restore was
	// created for.
	// +optional
	LastVerifyScheduledTime *metav1.Time `json:"lastVerifyScheduledTime,omitempty"`

	// lastVerifiedTime is the time at which a backup was last verified by restoring it.
	// +optional
	LastVerifiedTime *metav1.Time `json:"lastVerifiedTime,omitempty"`

	// version is the version of the database that the cluster runs. It becomes
	// spec.database.version when a completed backup is younger than upgradeTime. At most 64
	// characters.
	// +optional
	// +kubebuilder:validation:MaxLength=64
	Version string `json:"version,omitempty"`

	// image is the image of the database that the cluster runs, that of spec.database or the official one. It
	// becomes that of the spec together with version. At most 512 characters.
	// +optional
	// +kubebuilder:validation:MaxLength=512
	Image string `json:"image,omitempty"`

	// upgradeTime is the time at which another version or image was first requested; absent when
	// none is.
	// +optional
	UpgradeTime *metav1.Time `json:"upgradeTime,omitempty"`
}

// CopiedServer is the server of the database of a copy; zero if it is not known, or there is none.
//
// +kubebuilder:object:generate=false
type CopiedServer struct {
	DatabaseServer
	// Started is the server that a pod last started with, if none has started with the one of the copy: the
	// data is of it. Zero if a pod has started with the one of the copy, and if that is not known.
	Started DatabaseServer
}

// CopiedServerOf returns the server of a copy, which may be nil. A pod may have started with the server of the
// copy unless a status that is about the present spec names another one: a process of an earlier release names
// none, and one that does not run leaves the status as it is.
func CopiedServerOf(copied *EcommerceApp) CopiedServer {
	if copied == nil || copied.Spec.Database == nil {
		return CopiedServer{}
	}
	s := CopiedServer{DatabaseServer: copied.Spec.Database.Server()}
	started := ValidServer(copied.Status.StartedServer)
	if started != nil && *started != s.DatabaseServer && copied.Status.ObservedGeneration == copied.Generation {
		s.Started = *started
	}
	return s
}

// NeverStarted reports whether no pod has started with the server of the copy, so that the data is of another
// one.
func (c CopiedServer) NeverStarted() bool { return c.Started != DatabaseServer{} }

// OfData returns the server that the data is of, as far as is known: the one that last started.
func (c CopiedServer) OfData() DatabaseServer {
	if c.NeverStarted() {
		return c.Started
	}
	return c.DatabaseServer
}

// DatabaseOfData returns the database of a copy with the server that its data is of, which another server has to
// follow; nil without a copy or a database. It shares nothing with the copy.
func DatabaseOfData(copied *EcommerceApp) *Database {
	if copied == nil || copied.Spec.Database == nil {
		return nil
	}
	db := copied.Spec.Database.DeepCopy()
	if s := CopiedServerOf(copied); s.NeverStarted() {
		db.SetServer(s.Started)
	}
	return db
}

// DatabaseServer returns the server of the database in a cluster: the wanted one, that of the spec with the
// overrides for the cluster, unless an upgrade waits for a backup there. An upgrade waits too where backups are
// enabled and status.backups does not have the cluster yet. A server that never started is replaced without a
// backup, as none can be made of it, unless the wanted one would upgrade the data of MySQL: what counts is the
// server that the data is of. The application must have a database.
func (a *EcommerceApp) DatabaseServer(cluster string, wanted DatabaseServer, copied CopiedServer) DatabaseServer {
	return a.ServerAfter(a.RecordedServer(cluster), wanted, copied)
}

// ServerAfter returns what DatabaseServer does in a cluster whose server in status.backups is given.
func (a *EcommerceApp) ServerAfter(recorded, wanted DatabaseServer, copied CopiedServer) DatabaseServer {
	switch {
	case copied.DatabaseServer == wanted, copied.NeverStarted() && !a.Spec.Database.Engine.upgrades(copied.Started, wanted):
		return wanted // The copy has it, or has none that a backup could be made of.
	case recorded.Image != "":
		return recorded
	case recorded.Version != "":
		// An earlier release recorded the version only.
		for _, s := range []DatabaseServer{copied.DatabaseServer, wanted} {
			if s.Version == recorded.Version {
				return s
			}
		}
		return recorded
	case copied.Version != "" && a.Spec.Database.Backup.Enabled:
		return copied.DatabaseServer
	default:
		return wanted
	}
}

// IsDatabaseLost reports whether the database is known to be lost in a cluster.
func (a *EcommerceApp) IsDatabaseLost(cluster string) bool {
	for i := range a.Status.Clusters {
		if c := &a.Status.Clusters[i]; c.Name == cluster {
			return c.DatabaseLost
		}
	}
	return false
}

// RecordedServer returns the server of a cluster in status.backups, zero if there is none.
func (a *EcommerceApp) RecordedServer(cluster string) DatabaseServer {
	for _, b := range a.Status.Backups {
		if b.Name == cluster {
			return DatabaseServer{Version: b.Version, Image: b.Image}
		}
	}
	return DatabaseServer{}
}

package dump

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/dumps"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

const (
	// maxVersion is how long a version may be in a status.
	maxVersion = 64
	// firstYear is before any dump.
	firstYear = 2000
	// stampLayout is the time in the name of a dump.
	stampLayout = "20060102T150405Z"
)

// errNoManifest means that a text is not the manifest of a dump.
var errNoManifest = errors.New("not the manifest of a dump")

// fileManifest represents what a pod reports about the dump that it made. The script defines the
// names of the fields.
type fileManifest struct {
	File           string    `json:"file"`
	Bytes          int64     `json:"bytes"`
	SHA256         string    `json:"sha256"`
	Engine         v1.Engine `json:"engine"`
	Version        string    `json:"version"`
	SnapshotTime   time.Time `json:"snapshotTime"`
	CompletionTime time.Time `json:"completionTime"`
	// RemovedEarly is the stamp of the newest dump that was removed before its retention
	// ended; empty if none was.
	RemovedEarly string `json:"removedEarly"`
}

// parse parses the termination message of a pod. It is not trusted: every user who may
// run pods can write one.
func parse(text string) (fileManifest, error) {
	var m fileManifest
	if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &m); err != nil {
		return fileManifest{}, fmt.Errorf("reading a manifest: %w", err)
	}
	good := dumps.IsFile(m.File) &&
		regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(m.SHA256) &&
		m.Bytes > 0 && len(m.Version) <= maxVersion &&
		(m.Engine == v1.EnginePostgreSQL || m.Engine == v1.EngineMySQL) &&
		m.SnapshotTime.UTC().Year() > firstYear && !m.CompletionTime.Before(m.SnapshotTime)
	if !good {
		return fileManifest{}, errNoManifest
	}
	return m, nil
}

// record writes it down. A node whose clock is ahead makes no dump of the future.
func (m fileManifest) record(s *v1.BackupStatus, now time.Time) {
	if m.SnapshotTime.After(now) {
		m.SnapshotTime = now
	}
	s.Dump.File, s.Dump.Bytes, s.Dump.SHA256 = m.File, m.Bytes, m.SHA256
	s.Engine, s.Version, s.Consistency = m.Engine, m.Version, v1.ConsistencyApplication
	s.Size = resource.NewQuantity(m.Bytes, resource.BinarySI).String()
	s.SnapshotTime = v1.Seconds(m.SnapshotTime)
}

// removedUpTo returns the time of the newest dump that the containers of a Job report as
// removed before its retention ended; nil if they report none. Those that fail report it in
// the last line of their message.
func removedUpTo(ends []memberjob.End) *metav1.Time {
	var newest *metav1.Time
	for _, end := range ends {
		stamp := database.RemovedEarly(end.Message)
		if m, err := parse(end.Message); err == nil {
			stamp = m.RemovedEarly
		}
		if at, err := time.Parse(stampLayout, stamp); err == nil && (newest == nil || at.After(newest.Time)) {
			newest = &metav1.Time{Time: at}
		}
	}
	return newest
}

// Gone reports whether the file of a completed dump is not on its claim any more, according
// to a later one: it was removed before its retention ended, and is in no bucket.
func Gone(b, later *v1.Backup) bool { return Removed(b, later) && !inBucket(b.Status.Dump) }

// Removed reports whether the file of a completed dump was removed from its claim before its retention ended, according to
// a later one.
func Removed(b, later *v1.Backup) bool {
	d, l := b.Status.Dump, later.Status.Dump
	if d == nil || l == nil || l.RemovedUpToTime == nil || b.UID == later.UID || !b.Status.Phase.IsSuccessful() ||
		b.Spec.AppRef != later.Spec.AppRef || b.Spec.ClusterRef != later.Spec.ClusterRef || d.Claim != l.Claim {
		return false
	}
	stamp, _, _ := strings.Cut(strings.TrimPrefix(d.File, "backup-"), ".")
	at, err := time.Parse(stampLayout, stamp)
	return err == nil && !at.After(l.RemovedUpToTime.Time)
}

// inBucket reports whether all of a dump was in a bucket, so that its file might go. One that is missing there is no
// failure: a bucket may be mistaken, or have it again, and the data of what failed is deleted after a while.
func inBucket(d *v1.DumpFile) bool {
	return d.Object != nil && (d.Object.State == v1.DumpSent || d.Object.State == v1.DumpMissing)
}

// newest returns the newest dump that the containers of a Job tell of, if any.
func newest(ends []memberjob.End) *fileManifest {
	var made *fileManifest
	for _, end := range ends {
		if m, err := parse(end.Message); err == nil && (made == nil || made.CompletionTime.Before(m.CompletionTime)) {
			made = &m
		}
	}
	return made
}

package logical

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
	"github.com/shopfleet/shopfleet/hub/logicalbackup"
)

const (
	// maxVersion is how long a version may be in a status.
	maxVersion = 64
	// firstYear is before any dump.
	firstYear = 2000
)

// errNoManifest means that a text is not the manifest of a dump.
var errNoManifest = errors.New("not the manifest of a dump")

// dumped represents a pod's report about the dump that it made. The script defines the
// names of the fields.
type dumped struct {
	File           string    `json:"file"`
	Bytes          int64     `json:"bytes"`
	SHA256         string    `json:"sha256"`
	Engine         v1.Engine `json:"engine"`
	Version        string    `json:"version"`
	SnapshotTime   time.Time `json:"snapshotTime"`
	CompletionTime time.Time `json:"completionTime"`
}

// parse parses the termination message of a pod. It is not trusted: every user who may
// run pods can write one.
func parse(text string) (dumped, error) {
	var m dumped
	if err := json.Unmarshal([]byte(strings.TrimSpace(text)), &m); err != nil {
		return dumped{}, fmt.Errorf("reading a manifest: %w", err)
	}
	good := logicalbackup.IsFile(m.File) &&
		regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(m.SHA256) &&
		m.Bytes > 0 && len(m.Version) <= maxVersion &&
		(m.Engine == v1.EnginePostgreSQL || m.Engine == v1.EngineMySQL) &&
		m.SnapshotTime.UTC().Year() > firstYear && !m.CompletionTime.Before(m.SnapshotTime)
	if !good {
		return dumped{}, errNoManifest
	}
	return m, nil
}

// record writes it down. A node whose clock is ahead makes no dump of the future.
func (m dumped) record(s *v1.BackupStatus, now time.Time) {
	if m.SnapshotTime.After(now) {
		m.SnapshotTime = now
	}
	s.Dump.File, s.Dump.Bytes, s.Dump.SHA256 = m.File, m.Bytes, m.SHA256
	s.Engine, s.Version, s.Consistency = m.Engine, m.Version, v1.ConsistencyApplication
	s.Size = resource.NewQuantity(m.Bytes, resource.BinarySI).String()
	s.SnapshotTime = &metav1.Time{Time: m.SnapshotTime.Truncate(time.Second)}
}

// newest returns the newest dump that the containers of a Job tell of, if any.
func newest(ends []logicalbackup.End) *dumped {
	var made *dumped
	for _, end := range ends {
		if m, err := parse(end.Message); err == nil && (made == nil || made.CompletionTime.Before(m.CompletionTime)) {
			made = &m
		}
	}
	return made
}

package dumps

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

const (
	// Format is the format of manifests that this release writes, and the only one that it reads.
	Format = 1
	// MaxManifest is the maximum size of a manifest in bytes.
	MaxManifest = 64 << 10
	// MaxLockDays is the maximum of status.deleteLockDays.
	MaxLockDays = 365

	maxName    = 63
	maxVersion = 64
)

// ErrManifest means that a text is not a valid manifest, or describes another dump.
var ErrManifest = errors.New("not the manifest of this dump")

// Manifest describes a dump in a bucket.
type Manifest struct {
	Format int `json:"format"`
	// Hub and AppUID are the UIDs of the hub's cluster and of the application.
	Hub    string `json:"hub"`
	AppUID string `json:"appUID"`
	// Namespace, App and Cluster name the source of the backup, Backup the Backup itself.
	Namespace string `json:"namespace"`
	App       string `json:"app"`
	Cluster   string `json:"cluster"`
	Backup    string `json:"backup"`
	// ScheduledTime is the time by the schedule; nil for a manual backup.
	ScheduledTime *time.Time `json:"scheduledTime,omitempty"`
	// Provider and Region locate the cluster, if they were known.
	Provider v1.Provider `json:"provider,omitempty"`
	Region   string      `json:"region,omitempty"`
	Engine   v1.Engine   `json:"engine"`
	Version  string      `json:"version,omitempty"`
	// SnapshotTime is when the dump began, CompletionTime when its last part was
	// uploaded, both in seconds and UTC.
	SnapshotTime   time.Time `json:"snapshotTime"`
	CompletionTime time.Time `json:"completionTime"`
	// DeleteLockDays is status.deleteLockDays of the Backup; 0 to 365.
	DeleteLockDays int32 `json:"deleteLockDays,omitempty"`
	// Claim and File name the claim and the file of the dump in the cluster.
	Claim string `json:"claim"`
	File  string `json:"file"`
	// Bytes and SHA256, in hexadecimal, are the size and checksum of the whole file.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Parts holds the sizes of the parts in bytes, in order.
	Parts []int64 `json:"parts"`
}

// ManifestOf returns the manifest of a Backup with a complete dump, without
// CompletionTime.
func ManifestOf(hub string, b *v1.Backup) Manifest {
	s := &b.Status
	m := Manifest{
		Format: Format, Hub: hub, AppUID: s.AppUID,
		Namespace: b.Namespace, App: b.Spec.AppRef.Name, Cluster: b.Spec.ClusterRef.Name, Backup: b.Name,
		Provider: s.Provider, Region: s.Region, Engine: s.Engine, Version: s.Version,
		DeleteLockDays: s.DeleteLockDays,
	}
	if b.Spec.ScheduledTime != nil {
		m.ScheduledTime = new(whole(b.Spec.ScheduledTime.Time))
	}
	if s.SnapshotTime != nil {
		m.SnapshotTime = whole(s.SnapshotTime.Time)
	}
	if d := s.Dump; d != nil {
		m.Claim, m.File, m.Bytes, m.SHA256, m.Parts = d.Claim, d.File, d.Bytes, d.SHA256, order.Sizes(d.Bytes)
	}
	return m
}

// Write encodes a manifest. The encoding is deterministic.
func (m Manifest) Write() ([]byte, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("writing a manifest: %w", err)
	}
	return append(text, '\n'), nil
}

// ReadManifest decodes and validates an untrusted manifest. Errors wrap ErrManifest, and
// contain none of its content.
func ReadManifest(text []byte) (Manifest, error) {
	if len(text) > MaxManifest {
		return Manifest{}, fmt.Errorf("it has more than %d bytes: %w", MaxManifest, ErrManifest)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	var m Manifest
	if err := decoder.Decode(&m); err != nil {
		return Manifest{}, fmt.Errorf("reading it: %w", ErrManifest)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return Manifest{}, fmt.Errorf("more than one value: %w", ErrManifest)
	}
	if err := m.check(); err != nil {
		return Manifest{}, err
	}
	return m, nil
}

// Find reads the manifest of the dump below a prefix. Errors wrap *cloud.Error or ErrManifest.
func Find(ctx context.Context, objects cloud.ObjectStore, prefix string) (Manifest, error) {
	text, err := objects.GetObject(ctx, ManifestKey(prefix), MaxManifest)
	if err != nil {
		return Manifest{}, fmt.Errorf("reading the manifest: %w", err)
	}
	return ReadManifest(text)
}

// IsOf reports whether a manifest describes a file.
func (m Manifest) IsOf(d *v1.DumpFile) bool {
	return m.File == d.File && m.Bytes == d.Bytes && m.SHA256 == d.SHA256
}

// problem returns an error that names an invalid field.
func problem(field string) error { return fmt.Errorf("%s: %w", field, ErrManifest) }

func (m Manifest) check() error {
	switch {
	case m.Format != Format:
		return fmt.Errorf("format %d, and not %d: %w", m.Format, Format, ErrManifest)
	case !uid(m.Hub):
		return problem("hub")
	case !uid(m.AppUID):
		return problem("appUID")
	case len(validation.IsDNS1123Label(m.Namespace)) > 0:
		return problem("namespace")
	case !name(m.App):
		return problem("app")
	case !name(m.Cluster):
		return problem("cluster")
	case !name(m.Backup):
		return problem("backup")
	case m.Provider != "" && !regexp.MustCompile(`^[a-z]{1,32}$`).MatchString(string(m.Provider)):
		return problem("provider")
	case !regexp.MustCompile(`^[A-Za-z0-9._-]{0,63}$`).MatchString(m.Region):
		return problem("region")
	}
	return m.checkDump()
}

func (m Manifest) checkDump() error {
	switch {
	case m.Engine != v1.EnginePostgreSQL && m.Engine != v1.EngineMySQL:
		return problem("engine")
	case !regexp.MustCompile(`^[A-Za-z0-9._+-]*$`).MatchString(m.Version) || len(m.Version) > maxVersion:
		return problem("version")
	case m.ScheduledTime != nil && !moment(*m.ScheduledTime):
		return problem("scheduledTime")
	case !moment(m.SnapshotTime):
		return problem("snapshotTime")
	case !moment(m.CompletionTime):
		return problem("completionTime")
	case m.DeleteLockDays < 0 || m.DeleteLockDays > MaxLockDays:
		return problem("deleteLockDays")
	case len(validation.IsDNS1123Subdomain(m.Claim)) > 0:
		return problem("claim")
	case !IsFile(m.File):
		return problem("file")
	case !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(m.SHA256):
		return problem("sha256")
	}
	return m.checkParts()
}

func (m Manifest) checkParts() error {
	if len(m.Parts) == 0 || len(m.Parts) > order.MaxParts {
		return fmt.Errorf("%d parts: %w", len(m.Parts), ErrManifest)
	}
	var sum int64
	for _, size := range m.Parts {
		if size <= 0 || size > order.PartBytes {
			return problem("parts")
		}
		sum += size
	}
	if sum != m.Bytes {
		return problem("bytes")
	}
	return nil
}

// IsFile reports whether a name has the form of the names of dump files on a claim.
func IsFile(name string) bool {
	return regexp.MustCompile(`^backup-[0-9]{8}T[0-9]{6}Z\.(dump|sql\.gz)$`).MatchString(name)
}

// uid reports whether a text is valid as the UID of an object, in a key.
func uid(text string) bool { return regexp.MustCompile(`^[A-Za-z0-9-]{1,64}$`).MatchString(text) }

func name(text string) bool {
	return len(text) <= maxName && len(validation.IsDNS1123Subdomain(text)) == 0
}

// moment reports whether the API can store a time, and it is plausible.
func moment(t time.Time) bool {
	const first, last = 2000, 9999
	year := t.UTC().Year()
	return year >= first && year <= last && t.Nanosecond() == 0
}

func whole(t time.Time) time.Time { return t.UTC().Truncate(time.Second) }

package gce

import (
	"fmt"
	"hash/fnv"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

const gib = 1 << 30

// encryptionKey is the part of CustomerEncryptionKey that is known here.
type encryptionKey struct {
	KMSKeyName string `json:"kmsKeyName"`
}

// snapshotBody represents the body of a request to create a snapshot.
type snapshotBody struct {
	Kind             string            `json:"kind"`
	Name             string            `json:"name"`
	Description      string            `json:"description"`
	SourceDisk       string            `json:"sourceDisk"`
	Labels           map[string]string `json:"labels"`
	StorageLocations []string          `json:"storageLocations"`
	SnapshotType     string            `json:"snapshotType"`
	GuestFlush       bool              `json:"guestFlush"`
	EncryptionKey    *encryptionKey    `json:"snapshotEncryptionKey"`
}

// check refuses what the API refuses whatever there is.
func (b snapshotBody) check() error {
	if b.SnapshotType != "" && b.SnapshotType != "STANDARD" && b.SnapshotType != "ARCHIVE" {
		return invalid("Invalid value for field 'resource.snapshotType': '%s'.", b.SnapshotType)
	}
	if len(b.StorageLocations) > 1 {
		return invalid("Invalid value for field 'resource.storageLocations': ''. Only one storage location may be given.")
	}
	return checkNames(b.Name, b.Description, b.Labels)
}

// checkNames refuses names, descriptions and labels that are not allowed.
func checkNames(name, description string, labels map[string]string) error {
	if !matches(`^[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?$`, name) {
		return invalid("Invalid value for field 'resource.name': '%s'. Must be a match of regex '(?:[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?)'", name)
	}
	if utf8.RuneCountInString(description) > 2048 {
		return invalid("Invalid value for field 'resource.description': must be at most 2048 characters.")
	}
	if len(labels) > 64 {
		return invalid("Invalid value for field 'resource.labels': at most 64 labels are allowed.")
	}
	for key, value := range labels {
		if !matches(`^[a-z][a-z0-9_-]{0,62}$`, key) || !matches(`^[a-z0-9_-]{0,63}$`, value) {
			return invalid("Invalid value for field 'resource.labels': '%s: %s'. Label keys and values have lower case letters, digits, _ and -, at most 63.", key, value)
		}
	}
	return nil
}

func matches(pattern, text string) bool {
	ok, err := regexp.MatchString(pattern, text)
	return err == nil && ok
}

// numericID returns the ID that Google gives to a resource: another one each time that it is made.
func numericID(path string, created time.Time) string {
	sum := fnv.New64a()
	_, _ = fmt.Fprintf(sum, "%s %d", path, created.UnixNano())
	return fmt.Sprint(sum.Sum64() >> 1)
}

// describeSnapshot returns a snapshot as the API does.
func describeSnapshot(v fake.Snapshot) map[string]any {
	status := map[cloud.State]string{
		cloud.StateCreating: "CREATING", cloud.StateTaken: "UPLOADING", cloud.StateReady: "READY",
		cloud.StateFailed: "FAILED", cloud.StateDeleting: "DELETING",
	}[v.State]
	out := map[string]any{
		"kind": "compute#snapshot", "id": numericID(v.ID, v.Created), "name": v.ID[strings.LastIndex(v.ID, "/")+1:],
		"selfLink": link(v.ID), "creationTimestamp": timestamp(v.Created), "status": status,
		"sourceDisk": link(v.Source), "sourceDiskId": v.SourceUID, "diskSizeGb": sizeGB(v.SizeBytes),
		"labelFingerprint": "42WmSpB8rSM=", "snapshotType": "STANDARD",
	}
	if len(v.Locations) > 0 {
		out["storageLocations"] = v.Locations
	}
	if len(v.Tags) > 0 {
		out["labels"] = v.Tags
	}
	if v.Description != "" {
		out["description"] = v.Description
	}
	if v.KMSKey != "" {
		out["snapshotEncryptionKey"] = map[string]any{"kmsKeyName": v.KMSKey}
	}
	if v.State == cloud.StateReady {
		out["storageBytes"], out["storageBytesStatus"] = fmt.Sprint(v.SizeBytes/2), "UP_TO_DATE"
	}
	return out
}

func sizeGB(bytes int64) string { return fmt.Sprint((bytes + gib - 1) / gib) }

func (s *Server) snapshotID(r request, name string) string {
	return "projects/" + r.project + "/global/snapshots/" + name
}

// shown reads a snapshot that the API shows.
func (s *Server) shown(id string) (fake.Snapshot, bool) {
	v, found := s.cloud.Snapshot(id)
	if s.options.ForgetFailed && v.State == cloud.StateFailed {
		return fake.Snapshot{}, false
	}
	return v, found
}

func (s *Server) getSnapshot(r request) (any, error) {
	id := s.snapshotID(r, r.name())
	v, found := s.shown(id)
	if !found {
		return nil, notFound(id)
	}
	return describeSnapshot(v), nil
}

func (s *Server) listSnapshots(r request) (any, error) {
	var items []map[string]any
	for _, v := range s.cloud.Visible() {
		if _, found := s.shown(v.ID); found && strings.HasPrefix(v.ID, s.snapshotID(r, "")) {
			items = append(items, describeSnapshot(v))
		}
	}
	return s.page(r, "snapshotList", items)
}

func (s *Server) insertSnapshot(r request) (any, error) {
	var in snapshotBody
	if err := r.decode(&in); err != nil {
		return nil, err
	}
	if in.SourceDisk == "" {
		return nil, problem{http.StatusBadRequest, "required", "Required field 'resource.sourceDisk' not specified"}
	}
	needed := []string{"compute.disks.createSnapshot"}
	if len(in.Labels) > 0 {
		needed = append(needed, "compute.snapshots.setLabels")
	}
	if err := s.need(r, needed...); err != nil {
		return nil, err
	}
	return s.takeSnapshot(r, in, resourcePath(r.project, in.SourceDisk))
}

func (s *Server) takeSnapshot(r request, in snapshotBody, disk string) (any, error) {
	if err := in.check(); err != nil {
		return nil, err
	}
	id := s.snapshotID(r, in.Name)
	op := operation{kind: "insert", target: id, snapshot: id}
	return s.begin(r, op, func(op *operation) error {
		if _, taken := s.truth(id); taken && !s.gone(id) {
			return problem{http.StatusConflict, "alreadyExists", fmt.Sprintf("The resource '%s' already exists", id)}
		}
		source, found := s.cloud.Volume(disk)
		if !found {
			return notFound(disk)
		}
		if s.options.LimitSnapshots && s.tooOften(disk) {
			op.targetID = numericID(id, s.clock.Now())
			op.code = "RESOURCE_OPERATION_RATE_EXCEEDED"
			op.message = fmt.Sprintf("Operation rate exceeded for resource '%s'. Too frequent operations from the source resource.", disk)
			return nil
		}
		snapshot := fake.Snapshot{
			Account: r.project, ID: id, Source: disk, SourceUID: source.UID, SizeBytes: source.SizeBytes,
			Encrypted: true, KMSKey: source.KMSKey, Tags: in.Labels, Description: in.Description,
			Locations: in.StorageLocations, Region: source.Region,
		}
		if len(snapshot.Locations) == 0 {
			snapshot.Locations = []string{source.Region}
		}
		if in.EncryptionKey != nil {
			if err := s.checkKey(in.EncryptionKey.KMSKeyName, source, snapshot.Locations[0]); err != nil {
				return err
			}
			snapshot.KMSKey = in.EncryptionKey.KMSKeyName
		}
		made := s.cloud.AddSnapshot(snapshot)
		op.targetID = numericID(id, made.Created)
		return nil
	})
}

// checkKey refuses a key for the snapshot of a disk that has none, one of another region, and one
// that the service agent may not use:
// https://cloud.google.com/compute/docs/disks/customer-managed-encryption.
func (s *Server) checkKey(key string, source fake.Volume, location string) error {
	_, rest, _ := strings.Cut(key, "/locations/")
	at, _, _ := strings.Cut(rest, "/")
	switch {
	case source.KMSKey == "":
		return invalid("Invalid value for field 'resource.snapshotEncryptionKey': ''. A snapshot of a disk without a customer managed key cannot have one.")
	case at != location && strings.Contains(at, "-"):
		return invalid("Invalid value for field 'resource.snapshotEncryptionKey.kmsKeyName': '%s'. The key is in location %s, the snapshot in %s.", key, at, location)
	case s.options.Keys != nil && !slices.Contains(s.options.Keys, key):
		return invalid("Cloud KMS error when using key %s: Permission 'cloudkms.cryptoKeyVersions.useToEncrypt' denied on resource '%s' (or it may not exist).", key, key)
	}
	return nil
}

// gone reports whether a snapshot failed and left its name.
func (s *Server) gone(id string) bool {
	v, _ := s.truth(id)
	return s.options.ForgetFailed && v.State == cloud.StateFailed
}

// tooOften reports whether a disk had a snapshot less than ten minutes ago, or six within the hour.
func (s *Server) tooOften(disk string) bool {
	n := 0
	for _, v := range s.cloud.Snapshots() {
		age := s.clock.Since(v.Created)
		if v.Source != disk || age >= time.Hour {
			continue
		}
		if n++; age < 10*time.Minute || n >= 6 {
			return true
		}
	}
	return false
}

func (s *Server) deleteSnapshot(r request) (any, error) {
	id := s.snapshotID(r, r.name())
	return s.begin(r, operation{kind: "delete", target: id}, func(op *operation) error {
		v, found := s.shown(id)
		switch {
		case !found:
			return notFound(id)
		case v.Locked:
			return problem{http.StatusPreconditionFailed, "conditionNotMet", fmt.Sprintf("Operation denied by a policy on resource '%s'.", id)}
		case v.Used:
			return problem{http.StatusBadRequest, "resourceInUseByAnotherResource", fmt.Sprintf("The snapshot resource '%s' is already being used.", id)}
		}
		op.targetID = numericID(id, v.Created)
		s.cloud.RemoveSnapshot(id)
		return nil
	})
}

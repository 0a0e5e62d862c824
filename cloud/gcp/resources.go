package gcp

import (
	"bytes"
	"crypto/sha256"
	"encoding/base32"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	gib = int64(1) << 30
	// maxDescription is the maximum number of characters of a description.
	maxDescription = 2048
	// requestWindow is the time for which a request ID is reused: longer than it takes to
	// notice a lost response, shorter than Google's limits.
	requestWindow = 5 * time.Minute
	namePattern   = `[a-z](?:[-a-z0-9]{0,61}[a-z0-9])?`
	unspecified   = "UNSPECIFIED"
)

// location represents the location of a disk: a zone, or a region when zone is empty.
type location struct {
	region, zone, name string
}

// path returns the path of the disk from projects/ on, which is the volume handle.
func (l location) path(project string) string {
	if l.zone == "" {
		return "projects/" + project + "/regions/" + l.region + "/disks/" + l.name
	}
	return "projects/" + project + "/zones/" + l.zone + "/disks/" + l.name
}

// regionOf returns the region of a zone.
func regionOf(zone string) string {
	if i := strings.LastIndex(zone, "-"); i > 0 {
		return zone[:i]
	}
	return zone
}

// place reads a volume handle. Handles that were migrated from in-tree volumes leave
// project and zone to be filled in.
func (s *session) place(op string, ref cloud.VolumeRef) (location, error) {
	parts := regexp.MustCompile(`^projects/([A-Za-z0-9.:_-]+)/(zones|regions)/([A-Za-z0-9_-]+)/disks/(` + namePattern + `)$`).FindStringSubmatch(ref.Handle)
	if parts == nil {
		return location{}, refuse(op, cloud.ClassInvalid, "%q is no handle of a disk of Google Cloud", ref.Handle)
	}
	project, kind, where, name := parts[1], parts[2], parts[3], parts[4]
	switch {
	case where == "multi-zone":
		return location{}, refuse(op, cloud.ClassUnsupported, "%q stands for disks in several zones", ref.Handle)
	case project != s.project && project != unspecified:
		return location{}, refuse(op, cloud.ClassInvalid, "%q is not in the account's project %q", ref.Handle, s.project)
	case where == unspecified:
		where = ref.Zone
		if kind == "regions" {
			where = ref.Region
		}
	}
	if !matches(`^`+namePattern+`$`, where) {
		return location{}, refuse(op, cloud.ClassInvalid, "%q is in no known zone: %q", ref.Handle, where)
	}
	if kind == "regions" {
		return location{region: where, name: name}, nil
	}
	return location{region: regionOf(where), zone: where, name: name}, nil
}

// snapshotName reads a snapshot's ID.
func (s *session) snapshotName(op string, ref cloud.SnapshotRef) (string, error) {
	parts := regexp.MustCompile(`^projects/([A-Za-z0-9.:_-]+)/global/snapshots/(` + namePattern + `)$`).FindStringSubmatch(ref.ID)
	switch {
	case parts == nil:
		return "", refuse(op, cloud.ClassInvalid, "%q is no ID of a snapshot of Google Cloud", ref.ID)
	case parts[1] != s.project:
		return "", refuse(op, cloud.ClassInvalid, "snapshot %q is not in the account's project %q", ref.ID, s.project)
	default:
		return parts[2], nil
	}
}

func (s *session) snapshotID(name string) string {
	return "projects/" + s.project + "/global/snapshots/" + name
}

// attemptName returns the name of an attempt; a failed object keeps its name.
func attemptName(op, name string, attempt int) (string, error) {
	if attempt > 0 {
		name += "-" + strconv.Itoa(attempt)
	}
	if !matches(`^`+namePattern+`$`, name) {
		return "", refuse(op, cloud.ClassInvalid, "%q is no name for Google Cloud: at most 63 lower case letters, digits and dashes", name)
	}
	return name, nil
}

// requestID returns an ID that is the same for the same request within a window of
// time.
func (s *session) requestID(verb, path string) string {
	window := s.clock.Now().Unix() / int64(requestWindow/time.Second)
	return uuid.NewSHA1(uuid.NameSpaceURL, fmt.Appendf(nil, "https://ecommerce.io/gcp/%s/%s/%d", verb, path, window)).String()
}

// tail returns the last part of a URL.
func tail(url string) string { return url[strings.LastIndex(url, "/")+1:] }

// pathOf returns the part of a URL from projects/ on.
func pathOf(url string) string {
	if i := strings.Index(url, "projects/"); i >= 0 {
		return url[i:]
	}
	return url
}

// keysInLabels returns the keys of the tags that are stored as labels.
func keysInLabels() []string { return []string{cloud.TagHub, cloud.TagApp, cloud.TagName} }

// label returns the value of a label: the text itself if Google allows it, otherwise its
// hash.
func label(value string) string {
	if matches(`^[a-z0-9_-]{0,63}$`, value) {
		return value
	}
	sum := sha256.Sum256([]byte(value))
	return "h-" + strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(sum[:]))
}

// encode returns the labels and the description that hold tags.
func encode(op string, tags cloud.Tags) (labels map[string]string, description string, err error) {
	labels = map[string]string{}
	for _, key := range keysInLabels() {
		if value := tags[key]; value != "" {
			labels[key] = label(value)
		}
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(tags); err != nil {
		return nil, "", refuse(op, cloud.ClassInvalid, "the tags cannot be written: %v", err)
	}
	description = strings.TrimSpace(text.String())
	if len(description) > maxDescription {
		return nil, "", refuse(op, cloud.ClassInvalid, "the tags have %d bytes as JSON; Google Cloud keeps %d", len(description), maxDescription)
	}
	return labels, description, nil
}

// decode returns the tags of labels and a description. The labels determine the owner:
// without them, a snapshot is foreign.
func decode(labels map[string]string, description string) cloud.Tags {
	var tags cloud.Tags
	if json.Unmarshal([]byte(description), &tags) != nil || tags == nil {
		tags = cloud.Tags{}
	}
	for _, key := range keysInLabels() {
		switch told := labels[key]; {
		case told == "":
			delete(tags, key)
		case label(tags[key]) != told:
			tags[key] = told
		}
	}
	return tags
}

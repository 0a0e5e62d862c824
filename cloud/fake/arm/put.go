package arm

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/fake"
)

func (s *Server) putSnapshot(r *http.Request, to target, in resource) answer {
	snapshots := s.cloud.Snapshots()
	if i := slices.IndexFunc(snapshots, func(one fake.Snapshot) bool { return strings.EqualFold(one.ID, to.id()) }); i >= 0 {
		return s.updateSnapshot(snapshots[i], in)
	}
	made := fake.Snapshot{
		Account: to.subscription, Region: region(in.Location), ID: to.id(), Encrypted: true,
		Source: in.Properties.CreationData.SourceResourceID, Tags: in.Tags,
	}
	if in.Properties.Encryption != nil {
		made.KMSKey = in.Properties.Encryption.DiskEncryptionSetID
	}
	var a answer
	var ok bool
	switch option := in.Properties.CreationData.CreateOption; option {
	case optionCopy:
		a, ok = s.fromDisk(&made, in)
	case optionCopyStart:
		a, ok = s.fromSnapshot(&made, in)
	default:
		return refuse(http.StatusBadRequest, "InvalidParameter", "Required parameter 'snapshot.properties.creationData.createOption' has the invalid value '%s'.", option)
	}
	if !ok {
		return a
	}
	made.Description = keep(in)
	made = s.cloud.AddSnapshot(made)
	body := snapshotResource(made)
	body.Properties.ProvisioningState = "Updating"
	body.Properties.CompletionPercent = nil
	return s.accept(r, to, body)
}

// fromDisk checks a snapshot of a disk.
func (s *Server) fromDisk(made *fake.Snapshot, in resource) (answer, bool) {
	volume, ok := s.cloud.Volume(s.volumeID(made.Source))
	if !ok {
		return refuse(http.StatusNotFound, "NotFound", "Disk %s is not found.", nameOf(made.Source)), false
	}
	if incremental(in) && !strings.EqualFold(volume.Account, made.Account) {
		return refuse(http.StatusBadRequest, "BadRequest", "An incremental snapshot must be in the subscription of its source disk."), false
	}
	if volume.Region != made.Region {
		return refuse(http.StatusBadRequest, "BadRequest", "The source disk is in location '%s', the snapshot in '%s'.", volume.Region, made.Region), false
	}
	if a, ok := s.withinLimits(volume); !ok {
		return a, false
	}
	made.Source, made.SourceUID, made.SizeBytes = volume.ID, volume.UID, volume.SizeBytes
	if made.KMSKey == "" {
		made.KMSKey = volume.KMSKey
	}
	return answer{}, true
}

// withinLimits checks the number of snapshots of a disk in the last five minutes.
func (s *Server) withinLimits(volume fake.Volume) (answer, bool) {
	const window = 5 * time.Minute
	s.mu.Lock()
	burst := s.limits.Burst
	s.mu.Unlock()
	now := s.options.Clock.Now()
	recent, oldest := 0, now
	for _, one := range s.cloud.Snapshots() {
		if one.SourceUID != volume.UID {
			continue
		}
		if now.Sub(one.Created) < window {
			recent++
			if one.Created.Before(oldest) {
				oldest = one.Created
			}
		}
	}
	if burst > 0 && recent >= burst {
		a := refuse(http.StatusTooManyRequests, "TooManyRequests", "The disk %s has had %d snapshots within five minutes.", nameOf(volume.ID), recent)
		a.header = http.Header{"Retry-After": {fmt.Sprint(int(oldest.Add(window).Sub(now).Seconds()))}}
		return a, false
	}
	return answer{}, true
}

// fromSnapshot checks a copy.
func (s *Server) fromSnapshot(made *fake.Snapshot, in resource) (answer, bool) {
	source, ok := s.cloud.Snapshot(s.snapshotID(made.Source))
	if !ok {
		return refuse(http.StatusNotFound, "NotFound", "Snapshot %s is not found.", nameOf(made.Source)), false
	}
	if !incremental(in) || !recall(source.Description).Incremental {
		return refuse(http.StatusBadRequest, "InvalidParameter", "CopyStart is supported for incremental snapshots only."), false
	}
	if source.State != cloud.StateReady {
		return refuse(http.StatusConflict, "ConflictingUserInput", "Snapshot %s cannot be copied: its state is %s.", nameOf(source.ID), source.State), false
	}
	s.mu.Lock()
	serial := s.limits.SerialCopies
	s.mu.Unlock()
	if serial && s.copying(source.SourceUID) {
		return refuse(http.StatusConflict, "OperationNotAllowed", "Another copy of a snapshot of the same disk is in progress."), false
	}
	made.IsCopy, made.Source, made.SizeBytes = true, source.ID, source.SizeBytes
	made.SourceUID = snapshotUID(source)
	return answer{}, true
}

// copying reports whether a snapshot of a disk is being copied.
func (s *Server) copying(disk string) bool {
	for _, one := range s.cloud.Snapshots() {
		if !one.IsCopy || one.State == cloud.StateReady || one.State == cloud.StateFailed {
			continue
		}
		if source, ok := s.cloud.Snapshot(one.Source); ok && source.SourceUID == disk {
			return true
		}
	}
	return false
}

// updateSnapshot handles a PUT on an existing snapshot: it may change tags, not the
// source.
func (s *Server) updateSnapshot(there fake.Snapshot, in resource) answer {
	switch {
	case there.Region != region(in.Location):
		return refuse(http.StatusConflict, "InvalidResourceLocation", "The resource '%s' already exists in location '%s'. A resource with the same name cannot be created in location '%s'.", nameOf(there.ID), there.Region, in.Location)
	case !strings.EqualFold(there.Source, in.Properties.CreationData.SourceResourceID):
		return refuse(http.StatusConflict, "PropertyChangeNotAllowed", "Changing property 'creationData.sourceResourceId' is not allowed for existing snapshot %s.", nameOf(there.ID))
	}
	s.cloud.EditSnapshot(there.ID, func(one *fake.Snapshot) { one.Tags = in.Tags })
	there.Tags = in.Tags
	return answer{status: http.StatusOK, body: snapshotResource(there)}
}

func keep(in resource) string {
	k := kept{Incremental: incremental(in), NetworkAccessPolicy: in.Properties.NetworkAccessPolicy, PublicNetworkAccess: in.Properties.PublicNetworkAccess}
	if k.NetworkAccessPolicy == "" {
		k.NetworkAccessPolicy = "AllowAll"
	}
	if k.PublicNetworkAccess == "" {
		k.PublicNetworkAccess = "Enabled"
	}
	text, err := json.Marshal(k)
	if err != nil {
		return "" // Strings and a boolean always marshal.
	}
	return string(text)
}

func recall(text string) kept {
	var k kept
	if json.Unmarshal([]byte(text), &k) != nil {
		return kept{} // What a test wrote there is not ours to read.
	}
	return k
}

func incremental(in resource) bool {
	return in.Properties.Incremental != nil && *in.Properties.Incremental
}

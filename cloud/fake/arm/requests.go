package arm

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
)

func (s *Server) get(to target) answer {
	if to.kind == kindDisks {
		if v, ok := s.cloud.Volume(s.volumeID(to.id())); ok {
			return answer{status: http.StatusOK, body: diskResource(v)}
		}
	} else if snapshot, ok := s.cloud.Snapshot(s.snapshotID(to.id())); ok {
		return answer{status: http.StatusOK, body: snapshotResource(snapshot)}
	}
	return refuse(http.StatusNotFound, "ResourceNotFound", "The Resource 'Microsoft.Compute/%s/%s' under resource group '%s' was not found. For more details please go to https://aka.ms/ARMResourceNotFoundFix", to.kind, to.name, to.group)
}

// getSet reads a disk encryption set.
func getSet(by caller, to target) answer {
	at, exists := by.account.Sets[strings.ToLower(to.id())]
	if !exists {
		return refuse(http.StatusNotFound, "ResourceNotFound", "The Resource 'Microsoft.Compute/%s/%s' under resource group '%s' was not found.", to.kind, to.name, to.group)
	}
	return answer{status: http.StatusOK, body: map[string]any{"id": to.id(), "name": to.name, "type": "Microsoft.Compute/diskEncryptionSets", "location": at}}
}

// list returns a page of snapshots. The next page begins after the last ID of this one, so
// that concurrent changes shift nothing.
func (s *Server) list(r *http.Request, to target) answer {
	after, err := base64.RawURLEncoding.DecodeString(r.URL.Query().Get("$skiptoken"))
	if err != nil {
		return refuse(http.StatusBadRequest, "InvalidSkipToken", "The skip token is invalid.")
	}
	s.mu.Lock()
	size := s.pageSize
	s.mu.Unlock()
	scope := strings.ToLower(strings.TrimSuffix(to.id(), to.kind+"/"))
	page := make([]resource, 0, size)
	for _, snapshot := range s.cloud.Visible() {
		one := snapshotResource(snapshot)
		if !strings.HasPrefix(strings.ToLower(one.ID), scope) || one.ID <= string(after) {
			continue
		}
		if len(page) == size {
			next := *r.URL
			query := next.Query()
			query.Set("$skiptoken", base64.RawURLEncoding.EncodeToString([]byte(page[size-1].ID)))
			next.RawQuery = query.Encode()
			return answer{status: http.StatusOK, body: map[string]any{"value": page, "nextLink": origin(r) + next.RequestURI()}}
		}
		page = append(page, one)
	}
	return answer{status: http.StatusOK, body: map[string]any{"value": page}}
}

func (s *Server) put(r *http.Request, by caller, to target) answer {
	in, a, ok := decode(r, to)
	if !ok {
		return a
	}
	if a, ok := s.authorizeLinks(r, by, to, in); !ok {
		return a
	}
	if a, ok := checkSet(by, in); !ok {
		return a
	}
	s.changes.Lock()
	defer s.changes.Unlock()
	return s.putSnapshot(r, to, in)
}

func (s *Server) remove(r *http.Request, to target) answer {
	s.changes.Lock()
	defer s.changes.Unlock()
	held := answer{}
	id := s.snapshotID(to.id())
	found := false
	for _, one := range s.cloud.Snapshots() {
		switch {
		case one.ID != id:
		case one.Locked:
			held = refuse(http.StatusConflict, "ScopeLocked", "The scope '%s' cannot perform delete operation because following scope(s) are locked: '%s'. Please remove the lock and try again.", id, id)
		case one.Used:
			held = refuse(http.StatusConflict, "OperationNotAllowed", "There is an active shared access signature outstanding for snapshot %s. Call EndGetAccess before deleting it.", to.name)
		default:
			found = true
		}
	}
	if held.status != 0 {
		return held
	}
	if !found {
		return answer{status: http.StatusNoContent}
	}
	s.cloud.RemoveSnapshot(id)
	return s.accept(r, to, nil)
}

// accept responds that a change is pending. Clients read the resource, not the operation.
func (s *Server) accept(r *http.Request, to target, body any) answer {
	at := origin(r) + "/subscriptions/" + to.subscription + "/providers/Microsoft.Compute/locations/global/DiskOperations/" +
		guid("operation", fmt.Sprint(s.cloud.Serial())) + "?api-version=" + r.URL.Query().Get("api-version")
	return answer{status: http.StatusAccepted, body: body, header: http.Header{
		"Azure-Asyncoperation": {at}, "Location": {at + "&monitor=true"},
	}}
}

// volumeID returns the ID of a disk as it is stored, which may differ in case from the
// requested one.
func (s *Server) volumeID(id string) string {
	for _, v := range s.cloud.Volumes() {
		if strings.EqualFold(v.ID, id) {
			return v.ID
		}
	}
	return id
}

func (s *Server) snapshotID(id string) string {
	for _, one := range s.cloud.Snapshots() {
		if strings.EqualFold(one.ID, id) {
			return one.ID
		}
	}
	return id
}

package s3

import (
	"encoding/xml"
	"errors"
	"net/http"
	"strconv"
	"time"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// noVersion is the ID of a version that was written while the bucket kept none. It stays when the bucket keeps
// versions later.
const noVersion = "null"

// versionListing is a page of a list of versions.
type versionListing struct {
	XMLName           xml.Name  `xml:"http://s3.amazonaws.com/doc/2006-03-01/ ListVersionsResult"`
	Name              string    `xml:"Name"`
	Prefix            string    `xml:"Prefix"`
	KeyMarker         string    `xml:"KeyMarker"`
	VersionMarker     string    `xml:"VersionIdMarker"`
	NextKeyMarker     string    `xml:"NextKeyMarker,omitempty"`
	NextVersionMarker string    `xml:"NextVersionIdMarker,omitempty"`
	MaxKeys           int       `xml:"MaxKeys"`
	IsTruncated       bool      `xml:"IsTruncated"`
	Versions          []version `xml:"Version"`
	Markers           []version `xml:"DeleteMarker"`
}

type version struct {
	Key          string `xml:"Key"`
	VersionID    string `xml:"VersionId"`
	IsLatest     bool   `xml:"IsLatest"`
	LastModified string `xml:"LastModified"`
	ETag         string `xml:"ETag,omitempty"`
	Size         *int64 `xml:"Size,omitempty"`
}

// listVersions handles ListObjectVersions.
func (s *Server) listVersions(w http.ResponseWriter, in *request) *fault {
	query := in.URL.Query()
	s.mu.Lock()
	size := s.pages
	s.mu.Unlock()
	out := versionListing{
		Name: in.bucket, Prefix: query.Get("prefix"), KeyMarker: query.Get("key-marker"), VersionMarker: query.Get("version-id-marker"), MaxKeys: pageSize,
	}
	passed := out.KeyMarker == ""
	for _, v := range s.store.Versions(out.Prefix) {
		id := versionID(v.Object)
		if !passed {
			passed = v.Key == out.KeyMarker && id == out.VersionMarker
			continue
		}
		if len(out.Versions)+len(out.Markers) == size {
			out.IsTruncated = true
			break
		}
		out.NextKeyMarker, out.NextVersionMarker = v.Key, id
		item := version{Key: v.Key, VersionID: id, IsLatest: v.Latest, LastModified: v.ModifiedAt.UTC().Format(time.RFC3339)}
		if v.Marker {
			out.Markers = append(out.Markers, item)
			continue
		}
		item.ETag, item.Size = etag(v.Object), new(v.Bytes)
		out.Versions = append(out.Versions, item)
	}
	if !out.IsTruncated {
		out.NextKeyMarker, out.NextVersionMarker = "", ""
	}
	writeXML(w, http.StatusOK, out)
	return nil
}

// deleteVersion deletes a version for good, unless a lock holds it.
func (s *Server) deleteVersion(w http.ResponseWriter, in *request) *fault {
	id := in.URL.Query().Get("versionId")
	for _, v := range s.store.Versions(in.key) {
		if v.Key != in.key || versionID(v.Object) != id {
			continue
		}
		if !v.Marker && s.Clock.Now().Before(v.ModifiedAt.Add(s.DefaultRetention)) {
			return locked()
		}
		if err := s.store.DeleteVersion(in.key, v.Serial); errors.Is(err, bucket.ErrLocked) {
			return locked()
		}
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

func versionID(o bucket.Object) string {
	if !o.Versioned {
		return noVersion
	}
	return "v" + strconv.FormatInt(o.Serial, 36)
}

func locked() *fault {
	return refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
}

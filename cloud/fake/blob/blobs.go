package blob

import (
	"encoding/base64"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// mostResults is the maximum number of blobs in a page.
const mostResults = 5000

func etag(o bucket.Object) string { return fmt.Sprintf(`"0x8D%013X"`, o.Serial) }

func md5Of(o bucket.Object) string { return base64.StdEncoding.EncodeToString(o.MD5[:]) }

// put answers Put Blob. Who may create and not write is refused first, then the
// conditions are looked at.
func put(w http.ResponseWriter, r *http.Request, to target, permissions string) *refusal {
	switch {
	case r.ContentLength < 0:
		return refuse(http.StatusLengthRequired, "MissingContentLengthHeader", "Content-Length HTTP header is missing.")
	case r.Header.Get("X-Ms-Blob-Type") == "":
		return refuse(http.StatusBadRequest, "MissingRequiredHeader", "An HTTP header that's mandatory for this request is not specified.")
	case r.Header.Get("X-Ms-Blob-Type") != "BlockBlob":
		return refuse(http.StatusBadRequest, "InvalidHeaderValue", "The value for one of the HTTP headers is not in the correct format.")
	}
	made, err := create(r, to, permissions)
	switch {
	case errors.Is(err, errOver):
		return refuse(http.StatusForbidden, "UnauthorizedBlobOverwrite", "This request is not authorized to perform blob overwrites.")
	case errors.Is(err, bucket.ErrExists):
		return refuse(http.StatusConflict, "BlobAlreadyExists", "The specified blob already exists.")
	case errors.Is(err, errCondition):
		return refuse(http.StatusPreconditionFailed, "ConditionNotMet", "The condition specified using HTTP conditional header(s) is not met.")
	case errors.Is(err, bucket.ErrLocked):
		return immutable()
	case err != nil:
		return refuse(http.StatusBadRequest, "InvalidInput", "One of the request inputs is not valid.")
	}
	header := w.Header()
	header.Set("Etag", etag(made))
	header.Set("Last-Modified", made.ModifiedAt.UTC().Format(http.TimeFormat))
	header.Set("Content-Md5", md5Of(made))
	header.Set("X-Ms-Request-Server-Encrypted", "true")
	w.WriteHeader(http.StatusCreated)
	return nil
}

// What a request to put is refused for, besides what the store refuses.
var (
	errOver      = errors.New("may create only")
	errCondition = errors.New("the condition is not met")
)

func create(r *http.Request, to target, permissions string) (bucket.Object, error) {
	if !strings.Contains(permissions, "w") {
		made, err := to.store.Create(to.blob, r.Body)
		if errors.Is(err, bucket.ErrExists) {
			err = errOver
		}
		return made, err
	}
	condition := r.Header.Get("If-None-Match")
	if condition == "*" {
		return to.store.Create(to.blob, r.Body)
	}
	if there, err := to.store.Stat(to.blob); err == nil && condition == etag(there) {
		return bucket.Object{}, errCondition
	}
	return to.store.Replace(to.blob, r.Body)
}

func immutable() *refusal {
	return refuse(http.StatusConflict, "BlobImmutableDueToPolicy", "This operation is not permitted as the blob is immutable due to a policy.")
}

func missing() *refusal {
	return refuse(http.StatusNotFound, "BlobNotFound", "The specified blob does not exist.")
}

// get answers Get Blob and Get Blob Properties.
func get(w http.ResponseWriter, r *http.Request, to target) *refusal {
	object, content, err := to.store.Open(to.blob)
	if err != nil {
		return missing()
	}
	defer func() { _ = content.Close() }()
	if part := r.Header.Get("X-Ms-Range"); part != "" {
		r.Header.Set("Range", part)
	}
	header := w.Header()
	header.Set("Etag", etag(object))
	header.Set("Content-Type", "application/octet-stream")
	header.Set("Content-Md5", md5Of(object))
	header.Set("X-Ms-Blob-Type", "BlockBlob")
	header.Set("X-Ms-Creation-Time", object.ModifiedAt.UTC().Format(http.TimeFormat))
	header.Set("X-Ms-Lease-State", "available")
	header.Set("X-Ms-Lease-Status", "unlocked")
	header.Set("X-Ms-Server-Encrypted", "true")
	http.ServeContent(w, r, "", object.ModifiedAt, content)
	return nil
}

// remove answers Delete Blob.
func remove(w http.ResponseWriter, to target) *refusal {
	switch err := to.store.Delete(to.blob); {
	case errors.Is(err, bucket.ErrMissing):
		return missing()
	case errors.Is(err, bucket.ErrLocked):
		return immutable()
	}
	w.Header().Set("X-Ms-Delete-Type-Permanent", "true")
	w.WriteHeader(http.StatusAccepted)
	return nil
}

// list answers List Blobs, flat. The marker is the last key of the page before, so that
// what appears and vanishes meanwhile moves nothing.
func (s *Server) list(w http.ResponseWriter, r *http.Request, to target) *refusal {
	q := r.URL.Query()
	s.mu.Lock()
	size := s.pageSize
	s.mu.Unlock()
	after, err := base64.RawURLEncoding.DecodeString(q.Get("marker"))
	if err != nil || q.Has("delimiter") {
		return refuse(http.StatusBadRequest, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.")
	}
	if asked := q.Get("maxresults"); asked != "" {
		n, err := strconv.Atoi(asked)
		if err != nil || n < 1 {
			return refuse(http.StatusBadRequest, "OutOfRangeQueryParameterValue", "One of the query parameters specified in the request URI is outside the permissible range.")
		}
		size = min(size, n)
	}
	page, more := to.store.Page(q.Get("prefix"), string(after), size)
	w.Header().Set("Content-Type", "application/xml")
	_ = writeXML(w, enumerate(q, to, page, more)) // The client is gone when this fails.
	return nil
}

// enumeration is a page of a list.
type enumeration struct {
	XMLName       xml.Name `xml:"EnumerationResults"`
	ContainerName string   `xml:",attr"`
	Prefix        string   `xml:",omitempty"`
	Marker        string   `xml:",omitempty"`
	Blobs         struct {
		Blob []listed
	}
	NextMarker string
}

type listed struct {
	Name       string
	Properties properties
}

type properties struct {
	CreationTime string `xml:"Creation-Time"`
	LastModified string `xml:"Last-Modified"`
	Etag         string
	Length       int64  `xml:"Content-Length"`
	Type         string `xml:"Content-Type"`
	MD5          string `xml:"Content-MD5"`
	BlobType     string
	AccessTier   string
	LeaseStatus  string
	LeaseState   string
	Encrypted    bool `xml:"ServerEncrypted"`
}

func enumerate(q url.Values, to target, page []bucket.Object, more bool) enumeration {
	out := enumeration{ContainerName: to.container, Prefix: q.Get("prefix"), Marker: q.Get("marker")}
	for _, o := range page {
		at := o.ModifiedAt.UTC().Truncate(time.Second).Format(http.TimeFormat)
		out.Blobs.Blob = append(out.Blobs.Blob, listed{o.Key, properties{
			CreationTime: at, LastModified: at, Etag: strings.Trim(etag(o), `"`), Length: o.Bytes, Type: "application/octet-stream", MD5: md5Of(o),
			BlobType: "BlockBlob", AccessTier: "Hot", LeaseStatus: "unlocked", LeaseState: "available", Encrypted: true,
		}})
	}
	if more {
		out.NextMarker = base64.RawURLEncoding.EncodeToString([]byte(page[len(page)-1].Key))
	}
	return out
}

package s3

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"net/http"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// headerChecksum is the header of the CRC-32C of an object. S3 ignores it in the query of a presigned URL.
const headerChecksum = "X-Amz-Checksum-Crc32c"

// headerMarker is the header of an answer about an object that a marker hides.
const headerMarker = "X-Amz-Delete-Marker"

var (
	// errPayload is the error of a body whose digest differs from the signed one.
	errPayload = errors.New("the body is not the signed one")
	// errChecksum is the error of a body whose checksum differs from the one in the header.
	errChecksum = errors.New("the body has another checksum")
)

// put creates an object; with If-None-Match: * it does not overwrite one.
func (s *Server) put(w http.ResponseWriter, in *request) *fault {
	condition := in.Header.Get("If-None-Match")
	switch {
	case condition != "" && condition != "*":
		return notImplemented("If-None-Match of anything but *")
	case in.Header.Get("If-Match") != "":
		return notImplemented("If-Match")
	case in.ContentLength < 0:
		return refuse(http.StatusLengthRequired, "MissingContentLength", "You must provide the Content-Length HTTP header.")
	case in.ContentLength > maxObject:
		return refuse(http.StatusBadRequest, "EntityTooLarge", "Your proposed upload exceeds the maximum allowed size")
	case s.DefaultRetention > 0 && in.Header.Get(headerChecksum) == "":
		return refuse(http.StatusBadRequest, "InvalidRequest",
			"Content-MD5 OR x-amz-checksum- HTTP header is required for Put Object requests with Object Lock parameters")
	}
	store := s.store.Replace
	if condition == "*" {
		store = s.store.Create
		if _, err := s.store.Stat(in.key); err == nil && in.Header.Get("Expect") != "" {
			return existing() // Before the body is sent.
		}
	}
	made, err := store(in.key, newBody(in))
	switch {
	case errors.Is(err, bucket.ErrExists):
		return existing()
	case errors.Is(err, bucket.ErrLocked):
		return locked()
	case errors.Is(err, errPayload):
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	case errors.Is(err, errChecksum):
		return refuse(http.StatusBadRequest, "BadDigest", "The CRC32C you specified did not match the calculated checksum.")
	case err != nil:
		return refuse(http.StatusBadRequest, "IncompleteBody", "You did not provide the number of bytes specified by the Content-Length HTTP header")
	}
	w.Header().Set("Etag", etag(made))
	return nil
}

func existing() *fault {
	return refuse(http.StatusPreconditionFailed, "PreconditionFailed", "At least one of the pre-conditions you specified did not hold")
}

func etag(o bucket.Object) string { return `"` + hex.EncodeToString(o.MD5[:]) + `"` }

// get returns an object, or a range of it. HEAD is GET without the body.
func (s *Server) get(w http.ResponseWriter, in *request) *fault {
	object, content, err := s.store.Open(in.key)
	if err != nil && !s.mayList(in) {
		return refuse(http.StatusForbidden, "AccessDenied", "Access Denied")
	}
	if err != nil {
		if s.store.Hidden(in.key) {
			w.Header().Set(headerMarker, "true")
		}
		return refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	}
	defer func() { _ = content.Close() }()
	if object.Bytes == 0 && in.Header.Get("Range") != "" {
		return refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	}
	if s.store.KeepsVersions() {
		w.Header().Set("X-Amz-Version-Id", versionID(object))
	}
	w.Header().Set("Etag", etag(object))
	w.Header().Set("Content-Type", "binary/octet-stream")
	http.ServeContent(w, in.Request, "", object.ModifiedAt, content)
	return nil
}

func (s *Server) delete(w http.ResponseWriter, in *request) *fault {
	if in.URL.Query().Has("versionId") {
		return s.deleteVersion(w, in)
	}
	if err := s.store.Delete(in.key); errors.Is(err, bucket.ErrLocked) {
		return locked()
	}
	if s.store.Hidden(in.key) {
		w.Header().Set(headerMarker, "true")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// body is the body of a request. It ends with errPayload or errChecksum instead of io.EOF unless it has
// the digest that is signed and the checksum that the request gives, if any.
type body struct {
	from io.Reader
	sum  hash.Hash
	want string
	// crc32c and wantCRC32C are the checksum, wanted in base64.
	crc32c     hash.Hash32
	wantCRC32C string
}

func newBody(in *request) *body {
	return &body{
		from: in.Body, sum: sha256.New(), want: in.digest,
		crc32c: crc32.New(crc32.MakeTable(crc32.Castagnoli)), wantCRC32C: in.Header.Get(headerChecksum),
	}
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	_, _ = b.sum.Write(p[:n]) // A hash takes everything.
	_, _ = b.crc32c.Write(p[:n])
	switch {
	case !errors.Is(err, io.EOF):
	case b.want != "" && hex.EncodeToString(b.sum.Sum(nil)) != b.want:
		return n, errPayload
	case b.wantCRC32C != "" && base64.StdEncoding.EncodeToString(b.crc32c.Sum(nil)) != b.wantCRC32C:
		return n, errChecksum
	}
	return n, err
}

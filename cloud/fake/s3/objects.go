package s3

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"hash"
	"io"
	"net/http"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// errPayload is the error of a body whose digest differs from the signed one.
var errPayload = errors.New("the body is not the signed one")

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
	}
	store := s.store.Replace
	if condition == "*" {
		store = s.store.Create
		if _, err := s.store.Stat(in.key); err == nil && in.Header.Get("Expect") != "" {
			return existing() // Before the body is sent.
		}
	}
	made, err := store(in.key, &body{from: in.Body, sum: sha256.New(), want: in.digest})
	switch {
	case errors.Is(err, bucket.ErrExists):
		return existing()
	case errors.Is(err, bucket.ErrLocked):
		return refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
	case errors.Is(err, errPayload):
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
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
		return refuse(http.StatusNotFound, "NoSuchKey", "The specified key does not exist.")
	}
	defer func() { _ = content.Close() }()
	if object.Bytes == 0 && in.Header.Get("Range") != "" {
		return refuse(http.StatusRequestedRangeNotSatisfiable, "InvalidRange", "The requested range is not satisfiable")
	}
	w.Header().Set("Etag", etag(object))
	w.Header().Set("Content-Type", "binary/octet-stream")
	http.ServeContent(w, in.Request, "", object.ModifiedAt, content)
	return nil
}

func (s *Server) delete(w http.ResponseWriter, in *request) *fault {
	if err := s.store.Delete(in.key); errors.Is(err, bucket.ErrLocked) {
		return refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// body is the body of a request. Unless it has the wanted digest, if any, it ends with
// errPayload instead of io.EOF.
type body struct {
	from io.Reader
	sum  hash.Hash
	want string
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	_, _ = b.sum.Write(p[:n]) // A hash takes everything.
	if errors.Is(err, io.EOF) && b.want != "" && hex.EncodeToString(b.sum.Sum(nil)) != b.want {
		return n, errPayload
	}
	return n, err
}

package s3

import (
	"crypto/md5" //nolint:gosec // S3 tells this checksum of each object, and takes it.
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

// What a body is refused for, at its end.
var (
	// errPayload means that it is not what was signed, errDigest that it is not what a
	// checksum beside says.
	errPayload = errors.New("the body is not what was signed")
	errDigest  = errors.New("the body is not what its checksum says")
)

// put makes an object, and writes nothing over with If-None-Match: *.
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
	body, wrong := checked(in)
	if wrong != nil {
		return wrong
	}
	store := s.store.Replace
	if condition == "*" {
		store = s.store.Create
		if _, err := s.store.Stat(in.key); err == nil && in.Header.Get("Expect") != "" {
			return existing() // Before the body is sent.
		}
	}
	made, err := store(in.key, body)
	switch {
	case errors.Is(err, bucket.ErrExists):
		return existing()
	case errors.Is(err, bucket.ErrLocked):
		return refuse(http.StatusForbidden, "AccessDenied", "Access Denied because object protected by object lock.")
	case errors.Is(err, errPayload):
		return refuse(http.StatusBadRequest, "XAmzContentSHA256Mismatch", "The provided 'x-amz-content-sha256' header does not match what was computed.")
	case errors.Is(err, errDigest):
		return refuse(http.StatusBadRequest, "BadDigest", "The checksum you specified did not match what we received.")
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

// get answers with an object, or with a part of one. HEAD is GET without the body.
func (s *Server) get(w http.ResponseWriter, in *request) *fault {
	object, content, err := s.store.Open(in.key)
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

// checksum is one that a body must have.
type checksum struct {
	hash.Hash

	want string
	text func([]byte) string
	// wrong is the error to return if they differ.
	wrong error
}

// checked is the body of a request, which ends with an error instead of io.EOF if it is not
// what its checksums say.
func checked(in *request) (io.Reader, *fault) {
	b := &body{from: in.Body}
	if in.digest != "" {
		b.sums = append(b.sums, checksum{sha256.New(), in.digest, hex.EncodeToString, errPayload})
	}
	if want := in.Header.Get("Content-Md5"); want != "" {
		if raw, err := base64.StdEncoding.DecodeString(want); err != nil || len(raw) != md5.Size {
			return nil, refuse(http.StatusBadRequest, "InvalidDigest", "The Content-MD5 you specified was invalid.")
		}
		b.sums = append(b.sums, checksum{md5.New(), want, base64.StdEncoding.EncodeToString, errDigest}) //nolint:gosec // See the import.
	}
	if want := in.Header.Get("X-Amz-Checksum-Crc32"); want != "" {
		b.sums = append(b.sums, checksum{crc32.NewIEEE(), want, base64.StdEncoding.EncodeToString, errDigest})
	}
	return b, nil
}

type body struct {
	from io.Reader
	sums []checksum
}

// Read implements io.Reader.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.from.Read(p)
	for _, sum := range b.sums {
		_, _ = sum.Write(p[:n]) // A hash takes everything.
	}
	if errors.Is(err, io.EOF) {
		for _, sum := range b.sums {
			if sum.text(sum.Sum(nil)) != sum.want {
				return n, sum.wrong
			}
		}
	}
	return n, err
}

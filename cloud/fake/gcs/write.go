package gcs

import (
	"crypto/md5" //nolint:gosec // Google returns this checksum of each object.
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash"
	"hash/crc32"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"strconv"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// making describes an object to create.
type making struct {
	name string
	// condition is the generation that it must have before: 0 means that it must not exist, empty means any.
	condition string
	content   io.Reader
	// crc32c and md5 are the checksums that the request gives; empty if it gives none.
	crc32c, md5 string
}

// makeObject makes an object, or writes over one, as far as the request may.
func (s *Server) makeObject(r request, m making) (bucket.Object, error) {
	if err := r.may("storage.objects.create", m.name); err != nil {
		return bucket.Object{}, err
	}
	var before int64
	if m.condition != "" {
		var err error
		if before, err = strconv.ParseInt(m.condition, 10, 64); err != nil {
			return bucket.Object{}, invalid("Invalid argument for the generation: %q", m.condition)
		}
	}
	found, err := s.store.Stat(m.name)
	switch there := err == nil; {
	case m.condition != "" && before == 0 && there, before != 0 && (!there || m.condition != generation(found)):
		return bucket.Object{}, precondition()
	case there:
		if err := r.may("storage.objects.delete", m.name); err != nil {
			return bucket.Object{}, err
		}
	}
	create := s.store.Create
	if err == nil {
		create = s.store.Replace
	}
	made, err := create(m.name, m.checked())
	switch {
	case errors.Is(err, bucket.ErrExists): // Since a moment ago.
		return made, precondition()
	case errors.Is(err, bucket.ErrLocked):
		return made, s.held(m.name)
	default:
		return made, err
	}
}

// insert makes an object with a request of the JSON API.
func (s *Server) insert(w http.ResponseWriter, r request) error {
	query := r.URL.Query()
	m := making{name: query.Get("name"), condition: query.Get("ifGenerationMatch"), content: r.Body}
	if query.Get("uploadType") != "multipart" {
		return problem{http.StatusNotImplemented, "notImplemented", "NotImplemented", "Only multipart uploads are implemented."}
	}
	if err := m.readParts(r.Request); err != nil {
		return err
	}
	if m.name == "" {
		return problem{http.StatusBadRequest, "required", "InvalidArgument", "Required"}
	}
	made, err := s.makeObject(r, m)
	if err != nil {
		return err
	}
	writePartial(w, r, s.resource(made))
	return nil
}

// readParts reads the metadata of the object, and finds its content.
func (m *making) readParts(r *http.Request) error {
	kind, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "multipart/related" {
		return invalid("The content type is not multipart/related.")
	}
	parts := multipart.NewReader(r.Body, parameters["boundary"])
	description, err := parts.NextPart()
	if err != nil {
		return invalid("The body has no parts.")
	}
	var object struct {
		Name        string `json:"name"`
		Bucket      string `json:"bucket"`
		ContentType string `json:"contentType"`
		CRC32C      string `json:"crc32c"`
		MD5         string `json:"md5Hash"`
	}
	decoder := json.NewDecoder(description)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&object); err != nil {
		return invalid("Invalid JSON payload received. %v", err)
	}
	content, err := parts.NextPart()
	if err != nil {
		return invalid("The body has no content.")
	}
	if object.Name != "" {
		m.name = object.Name
	}
	m.content, m.crc32c, m.md5 = content, object.CRC32C, object.MD5
	return nil
}

// upload makes an object with a request of the XML API.
func (s *Server) upload(w http.ResponseWriter, r request) error {
	m := making{name: r.object(), condition: r.Header.Get("X-Goog-If-Generation-Match"), content: r.Body}
	made, err := s.makeObject(r, m)
	if err != nil {
		return err
	}
	describe(w, made)
	w.Header().Set("Last-Modified", made.ModifiedAt.UTC().Format(http.TimeFormat))
	w.WriteHeader(http.StatusOK)
	return nil
}

// checked reads a content, and fails at its end unless the content has the given checksums.
type checked struct {
	making

	crc32cHash hash.Hash32
	md5Hash    hash.Hash
}

func (m making) checked() io.Reader {
	return checked{m, crc32.New(crc32.MakeTable(crc32.Castagnoli)), md5.New()} //nolint:gosec // See the import.
}

// Read reads some of it.
func (c checked) Read(p []byte) (int, error) {
	n, err := c.content.Read(p)
	_, _ = c.crc32cHash.Write(p[:n]) // A hash takes everything.
	_, _ = c.md5Hash.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	sum := base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, c.crc32cHash.Sum32()))
	if c.crc32c != "" && c.crc32c != sum {
		return n, invalid("Provided CRC32C %q doesn't match calculated CRC32C %q.", c.crc32c, sum)
	}
	sum = base64.StdEncoding.EncodeToString(c.md5Hash.Sum(nil))
	if c.md5 != "" && c.md5 != sum {
		return n, invalid("Provided MD5 hash %q doesn't match calculated MD5 hash %q.", c.md5, sum)
	}
	return n, err
}

package gcs

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

// firstGeneration makes generations look like Google's, which are times.
const firstGeneration = 1772330400000000

func generation(o bucket.Object) string { return strconv.FormatInt(firstGeneration+o.Serial, 10) }

func crc32c(o bucket.Object) string {
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, o.CRC32C))
}

func md5sum(o bucket.Object) string { return base64.StdEncoding.EncodeToString(o.MD5[:]) }

// resource returns an object in the form of the JSON API.
func (s *Server) resource(o bucket.Object) map[string]any {
	at := o.ModifiedAt.UTC().Format("2006-01-02T15:04:05.000Z")
	out := map[string]any{
		"kind": "storage#object", "id": s.Bucket + "/" + o.Key + "/" + generation(o), "name": o.Key, "bucket": s.Bucket,
		"generation": generation(o), "metageneration": "1", "contentType": "application/octet-stream", "storageClass": "STANDARD",
		"size": strconv.FormatInt(o.Bytes, 10), "md5Hash": md5sum(o), "crc32c": crc32c(o), "etag": "CAE=",
		"timeCreated": at, "updated": at, "timeStorageClassUpdated": at, "timeFinalized": at,
	}
	if o.Locked {
		out["temporaryHold"] = true
	}
	return out
}

// get shows an object, or its content.
func (s *Server) get(w http.ResponseWriter, r request) error {
	if r.URL.Query().Get("alt") == "media" {
		return s.download(w, r)
	}
	if err := r.may("storage.objects.get", r.object()); err != nil {
		return err
	}
	found, err := s.store.Stat(r.object())
	if err != nil || !r.means(found) {
		return s.notFound(r.object())
	}
	writePartial(w, r, s.resource(found))
	return nil
}

// means reports whether a request that names a generation means this one.
func (r request) means(o bucket.Object) bool {
	wanted := r.URL.Query().Get("generation")
	return wanted == "" || wanted == generation(o)
}

// download answers with the content of an object.
func (s *Server) download(w http.ResponseWriter, r request) error {
	if err := r.may("storage.objects.get", r.object()); err != nil {
		return err
	}
	found, content, err := s.store.Open(r.object())
	if err != nil {
		return s.notFound(r.object())
	}
	defer func() { _ = content.Close() }()
	if !r.means(found) {
		return s.notFound(r.object())
	}
	describe(w, found)
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r.Request, "", found.ModifiedAt, content)
	return nil
}

// describe sets the headers that describe an object.
func describe(w http.ResponseWriter, o bucket.Object) {
	w.Header().Set("X-Goog-Generation", generation(o))
	w.Header().Set("X-Goog-Hash", "crc32c="+crc32c(o)+",md5="+md5sum(o))
	w.Header().Set("X-Goog-Stored-Content-Length", strconv.FormatInt(o.Bytes, 10))
}

// remove deletes an object.
func (s *Server) remove(w http.ResponseWriter, r request) error {
	if err := r.may("storage.objects.delete", r.object()); err != nil {
		return err
	}
	switch err := s.store.Delete(r.object()); {
	case errors.Is(err, bucket.ErrMissing):
		return s.notFound(r.object())
	case errors.Is(err, bucket.ErrLocked):
		return s.held(r.object())
	case err != nil:
		return err
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// list lists objects by pages.
func (s *Server) list(w http.ResponseWriter, r request) error {
	if err := r.may("storage.objects.list", ""); err != nil {
		return err
	}
	query := r.URL.Query()
	s.mu.Lock()
	size := s.pageSize
	s.mu.Unlock()
	if text := query.Get("maxResults"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return invalid("Invalid value for maxResults: %q", text)
		}
		size = min(size, n)
	}
	after, err := base64.URLEncoding.DecodeString(query.Get("pageToken"))
	if err != nil {
		return invalid("Invalid value for pageToken.")
	}
	page, more := s.store.Page(query.Get("prefix"), string(after), size)
	out := map[string]any{"kind": "storage#objects"}
	var items []any
	for _, o := range page {
		items = append(items, s.resource(o))
	}
	if len(items) > 0 {
		out["items"] = items
	}
	if more {
		out["nextPageToken"] = base64.URLEncoding.EncodeToString([]byte(page[len(page)-1].Key))
	}
	writePartial(w, r, out)
	return nil
}

// writePartial answers with the fields that a request asks for, as in a,items(b,c), and
// with all where it asks for none.
func writePartial(w http.ResponseWriter, r request, body map[string]any) {
	mask := r.URL.Query().Get("fields")
	if mask == "" {
		writeJSON(w, body)
		return
	}
	out := map[string]any{}
	for mask != "" {
		field, rest := cutField(mask)
		mask = rest
		name, within, nested := strings.Cut(strings.TrimSuffix(field, ")"), "(")
		value, there := body[name]
		if items, isList := value.([]any); there && nested && isList {
			value = pick(items, strings.Split(within, ","))
		}
		if there {
			out[name] = value
		}
	}
	writeJSON(w, out)
}

// cutField cuts a mask at its first comma outside of parentheses.
func cutField(mask string) (field, rest string) {
	depth := 0
	for i, c := range mask {
		switch {
		case c == '(':
			depth++
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			return mask[:i], mask[i+1:]
		}
	}
	return mask, ""
}

// pick leaves of each item some fields.
func pick(items []any, names []string) []any {
	out := make([]any, 0, len(items))
	for _, item := range items {
		all, _ := item.(map[string]any)
		some := map[string]any{}
		for _, name := range names {
			if value, there := all[name]; there {
				some[name] = value
			}
		}
		out = append(out, some)
	}
	return out
}

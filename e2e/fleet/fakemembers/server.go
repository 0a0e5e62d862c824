package fakemembers

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// target holds what the path of a request names.
type target struct {
	version                                schema.GroupVersion
	resource, namespace, name, subresource string
}

// targetOf parses a path. It returns false for one that names no resource.
func targetOf(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	var t target
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		t.version, parts = schema.GroupVersion{Version: parts[1]}, parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		t.version, parts = schema.GroupVersion{Group: parts[1], Version: parts[2]}, parts[3:]
	default:
		return t, false
	}
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" {
		t.namespace, parts = parts[1], parts[2:]
	}
	for i, into := range []*string{&t.resource, &t.name, &t.subresource} {
		if i < len(parts) {
			*into = parts[i]
		}
	}
	return t, len(parts) <= 3
}

// ServeHTTP serves one request to the API server.
func (m *Member) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	counted := &statusWriter{ResponseWriter: w}
	err := m.serve(counted, r)
	if err != nil && counted.code == 0 {
		writeError(counted, err)
	}
	m.count(r, counted.code)
}

// serve serves a request. The error is for the client, unless headers were sent.
func (m *Member) serve(w http.ResponseWriter, r *http.Request) error {
	if r.Header.Get("Authorization") != "Bearer "+m.token {
		return apierrors.NewUnauthorized("Unauthorized")
	}
	t, ok := targetOf(r.URL.Path)
	if !ok {
		return m.discover(w, r)
	}
	if t.version.Group == "authorization.k8s.io" {
		return review(w, r, t)
	}
	m.store.mu.Lock()
	c := m.store.collections[schema.GroupResource{Group: t.version.Group, Resource: t.resource}]
	m.store.mu.Unlock()
	if c == nil || c.Version != t.version.Version || t.subresource != "" && (t.subresource != "status" || !c.status) {
		return pageNotFound()
	}
	if r.Method != http.MethodGet {
		return m.change(w, r, c, t)
	}
	if t.name != "" {
		return m.get(w, r, c, t)
	}
	selector, err := labels.Parse(r.URL.Query().Get("labelSelector"))
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	q := query{namespace: t.namespace, labels: selector}
	q.fieldSelector(r.URL.Query().Get("fieldSelector"))
	if r.URL.Query().Get("watch") == "true" || r.URL.Query().Get("watch") == "1" {
		return m.watch(w, r, c, q)
	}
	return m.list(w, r, c, q)
}

func pageNotFound() error {
	return apierrors.NewGenericServerResponse(http.StatusNotFound, "", schema.GroupResource{}, "", "404 page not found", 0, true)
}

func (m *Member) get(w http.ResponseWriter, r *http.Request, c *collection, t target) error {
	m.store.mu.Lock()
	o := c.objects[t.namespace+"/"+t.name]
	m.store.mu.Unlock()
	if o == nil {
		return apierrors.NewNotFound(c.groupResource(), t.name)
	}
	return writeObject(w, r, c, result{object: o})
}

// list writes a list as JSON, which all clients accept.
func (m *Member) list(w http.ResponseWriter, r *http.Request, c *collection, q query) error {
	m.store.mu.Lock()
	all, version := c.sorted(q.namespace), m.store.version
	m.store.mu.Unlock()
	kind, apiVersion, f := c.Kind+"List", c.GroupVersion().String(), asJSON
	if formOf(r, c.GroupVersionKind) == asMetadata {
		kind, apiVersion, f = "PartialObjectMetadataList", "meta.k8s.io/v1", asMetadata
	}
	items := []json.RawMessage{}
	for _, o := range all {
		if !o.isIn(q) {
			continue
		}
		raw, err := o.encode(f)
		if err != nil {
			return err
		}
		items = append(items, raw)
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"kind": kind, "apiVersion": apiVersion, "metadata": map[string]any{"resourceVersion": fmt.Sprint(version)}, "items": items,
	})
}

// change serves a write.
func (m *Member) change(w http.ResponseWriter, r *http.Request, c *collection, t target) error {
	wr := &write{
		store: m.store, collection: c, namespace: t.namespace, name: t.name, subresource: t.subresource,
		manager: r.URL.Query().Get("fieldManager"),
	}
	if r.Method == http.MethodDelete {
		options, err := deleteOptions(r)
		if err != nil {
			return apierrors.NewBadRequest(err.Error())
		}
		m.store.mu.Lock()
		err = wr.remove(options)
		m.store.mu.Unlock()
		if err != nil {
			return err
		}
		return writeJSON(w, http.StatusOK, metav1.Status{
			TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusSuccess,
		})
	}
	u, err := decodeBody(r)
	if err != nil {
		return apierrors.NewBadRequest(err.Error())
	}
	if c.Kind == "Event" || r.Method == http.MethodPost && isDryRun(r) {
		return writeJSON(w, http.StatusCreated, u.Object) // It is dropped.
	}
	m.store.mu.Lock()
	done, err := wr.do(r, u)
	m.store.mu.Unlock()
	if err != nil {
		return err
	}
	return writeObject(w, r, c, done)
}

// isDryRun reports whether a request is to store nothing.
func isDryRun(r *http.Request) bool { return r.URL.Query().Has("dryRun") }

// result is the outcome of a write, or of a read.
type result struct {
	object  *object
	created bool
}

// do runs a write by the method and the media type of its request.
func (w *write) do(r *http.Request, u *unstructured.Unstructured) (result, error) {
	var done result
	var err error
	media, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
	switch {
	case r.Method == http.MethodPost:
		done.created = true
		done.object, err = w.create(u)
	case r.Method == http.MethodPatch && media == string(types.ApplyPatchType):
		done.object, done.created, err = w.apply(u, r.URL.Query().Get("force") == "true")
	case r.Method == http.MethodPatch && media == string(types.MergePatchType):
		done.object, err = w.patch(u.Object)
	default:
		err = apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, r.Method, w.collection.groupResource(), w.name, errUnsupported.Error(), 0, true)
	}
	return done, err
}

func writeObject(w http.ResponseWriter, r *http.Request, c *collection, done result) error {
	f := formOf(r, c.GroupVersionKind)
	raw, err := done.object.encode(f)
	if err != nil {
		return err
	}
	code := http.StatusOK
	if done.created {
		code = http.StatusCreated
	}
	return writeRaw(w, code, f.contentType(), raw)
}

func writeJSON(w http.ResponseWriter, code int, value any) error {
	raw, err := json.Marshal(value)
	if err != nil {
		return fmt.Errorf("encoding a response: %w", err)
	}
	return writeRaw(w, code, "application/json", raw)
}

func writeRaw(w http.ResponseWriter, code int, media string, raw []byte) error {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(code)
	_, err := w.Write(raw)
	return err
}

// writeError writes the status of an error.
func writeError(w http.ResponseWriter, err error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		status = apierrors.NewInternalError(err)
	}
	s := status.Status()
	s.APIVersion, s.Kind = "v1", "Status"
	// An error is about the connection, which the client notices.
	_ = writeJSON(w, int(s.Code), s)
}

// statusWriter remembers the status code of a response.
type statusWriter struct {
	http.ResponseWriter
	code int
}

// WriteHeader implements http.ResponseWriter.
func (w *statusWriter) WriteHeader(code int) {
	w.code = code
	w.ResponseWriter.WriteHeader(code)
}

// Unwrap returns the writer for http.ResponseController.
func (w *statusWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

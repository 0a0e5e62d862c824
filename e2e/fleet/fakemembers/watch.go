package fakemembers

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
)

const (
	// bookmarkPeriod is the time between bookmarks, as with a real API server, and watchTime how long
	// a watch lasts whose client does not say.
	bookmarkPeriod = time.Minute
	watchTime      = 30 * time.Minute
)

// stream is one watch.
type stream struct {
	store      *store
	collection *collection
	query      query
	form       form
	out        io.Writer
	flush      func() error
	// version is the resource version of the last change that was sent or skipped.
	version            int64
	bookmarks, initial bool
}

// watch serves a watch until its time is over, or the client or the member ends it.
func (m *Member) watch(w http.ResponseWriter, r *http.Request, c *collection, q query) error {
	parameters := r.URL.Query()
	s := &stream{
		store: m.store, collection: c, query: q, form: formOf(r, c.GroupVersionKind), out: w, flush: http.NewResponseController(w).Flush,
		bookmarks: parameters.Get("allowWatchBookmarks") == "true", initial: parameters.Get("sendInitialEvents") == "true",
	}
	seconds, err := strconv.Atoi(parameters.Get("timeoutSeconds"))
	limit := watchTime
	if err == nil && seconds > 0 {
		limit = time.Duration(seconds) * time.Second
	}
	version := parameters.Get("resourceVersion")
	if !s.initial && (version == "" || version == "0") {
		s.initial, s.bookmarks = true, false // Without a version, a watch begins with what there is.
	}
	if !s.initial {
		if s.version, err = strconv.ParseInt(version, 10, 64); err != nil {
			return apierrors.NewBadRequest("invalid resource version")
		}
	}
	media := s.form.contentType()
	if s.form == asProtobuf {
		media += ";stream=watch"
	}
	w.Header().Set("Content-Type", media)
	w.WriteHeader(http.StatusOK)
	end, bookmark := time.NewTimer(limit), time.NewTicker(bookmarkPeriod)
	defer end.Stop()
	defer bookmark.Stop()
	changed, err := s.begin()
	for err == nil {
		select {
		case <-r.Context().Done():
			return nil
		case <-end.C:
			return nil
		case <-bookmark.C:
			if s.bookmarks {
				err = s.bookmark(nil)
			}
		case <-changed:
			changed, err = s.advance()
		}
	}
	return nil // The headers are sent: the client sees the end of the stream.
}

// begin sends the objects that there are, if the client wants them, and returns a channel that is
// closed at the next change.
func (s *stream) begin() (<-chan struct{}, error) {
	if !s.initial {
		if err := s.flush(); err != nil {
			return nil, err
		}
		return s.advance()
	}
	s.store.mu.Lock()
	all, version, changed := s.collection.sorted(s.query.namespace), s.store.version, s.collection.changed
	s.store.mu.Unlock()
	for _, o := range all {
		if o.isIn(s.query) {
			if err := s.send(watch.Added, o); err != nil {
				return nil, err
			}
		}
	}
	s.version = version
	if s.bookmarks {
		return changed, s.bookmark(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return changed, s.flush()
}

// advance sends the changes since the last one.
func (s *stream) advance() (<-chan struct{}, error) {
	s.store.mu.Lock()
	changes, complete := s.collection.since(s.version)
	version, changed := s.store.version, s.collection.changed
	s.store.mu.Unlock()
	if !complete {
		gone := apierrors.NewResourceExpired("too old resource version").Status()
		return nil, errors.Join(s.frame(watch.Error, &gone), s.flush(), errUnsupported)
	}
	for _, each := range changes {
		kind := each.seenBy(s.query)
		if kind == "" {
			continue
		}
		if err := s.send(kind, each.next); err != nil {
			return nil, err
		}
	}
	s.version = version
	return changed, s.flush()
}

// seenBy returns the change as a watch sees it that selects some objects: one that no longer
// matches is deleted. It returns nothing if the watch does not see it.
func (c change) seenBy(q query) watch.EventType {
	was, is := c.old.isIn(q), c.next.isIn(q) && c.kind != watch.Deleted
	switch {
	case was && is:
		return watch.Modified
	case is:
		return watch.Added
	case was:
		return watch.Deleted
	}
	return ""
}

// bookmark sends the version that the client has seen everything of.
func (s *stream) bookmark(annotations map[string]string) error {
	kind := s.collection.GroupVersionKind
	raw, err := json.Marshal(metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: kind.GroupVersion().String(), Kind: kind.Kind},
		ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.FormatInt(s.version, 10), Annotations: annotations},
	})
	if err != nil {
		return fmt.Errorf("encoding a bookmark: %w", err)
	}
	if err := s.send(watch.Bookmark, &object{raw: raw}); err != nil {
		return err
	}
	return s.flush()
}

func (s *stream) send(kind watch.EventType, o *object) error {
	raw, err := o.encode(s.form)
	if err != nil {
		return err
	}
	return s.write(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
}

// frame sends an event with a status.
func (s *stream) frame(kind watch.EventType, status *metav1.Status) error {
	status.APIVersion, status.Kind = "v1", "Status"
	raw, err := json.Marshal(status)
	if err != nil {
		return fmt.Errorf("encoding a status: %w", err)
	}
	if s.form == asProtobuf {
		if raw, err = toProtobuf(raw); err != nil {
			return err
		}
	}
	return s.write(metav1.WatchEvent{Type: string(kind), Object: runtime.RawExtension{Raw: raw}})
}

func (s *stream) write(event metav1.WatchEvent) error {
	if s.form != asProtobuf {
		return json.NewEncoder(s.out).Encode(event)
	}
	raw, err := event.Marshal()
	if err != nil {
		return fmt.Errorf("encoding an event: %w", err)
	}
	_, err = s.out.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(raw))), raw...))
	return err
}

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var errNoList = errors.New("the API server did not answer with a list")

// Snapshot holds collections as they were listed at one time.
type Snapshot struct {
	// lists has a response for each collection, selection and encoding.
	lists map[string]*httptest.ResponseRecorder
}

// Snapshot lists, with the callers' credentials, all collections of the matched resources that
// were read or watched so far.
func (p *Proxy) Snapshot(ctx context.Context, m Match) (*Snapshot, error) {
	p.mu.Lock()
	reads := make(map[string]*http.Request, len(p.lists))
	for key, r := range p.lists {
		if e := describe(r); m.accepts(e) {
			reads[key] = r
		}
	}
	p.mu.Unlock()
	s := &Snapshot{lists: map[string]*httptest.ResponseRecorder{}}
	for key, read := range reads {
		list := read.Clone(ctx)
		query := url.Values{}
		for _, kept := range []string{"labelSelector", "fieldSelector"} {
			if value := read.URL.Query().Get(kept); value != "" {
				query.Set(kept, value)
			}
		}
		list.URL.RawQuery = query.Encode()
		list.Header.Set("Accept", listAccept(list.Header.Get("Accept")))
		recorder := httptest.NewRecorder()
		p.forward.ServeHTTP(recorder, list)
		if recorder.Code != http.StatusOK {
			return nil, fmt.Errorf("listing %s: %w: %d", list.URL.Path, errNoList, recorder.Code)
		}
		s.lists[key] = recorder
	}
	return s, nil
}

// ServeSnapshot answers the first list of each collection from a snapshot, and forwards later ones.
// A watch that would begin with the present state is refused, as by an API server that cannot
// do so, upon which clients list.
func ServeSnapshot(s *Snapshot) Action {
	served := map[string]bool{}
	return Action{name: "older list", serve: func(x *exchange, _ *Fault) {
		key, ok := listKey(x.request)
		recorded := s.lists[key]
		x.proxy.mu.Lock()
		fresh := ok && recorded != nil && !served[key]
		if fresh && x.entry.Verb == "list" {
			served[key] = true
		}
		x.proxy.mu.Unlock()
		switch {
		case !fresh:
			x.forward(x.writer)
		case x.entry.Verb == "watch":
			x.answer(apierrors.NewInvalid(metav1.SchemeGroupVersion.WithKind("ListOptions").GroupKind(), "", nil).Status())
		default:
			maps.Copy(x.writer.Header(), recorded.Header())
			x.writer.WriteHeader(recorded.Code)
			_, _ = io.Copy(x.writer, recorded.Body)
		}
	}}
}

// listKey returns the collection, selection and encoding of a request that reads a collection
// from its start: a list, or a watch that begins with the present state.
func listKey(r *http.Request) (string, bool) {
	query := r.URL.Query()
	switch describe(r).Verb {
	case "list":
	case "watch":
		if query.Get("sendInitialEvents") != "true" {
			return "", false
		}
	default:
		return "", false
	}
	return strings.Join([]string{
		r.URL.Path, query.Get("labelSelector"), query.Get("fieldSelector"), listAccept(r.Header.Get("Accept")),
	}, "\n"), true
}

// listAccept returns the encodings to request of a list in place of a watch.
func listAccept(watch string) string {
	return strings.ReplaceAll(watch, "as=PartialObjectMetadata;", "as=PartialObjectMetadataList;")
}

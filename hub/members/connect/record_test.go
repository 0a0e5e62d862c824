package connect

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// server is an API server with the ConfigMap of a record.
type server struct {
	mu      sync.Mutex // Orders requests, also after one that was closed without a response.
	version int
	// data is nil without a ConfigMap.
	data map[string]string
	// dropped is true to close the connection after the next write, without a response.
	dropped bool
	// before is called ahead of the next read of the ConfigMap.
	before func()
}

// ServeHTTP returns the ConfigMap, creates it, and patches it if the patch has its version.
// All namespaces exist.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	if before := s.before; before != nil {
		s.before = nil
		before()
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !strings.Contains(r.URL.Path, "/configmaps"):
		_ = json.NewEncoder(w).Encode(corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}})
		return
	case r.Method == http.MethodGet && s.data == nil:
		refuse(w, http.StatusNotFound, metav1.StatusReasonNotFound)
		return
	case r.Method != http.MethodGet:
		sent := corev1.ConfigMap{}
		err := json.NewDecoder(r.Body).Decode(&sent)
		if err != nil || s.data != nil && sent.ResourceVersion != strconv.Itoa(s.version) {
			refuse(w, http.StatusConflict, metav1.StatusReasonConflict)
			return
		}
		s.version, s.data = s.version+1, sent.Data
		if s.dropped {
			s.dropped = false
			panic(http.ErrAbortHandler)
		}
	}
	_ = json.NewEncoder(w).Encode(corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{ResourceVersion: strconv.Itoa(s.version)}, Data: s.data,
	})
}

func refuse(w http.ResponseWriter, code int32, reason metav1.StatusReason) {
	w.WriteHeader(int(code))
	_ = json.NewEncoder(w).Encode(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure, Reason: reason, Code: code,
	})
}

// open returns the record of the process p with epoch 3.
func (s *server) open(t *testing.T) *RecordClient {
	t.Helper()
	listener := httptest.NewServer(s)
	t.Cleanup(listener.Close)
	configMaps, err := corev1client.NewForConfig(&rest.Config{Host: listener.URL, ContentConfig: rest.ContentConfig{ContentType: runtime.ContentTypeJSON}})
	if err != nil {
		t.Fatal(err)
	}
	known := &Known{process: "p"}
	known.epoch.Store(3)
	r := &RecordClient{client: configMaps, known: known, settings: &Settings{
		HubUID: "hub", Record: client.ObjectKey{Namespace: "n", Name: "record"}, Timeouts: Timeouts{Request: time.Minute}, Clock: clock.RealClock{},
	}}
	if f, err := r.check(t.Context()); f != nil || err != nil {
		t.Fatalf("%+v, %v", f, err)
	}
	return r
}

// TestDamagedRecord checks that the last content is used while the ConfigMap cannot be read, without waiting for a
// read or write.
func TestDamagedRecord(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000_000, 0)
	s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Deleted: []ownership.Deletion{{App: "deleted", At: at}, {App: "left", Left: 4, At: at}}}.Data()}
	r := s.open(t)
	s.data["epoch"] = "damaged"
	if f, err := r.check(t.Context()); f == nil || err != nil {
		t.Errorf("a damaged record is read with %+v, %v", f, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.DeletedAt("deleted").IsZero() || r.Left("left") != 4 {
		t.Error("what was read is forgotten")
	}
}

// TestRefusals checks that a refused repair of the record is retried until an inspection ends the connection.
func TestRefusals(t *testing.T) {
	t.Parallel()
	for name, data := range map[string]map[string]string{
		"damaged":         {"epoch": "damaged"},
		"another hub":     ownership.Record{Hub: "other", Epoch: 4}.Data(),
		"another process": ownership.Record{Hub: "hub", Epoch: 4, Process: "q"}.Data(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}.Data()}
			r := s.open(t)
			repaired, deletion := s.data, ownership.Deletion{App: "a", At: time.Unix(1_000_000_000, 0)}
			s.version, s.data = 1, data
			for range 2 { // The second attempt knows what the first one read.
				for _, err := range []error{r.Delete(t.Context(), deletion), r.Confirm(t.Context())} {
					if !errors.Is(err, errRefused) || apierror.Classify(err) != apierror.Transient {
						t.Errorf("not refused, or not retried: %v", err)
					}
				}
			}
			if s.version != 1 {
				t.Error("the record is overwritten")
			}
			s.data = repaired
			if err := errors.Join(r.Confirm(t.Context()), r.Delete(t.Context(), deletion)); err != nil {
				t.Errorf("refused after the repair: %v", err)
			}
		})
	}
}

// TestDeletedRecord checks that a connection restores a ConfigMap that was deleted, with what a former connection
// read or wrote.
func TestDeletedRecord(t *testing.T) {
	t.Parallel()
	deletion := ownership.Deletion{App: "a", At: clock.RealClock{}.Now()}
	last := ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}
	for name, before := range map[string]ownership.Record{"read": last.Delete(deletion), "written": last} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: before.Data()}
			former := s.open(t)
			if err := former.Delete(t.Context(), deletion); err != nil {
				t.Fatal(err)
			}
			s.data = map[string]string{"epoch": "damaged"}
			if f, err := former.check(t.Context()); f == nil || err != nil {
				t.Errorf("a damaged record is read with %+v, %v", f, err)
			}
			s.data = nil
			next := &RecordClient{client: former.client, known: former.known, settings: former.settings}
			f, err := next.check(t.Context())
			if err == nil {
				err = next.claim(t.Context())
			}
			stored, malformed := ownership.Parse(s.data)
			if f != nil || err != nil || malformed != nil || !stored.Includes(deletion) || next.DeletedAt("a").IsZero() {
				t.Errorf("restored %+v: %+v, %v, %v", stored, f, err, malformed)
			}
		})
	}
}

// TestStrippedRecord checks that an inspection restores what an edit removed from the record, unless another hub
// replaced it.
func TestStrippedRecord(t *testing.T) {
	t.Parallel()
	deletion := ownership.Deletion{App: "a", At: clock.RealClock{}.Now()}
	for name, tt := range map[string]struct {
		strip   func(data map[string]string)
		epoch   int64
		foreign bool
	}{
		"of all":           {func(data map[string]string) { clear(data) }, 4, false},
		"of its deletions": {func(data map[string]string) { delete(data, "deleted") }, 3, false},
		"of its hub":       {func(data map[string]string) { delete(data, "hub") }, 4, false},
		"to another hub's": {func(data map[string]string) { clear(data); data["hub"], data["epoch"] = "other", "1" }, 1, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}.Delete(deletion).Data()}
			r := s.open(t)
			tt.strip(s.data)
			stranger := &RecordClient{client: r.client, known: NewKnown(), settings: &Settings{HubUID: "stranger", Record: r.settings.Record, Timeouts: r.settings.Timeouts}}
			if f, err := stranger.check(t.Context()); name != "of all" && (f == nil || f.Reason != v1.ReasonManagedByAnotherHub || err != nil) {
				t.Errorf("another hub may manage the member: %+v, %v", f, err)
			}
			for range 2 { // The second inspection writes nothing.
				r.inspect(t, tt.foreign)
			}
			stored, err := ownership.Parse(s.data)
			if want := map[bool]string{false: "hub", true: "other"}[tt.foreign]; err != nil || stored.Hub != want || stored.Epoch != tt.epoch || stored.Includes(deletion) == tt.foreign || s.version > 1 {
				t.Errorf("version %d with %+v, %v", s.version, stored, err)
			}
			if !tt.foreign && r.DeletedAt("a").IsZero() {
				t.Error("the deletion is forgotten")
			}
		})
	}
}

// inspect reads the record, and claims it unless it must be another hub's.
func (r *RecordClient) inspect(t *testing.T, foreign bool) {
	t.Helper()
	f, err := r.check(t.Context())
	if err == nil && f == nil {
		err = r.claim(t.Context())
	}
	if err != nil || (f != nil) != foreign {
		t.Fatalf("%+v, %v", f, err)
	}
}

// TestForgottenElsewhere checks that entries that another hub, process or connection removed are not restored.
func TestForgottenElsewhere(t *testing.T) {
	t.Parallel()
	deletion := ownership.Deletion{App: "a", At: clock.RealClock{}.Now()}
	last := ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}
	for name, forget := range map[string]func(s *server, r *RecordClient){
		"by another hub": func(s *server, r *RecordClient) {
			r.replaces, s.data = "other/4", ownership.Record{Hub: "other", Epoch: 4}.Data()
		},
		"before the claim": func(s *server, r *RecordClient) { r.known.epoch.Store(0); s.data = last.Data() },
		"meanwhile": func(s *server, r *RecordClient) {
			other := &RecordClient{client: r.client, known: r.known, settings: r.settings, current: r.current, version: r.version}
			s.before = func() { _ = other.Forget(t.Context(), ownership.Deletion{App: "a", At: r.current.DeletedAt("a")}) }
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: last.Delete(deletion).Data()}
			r := s.open(t)
			forget(s, r)
			f, err := r.check(t.Context())
			if err == nil {
				err = r.claim(t.Context())
			}
			stored, malformed := ownership.Parse(s.data)
			if f != nil || err != nil || malformed != nil || stored.Hub != "hub" || len(stored.Deleted) > 0 {
				t.Errorf("stored %+v: %+v, %v, %v", stored, f, err, malformed)
			}
		})
	}
}

// TestDeleteRestores checks that a deletion that is known is written again before it counts as recorded.
func TestDeleteRestores(t *testing.T) {
	t.Parallel()
	deletion := ownership.Deletion{App: "a", At: clock.RealClock{}.Now()}
	last := ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}
	for name, stripped := range map[string]map[string]string{"deleted": nil, "stripped": last.Data()} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: last.Delete(deletion).Data()}
			r := s.open(t)
			s.data = stripped
			err := r.Confirm(t.Context())
			if err == nil {
				err = r.Delete(t.Context(), deletion)
			}
			stored, malformed := ownership.Parse(s.data)
			if err != nil || malformed != nil || !stored.Includes(deletion) || s.version != 1 {
				t.Errorf("version %d with %+v, %v, %v", s.version, stored, err, malformed)
			}
		})
	}
}

// TestDeleteClaims checks that a deletion that finds no record claims the member with the same write.
func TestDeleteClaims(t *testing.T) {
	t.Parallel()
	deletion := ownership.Deletion{App: "a", At: clock.RealClock{}.Now()}
	s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}.Data()}
	r := s.open(t)
	s.data = nil
	if err := r.Confirm(t.Context()); err != nil {
		t.Fatal(err)
	}
	err := r.Delete(t.Context(), deletion)
	stored, malformed := ownership.Parse(s.data)
	if err != nil || malformed != nil || stored.Hub != "hub" || stored.Epoch != 4 || stored.Process != "p" || !stored.Includes(deletion) || s.version != 1 {
		t.Errorf("version %d with %+v, %v, %v", s.version, stored, err, malformed)
	}
}

// TestClaimWithoutResponse checks that a process knows its claim by its ID, and another process does not.
func TestClaimWithoutResponse(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		meanwhile map[string]string
		replaces  string
		epoch     int64
	}{
		"the record was deleted":   {nil, "", 4},
		"the member is taken back": {ownership.Record{Hub: "other", Epoch: 7, Process: "o"}.Data(), "other/7", 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: ownership.Record{Hub: "hub", Epoch: 3, Process: "p"}.Data()}
			r, rival := s.open(t), s.open(t)
			rival.known = &Known{process: "q"}
			rival.known.epoch.Store(3)
			s.version, s.data, r.replaces, s.dropped = 5, tt.meanwhile, tt.replaces, true
			if f, err := r.check(t.Context()); f != nil || err != nil {
				t.Fatalf("%+v, %v", f, err)
			}
			if err := r.claim(t.Context()); err == nil {
				t.Fatal("the claim has a response")
			}
			if f, err := r.check(t.Context()); f != nil || err != nil || r.known.epoch.Load() != tt.epoch {
				t.Errorf("the claim is read with %+v, %v, as epoch %d", f, err, r.known.epoch.Load())
			}
			if err := r.claim(t.Context()); err != nil || s.version != 6 {
				t.Errorf("claimed again with %v: version %d", err, s.version)
			}
			if f, err := rival.check(t.Context()); f == nil || f.Reason != v1.ReasonManagedByAnotherHub || err != nil {
				t.Errorf("the claim is another process's own: %+v, %v", f, err)
			}
		})
	}
}

// TestReplacesWithPermissionsOnly checks that the other hub goes on if the one that may replace it cannot work.
func TestReplacesWithPermissionsOnly(t *testing.T) {
	t.Parallel()
	s := &server{}
	r := s.open(t)
	r.known, r.replaces, s.data = NewKnown(), "other/2", ownership.Record{Hub: "other", Epoch: 2}.Data()
	missing := []authorizationv1.ResourceAttributes{{Verb: "patch", Resource: "secrets"}}
	f, err := (&Attempt{Name: "eu-1"}).takeOver(t.Context(), nil, r, &Inspection{Missing: missing})
	if err != nil || f == nil || f.Reason != v1.ReasonPermissionsMissing || s.version != 0 {
		t.Errorf("got %+v, %v, after %d writes of the record", f, err, s.version)
	}
}

// TestForget checks that an application that was created again is removed from the record with one write, and another
// deletion stays that was recorded meanwhile.
func TestForget(t *testing.T) {
	t.Parallel()
	at := time.Unix(1_000_000_000, 0)
	former := ownership.Deletion{App: "a", Left: 4, At: at}
	deleted, left := ownership.Deletion{App: "a", At: at}, ownership.Deletion{App: "a", Left: 4, At: at}
	again, leftAgain := ownership.Deletion{App: "a", At: at.Add(time.Hour)}, ownership.Deletion{App: "a", Left: 6, At: at}
	before := ownership.Record{Hub: "hub", Epoch: 3, Deleted: []ownership.Deletion{deleted, left}}
	for name, tt := range map[string]struct {
		meanwhile ownership.Record
		want      []ownership.Deletion
		version   int
	}{
		"alone":              {before, nil, 1},
		"another is deleted": {before.Delete(ownership.Deletion{App: "b", At: at}), []ownership.Deletion{{App: "b", At: at}}, 2},
		"it is deleted":      {before.Delete(again), []ownership.Deletion{again}, 1},
		"it only left":       {before.Forget(deleted), nil, 2},
		"it leaves again":    {before.Delete(leftAgain), []ownership.Deletion{leftAgain}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := &server{data: before.Data()}
			r := s.open(t)
			if name != "alone" {
				s.version, s.data = 1, tt.meanwhile.Data()
			}
			for range 2 { // The second attempt writes nothing.
				if err := r.Forget(t.Context(), former); err != nil {
					t.Fatal(err)
				}
			}
			stored, err := ownership.Parse(s.data)
			if err != nil || s.version != tt.version {
				t.Errorf("version %d, want %d; error %v", s.version, tt.version, err)
			}
			got := [][]ownership.Deletion{stored.Deleted, r.current.Deleted}
			if diff := cmp.Diff([][]ownership.Deletion{tt.want, tt.want}, got, cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("deletions in the member and in memory (-want +got):\n%s", diff)
			}
		})
	}
}

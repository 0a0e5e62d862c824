package gce

import (
	"crypto/rsa"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"sync"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// Options configures a server.
type Options struct {
	// Clock is the clock of the fake cloud. Required.
	Clock clock.PassiveClock
	// Regions are the regions and their zones; nil is europe-west1 and us-central1.
	Regions map[string][]string
	// PageSize bounds the items in a page; 0 means Google's 500.
	PageSize int
	// LimitSnapshots enforces one snapshot of a disk in ten minutes and six in an hour.
	LimitSnapshots bool
	// ForgetFailed lets snapshots disappear when they fail, so that only the
	// operation reports it.
	ForgetFailed bool
	// Keys are the keys of Cloud KMS that the service agent may use; nil allows each.
	Keys []string
	// Permissions lists what an identity may do in its projects; nil allows everything. Roles has those of
	// identities that have others, by name.
	Permissions iam.Permissions
	Roles       map[string]iam.Permissions
}

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// Server is a Compute Engine. Its methods may be called at the same time.
type Server struct {
	cloud *fake.Cloud
	mux   *http.ServeMux
	clock clock.PassiveClock
	log   iam.Log

	// mu makes a look and the change after it one.
	mu         sync.Mutex
	options    Options
	operations []operation
	forbidden  map[string]bool
	grants     map[string]map[string]bool // Projects by identity.
	keys       map[string]*rsa.PublicKey  // By service account.
	subjects   map[string]string          // Identity by audience and token.
	tokens     map[string]string          // Identity by access token.
}

// New returns a server for a fake cloud.
func New(fakeCloud *fake.Cloud, options Options) *Server {
	if options.Regions == nil {
		options.Regions = map[string][]string{
			"europe-west1": {"europe-west1-b", "europe-west1-c", "europe-west1-d"},
			"us-central1":  {"us-central1-a", "us-central1-b", "us-central1-c"},
		}
	}
	if options.PageSize == 0 {
		options.PageSize = 500
	}
	s := &Server{
		cloud: fakeCloud, options: options, clock: options.Clock, mux: http.NewServeMux(),
		forbidden: map[string]bool{}, grants: map[string]map[string]bool{},
		keys: map[string]*rsa.PublicKey{}, subjects: map[string]string{}, tokens: map[string]string{},
	}
	s.routes()
	return s
}

// SetPageSize changes how many items a page has at most.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.PageSize = n
}

// Forbid takes a permission away from everybody, for example compute.snapshots.delete.
func (s *Server) Forbid(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[permission] = true
}

// permissions returns what an identity may do in its projects.
func (s *Server) permissions(who string) iam.Permissions {
	if own, has := s.options.Roles[who]; has {
		return own
	}
	return s.options.Permissions
}

// SetPermissions changes the permissions of the options.
func (s *Server) SetPermissions(p iam.Permissions) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.options.Permissions = p
}

// Refused returns what the permissions of the options did not include.
func (s *Server) Refused() []string { return s.log.Refused() }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.clock.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	s.mux.ServeHTTP(w, r)
}

const base = "/compute/v1/projects/{project}"

func (s *Server) routes() {
	s.mux.HandleFunc("POST /token", s.keyToken)
	s.mux.HandleFunc("POST /v1/token", s.exchange)
	s.mux.HandleFunc("POST /v1/projects/-/serviceAccounts/{account}", s.actAs)
	s.mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) {
		writeError(w, problem{http.StatusNotFound, "notFound", "The requested URL was not found on this server."})
	})
	s.handle("GET "+base, "compute.projects.get", nil, s.getProject)
	s.handle("GET "+base+"/zones", "compute.zones.list", listing(), s.listZones)
	snapshots := base + "/global/snapshots"
	s.handle("GET "+snapshots, "compute.snapshots.list", listing(), s.listSnapshots)
	s.handle("POST "+snapshots, "compute.snapshots.create", []string{"requestId"}, s.insertSnapshot)
	s.handle("GET "+snapshots+"/{resource}", "compute.snapshots.get", nil, s.getSnapshot)
	s.handle("DELETE "+snapshots+"/{resource}", "compute.snapshots.delete", []string{"requestId"}, s.deleteSnapshot)
	// https://cloud.google.com/compute/docs/reference/rest/v1/snapshots/testIamPermissions
	s.handle("POST "+snapshots+"/{resource}/testIamPermissions", "compute.snapshots.list", nil, s.testPermissions)
	for _, place := range []string{"/zones/{zone}", "/regions/{region}"} {
		disks := base + place + "/disks"
		s.handle("GET "+disks+"/{resource}", "compute.disks.get", nil, s.getDisk)
		s.handle("POST "+disks+"/{resource}/testIamPermissions", "", nil, s.testPermissions)
	}
	operations := base + "/global/operations"
	s.handle("GET "+operations, "compute.globalOperations.list", listing(), s.listOperations)
	s.handle("GET "+operations+"/{operation}", "compute.globalOperations.get", nil, s.getOperation)
}

// listing returns the parameters of a method that lists.
func listing() []string { return []string{"filter", "maxResults", "pageToken"} }

// request represents an authorized request.
type request struct {
	*http.Request
	project string
	// scope is the scope of the resource: global, zones/Z or regions/R.
	scope string
	// who sent it.
	who string
}

// name returns the name of the resource that a request concerns.
func (r request) name() string { return r.PathValue("resource") }

// decode reads the body into a value; fields that it does not have are refused.
func (r request) decode(into any) error {
	decoder := json.NewDecoder(r.Body)
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return invalid("Invalid JSON payload received. %v", err)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return invalid("Invalid JSON payload received. Something follows the object.")
	}
	return nil
}

type handler func(request) (any, error)

// handle routes a method of the API. It rejects unknown clients, clients without the
// permission, and parameters that the method does not have.
func (s *Server) handle(pattern, permission string, parameters []string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		answer, err := s.admit(r, permission, parameters, h)
		if err != nil {
			writeError(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	})
}

func (s *Server) admit(r *http.Request, permission string, parameters []string, h handler) (any, error) {
	in := request{Request: r, project: r.PathValue("project"), scope: "global"}
	if zone := r.PathValue("zone"); zone != "" {
		in.scope = "zones/" + zone
	} else if region := r.PathValue("region"); region != "" {
		in.scope = "regions/" + region
	}
	var err error
	if in.who, err = s.authenticate(r); err != nil {
		return nil, err
	}
	if err := s.authorize(in, permission); err != nil {
		return nil, err
	}
	known := append([]string{"alt", "prettyPrint", "fields", "key", "quotaUser", "$.xgafv"}, parameters...)
	for name := range r.URL.Query() {
		if !slices.Contains(known, name) {
			return nil, invalid("Unknown name %q: Cannot bind query parameter.", name)
		}
	}
	if in.scope != "global" && !s.placeExists(in.scope) {
		return nil, notFound("projects/" + in.project + "/" + in.scope)
	}
	return h(in)
}

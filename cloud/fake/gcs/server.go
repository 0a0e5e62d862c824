package gcs

import (
	"net/http"
	"slices"
	"strings"
	"sync"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// Tokens issues access tokens and knows them, as a gce.Server does. It answers requests to
// /token, /v1/token and /v1/projects/-/serviceAccounts/.
type Tokens interface {
	http.Handler
	// Bearer returns the identity that a token was issued to, and whether it is valid.
	Bearer(token string) (string, bool)
}

// Options configures a server.
type Options struct {
	// Clock is the store's. Required.
	Clock clock.PassiveClock
	// Bucket is the name of the one bucket. Required.
	Bucket string
	// Tokens is the token service of the identities. Required.
	Tokens Tokens
	// Bland omits the reason from responses to requests that a hold forbids.
	Bland bool
	// Permissions lists what an identity may do with the bucket; nil allows everything.
	Permissions iam.Permissions
	// Foreign is the name of a bucket on which they have no role; empty if there is no such bucket.
	Foreign string
}

// Server is a Cloud Storage. Its methods may be called at the same time.
type Server struct {
	Options

	store *bucket.Store
	mux   *http.ServeMux
	log   iam.Log

	mu        sync.Mutex
	pageSize  int
	forbidden map[string]bool
	narrowed  map[string]narrowed // By token.
	serial    int
}

// New makes a server in front of a bucket.
func New(store *bucket.Store, options Options) *Server {
	s := &Server{Options: options, store: store, mux: http.NewServeMux(), pageSize: 1000, forbidden: map[string]bool{}, narrowed: map[string]narrowed{}}
	s.mux.Handle("POST /token", s.Tokens)
	s.mux.Handle("POST /v1/projects/-/serviceAccounts/{account}", s.Tokens)
	s.mux.HandleFunc("POST /v1/token", s.token)
	const objects = "/storage/v1/b/{bucket}/o"
	s.json("GET "+objects, []string{"prefix", "maxResults", "pageToken"}, s.list)
	s.json("GET "+objects+"/{object}", []string{"generation"}, s.get)
	s.json("DELETE "+objects+"/{object}", nil, s.remove)
	s.json("POST /upload"+objects, []string{"ifGenerationMatch", "name", "uploadType"}, s.insert)
	for method, h := range map[string]handler{"GET": s.download, "PUT": s.upload, "DELETE": s.remove} {
		s.xml(method+" /{bucket}/{object...}", h)
	}
	return s
}

// SetPageSize changes how many items a page has at most.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// Forbid takes a permission away from everybody, for example storage.objects.delete.
func (s *Server) Forbid(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.forbidden[permission] = true
}

// Refused returns what the permissions of the options did not include.
func (s *Server) Refused() []string { return s.log.Refused() }

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Date", s.Clock.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("X-Guploader-Uploadid", "upload-1")
	s.mux.ServeHTTP(w, r)
}

// request represents a request for the bucket, with a valid token.
type request struct {
	*http.Request
	may func(permission, object string) error
}

func (r request) object() string { return r.PathValue("object") }

// handler answers a request, or returns the problem with it.
type handler func(w http.ResponseWriter, r request) error

// json routes a method of the JSON API, with its own parameters.
func (s *Server) json(pattern string, parameters []string, h handler) {
	known := append([]string{"alt", "prettyPrint", "fields", "key", "quotaUser", "userIp"}, parameters...)
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		in, err := s.admit(r)
		for name := range r.URL.Query() {
			if err == nil && !slices.Contains(known, name) {
				err = invalid("Unknown name %q: Cannot bind query parameter.", name)
			}
		}
		if err == nil {
			err = h(w, in)
		}
		if err != nil {
			writeError(w, r, err)
		}
	})
}

// xml routes a method of the XML API, which has no parameters here.
func (s *Server) xml(pattern string, h handler) {
	s.mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		in, err := s.admit(r)
		if err == nil && r.URL.RawQuery != "" {
			err = invalid("Invalid query parameter.")
		}
		if err == nil {
			err = h(w, in)
		}
		if err != nil {
			writeXMLError(w, err)
		}
	})
}

// admit lets a request in whose token is known and whose bucket is there.
func (s *Server) admit(r *http.Request) (request, error) {
	header := r.Header.Get("Authorization")
	if header == "" {
		return request{}, problem{http.StatusUnauthorized, "required", "AuthenticationRequired", "Anonymous caller does not have storage.objects access to the Google Cloud Storage object."}
	}
	token, _ := strings.CutPrefix(header, "Bearer ")
	b, known := s.bearer(token)
	if !known {
		return request{}, problem{http.StatusUnauthorized, "authError", "AuthenticationRequired", "Invalid Credentials"}
	}
	foreign := s.Foreign != "" && r.PathValue("bucket") == s.Foreign
	if r.PathValue("bucket") != s.Bucket && !foreign {
		return request{}, problem{http.StatusNotFound, "notFound", "NoSuchBucket", "The specified bucket does not exist."}
	}
	return request{r, func(permission, object string) error {
		resource := "projects/_/buckets/" + s.Bucket
		if object != "" {
			resource += "/objects/" + object
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if foreign || !s.Permissions.Allow(permission) {
			s.log.Refuse(permission + " on " + r.PathValue("bucket"))
			return denied(permission)
		}
		if s.forbidden[permission] || !b.allows(permission, resource) {
			return denied(permission)
		}
		return nil
	}}, nil
}

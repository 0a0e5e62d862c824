package blob

import (
	"cmp"
	"encoding/xml"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/arm"
	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// Account is a storage account, and the one application that may use it.
type Account struct {
	// Name is the name of the storage account.
	Name string
	// Containers holds the containers by name.
	Containers map[string]*bucket.Store
	// Foreign is the name of a container on which the application has no role; empty if there is no such container.
	Foreign string
	// Tenant is a UUID; ClientID and ClientSecret are the application's.
	Tenant, ClientID, ClientSecret string
	// Subject is the sub of the tokens that the application's federated credential
	// takes; empty when it has none.
	Subject string
}

// Options configures a server.
type Options struct {
	// Clock is the clock of the stores.
	Clock clock.PassiveClock
	// Accounts are the accounts of the server.
	Accounts []Account
	// Life is the lifetime of tokens; 0 means an hour.
	Life time.Duration
	// Role holds the actions that the applications' roles allow together on their containers and storage
	// accounts; nil is everything.
	Role *iam.Role
}

// The permissions that can be denied.
const (
	Read     = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/read"
	Write    = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/write"
	Delete   = "Microsoft.Storage/storageAccounts/blobServices/containers/blobs/delete"
	Delegate = "Microsoft.Storage/storageAccounts/blobServices/generateUserDelegationKey/action"
)

// Server is the API. Its methods may be called at the same time.
type Server struct {
	options Options
	issuer  *arm.Server
	log     iam.Log

	mu       sync.Mutex
	serial   int
	pageSize int
	denied   map[string]bool
	tokens   map[string]grant
}

// New makes a server.
func New(options Options) *Server {
	if options.Life == 0 {
		options.Life = time.Hour
	}
	issuing := arm.Options{Clock: options.Clock, Life: options.Life}
	for _, a := range options.Accounts {
		issuing.Accounts = append(issuing.Accounts, arm.Account{
			Subscription: a.Name, Tenant: a.Tenant, ClientID: a.ClientID, ClientSecret: a.ClientSecret, Subject: a.Subject,
		})
	}
	return &Server{
		options: options, issuer: arm.New(fake.NewCloud(options.Clock), issuing),
		pageSize: mostResults, denied: map[string]bool{}, tokens: map[string]grant{},
	}
}

// SetPageSize bounds the items in a page of a list.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// Refused returns what the role of the options did not allow.
func (s *Server) Refused() []string { return s.log.Refused() }

// Deny removes a permission from all applications. Signatures of earlier keys stay valid,
// because the server checks permissions when it issues the key of a signature.
func (s *Server) Deny(permission string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied[permission] = true
}

// target represents the resource that a request names.
type target struct {
	account         Account
	container, blob string
	store           *bucket.Store
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if strings.HasSuffix(rest, "/oauth2/v2.0/token") || strings.HasSuffix(rest, "/.well-known/openid-configuration") {
		s.issue(w, r, "/"+rest)
		return
	}
	s.mu.Lock()
	s.serial++
	id := fmt.Sprintf("%08x-001e-0000-0000-000000000000", s.serial)
	s.mu.Unlock()
	header := w.Header()
	header.Set("Server", "Windows-Azure-Blob/1.0 Microsoft-HTTPAPI/2.0")
	header.Set("Date", s.options.Clock.Now().UTC().Format(http.TimeFormat))
	header.Set("X-Ms-Request-Id", id)
	if version := cmp.Or(r.Header.Get("X-Ms-Version"), r.URL.Query().Get("sv")); version != "" {
		header.Set("X-Ms-Version", version)
	}
	refusal := s.answer(w, r, name, rest)
	if refusal == nil {
		return
	}
	// Who sends a body hears of a refusal when all of it is sent.
	_, _ = io.Copy(io.Discard, r.Body)
	s.refuse(w, r, refusal, id)
}

// answer answers a request, or says what is wrong with it.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, name, rest string) *refusal {
	i := slices.IndexFunc(s.options.Accounts, func(a Account) bool { return a.Name == name })
	if i < 0 {
		return refuse(http.StatusNotFound, "ResourceNotFound", "The specified resource does not exist.")
	}
	to := target{account: s.options.Accounts[i]}
	to.container, to.blob, _ = strings.Cut(rest, "/")
	permissions, refusal := s.authorize(r, to)
	if refusal != nil {
		return refusal
	}
	query := r.URL.Query()
	if to.container == "" && query.Get("restype") == "service" && query.Get("comp") == "userdelegationkey" && r.Method == http.MethodPost {
		return s.giveKey(w, r, to)
	}
	if to.store = to.account.Containers[to.container]; to.store == nil {
		return refuse(http.StatusNotFound, "ContainerNotFound", "The specified container does not exist.")
	}
	switch {
	case to.blob == "" && r.Method == http.MethodGet && query.Get("restype") == "container" && query.Get("comp") == "list":
		return s.list(w, r, to)
	case to.blob == "" || query.Has("comp") || query.Has("restype"):
		return refuse(http.StatusBadRequest, "InvalidQueryParameterValue", "Value for one of the query parameters specified in the request URI is invalid.")
	case r.Method == http.MethodPut:
		return put(w, r, to, permissions)
	case r.Method == http.MethodGet || r.Method == http.MethodHead:
		return get(w, r, to)
	case r.Method == http.MethodDelete:
		return remove(w, to)
	}
	return refuse(http.StatusMethodNotAllowed, "UnsupportedHttpVerb", "The resource doesn't support specified Http Verb.")
}

// refusal is an answer that is an error.
type refusal struct {
	status        int
	code, message string
	header        http.Header
}

func refuse(status int, code, format string, args ...any) *refusal {
	return &refusal{status: status, code: code, message: fmt.Sprintf(format, args...)}
}

// ErrorBody returns the body of an error response.
func ErrorBody(code, message string) string {
	var body strings.Builder
	if err := writeXML(&body, errorDocument{Code: code, Message: message}); err != nil {
		return "" // Two strings always marshal, and a builder takes everything.
	}
	return body.String()
}

type errorDocument struct {
	XMLName       xml.Name `xml:"Error"`
	Code, Message string
}

// writeXML writes a document, behind the mark of its byte order as the service does.
func writeXML(to io.Writer, document any) error {
	if _, err := io.WriteString(to, "\ufeff"+xml.Header); err != nil {
		return fmt.Errorf("beginning a document: %w", err)
	}
	if err := xml.NewEncoder(to).Encode(document); err != nil {
		return fmt.Errorf("writing a document: %w", err)
	}
	return nil
}

func (s *Server) refuse(w http.ResponseWriter, r *http.Request, a *refusal, id string) {
	maps.Copy(w.Header(), a.header)
	w.Header().Set("X-Ms-Error-Code", a.code)
	w.Header().Set("Content-Type", "application/xml")
	w.WriteHeader(a.status)
	if r.Method != http.MethodHead {
		message := fmt.Sprintf("%s\nRequestId:%s\nTime:%s", a.message, id, s.options.Clock.Now().UTC().Format("2006-01-02T15:04:05.0000000Z"))
		_ = writeXML(w, errorDocument{Code: a.code, Message: message}) // The client is gone when this fails.
	}
}

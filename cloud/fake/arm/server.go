package arm

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// Account is a subscription, and the one application that may use it.
type Account struct {
	// Subscription and Tenant are UUIDs.
	Subscription, Tenant string
	// Groups are the names of its resource groups.
	Groups []string
	// Sets are the regions of its disk encryption sets, by ID in lower case; nil has each that is
	// named, in every region.
	Sets map[string]string
	// Roles has the role that the application has on each resource group, by the group's name in lower
	// case; nil allows everything in all groups.
	Roles map[string]*iam.Role
	// ClientID and ClientSecret are the application's.
	ClientID, ClientSecret string
	// Others are further applications of the subscription, with the same secret and subject.
	Others []Application
	// Subject is the sub of the tokens that the application's federated credential
	// takes; empty when it has none.
	Subject string
}

// Application is an application that may use a subscription, too.
type Application struct {
	ClientID string
	Roles    map[string]*iam.Role
}

// as returns the account as one of its applications uses it, and whether there is that application.
func (a Account) as(client string) (Account, bool) {
	for _, other := range a.Others {
		if strings.EqualFold(other.ClientID, client) {
			a.ClientID, a.Roles = other.ClientID, other.Roles
			return a, true
		}
	}
	return a, strings.EqualFold(a.ClientID, client)
}

// Options configures a server.
type Options struct {
	// Clock is the clock of the fake cloud.
	Clock clock.PassiveClock
	// Accounts holds the existing storage accounts.
	Accounts []Account
	// Life is the lifetime of tokens; 0 means an hour.
	Life time.Duration
}

// Limits are bounds that the service has, off unless set.
type Limits struct {
	// SerialCopies refuses a second copy of a disk's snapshots while one is in progress.
	SerialCopies bool
	// Burst bounds the snapshots of a disk within five minutes; 0 means no bound.
	Burst int
}

// Server is the API. Its methods may be called at the same time.
type Server struct {
	cloud   *fake.Cloud
	options Options
	log     iam.Log

	// changes serializes changes: a check and its change are one step.
	changes sync.Mutex

	mu         sync.Mutex
	pageSize   int
	limits     Limits
	denied     map[string][]string // Actions by subscription.
	throttled  int
	retryAfter time.Duration
	tokens     map[string]grant
}

// New returns a server for a fake cloud.
func New(fakeCloud *fake.Cloud, options Options) *Server {
	if options.Life == 0 {
		options.Life = time.Hour
	}
	return &Server{
		cloud: fakeCloud, options: options, pageSize: 100,
		denied: map[string][]string{}, tokens: map[string]grant{},
	}
}

// SetPageSize bounds the items in a page of a list.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pageSize = n
}

// SetLimits sets the bounds.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
}

// Refused returns what the roles of the accounts did not allow.
func (s *Server) Refused() []string { return s.log.Refused() }

// Deny takes an action from the application of a subscription, for example
// Microsoft.Compute/snapshots/delete.
func (s *Server) Deny(subscription, action string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := strings.ToLower(subscription)
	s.denied[key] = append(s.denied[key], action)
}

// Throttle refuses the next requests for resources; after 0 they carry no Retry-After.
func (s *Server) Throttle(requests int, after time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.throttled, s.retryAfter = requests, after
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	serial := s.cloud.Serial()
	header := w.Header()
	header.Set("Date", s.options.Clock.Now().UTC().Format(http.TimeFormat))
	header.Set("X-Ms-Request-Id", guid("request", fmt.Sprint(serial)))
	header.Set("X-Ms-Correlation-Request-Id", guid("correlation", fmt.Sprint(serial)))
	header.Set("Cache-Control", "no-cache")
	a := s.answer(r)
	maps.Copy(header, a.header)
	if a.body == nil {
		w.WriteHeader(a.status)
		return
	}
	header.Set("Content-Type", "application/json; charset=utf-8")
	w.WriteHeader(a.status)
	// The client is gone when this fails.
	_ = json.NewEncoder(w).Encode(a.body)
}

func (s *Server) answer(r *http.Request) answer {
	if tenant, ok := strings.CutSuffix(r.URL.Path, "/oauth2/v2.0/token"); ok {
		return s.token(r, strings.TrimPrefix(tenant, "/"))
	}
	if tenant, ok := strings.CutSuffix(r.URL.Path, "/v2.0/.well-known/openid-configuration"); ok {
		return discovery(r, strings.TrimPrefix(tenant, "/"))
	}
	if a, wrong := s.throttle(); wrong {
		return a
	}
	to, ok := parse(r.URL.Path)
	if !ok {
		return refuse(http.StatusNotFound, "InvalidResourceType", "The resource type could not be found at %q.", r.URL.Path)
	}
	account, client, a, ok := s.authenticate(r, to)
	if !ok {
		return a
	}
	if r.URL.Query().Get("api-version") == "" {
		return refuse(http.StatusBadRequest, "MissingApiVersionParameter", "The api-version query parameter (?api-version=) is required for all requests.")
	}
	if a, ok := s.authorize(r, caller{account, client}, to); !ok {
		return a
	}
	if to.group != "" && !account.has(to.group) {
		return refuse(http.StatusNotFound, "ResourceGroupNotFound", "Resource group '%s' could not be found.", to.group)
	}
	return s.serve(r, caller{account, client}, to)
}

func (s *Server) serve(r *http.Request, by caller, to target) answer {
	switch {
	case to.kind == kindGroup && r.Method == http.MethodGet:
		return answer{status: http.StatusOK, body: map[string]any{
			"id": "/subscriptions/" + to.subscription + "/resourceGroups/" + to.group, "name": to.group,
			"type": "Microsoft.Resources/resourceGroups", "location": "global",
			"properties": map[string]string{"provisioningState": "Succeeded"},
		}}
	case to.kind == kindPermissions && r.Method == http.MethodGet:
		return s.permissions(by, to)
	case to.name == "" && to.kind == kindSnapshots && r.Method == http.MethodGet:
		return s.list(r, to)
	case to.name == "":
	case to.kind == kindSets && r.Method == http.MethodGet:
		return getSet(by, to)
	case to.kind == kindSets:
	case r.Method == http.MethodGet:
		return s.get(to)
	case to.kind == kindDisks:
	case r.Method == http.MethodPut:
		return s.put(r, by, to)
	case r.Method == http.MethodDelete:
		return s.remove(r, to)
	}
	return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The method %s is not allowed at %q.", r.Method, r.URL.Path)
}

func (s *Server) throttle() (answer, bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.throttled <= 0 {
		return answer{}, false
	}
	s.throttled--
	a := refuse(http.StatusTooManyRequests, "SubscriptionRequestsThrottled", "The number of requests for the subscription has exceeded its limit. Please try again later.")
	if s.retryAfter > 0 {
		a.header = http.Header{"Retry-After": {fmt.Sprint(int(s.retryAfter.Seconds()))}}
	}
	return a, true
}

func (a Account) has(group string) bool {
	for _, g := range a.Groups {
		if strings.EqualFold(g, group) {
			return true
		}
	}
	return false
}

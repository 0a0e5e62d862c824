package ec2

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"sync"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// maxBody bounds the body of a request, in bytes.
const maxBody = 1 << 20

// Options configures a server.
type Options struct {
	// Clock is the clock of the fake cloud. Required.
	Clock clock.PassiveClock
	// Keys are the access keys that are known from the start, Roles the roles that
	// can be taken.
	Keys  []Key
	Roles []Role
	// KMSKeys are the ARNs of the keys of KMS, where an alias is that of the key of its name; nil
	// has each that is named.
	KMSKeys []string
	// Limits holds the quotas of EC2; see DefaultLimits.
	Limits Limits
}

// Limits are bounds; zero is without.
type Limits struct {
	// PerVolume bounds the pending snapshots of a volume.
	PerVolume int
	// Interval is the minimum time between two snapshots of a volume.
	Interval time.Duration
	// Copies bounds the pending copies to a region.
	Copies int
	// Snapshots bounds the snapshots of an account in a region.
	Snapshots int
}

// DefaultLimits returns the limits of EC2.
func DefaultLimits() Limits {
	return Limits{PerVolume: 5, Interval: 15 * time.Second, Copies: 20, Snapshots: 100_000}
}

// Server is EC2 and STS. Its methods may be called at the same time.
type Server struct {
	cloud *fake.Cloud
	clock clock.PassiveClock
	roles []Role
	kms   []string
	log   iam.Log

	// mu is held for a whole request, so that what is looked at and what is made
	// of it are one step.
	mu     sync.Mutex
	keys   map[string]principal
	limits Limits
	pages  int
	denied map[string]bool
	last   map[string]time.Time // Of the last snapshot, by volume.
}

// New returns a server for a fake cloud.
func New(fakeCloud *fake.Cloud, o Options) *Server {
	s := &Server{
		cloud: fakeCloud, clock: o.Clock, roles: o.Roles, kms: o.KMSKeys, limits: o.Limits,
		keys: map[string]principal{}, denied: map[string]bool{},
		last: map[string]time.Time{},
	}
	for _, k := range o.Keys {
		s.keys[k.ID] = principal{
			secret: k.Secret, account: k.Account, policy: k.Policy,
			arn: fmt.Sprintf("arn:aws:iam::%s:user/%s", k.Account, k.Name),
		}
	}
	return s
}

// SetPageSize bounds the items in a page of a list; 0 leaves the size to the request.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = n
}

// SetLimits changes the limits.
func (s *Server) SetLimits(l Limits) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.limits = l
}

// SetPolicy changes the policy of the user with an access key.
func (s *Server) SetPolicy(id string, policy *iam.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.keys[id]
	who.policy = policy
	s.keys[id] = who
}

// Refused returns what the policies of keys and roles did not allow.
func (s *Server) Refused() []string { return s.log.Refused() }

// Deny denies actions such as "DeleteSnapshot" to all identities. A call without actions
// allows all again.
func (s *Server) Deny(actions ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.denied = map[string]bool{}
	for _, a := range actions {
		s.denied[a] = true
	}
}

// ServeHTTP answers a request of EC2 or STS.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := s.requestID()
	form, body, err := read(r)
	if err != nil {
		s.refuse(w, id, invalid("InvalidRequest", "The request cannot be read"))
		return
	}
	p := &params{form: form, used: map[string]bool{"Action": true, "Version": true}}
	out, wrong := s.dispatch(r, body, p)
	if wrong != nil {
		wrong.sts = form.Get("Version") == stsVersion
		s.refuse(w, id, wrong)
		return
	}
	s.write(w, id, http.StatusOK, out, xml.StartElement{
		Name: xml.Name{Local: form.Get("Action") + "Response"},
		Attr: []xml.Attr{{Name: xml.Name{Local: "xmlns"}, Value: out.begin(id)}},
	})
}

// dispatch authenticates a request and answers it.
func (s *Server) dispatch(r *http.Request, body []byte, p *params) (answer, *fault) {
	action := p.form.Get("Action")
	if p.form.Get("Version") == stsVersion {
		return s.sts(r, body, p)
	}
	who, wrong := s.authenticate(r, body)
	switch {
	case wrong != nil:
		return nil, wrong
	case who.service != "ec2" || p.form.Get("Version") != ec2Version:
		return nil, invalid("InvalidAction", "The action "+action+" is not valid for this endpoint")
	case s.denied[action]:
		return nil, unauthorized(who, action)
	}
	switch action {
	case "DescribeVolumes":
		return s.authorized(who, p, s.describeVolumes)
	case "DescribeSnapshots":
		return s.authorized(who, p, s.describeSnapshots)
	case "CreateSnapshot":
		return s.createSnapshot(who, p)
	case "CopySnapshot":
		return s.copySnapshot(who, p)
	case "DeleteSnapshot":
		return s.deleteSnapshot(who, p)
	default:
		return nil, invalid("InvalidAction", "The action "+action+" is not valid for this web service")
	}
}

// read returns the form of a request, whether in its URL or its body, and its body.
func read(r *http.Request) (url.Values, []byte, error) {
	form, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil || r.Body == nil {
		return form, nil, err
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, maxBody))
	if err != nil {
		return nil, nil, err
	}
	posted, err := url.ParseQuery(string(body))
	for key, values := range posted {
		form[key] = append(form[key], values...)
	}
	return form, body, err
}

func (s *Server) refuse(w http.ResponseWriter, id string, wrong *fault) {
	body, start := wrong.body(id)
	s.write(w, id, wrong.status, body, start)
}

func (s *Server) write(w http.ResponseWriter, id string, status int, body any, start xml.StartElement) {
	w.Header().Set("Content-Type", "text/xml;charset=UTF-8")
	w.Header().Set("X-Amzn-Requestid", id)
	w.Header().Set("Date", s.clock.Now().UTC().Format(http.TimeFormat))
	w.WriteHeader(status)
	// A client that has gone away does not get the response.
	_ = xml.NewEncoder(w).EncodeElement(body, start)
}

func (s *Server) requestID() string {
	n := s.number()
	return fmt.Sprintf("%08x-%04x-4%03x-a%03x-%012x", n>>32, n>>16&0xffff, n>>4&0xfff, n&0xfff, n&0xffffffffffff)
}

// id returns an ID in the form of EC2. IDs do not increase in the order of creation.
func (s *Server) id(prefix string) string {
	return fmt.Sprintf("%s-0%016x", prefix, s.number())
}

// number returns a unique number. Numbers do not increase in the order of creation.
func (s *Server) number() uint64 {
	sum := sha256.Sum256(strconv.AppendInt(nil, int64(s.cloud.Serial()), 10))
	return binary.BigEndian.Uint64(sum[:])
}

// Credentials holds the secret and the owner of an access key.
type Credentials struct {
	Secret, Token, ARN string
	Expires            time.Time
	Policy             *iam.Policy
}

// Known returns what belongs to an access key, for other services of the account; its Secret is
// empty if the key is not known.
func (s *Server) Known(id string) Credentials {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := s.keys[id]
	return Credentials{Secret: who.secret, Token: who.token, ARN: who.arn, Expires: who.expires, Policy: who.policy}
}

package s3

import (
	"encoding/xml"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

const (
	// maxObject is the most that one PUT may bring, in bytes.
	maxObject = 5 << 30
	// maxDrained bounds how much of a refused body is read.
	maxDrained = 64 << 20
	// pageSize is S3's number of objects in a page.
	pageSize = 1000
)

// Key is an access key.
type Key struct {
	ID, Secret string
	// Token goes with keys that expire.
	Token   string
	Expires time.Time
	// ARN names the owner, for messages.
	ARN string
	// Policy is the owner's; nil allows everything.
	Policy *iam.Policy
}

// Options configures a server.
type Options struct {
	// Clock is the store's. Required.
	Clock clock.PassiveClock
	// Bucket and Region are the bucket's. Required.
	Bucket, Region string
	// Host is the name below which buckets have names of their own, as
	// s3.eu-central-1.amazonaws.com; under every other the bucket is in the path.
	Host string
	// Keys are the access keys that are known from the start. Lookup is asked for
	// others; it may be nil.
	Keys   []Key
	Lookup func(id string) (Key, bool)
	// KMSKey is the ARN of the key that the bucket encrypts objects with; empty is S3's own.
	KMSKey string
	// DefaultRetention makes the bucket lock each new version for so long; 0 locks none.
	DefaultRetention time.Duration
}

// Server is S3. Its methods may be called at the same time.
type Server struct {
	Options

	store  *bucket.Store
	keys   map[string]Key // By ID.
	serial atomic.Int64
	log    iam.Log

	mu    sync.Mutex
	pages int
}

// New makes a server in front of a store.
func New(store *bucket.Store, o Options) *Server {
	s := &Server{Options: o, store: store, keys: map[string]Key{}, pages: pageSize}
	for _, k := range o.Keys {
		s.keys[k.ID] = k
	}
	return s
}

// SetPageSize bounds the items in a page of a list; 0 means S3's 1000.
func (s *Server) SetPageSize(n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pages = pageSize
	if n > 0 {
		s.pages = n
	}
}

// Refused returns what the policies of keys did not allow.
func (s *Server) Refused() []string { return s.log.Refused() }

// request is a parsed request to the server.
type request struct {
	*http.Request

	id string
	// bucket and key name the target; the key is empty if that is the bucket.
	bucket, key string
	// digest is the checksum that its body must have; empty is any.
	digest string
	who    Key
}

// ServeHTTP answers a request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	in := &request{Request: r, id: fmt.Sprintf("%016X", s.serial.Add(1)*0x9E3779B9)}
	in.bucket, in.key = s.place(r)
	w.Header().Set("X-Amz-Request-Id", in.id)
	w.Header().Set("X-Amz-Id-2", "host/"+in.id)
	w.Header().Set("Date", s.Clock.Now().UTC().Format(http.TimeFormat))
	w.Header().Set("Server", "AmazonS3")
	if wrong := s.answer(w, in); wrong != nil {
		if r.Header.Get("Expect") == "" { // Who asks before sends nothing.
			_, _ = io.CopyN(io.Discard, r.Body, maxDrained) // Of whatever comes of it nothing is used.
		}
		wrong.write(w, in)
	}
}

// place returns the bucket and the key of a request.
func (s *Server) place(r *http.Request) (name, key string) {
	host := r.Host
	if bare, _, err := net.SplitHostPort(host); err == nil {
		host = bare
	}
	path := strings.TrimPrefix(r.URL.Path, "/")
	if name, own := strings.CutSuffix(host, "."+s.Host); own && s.Host != "" {
		return name, path
	}
	name, key, _ = strings.Cut(path, "/")
	return name, key
}

// answer authenticates a request and carries it out.
func (s *Server) answer(w http.ResponseWriter, in *request) *fault {
	if wrong := s.authenticate(in); wrong != nil {
		return wrong
	}
	serve := s.route(in)
	switch {
	case serve == nil:
		return refuse(http.StatusMethodNotAllowed, "MethodNotAllowed", "The specified method is not allowed against this resource.")
	case in.bucket != s.Bucket:
		return refuse(http.StatusNotFound, "NoSuchBucket", "The specified bucket does not exist")
	}
	if wrong := known(in); wrong != nil {
		return wrong
	}
	if wrong := s.authorize(in); wrong != nil {
		return wrong
	}
	return serve(w, in)
}

// route returns the handler of a request, or nil.
func (s *Server) route(in *request) func(http.ResponseWriter, *request) *fault {
	if in.key == "" {
		switch {
		case in.Method != http.MethodGet:
			return nil
		case in.URL.Query().Has("versions"):
			return s.listVersions
		default:
			return s.list
		}
	}
	switch in.Method {
	case http.MethodPut:
		return s.put
	case http.MethodGet, http.MethodHead:
		return s.get
	case http.MethodDelete:
		return s.delete
	default:
		return nil
	}
}

// known refuses parameters and headers that nothing here has thought about.
func known(in *request) *fault {
	parameters := map[string]bool{"x-id": true}
	if in.key == "" {
		for _, name := range []string{"list-type", "prefix", "continuation-token", "versions", "key-marker", "version-id-marker"} {
			parameters[name] = true
		}
	} else if in.Method == http.MethodDelete {
		parameters["versionId"] = true
	}
	for name := range in.URL.Query() {
		if !parameters[name] && !isAuthentication(name) {
			return notImplemented("the parameter " + name)
		}
	}
	headers := map[string]bool{
		"X-Amz-Date": true, "X-Amz-Content-Sha256": true, "X-Amz-Security-Token": true, "X-Amz-User-Agent": true,
		"X-Amz-Checksum-Mode": true, "X-Amz-Sdk-Checksum-Algorithm": true, headerChecksum: true,
	}
	for name := range in.Header {
		if strings.HasPrefix(name, "X-Amz-") && !headers[name] {
			return notImplemented("the header " + name)
		}
	}
	return nil
}

// fault is why a request is refused.
type fault struct {
	XMLName   xml.Name `xml:"Error"`
	Code      string   `xml:"Code"`
	Message   string   `xml:"Message"`
	Region    string   `xml:"Region,omitempty"`
	Bucket    string   `xml:"BucketName,omitempty"`
	Key       string   `xml:"Key,omitempty"`
	RequestID string   `xml:"RequestId"`
	HostID    string   `xml:"HostId"`

	status int
}

func refuse(status int, code, message string) *fault {
	return &fault{status: status, Code: code, Message: message}
}

func notImplemented(what string) *fault {
	return refuse(http.StatusNotImplemented, "NotImplemented", "A header you provided implies functionality that is not implemented: "+what)
}

// write responds with a fault; the response to a HEAD has no body, and so no code.
func (f *fault) write(w http.ResponseWriter, in *request) {
	f.RequestID, f.HostID = in.id, "host/"+in.id
	if f.Code == "NoSuchBucket" {
		f.Bucket = in.bucket
	}
	if f.Code == "NoSuchKey" {
		f.Key = in.key
	}
	if in.Method == http.MethodHead {
		w.WriteHeader(f.status)
		return
	}
	writeXML(w, f.status, f)
}

// writeXML writes a document. Who does not wait for the answer does not get it.
func writeXML(w http.ResponseWriter, status int, document any) {
	body, err := xml.Marshal(document)
	if err != nil {
		status, body = http.StatusInternalServerError, nil
	}
	body = append([]byte(xml.Header), body...)
	w.Header().Set("Content-Type", "application/xml")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
}

// ErrorBody returns the body of a response with which S3 refuses a request, for tests that
// refuse requests themselves.
func ErrorBody(code, message string) string {
	body, err := xml.Marshal(&fault{Code: code, Message: message, RequestID: "0000000000000000", HostID: "host/0000000000000000"})
	if err != nil {
		return ""
	}
	return xml.Header + string(body)
}

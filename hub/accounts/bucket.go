package accounts

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// Bucket is the bucket of an account: spec.objectStorage.
type Bucket struct {
	// Objects are what is in it below Prefix, paced by a budget of the bucket's own.
	cloud.Objects
	// Name is that of the bucket or container.
	Name string
	// Prefix is what the account puts before all keys; it is in no key of Objects.
	Prefix string
	// CABundle is what the certificate of the bucket's endpoint is verified with, as PEM;
	// nil: the authorities that everybody trusts.
	CABundle []byte
	// Provider is the account's.
	Provider v1.Provider
	// Location tells buckets of one name apart, and what the account has in one under
	// another prefix: where it is, and Prefix.
	Location string
}

// Has tells whether a dump that was sent is where the account looks for it by now.
func (b Bucket) Has(o *v1.DumpObject) bool {
	return o.Bucket == b.Name && (o.Location == "" || o.Location == b.Location)
}

// Bucket returns the bucket of an account. Errors are *cloud.Error: Unsupported, with
// CodeNoBucket, for an account without one; Invalid, with CodeInvalidBucket, for what is
// wrong with its bucket; else as those of Session.
func (a *Accounts) Bucket(ctx context.Context, name string) (Bucket, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	found, err := a.find(name)
	if err != nil {
		return Bucket{}, err
	}
	if found.bucket != nil {
		return *found.bucket, nil
	}
	bucket, err := a.open(ctx, name, found)
	if err != nil {
		return Bucket{}, err
	}
	found.bucket = &bucket
	return bucket, nil
}

func (a *Accounts) open(ctx context.Context, name string, of *account) (Bucket, error) {
	storage := of.spec.ObjectStorage
	if storage == nil {
		return Bucket{}, &cloud.Error{
			Class: cloud.ClassUnsupported, Provider: of.spec.Provider, Op: opConnect, Code: CodeNoBucket,
			Message: fmt.Sprintf("CloudAccount %q has no spec.objectStorage", name),
		}
	}
	open, built := a.options.Buckets[of.spec.Provider]
	if !built {
		return Bucket{}, of.refuse(CodeProviderMissing, "this hub was built without the buckets of the provider %s", of.spec.Provider)
	}
	transport, err := storageTransport(of.http, storage)
	if err != nil {
		return Bucket{}, of.refuse(CodeInvalidBucket, "CloudAccount %q: %v", name, err)
	}
	objects, err := open(ctx, a.config(name, of, transport))
	if e, is := errors.AsType[*cloud.Error](err); is && e.Class == cloud.ClassInvalid {
		return Bucket{}, of.refuse(CodeInvalidBucket, "%s", e.Message)
	}
	if err != nil {
		return Bucket{}, fmt.Errorf("connecting to the bucket of CloudAccount %q: %w", name, err)
	}
	p := pacer{budget: of.bucketBudget, provider: of.spec.Provider, clock: a.options.Clock}
	return Bucket{
		Objects: pacedObjects{p, objects}, Name: storage.Bucket, Prefix: storage.Prefix,
		CABundle: storage.CABundle, Provider: of.spec.Provider, Location: location(of.spec.Provider, storage),
	}, nil
}

// location is the same for as long as objects are found under the same keys.
func location(provider v1.Provider, s *v1.ObjectStorage) string {
	at := string(provider) + ":"
	if s.Endpoint != "" {
		at = strings.TrimRight(s.Endpoint, "/")
	}
	return path.Join("/", s.StorageAccount, s.Bucket, s.Prefix) + " at " + at
}

// storageTransport returns what requests about a bucket are sent with: connections that
// the account's other requests do not wait for. A transport that is not ours to clone is
// used as it is.
func storageTransport(next http.RoundTripper, storage *v1.ObjectStorage) (http.RoundTripper, error) {
	var roots *x509.CertPool
	if len(storage.CABundle) > 0 {
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(storage.CABundle) {
			return nil, errors.New("spec.objectStorage.caBundle holds no certificate: it must be PEM")
		}
	}
	transport, ours := next.(*http.Transport)
	if !ours {
		return next, nil
	}
	own := transport.Clone()
	if roots == nil {
		return own, nil
	}
	endpoint, err := url.Parse(storage.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("spec.objectStorage.endpoint is no URL: %w", err)
	}
	trusting := transport.Clone()
	if trusting.TLSClientConfig == nil {
		trusting.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	trusting.TLSClientConfig.RootCAs = roots
	return byHost{host: endpoint.Hostname(), there: trusting, elsewhere: own}, nil
}

// byHost sends requests to a host, or to what is below it, another way than others: who
// vouches for a bucket's endpoint does not vouch for where tokens are exchanged.
type byHost struct {
	host             string
	there, elsewhere http.RoundTripper
}

// RoundTrip sends a request.
func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if name := r.URL.Hostname(); name == b.host || strings.HasSuffix(name, "."+b.host) {
		return b.there.RoundTrip(r)
	}
	return b.elsewhere.RoundTrip(r)
}

type pacedObjects struct {
	pacer
	next cloud.Objects
}

// SignRequests takes a read: all that it may send is for a token.
func (p pacedObjects) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	if err := p.take("SignRequests", p.reads); err != nil {
		return nil, err
	}
	return p.next.SignRequests(ctx, wanted, life)
}

// PutObject takes a change.
func (p pacedObjects) PutObject(ctx context.Context, key string, content []byte) error {
	if err := p.take("PutObject", p.changes); err != nil {
		return err
	}
	return p.next.PutObject(ctx, key, content)
}

// GetObject takes a read.
func (p pacedObjects) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := p.take("GetObject", p.reads); err != nil {
		return nil, err
	}
	return p.next.GetObject(ctx, key, limit)
}

// ListObjects takes a read.
func (p pacedObjects) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	if err := p.take("ListObjects", p.reads); err != nil {
		return func(yield func(cloud.Object, error) bool) { yield(cloud.Object{}, err) }
	}
	return p.next.ListObjects(ctx, prefix)
}

// DeleteObject takes a change.
func (p pacedObjects) DeleteObject(ctx context.Context, key string) error {
	if err := p.take("DeleteObject", p.changes); err != nil {
		return err
	}
	return p.next.DeleteObject(ctx, key)
}

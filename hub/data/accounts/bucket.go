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

// Bucket gives access to the bucket of an account, spec.objectStorage.
type Bucket struct {
	// Objects accesses the objects below Prefix, with the bucket's own rate limit.
	cloud.ObjectStore
	// Name is the name of the bucket or container.
	Name string
	// Prefix is prepended to all keys; the keys of Objects do not include it.
	Prefix string
	// CABundle verifies the certificate of the bucket's endpoint, in PEM; nil for the
	// system's root certificates.
	CABundle []byte
	// Provider is the provider of the account.
	Provider v1.Provider
	// Location distinguishes buckets of the same name by endpoint, and prefixes within a
	// bucket.
	Location string
}

// Has reports whether an uploaded dump is in this bucket, at its current location.
func (b Bucket) Has(o *v1.DumpObject) bool {
	return o.Bucket == b.Name && (o.Location == "" || o.Location == b.Location)
}

// Bucket returns the bucket of an account. Errors are *cloud.Error: Unsupported with
// CodeNoBucket if the account has none; Invalid with CodeInvalidBucket if its
// configuration is invalid; otherwise as for Session.
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

func (a *Accounts) open(ctx context.Context, name string, acc *account) (Bucket, error) {
	storage := acc.spec.ObjectStorage
	if storage == nil {
		return Bucket{}, &cloud.Error{
			Class: cloud.ClassUnsupported, Provider: acc.spec.Provider, Op: opConnect, Code: CodeNoBucket,
			Message: fmt.Sprintf("CloudAccount %q has no spec.objectStorage", name),
		}
	}
	open, built := a.options.Buckets[acc.spec.Provider]
	if !built {
		return Bucket{}, acc.invalidf(CodeProviderMissing, "this hub was built without the buckets of the provider %s", acc.spec.Provider)
	}
	transport, err := storageTransport(acc.http, storage)
	if err != nil {
		return Bucket{}, acc.invalidf(CodeInvalidBucket, "CloudAccount %q: %v", name, err)
	}
	objects, err := cloud.WithBucketDeletion(open)(ctx, a.config(name, acc, transport))
	if e, is := errors.AsType[*cloud.Error](err); is && e.Class == cloud.ClassInvalid {
		return Bucket{}, acc.invalidf(CodeInvalidBucket, "%s", e.Message)
	}
	if err != nil {
		return Bucket{}, fmt.Errorf("connecting to the bucket of CloudAccount %q: %w", name, err)
	}
	p := a.pacer(acc.bucketBudget, acc)
	return Bucket{
		ObjectStore: pacedObjects{p, objects}, Name: storage.Bucket, Prefix: storage.Prefix,
		CABundle: storage.CABundle, Provider: acc.spec.Provider, Location: location(acc.spec.Provider, storage),
	}, nil
}

// location returns a string that changes only if objects are no longer found under the
// same keys.
func location(provider v1.Provider, s *v1.ObjectStorage) string {
	at := string(provider) + ":"
	if s.Endpoint != "" {
		at = strings.TrimRight(s.Endpoint, "/")
	}
	return path.Join("/", s.StorageAccount, s.Bucket, s.Prefix) + " at " + at
}

// storageTransport returns the transport for requests to a bucket, with connections that
// are separate from the account's others. A transport other than *http.Transport is used
// unchanged.
func storageTransport(next http.RoundTripper, storage *v1.ObjectStorage) (http.RoundTripper, error) {
	var roots *x509.CertPool
	if len(storage.CABundle) > 0 {
		roots = x509.NewCertPool()
		if !roots.AppendCertsFromPEM(storage.CABundle) {
			return nil, errors.New("spec.objectStorage.caBundle contains no PEM certificate")
		}
	}
	transport, clonable := next.(*http.Transport)
	if !clonable {
		return next, nil
	}
	own := transport.Clone()
	if roots == nil {
		return own, nil
	}
	endpoint, err := url.Parse(storage.Endpoint)
	if err != nil {
		return nil, fmt.Errorf("parsing spec.objectStorage.endpoint: %w", err)
	}
	trusting := transport.Clone()
	if trusting.TLSClientConfig == nil {
		trusting.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	trusting.TLSClientConfig.RootCAs = roots
	return byHost{host: endpoint.Hostname(), toHost: trusting, other: own}, nil
}

// byHost uses one transport for requests to a host and its subdomains, and another for
// all others, so that a private certificate authority is not trusted for token endpoints.
type byHost struct {
	host          string
	toHost, other http.RoundTripper
}

// RoundTrip implements http.RoundTripper.
func (b byHost) RoundTrip(r *http.Request) (*http.Response, error) {
	if name := r.URL.Hostname(); name == b.host || strings.HasSuffix(name, "."+b.host) {
		return b.toHost.RoundTrip(r)
	}
	return b.other.RoundTrip(r)
}

type pacedObjects struct {
	pacer
	next cloud.ObjectStore
}

// SignRequests counts as a read: it only sends requests for tokens.
func (p pacedObjects) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	if err := p.take("SignRequests", p.reads); err != nil {
		return nil, err
	}
	return p.next.SignRequests(ctx, wanted, life)
}

// PutObject counts as a change.
func (p pacedObjects) PutObject(ctx context.Context, key string, content []byte) error {
	if err := p.take("PutObject", p.changes); err != nil {
		return err
	}
	return p.next.PutObject(ctx, key, content)
}

// GetObject counts as a read.
func (p pacedObjects) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	if err := p.take("GetObject", p.reads); err != nil {
		return nil, err
	}
	return p.next.GetObject(ctx, key, limit)
}

// ListObjects counts as a read.
func (p pacedObjects) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	if err := p.take("ListObjects", p.reads); err != nil {
		return func(yield func(cloud.Object, error) bool) { yield(cloud.Object{}, err) }
	}
	return p.next.ListObjects(ctx, prefix)
}

// DeleteObject counts as a change.
func (p pacedObjects) DeleteObject(ctx context.Context, key string) error {
	if err := p.take("DeleteObject", p.changes); err != nil {
		return err
	}
	return p.next.DeleteObject(ctx, key)
}

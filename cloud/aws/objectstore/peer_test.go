package objectstore_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
)

// TestPeer runs the contract against gofakes3, an independent S3, as far as gofakes3
// supports it.
func TestPeer(t *testing.T) {
	t.Parallel()
	whole := gofakes3.New(s3mem.New(), gofakes3.WithTimeSkewLimit(0)).Server() // Cases move the clock.
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if query := r.URL.Query(); query.Has("list-type") { // It has no pages of its own.
			query.Set("max-keys", "2")
			r.URL.RawQuery = query.Encode()
		} else if query.Has("versions") {
			serveVersions(whole, w, r)
			return
		}
		whole.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	m := loadModel(t)
	var buckets atomic.Int64
	objectstore.Run(t, func(t testing.TB) *objectstore.Backend {
		t.Helper()
		return newPeer(t, server.URL, fmt.Sprintf("%s-%d", bucketName, buckets.Add(1))).backend(m)
	})
}

// serveVersions serves a list of versions, whose root element has another name in gofakes3 than in S3.
func serveVersions(whole http.Handler, w http.ResponseWriter, r *http.Request) {
	answer := httptest.NewRecorder()
	whole.ServeHTTP(answer, r)
	w.WriteHeader(answer.Code)
	_, _ = w.Write(bytes.ReplaceAll(answer.Body.Bytes(), []byte("ListBucketVersionsResult"), []byte("ListVersionsResult"))) // Who has gone does not get it.
}

// peer is a bucket of gofakes3, seen by its owner.
type peer struct {
	testing.TB
	url, bucket string
	client      *awss3.Client
	// began is the server's time at the start; the clock of the test starts with it.
	began time.Time
}

func newPeer(t testing.TB, url, bucket string) *peer {
	t.Helper()
	m := &peer{TB: t, url: url, bucket: bucket, client: awss3.New(awss3.Options{
		Region: region, BaseEndpoint: &url, UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(keyID, key, ""),
	})}
	out, err := m.client.CreateBucket(t.Context(), &awss3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		t.Fatalf("creating a bucket in gofakes3: %v", err)
	}
	m.began, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
	return m
}

func (p *peer) backend(described *model) *objectstore.Backend {
	e := newTestEnv(p.TB)
	e.clock, e.endpoint, e.oracle.model = testclock.NewFakeClock(p.began), p.url, described
	const unsigned = "gofakes3 looks at no signature, and at no time"
	return &objectstore.Backend{
		Provider: "aws", Clock: e.clock, Store: p, Script: e.script,
		Open: func(t testing.TB, o objectstore.Options) (cloud.ObjectStore, error) {
			t.Helper()
			config := e.configure(t, o)
			config.Secret["accessKeyID"] = []byte(keyID)
			config.HTTP = e.client(http.DefaultTransport)
			if !o.Missing {
				config.Spec.ObjectStorage.Bucket = p.bucket
			}
			return open(t, config), nil
		},
		Send: http.DefaultTransport.RoundTrip, Refusal: refuse, PageSize: func(int) {}, DeletionRequests: 2,
		Secrets:  []string{key, keyID, "X-Amz-Signature", "Signature=", "X-Amz-Credential"},
		Validate: e.oracle.validate(), ValidateSkipReason: noOracle,
		Unsupported: map[int]string{
			63: "gofakes3 has no locks", 65: unsigned, 66: unsigned, 68: unsigned, 76: unsigned, 79: unsigned,
			81: "gofakes3 has no certificate", 83: "gofakes3 has no permissions",
		},
	}
}

// Keys returns the keys of all objects.
func (p *peer) Keys() []string {
	p.Helper()
	var keys []string
	pages := awss3.NewListObjectsV2Paginator(p.client, &awss3.ListObjectsV2Input{Bucket: &p.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(p.Context())
		if err != nil {
			p.Fatalf("listing in gofakes3: %v", err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Content returns the content of an object and whether the object exists.
func (p *peer) Content(key string) ([]byte, bool) {
	p.Helper()
	out, err := p.client.GetObject(p.Context(), &awss3.GetObjectInput{Bucket: &p.bucket, Key: &key})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return nil, false
	}
	if err != nil {
		p.Fatalf("reading in gofakes3: %v", err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(out.Body)
	if err != nil {
		p.Fatalf("reading in gofakes3: %v", err)
	}
	return content, true
}

// Put writes an object, and overwrites an existing one.
func (p *peer) Put(key string, content []byte) {
	p.Helper()
	if _, err := p.client.PutObject(p.Context(), &awss3.PutObjectInput{Bucket: &p.bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
		p.Fatalf("writing in gofakes3: %v", err)
	}
}

// Remove takes an object away.
func (p *peer) Remove(key string) {
	p.Helper()
	if _, err := p.client.DeleteObject(p.Context(), &awss3.DeleteObjectInput{Bucket: &p.bucket, Key: sdk.String(key)}); err != nil {
		p.Fatalf("deleting in gofakes3: %v", err)
	}
}

// Lock does nothing: the only case that locks objects is skipped for this server.
func (*peer) Lock(string, bool) {}

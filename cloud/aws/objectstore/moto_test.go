package objectstore_test

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	sdk "github.com/aws/aws-sdk-go-v2/aws"
	awsmiddleware "github.com/aws/aws-sdk-go-v2/aws/middleware"
	"github.com/aws/aws-sdk-go-v2/credentials"
	awss3 "github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
)

// TestMoto puts the contract to moto, an S3 that we did not write, as far as it goes.
func TestMoto(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("moto_server"); err != nil {
		t.Skip("moto is not there: pip install 'moto[server]'")
	}
	url, m := startMoto(t), loadModel(t)
	var buckets atomic.Int64
	objectstore.Run(t, func(t testing.TB) *objectstore.Backend {
		t.Helper()
		return newMoto(t, url, fmt.Sprintf("%s-%d", bucketName, buckets.Add(1))).bench(m)
	})
}

// startMoto runs a server of moto until the test ends, and returns where it is. Its lists
// have pages of two.
func startMoto(t *testing.T) string {
	t.Helper()
	server := exec.CommandContext(t.Context(), "moto_server", "-H", "127.0.0.1", "-p", "0")
	server.Env = append(os.Environ(), "MOTO_S3_DEFAULT_MAX_KEYS=2")
	output, err := server.StderrPipe()
	if err == nil {
		err = server.Start()
	}
	if err != nil {
		t.Fatalf("starting moto: %v", err)
	}
	lines, said := bufio.NewScanner(output), ""
	where := regexp.MustCompile(`Running on (http://127\.0\.0\.1:[0-9]+)`)
	url := ""
	for url == "" && lines.Scan() {
		said += lines.Text() + "\n"
		if found := where.FindStringSubmatch(lines.Text()); found != nil {
			url = found[1]
		}
	}
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		_, _ = io.Copy(io.Discard, output) // It logs each request, and stops when nobody reads.
	}()
	t.Cleanup(func() {
		_ = server.Process.Kill() // The test's context may have done so.
		<-drained
		_ = server.Wait()
	})
	if url == "" {
		t.Fatalf("moto does not say where it listens:\n%s", said)
	}
	return url
}

// moto is a bucket of moto, seen by its owner.
type moto struct {
	testing.TB
	url, bucket string
	client      *awss3.Client
	// began is moto's time at the beginning, with which that of the test begins.
	began time.Time
}

func newMoto(t testing.TB, url, bucket string) *moto {
	t.Helper()
	m := &moto{TB: t, url: url, bucket: bucket, client: awss3.New(awss3.Options{
		Region: region, BaseEndpoint: &url, UsePathStyle: true, Credentials: credentials.NewStaticCredentialsProvider(keyID, key, ""),
	})}
	out, err := m.client.CreateBucket(t.Context(), &awss3.CreateBucketInput{
		Bucket: &bucket, CreateBucketConfiguration: &types.CreateBucketConfiguration{LocationConstraint: region},
	})
	if err != nil {
		t.Fatalf("making a bucket in moto: %v", err)
	}
	m.began, _ = awsmiddleware.GetServerTime(out.ResultMetadata)
	return m
}

func (m *moto) bench(described *model) *objectstore.Backend {
	y := newYard()
	y.clock, y.endpoint, y.oracle.model = testclock.NewFakeClock(m.began), m.url, described
	const unsigned = "moto looks at no signature, and at no time"
	return &objectstore.Backend{
		Provider: "aws", Clock: y.clock, Store: m, Script: y.script,
		Open: func(t testing.TB, o objectstore.Options) (cloud.Objects, error) {
			t.Helper()
			config := y.configure(t, o)
			config.HTTP = y.client(http.DefaultTransport)
			if !o.Missing {
				config.Spec.ObjectStorage.Bucket = m.bucket
			}
			return open(t, config), nil
		},
		Send: http.DefaultTransport.RoundTrip, Refusal: refuse, PageSize: func(int) {},
		Secrets:  []string{key, keyID, "X-Amz-Signature", "Signature=", "X-Amz-Credential"},
		Validate: y.oracle.validate(), NoOracle: noOracle,
		Spare: map[int]string{
			63: "moto locks versions alone, as S3 does", 65: unsigned, 66: unsigned, 68: unsigned, 76: unsigned, 79: unsigned,
			81: "moto has no certificate",
		},
	}
}

// Keys are those of all objects.
func (m *moto) Keys() []string {
	m.Helper()
	var keys []string
	pages := awss3.NewListObjectsV2Paginator(m.client, &awss3.ListObjectsV2Input{Bucket: &m.bucket})
	for pages.HasMorePages() {
		page, err := pages.NextPage(m.Context())
		if err != nil {
			m.Fatalf("listing in moto: %v", err)
		}
		for _, o := range page.Contents {
			keys = append(keys, *o.Key)
		}
	}
	slices.Sort(keys)
	return keys
}

// Content is what is in an object.
func (m *moto) Content(key string) ([]byte, bool) {
	m.Helper()
	out, err := m.client.GetObject(m.Context(), &awss3.GetObjectInput{Bucket: &m.bucket, Key: &key})
	if _, missing := errors.AsType[*types.NoSuchKey](err); missing {
		return nil, false
	}
	if err != nil {
		m.Fatalf("reading in moto: %v", err)
	}
	defer func() { _ = out.Body.Close() }()
	content, err := io.ReadAll(out.Body)
	if err != nil {
		m.Fatalf("reading in moto: %v", err)
	}
	return content, true
}

// Put writes an object, over what is there.
func (m *moto) Put(key string, content []byte) {
	m.Helper()
	if _, err := m.client.PutObject(m.Context(), &awss3.PutObjectInput{Bucket: &m.bucket, Key: &key, Body: bytes.NewReader(content)}); err != nil {
		m.Fatalf("writing in moto: %v", err)
	}
}

// Remove takes an object away.
func (m *moto) Remove(key string) {
	m.Helper()
	if _, err := m.client.DeleteObject(m.Context(), &awss3.DeleteObjectInput{Bucket: &m.bucket, Key: sdk.String(key)}); err != nil {
		m.Fatalf("deleting in moto: %v", err)
	}
}

// Lock is for the case that is spare.
func (*moto) Lock(string, bool) {}

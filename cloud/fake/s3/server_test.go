package s3_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// example returns the time of the examples in Amazon's description of Signature Version
// 4.
func example() time.Time { return time.Date(2013, 5, 24, 0, 0, 0, 0, time.UTC) }

// publishedKey is the identifier of the key of these examples.
const publishedKey = "AKIAIOSFODNN7EXAMPLE" //nolint:gosec // Amazon publishes it, and the signatures of the examples are made with it.

// published returns a server with the key and the bucket of Amazon's examples.
func published() *s3.Server {
	clock := testclock.NewFakeClock(example())
	store := bucket.NewStore(clock)
	store.Put("test.txt", []byte("published"))
	return s3.New(store, s3.Options{
		Clock: clock, Bucket: "examplebucket", Region: "us-east-1", Host: "s3.amazonaws.com",
		Keys: []s3.Key{{ID: publishedKey, Secret: "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY"}}, //nolint:gosec // See the key.
	})
}

// TestPublishedSignatures puts the examples to the server that Amazon publishes with
// their signatures: "Signature Calculations for the Authorization Header" and
// "Authenticating Requests: Using Query Parameters".
func TestPublishedSignatures(t *testing.T) {
	t.Parallel()
	const (
		scope = "AWS4-HMAC-SHA256 Credential=" + publishedKey + "/20130524/us-east-1/s3/aws4_request,"
		empty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
	)
	for name, test := range map[string]struct {
		method, target string
		header         map[string]string
		status         int
		body           string
	}{
		"get": {http.MethodGet, "/test.txt", map[string]string{
			"Range": "bytes=0-9", "X-Amz-Content-Sha256": empty, "X-Amz-Date": "20130524T000000Z",
			"Authorization": scope + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		}, http.StatusPartialContent, "published"},
		"a bit of the signature": {http.MethodGet, "/test.txt", map[string]string{
			"Range": "bytes=0-9", "X-Amz-Content-Sha256": empty, "X-Amz-Date": "20130524T000000Z",
			"Authorization": scope + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb40",
		}, http.StatusForbidden, "SignatureDoesNotMatch"},
		"another range": {http.MethodGet, "/test.txt", map[string]string{
			"Range": "bytes=0-8", "X-Amz-Content-Sha256": empty, "X-Amz-Date": "20130524T000000Z",
			"Authorization": scope + "SignedHeaders=host;range;x-amz-content-sha256;x-amz-date,Signature=f0e8bdb87c964420e857bd35b5d6ed310bd44f0170aba48dd91039c6036bdb41",
		}, http.StatusForbidden, "SignatureDoesNotMatch"},
		"query": {http.MethodGet, "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + publishedKey + "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
			"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86400&X-Amz-SignedHeaders=host" +
			"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404", nil, http.StatusOK, "published"},
		"query for longer": {http.MethodGet, "/test.txt?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + publishedKey + "%2F20130524%2Fus-east-1%2Fs3%2Faws4_request" +
			"&X-Amz-Date=20130524T000000Z&X-Amz-Expires=86401&X-Amz-SignedHeaders=host" +
			"&X-Amz-Signature=aeeed9bbccd4d02ee5c0109b86d86835f995330da4c265957d157751f604d404", nil, http.StatusForbidden, "SignatureDoesNotMatch"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := httptest.NewRequestWithContext(t.Context(), test.method, "https://examplebucket.s3.amazonaws.com"+test.target, nil)
			for key, value := range test.header {
				r.Header.Set(key, value)
			}
			w := httptest.NewRecorder()
			published().ServeHTTP(w, r)
			if w.Code != test.status || !strings.Contains(w.Body.String(), test.body) {
				t.Errorf("status %d, %s; want %d and %q", w.Code, w.Body, test.status, test.body)
			}
		})
	}
}

package s3_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// signedPut is a PUT of a key that lasts for a minute, signed here and by nothing that the
// server uses.
func signedPut(base, key string, at time.Time) string {
	date := at.Format("20060102T150405Z")
	scope := date[:8] + "/" + region + "/s3/aws4_request"
	query := "X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Credential=" + keyID + "%2F" + strings.ReplaceAll(scope, "/", "%2F") +
		"&X-Amz-Date=" + date + "&X-Amz-Expires=60&X-Amz-SignedHeaders=host%3Bif-none-match"
	sum := sha256.Sum256([]byte("PUT\n/" + name + "/" + key + "\n" + query + "\nhost:" + strings.TrimPrefix(base, "http://") +
		"\nif-none-match:*\n\nhost;if-none-match\nUNSIGNED-PAYLOAD"))
	signing := []byte("AWS4" + secret)
	for part := range strings.SplitSeq(scope+"/AWS4-HMAC-SHA256\n"+date+"\n"+strings.ReplaceAll(scope, "/", "\x00")+"\n"+hex.EncodeToString(sum[:]), "/") {
		mac := hmac.New(sha256.New, signing)
		_, _ = mac.Write([]byte(strings.ReplaceAll(part, "\x00", "/")))
		signing = mac.Sum(nil)
	}
	return base + "/" + name + "/" + key + "?" + query + "&X-Amz-Signature=" + hex.EncodeToString(signing)
}

// TestLarge sends what does not fit into what is kept in memory, at once and over a real
// connection: one of two who send the same key makes it, and the other is told so.
func TestLarge(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	_, store, server := newServer(at)
	store.SpillTo(t.TempDir())
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	content := bytes.Repeat([]byte("0123456789abcdef"), 1<<19) // 8 MiB.
	var made, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 8 {
		key := "part-" + string(rune('0'+i/2))
		wg.Go(func() {
			switch status := put(t, signedPut(listener.URL, key, at), content, i%2 == 0); status {
			case http.StatusOK:
				made.Add(1)
			case http.StatusPreconditionFailed:
				refused.Add(1)
			default:
				t.Errorf("status %d", status)
			}
		})
	}
	wg.Wait()
	if made.Load() != 4 || refused.Load() != 4 {
		t.Errorf("%d were made and %d refused, want 4 and 4", made.Load(), refused.Load())
	}
	for _, key := range store.Keys() {
		if got, ok := store.Content(key); !ok || !bytes.Equal(got, content) {
			t.Errorf("%s has %d bytes, want %d, or they differ", key, len(got), len(content))
		}
	}
}

// put sends a body; who is polite asks before.
func put(t *testing.T, url string, content []byte, polite bool) int {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodPut, url, bytes.NewReader(content))
	if err != nil {
		t.Error(err)
		return 0
	}
	r.Header.Set("If-None-Match", "*")
	if polite {
		r.Header.Set("Expect", "100-continue")
	}
	response, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Errorf("putting: %v", err)
		return 0
	}
	defer func() { _ = response.Body.Close() }()
	_, _ = io.Copy(io.Discard, response.Body)
	return response.StatusCode
}

// TestDeny names the permission, as S3 does.
func TestDeny(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	_, store, server := newServer(at)
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	server.Deny("PutObject")
	if status := put(t, signedPut(listener.URL, "key", at), []byte("x"), false); status != http.StatusForbidden || len(store.Keys()) > 0 {
		t.Errorf("status %d, and %q were made", status, store.Keys())
	}
	server.Deny()
	if status := put(t, signedPut(listener.URL, "key", at), []byte("x"), false); status != http.StatusOK {
		t.Errorf("status %d when it is allowed again", status)
	}
}

// TestLookup asks for keys that are not known from the start, and ends with them.
func TestLookup(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC)
	clock, store, _ := newServer(at)
	server := s3.New(store, s3.Options{Clock: clock, Bucket: name, Region: region, Lookup: func(id string) (s3.Key, bool) {
		return s3.Key{ID: id, Secret: secret, Expires: at.Add(30 * time.Second)}, id == keyID
	}})
	listener := httptest.NewServer(server)
	t.Cleanup(listener.Close)
	if status := put(t, signedPut(listener.URL, "early", at), []byte("x"), false); status != http.StatusOK {
		t.Errorf("status %d, want %d", status, http.StatusOK)
	}
	clock.Step(30 * time.Second)
	if status := put(t, signedPut(listener.URL, "late", at), []byte("x"), false); status != http.StatusBadRequest {
		t.Errorf("status %d when the key has expired, want %d", status, http.StatusBadRequest)
	}
}

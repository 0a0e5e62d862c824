package objectstore_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// sumOfPart is the CRC-32C of "abcd" in base64.
const sumOfPart = "ksgKMQ=="

// retaining returns the options of a bucket that locks new objects for a day.
func retaining(t *testing.T) (*testEnv, *objectstore.Fixture) {
	t.Helper()
	e := newTestEnv(t)
	e.server = s3.New(e.store, s3.Options{
		Clock: e.clock, Bucket: bucketName, Region: region, Host: ownHost, DefaultRetention: 24 * time.Hour,
		Keys: []s3.Key{{ID: keyID, Secret: key, ARN: userARN, Policy: documented(t, "")}},
	})
	return e, &objectstore.Fixture{TB: t, Backend: e.backend(nil)}
}

// TestRetentionNeedsChecksums checks that a bucket with a default retention takes objects with checksums, of the hub
// and with signed requests, and that the holder of a signed request cannot change the checksum.
func TestRetentionNeedsChecksums(t *testing.T) {
	t.Parallel()
	e, _ := retaining(t)
	if err := open(t, e.configure(t, objectstore.Options{})).PutObject(t.Context(), "shopfleet/manifest.json", []byte("{}")); err != nil {
		t.Errorf("putting an object: %v", err)
	}
	sign := func(t *testing.T, e *testEnv, sum string) cloud.SignedRequest {
		t.Helper()
		objects := open(t, e.configure(t, objectstore.Options{}))
		signed, err := objects.SignRequests(t.Context(), []cloud.ObjectRequest{{Method: http.MethodPut, Key: "shopfleet/part", CRC32C: sum}}, time.Hour)
		if err != nil {
			t.Fatal(err)
		}
		return signed[0]
	}
	for name, tt := range map[string]struct {
		sum, header, value, content string
		status                      int
		want                        string
	}{
		"no checksum":          {"", "", "", "abcd", http.StatusBadRequest, "<Code>InvalidRequest</Code>"},
		"one of the holder":    {"", "X-Amz-Checksum-Crc32c", sumOfPart, "abcd", http.StatusForbidden, "not signed"},
		"another of the same":  {"", "Content-Md5", "4vxxTEcn7pOV8yTNLn8zHw==", "abcd", http.StatusForbidden, "not signed"},
		"another than signed":  {sumOfPart, "X-Amz-Checksum-Crc32c", "AAAAAQ==", "abcd", http.StatusForbidden, "SignatureDoesNotMatch"},
		"of another content":   {sumOfPart, "", "", "abce", http.StatusBadRequest, "BadDigest"},
		"the checksum, signed": {sumOfPart, "", "", "abcd", http.StatusOK, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e, f := retaining(t)
			signed := sign(t, e, tt.sum)
			if tt.header != "" {
				signed.Header[tt.header] = tt.value
			}
			if signed.Header["X-Amz-Checksum-Crc32c"] == "" && tt.sum != "" || strings.Contains(signed.URL, "X-Amz-Checksum-Crc32c=") {
				t.Errorf("the checksum is in the URL, where S3 ignores it: %v", signed.Header)
			}
			if status, body := f.Do(signed, tt.content); status != tt.status || !strings.Contains(body, tt.want) {
				t.Errorf("status %d, %s; want %d and %q", status, body, tt.status, tt.want)
			}
		})
	}
}

// TestChecksumsOnDemand checks that checksums are sent to no other bucket: not every compatible service knows them.
func TestChecksumsOnDemand(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	objects := open(t, e.configure(t, objectstore.Options{}))
	if err := objects.PutObject(t.Context(), "shopfleet/manifest.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	for _, call := range e.script.Calls() {
		if n := e.script.Count(faults.OpPutObject); n != 1 || strings.Contains(strings.ToLower(call.Request), "checksum") {
			t.Errorf("%d requests, one of them:\n%s", n, call.Request)
		}
	}
}

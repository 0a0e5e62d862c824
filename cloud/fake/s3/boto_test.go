package s3_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

const (
	keyID, secret = "AKIAEXAMPLE", "secret/of+example"
	region        = "eu-central-1"
	name          = "dumps-of-shop"
	host          = "s3.eu-central-1.amazonaws.com"
)

// newServer is a server with one key, whose time begins at some time.
func newServer(at time.Time) (*testclock.FakeClock, *bucket.Store, *s3.Server) {
	clock := testclock.NewFakeClock(at)
	store := bucket.NewStore(clock)
	return clock, store, s3.New(store, s3.Options{
		Clock: clock, Bucket: name, Region: region, Host: host,
		Keys: []s3.Key{{ID: keyID, Secret: secret, ARN: "arn:aws:iam::111111111111:user/boto"}},
	})
}

// TestBoto lets a client that we did not write use the server: what it understands of the
// answers is what is compared. It signs with the machine's time, so that is the server's.
func TestBoto(t *testing.T) {
	t.Parallel()
	if err := exec.CommandContext(t.Context(), "python3", "-c", "import boto3").Run(); err != nil {
		t.Skip("boto3 is not there: pip install 'moto[server]'")
	}
	now, err := exec.CommandContext(t.Context(), "date", "+%s").Output()
	if err != nil {
		t.Fatal(err)
	}
	seconds, err := strconv.ParseInt(string(now[:len(now)-1]), 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	began := time.Unix(seconds, 0).UTC()
	clock, store, server := newServer(began)
	store.SpillTo(t.TempDir())
	mux := http.NewServeMux()
	mux.Handle("/", server)
	mux.HandleFunc("/step", func(_ http.ResponseWriter, r *http.Request) {
		seconds, err := strconv.Atoi(r.URL.Query().Get("seconds"))
		if err != nil {
			t.Errorf("stepping: %v", err)
		}
		clock.Step(time.Duration(seconds) * time.Second)
	})
	listener := httptest.NewServer(mux)
	defer listener.Close()

	drive := exec.CommandContext(t.Context(), "python3", filepath.Join("testdata", "drive.py"), listener.URL, keyID, secret, name)
	out, err := drive.Output()
	if err != nil {
		t.Fatalf("driving with boto3: %v\n%s", err, stderr(err))
	}
	var got map[string]any
	if err := json.Unmarshal(out, &got); err != nil {
		t.Fatalf("reading %q: %v", out, err)
	}
	if diff := cmp.Diff(wanted(t, began), got); diff != "" {
		t.Errorf("what boto3 understood (-want +got):\n%s", diff)
	}
}

func stderr(err error) string {
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return string(exit.Stderr)
	}
	return ""
}

// wanted is what boto3 is to understand, as S3's documentation has it.
func wanted(t *testing.T, began time.Time) map[string]any {
	t.Helper()
	list := []any{}
	for i := range 7 {
		list = append(list, []any{"list/" + strconv.Itoa(i) + " ü", i + 1, "STANDARD"})
	}
	denied := []any{403, "AccessDenied"}
	mismatch := []any{403, "SignatureDoesNotMatch"}
	want := map[string]any{
		"unknown": []any{},
		"put":     []any{true, "first", true, 5, began.Format("2006-01-02T15:04:05") + "+00:00"},
		"over":    []any{"412 PreconditionFailed", "501 NotImplemented", "first", "none", "the"},
		"empty":   []any{0, "416 InvalidRange"},
		"big":     true,
		"pages":   []any{[]any{3, 3, true}, []any{3, 3, true}, []any{1, 1, false}},
		"list":    list,
		"after":   []any{"list/5 ü", "list/6 ü"},
		"none":    []any{0, false},
		"deleted": []any{"none", "none", "404 NoSuchKey", "404 404", "none"},
		"refused": []any{
			"404 NoSuchBucket", "400 InvalidArgument", "501 NotImplemented", "501 NotImplemented", "501 NotImplemented",
			"400 BadDigest", "400 BadDigest", "405 MethodNotAllowed", "501 NotImplemented",
			"403 InvalidAccessKeyId", "403 SignatureDoesNotMatch", "400 InvalidToken",
			"none", // The refusal names the region, and boto3 goes there.
		},
		"signed": []any{
			[]any{404, "NoSuchKey"}, mismatch, []any{200, ""}, []any{412, "PreconditionFailed"},
			[]any{200, "first"}, mismatch, mismatch, mismatch, denied, denied, []any{400, "AuthorizationQueryParametersError"},
		},
		"expired": []any{denied, denied},
		"skewed":  "403 RequestTimeTooSkewed",
	}
	// Through JSON, in which all numbers are of one type.
	text, err := json.Marshal(want)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

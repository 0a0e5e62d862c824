package transfer

import (
	"encoding/pem"
	"errors"
	"hash/crc32"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

func TestSend(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	m.run(t, order.ExitDone, "")
	b.expect(t, stored())
	if !strings.Contains(m.said.String(), "sent 14 of 14 bytes, 100%\n") || len(m.clock.pauses) != 0 {
		t.Errorf("it said %q, and waited %v", m.said.String(), m.clock.pauses)
	}
	// A second run finds all parts in the bucket.
	m.run(t, order.ExitDone, "")
	b.expect(t, stored())
}

// TestResume checks that parts in the bucket are not uploaded again, and that the whole file is verified
// nevertheless.
func TestResume(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	m := newMove(t, order.Send, b.URL)
	m.order.Parts[0].Request, m.order.Parts[2].Request = nil, nil
	m.file(t, "x"+shop[1:])
	m.run(t, order.ExitFinal, "the checksum of "+name)
	b.expect(t, map[string]string{})
	m.file(t, shop)
	m.run(t, order.ExitDone, "")
	b.expect(t, map[string]string{"part-1": "efgh", "part-3": "mn"})
	// Without parts to upload, no request can have expired.
	m.order.Parts[1].Request, m.order.Parts[3].Request, m.order.ExpiresAt = nil, nil, time.Time{}
	m.run(t, order.ExitDone, "")
	if len(b.asked) != 2 {
		t.Errorf("requests %q", b.asked)
	}
}

func TestSendRefuses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		change func(t *testing.T, m *move)
		status int
		want   string
	}{
		"no file":        {func(*testing.T, *move) {}, order.ExitGone, name + ": file does not exist"},
		"shorter":        {func(t *testing.T, m *move) { t.Helper(); m.file(t, "abc") }, order.ExitFinal, "has 3 bytes, want 14"},
		"longer":         {func(t *testing.T, m *move) { t.Helper(); m.file(t, shop+"x") }, order.ExitFinal, "has 15 bytes, want 14"},
		"another":        {func(t *testing.T, m *move) { t.Helper(); m.file(t, "x"+shop[1:]) }, order.ExitFinal, "the checksum of "},
		"expired":        {func(t *testing.T, m *move) { t.Helper(); m.file(t, shop); m.order.ExpiresAt = m.clock.Now() }, order.ExitRefused, "the requests: expired"},
		"no such folder": {func(_ *testing.T, m *move) { m.dir = filepath.Join(m.dir, "a") }, order.ExitRetry, "opening the folder"},
		"no certificate": {func(_ *testing.T, m *move) { m.order.CABundle = []byte("x") }, order.ExitFinal, "no certificate"},
		"a folder": {func(t *testing.T, m *move) {
			t.Helper()
			if err := os.Mkdir(filepath.Join(m.dir, name), 0o700); err != nil {
				t.Fatal(err)
			}
		}, order.ExitFinal, "not a regular file"},
		"a link": {func(t *testing.T, m *move) {
			t.Helper()
			m.file(t, shop)
			if err := os.Rename(filepath.Join(m.dir, name), filepath.Join(m.dir, "other")); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink("other", filepath.Join(m.dir, name)); err != nil {
				t.Fatal(err)
			}
		}, order.ExitFinal, "not a regular file"},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			m := newMove(t, order.Send, b.URL)
			c.change(t, m)
			m.run(t, c.status, c.want)
			if len(b.asked) != 0 {
				t.Errorf("requests %q", b.asked)
			}
		})
	}
}

// TestAnswers checks the results of each response to the second part.
func TestAnswers(t *testing.T) {
	t.Parallel()
	const body = "<Error><Code>AccessDenied</Code>"
	always := func(h http.HandlerFunc) []http.HandlerFunc { return slices.Repeat([]http.HandlerFunc{h}, 9) }
	cases := map[string]struct {
		answers            []http.HandlerFunc
		sending, fetching  int
		want, wantFetching string
		pauses             int
	}{
		"forbidden":    {always(status(403, body)), order.ExitRefused, order.ExitRefused, "part 2 of 4: the storage returned 403 AccessDenied", "", 0},
		"unauthorized": {always(status(401, "")), order.ExitRefused, order.ExitRefused, "returned 401", "", 0},
		"redirect":     {always(status(307, "")), order.ExitRefused, order.ExitRefused, "returned 307", "", 0},
		"nowhere":      {always(status(301, "")), order.ExitRefused, order.ExitRefused, "returned 301", "", 0},
		"not found":    {always(status(404, "<Code>NoSuchBucket</Code>")), order.ExitRefused, order.ExitGone, "returned 404 NoSuchBucket", "", 0},
		"bad":          {always(status(400, "")), order.ExitRefused, order.ExitRefused, "returned 400", "", 0},
		"no checksum": {always(status(400, "<Code>InvalidRequest</Code>")), order.ExitChecksums, order.ExitRefused,
			"part 2 of 4: the storage takes parts with checksums only", "returned 400 InvalidRequest", 0},
		"is there already": {always(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("X-Ms-Error-Code", "UnauthorizedBlobOverwrite") // Azure's word.
			w.WriteHeader(http.StatusForbidden)
		}), order.ExitDone, order.ExitRefused, "", "returned 403", 0},
		"is there":         {always(status(412, "")), order.ExitDone, order.ExitRefused, "", "returned 412", 0},
		"conflict":         {always(status(409, "<Code>ConditionalRequestConflict</Code>")), order.ExitRetry, order.ExitRefused, "returned 409 ConditionalRequestConflict", "returned 409", 4},
		"there, in Azure":  {always(status(409, "<Code>BlobAlreadyExists</Code>")), order.ExitDone, order.ExitRefused, "", "returned 409", 0},
		"5xx, then good":   {[]http.HandlerFunc{status(500, ""), status(503, ""), status(429, "")}, 0, 0, "", "", 3},
		"slow, then good":  {[]http.HandlerFunc{status(400, "<Code>RequestTimeout</Code>")}, 0, 0, "", "", 1},
		"cut, then good":   {[]http.HandlerFunc{cut(t, ""), cut(t, "")}, 0, 0, "", "", 2},
		"5xx for ever":     {always(status(502, "")), order.ExitRetry, order.ExitRetry, "returned 502", "", 4},
		"429 for ever":     {always(status(429, "")), order.ExitRetry, order.ExitRetry, "returned 429", "", 4},
		"cut for ever":     {always(cut(t, "")), order.ExitRetry, order.ExitRetry, "part 2 of 4: sending the request: ", "", 4},
		"no word for body": {always(status(403, "<Code>"+token+"=</Code>")), order.ExitRefused, order.ExitRefused, "returned 403", "", 0},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t, slices.Concat([]http.HandlerFunc{nil}, c.answers)...)
			m := newMove(t, order.Send, b.URL)
			m.file(t, shop)
			m.run(t, c.sending, c.want)
			if len(m.clock.pauses) != c.pauses {
				t.Errorf("it waited %v", m.clock.pauses)
			}
			if c.sending == order.ExitDone && c.pauses > 0 {
				b.expect(t, stored())
			}
			b = newBucket(t, slices.Concat([]http.HandlerFunc{nil}, c.answers)...)
			b.objects = stored()
			m = newMove(t, order.Fetch, b.URL)
			if c.wantFetching == "" {
				c.wantFetching = c.want
			}
			m.run(t, c.fetching, c.wantFetching)
			m.expectFetched(t, c.fetching == order.ExitDone)
		})
	}
}

// TestChecksums checks that the checksums of all parts are reported to the hub, and that one that the hub has
// signed is sent.
func TestChecksums(t *testing.T) {
	t.Parallel()
	unsummed := status(400, "<Code>InvalidRequest</Code>")
	b := newBucket(t, unsummed, unsummed)
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	err := Run(t.Context(), Options{Order: m.order, Dir: m.dir, Clock: m.clock})
	var want order.Checksums
	for _, part := range parts() {
		want = append(want, crc32.Checksum([]byte(part), crc32.MakeTable(crc32.Castagnoli)))
	}
	e, ok := errors.AsType[*Error](err)
	if !ok || e.Status != order.ExitChecksums {
		t.Fatalf("it ended with %v", err)
	}
	if diff := cmp.Diff(want, e.Checksums); diff != "" {
		t.Errorf("checksums (-want +got):\n%s", diff)
	}
	for i := range m.order.Parts {
		m.order.Parts[i].Request.Header[checksumHeader] = want.Of(i)
	}
	m.run(t, order.ExitRefused, "the storage returned 400 InvalidRequest")
	m.run(t, order.ExitDone, "")
	b.expect(t, stored())
}

// expectFetched expects the whole file and nothing else, or only the temporary file from
// which the next attempt resumes.
func (m *move) expectFetched(t *testing.T, whole bool) {
	t.Helper()
	entries, err := os.ReadDir(m.dir)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, e := range entries {
		content, err := os.ReadFile(filepath.Join(m.dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		got[e.Name()] = string(content)
	}
	want := map[string]string{}
	if whole {
		want[name] = shop
	} else {
		delete(got, name+partialSuffix)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

func TestPausesGrow(t *testing.T) {
	t.Parallel()
	b := newBucket(t, slices.Repeat([]http.HandlerFunc{status(500, "")}, 9)...)
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	m.run(t, order.ExitRetry, "returned 500")
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}, m.clock.pauses); diff != "" {
		t.Errorf("pauses (-want +got):\n%s", diff)
	}
}

func TestFetch(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.objects = stored()
	m := newMove(t, order.Fetch, b.URL)
	// A temporary file of a crashed attempt, and another file.
	if err := os.WriteFile(filepath.Join(m.dir, name+partialSuffix), []byte(strings.Repeat("x", 99)), 0o600); err != nil {
		t.Fatal(err)
	}
	m.file(t, "x"+shop[1:])
	m.run(t, order.ExitDone, "")
	m.expectFetched(t, true)
	asked := len(b.asked)
	// The file exists: no request is sent.
	m.order.ExpiresAt = time.Time{}
	m.run(t, order.ExitDone, "")
	m.expectFetched(t, true)
	if len(b.asked) != asked {
		t.Errorf("requests %q", b.asked)
	}
}

func TestFetchRefuses(t *testing.T) {
	t.Parallel()
	chunked := func(content string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.(http.Flusher).Flush()
			_, _ = io.WriteString(w, content)
		}
	}
	cases := map[string]struct {
		change func(b *bucket, m *move)
		status int
		want   string
	}{
		"another part":        {func(b *bucket, _ *move) { b.objects["part-1"] = "xxxx" }, order.ExitFinal, "the checksum of"},
		"a short part":        {func(b *bucket, _ *move) { b.objects["part-1"] = "x" }, order.ExitFinal, "part 2 of 4: it has 1 bytes, want 4"},
		"a long part":         {func(b *bucket, _ *move) { b.objects["part-1"] = "xxxxx" }, order.ExitFinal, "part 2 of 4: it has 5 bytes, want 4"},
		"long without a size": {func(b *bucket, _ *move) { b.answers = []http.HandlerFunc{chunked("xxxxx")} }, order.ExitFinal, "part 1 of 4: it has 5 bytes or more"},
		"no part":             {func(b *bucket, _ *move) { delete(b.objects, "part-3") }, order.ExitGone, "part 4 of 4: the storage returned 404"},
		"expired":             {func(_ *bucket, m *move) { m.order.ExpiresAt = m.clock.Now() }, order.ExitRefused, "the requests: expired"},
		"cut for ever": {func(b *bucket, _ *move) { b.answers = slices.Repeat([]http.HandlerFunc{cut(t, "ab")}, 9) },
			order.ExitRetry, "part 1 of 4: reading the answer: unexpected EOF"},
	}
	for what, c := range cases {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			b := newBucket(t)
			b.objects = stored()
			m := newMove(t, order.Fetch, b.URL)
			c.change(b, m)
			m.run(t, c.status, c.want)
			m.expectFetched(t, false)
		})
	}
}

// TestFetchGoesOn checks that an attempt resumes at the first incomplete part.
func TestFetchGoesOn(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	b.objects = stored()
	delete(b.objects, "part-2")
	m := newMove(t, order.Fetch, b.URL)
	m.run(t, order.ExitGone, "part 3 of 4: the storage returned 404")
	partial := filepath.Join(m.dir, name+partialSuffix)
	content, err := os.ReadFile(partial)
	if err != nil || string(content) != shop[:8] {
		t.Fatalf("left is %q, %v", content, err)
	}
	// Half of a part was written before the attempt ended.
	if err := os.WriteFile(partial, []byte(shop[:10]), 0o600); err != nil {
		t.Fatal(err)
	}
	b.objects, b.asked = stored(), nil
	m.run(t, order.ExitDone, "")
	m.expectFetched(t, true)
	if diff := cmp.Diff([]string{"GET part-2", "GET part-3"}, b.asked); diff != "" {
		t.Errorf("requests (-want +got):\n%s", diff)
	}
}

// TestFetchCut checks that a truncated part is downloaded again from its beginning.
func TestFetchCut(t *testing.T) {
	t.Parallel()
	b := newBucket(t, nil, cut(t, "xyz"), nil, cut(t, ""))
	b.objects = stored()
	m := newMove(t, order.Fetch, b.URL)
	m.run(t, order.ExitDone, "")
	m.expectFetched(t, true)
}

// TestExpires checks that a transfer ends when its requests expire, also during one.
func TestExpires(t *testing.T) {
	t.Parallel()
	for _, direction := range []order.Direction{order.Send, order.Fetch} {
		hang := make(chan struct{})
		b := newBucket(t, func(http.ResponseWriter, *http.Request) { <-hang })
		m := newMove(t, direction, b.URL)
		if direction == order.Send {
			m.file(t, shop)
		}
		m.order.ExpiresAt = m.clock.Now().Add(300 * time.Millisecond)
		m.run(t, order.ExitRefused, "the requests: expired")
		close(hang)
	}
}

// TestCertificates checks that the certificates are those of the order, or the system's.
func TestCertificates(t *testing.T) {
	t.Parallel()
	b := &bucket{objects: map[string]string{}}
	b.Server = httptest.NewTLSServer(b)
	t.Cleanup(b.Close)
	m := newMove(t, order.Send, b.URL)
	m.file(t, shop)
	m.run(t, order.ExitRetry, "certificate signed by unknown authority")
	m.order.CABundle = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: b.Certificate().Raw})
	m.run(t, order.ExitDone, "")
	b.expect(t, stored())
}

func TestConnectionRefused(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	m := newMove(t, order.Fetch, b.URL)
	b.Close()
	m.run(t, order.ExitRetry, "connection refused")
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for want, err := range map[int]error{order.ExitDone: nil, order.ExitRetry: errors.New("x"), order.ExitGone: &Error{Status: order.ExitGone, Err: errMissing}} {
		if got := Status(err); got != want {
			t.Errorf("status of %v: %d, want %d", err, got, want)
		}
	}
}

package bucket_test

import (
	"bytes"
	"crypto/md5" //nolint:gosec // It is one of the checksums that providers tell.
	"errors"
	"hash/crc32"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	testclock "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/cloud/fake/bucket"
)

func newStore() (*testclock.FakeClock, *bucket.Store) {
	clock := testclock.NewFakeClock(time.Date(2026, 3, 1, 2, 0, 0, 0, time.UTC))
	return clock, bucket.NewStore(clock)
}

func TestCreate(t *testing.T) {
	t.Parallel()
	clock, store := newStore()
	clock.Step(time.Minute)
	content := []byte("first")
	made, err := store.Create("a/b", bytes.NewReader(content))
	want := bucket.Object{
		Key: "a/b", Bytes: 5, ModifiedAt: clock.Now(), MD5: md5.Sum(content), Serial: 1, //nolint:gosec // See the import.
		CRC32C: crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)),
	}
	if diff := cmp.Diff(want, made); err != nil || diff != "" {
		t.Errorf("made, %v (-want +got):\n%s", err, diff)
	}
	if _, err := store.Create("a/b", strings.NewReader("other")); !errors.Is(err, bucket.ErrExists) {
		t.Errorf("error %v, want %v", err, bucket.ErrExists)
	}
	if found, err := store.Stat("a/b"); err != nil || found != want {
		t.Errorf("%+v, %v; want it as it was", found, err)
	}
	again, err := store.Replace("a/b", strings.NewReader("other"))
	if err != nil || again.Serial <= made.Serial {
		t.Errorf("serial %d after %d, %v", again.Serial, made.Serial, err)
	}
}

func TestCreateFails(t *testing.T) {
	t.Parallel()
	_, store := newStore()
	boom := errors.New("boom")
	for range 2 {
		body := io.MultiReader(strings.NewReader("half"), iotest.ErrReader(boom))
		if _, err := store.Create("a", body); !errors.Is(err, boom) {
			t.Errorf("error %v, want %v", err, boom)
		}
	}
	if _, err := store.Stat("a"); !errors.Is(err, bucket.ErrMissing) {
		t.Errorf("error %v, want %v", err, bucket.ErrMissing)
	}
}

// TestSpill checks that a large object is stored in a file, which is deleted with it.
func TestSpill(t *testing.T) {
	t.Parallel()
	_, store := newStore()
	dir := t.TempDir()
	files := func(want int) {
		t.Helper()
		if entries, err := os.ReadDir(dir); err != nil || len(entries) != want {
			t.Fatalf("%d files, %v; want %d", len(entries), err, want)
		}
	}
	store.SpillTo(dir)
	large := bytes.Repeat([]byte("0123456789"), 300_000)
	store.Put("small", []byte("x"))
	files(0)
	if _, err := store.Create("large", bytes.NewReader(large)); err != nil {
		t.Fatal(err)
	}
	files(1)
	if _, err := store.Create("lost", io.MultiReader(bytes.NewReader(large), iotest.ErrReader(io.ErrUnexpectedEOF))); err == nil {
		t.Error("half of it was taken")
	}
	files(1)
	object, reader, err := store.Open("large")
	if err != nil || object.Bytes != int64(len(large)) {
		t.Fatalf("%d bytes, %v", object.Bytes, err)
	}
	defer func() { _ = reader.Close() }()
	if err := store.Delete("large"); err != nil {
		t.Fatal(err)
	}
	files(0)
	if got, err := io.ReadAll(reader); err != nil || !bytes.Equal(got, large) {
		t.Errorf("%d bytes of what was deleted meanwhile, %v", len(got), err)
	}
}

func TestLock(t *testing.T) {
	t.Parallel()
	_, store := newStore()
	store.Put("held", []byte("first"))
	store.Lock("held", true)
	if err := store.Delete("held"); !errors.Is(err, bucket.ErrLocked) {
		t.Errorf("error %v, want %v", err, bucket.ErrLocked)
	}
	if _, err := store.Replace("held", strings.NewReader("other")); !errors.Is(err, bucket.ErrLocked) {
		t.Errorf("error %v, want %v", err, bucket.ErrLocked)
	}
	if got, ok := store.Content("held"); !ok || string(got) != "first" {
		t.Errorf("%q, %t", got, ok)
	}
	store.Remove("held")
	if err := store.Delete("held"); !errors.Is(err, bucket.ErrMissing) {
		t.Errorf("error %v, want %v", err, bucket.ErrMissing)
	}
}

func TestPage(t *testing.T) {
	t.Parallel()
	_, store := newStore()
	for _, key := range []string{"b/2", "a", "b/1", "c", "b/3", "b"} {
		store.Put(key, nil)
	}
	for name, test := range map[string]struct {
		prefix, after string
		limit         int
		want          []string
		more          bool
	}{
		"all":       {"", "", 10, []string{"a", "b", "b/1", "b/2", "b/3", "c"}, false},
		"first":     {"b/", "", 2, []string{"b/1", "b/2"}, true},
		"last":      {"b/", "b/2", 2, []string{"b/3"}, false},
		"exact":     {"b/", "", 3, []string{"b/1", "b/2", "b/3"}, false},
		"of none":   {"d", "", 2, nil, false},
		"of none 2": {"", "", 0, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			page, more := store.Page(test.prefix, test.after, test.limit)
			var got []string
			for _, o := range page {
				got = append(got, o.Key)
			}
			if diff := cmp.Diff(test.want, got); diff != "" || more != test.more {
				t.Errorf("more: %t, want %t; keys (-want +got):\n%s", more, test.more, diff)
			}
		})
	}
}

package report

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// files returns the files of an archive.
func files(t *testing.T, archive io.Reader) map[string]string {
	t.Helper()
	raw, err := gzip.NewReader(archive)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for reader := tar.NewReader(raw); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		found[header.Name] = string(content)
	}
}

// TestArchive: files are redacted and bounded, and the index lists them and what is missing.
func TestArchive(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	a := NewArchive(&out, "case", time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC))
	long := strings.Repeat(strings.Repeat("x", 127)+"\n", MaxFile/2/128)
	errs := errors.Join(
		a.AddText("logs/hub.log", "old\n"+strings.Repeat(long, 2)+"\ntoken="+hush+"\nlatest"),
		a.AddObjects("objects.yaml", []map[string]any{{"name": "one", "password": hush}, {"name": "two", "data": long}, {"name": "three", "data": long}}),
	)
	a.Omit("metrics", errors.New("no token="+hush))
	index, err := a.Close()
	if errs != nil || err != nil {
		t.Fatal(errs, err)
	}
	found := files(t, &out)
	for name, text := range found {
		if strings.Contains(text, hush) {
			t.Errorf("%s has a credential", name)
		}
		if len(text) > MaxFile {
			t.Errorf("%s has %d bytes, more than %d", name, len(text), MaxFile)
		}
	}
	if log := found["case/logs/hub.log"]; !strings.HasSuffix(log, "\nlatest") || strings.HasPrefix(log, "old") {
		t.Error("the end of a log is not kept")
	}
	if objects := found["case/objects.yaml"]; !strings.HasPrefix(objects, "---\nname: one\n") || strings.Contains(objects, "three") {
		t.Error("the beginning of a list is not kept")
	}
	want := Index{
		Created: time.Date(2026, 11, 24, 8, 0, 0, 0, time.UTC),
		Files: []File{
			{Path: "logs/hub.log", Bytes: MaxFile, Truncated: true},
			{Path: "objects.yaml", Bytes: int64(len(found["case/objects.yaml"])), Truncated: true},
		},
		Omitted: []Omission{{What: "metrics", Reason: "no token=" + Redacted}},
	}
	if diff := cmp.Diff(want, index); diff != "" {
		t.Errorf("index (-want +got):\n%s", diff)
	}
	if !strings.Contains(found["case/index.yaml"], "reason: no token="+Redacted) {
		t.Errorf("index.yaml is %q", found["case/index.yaml"])
	}
}

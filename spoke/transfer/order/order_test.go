package order

import (
	"bytes"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

// secret is part of each field of an Order that is secret.
const secret = "SIGNATURE"

func valid() Order {
	request := func(part string) *Request {
		return &Request{Method: "PUT", URL: "https://bucket.example/" + part + "?s=" + secret, Header: map[string]string{"X": secret}}
	}
	return Order{
		Direction: Send, File: "backup-20260102T030405Z.sql.gz", Bytes: PartBytes + 5, SHA256: strings.Repeat("0a", 32),
		Parts:     []Part{{Bytes: PartBytes, Request: request("a")}, {Bytes: 5, Request: request("b")}},
		ExpiresAt: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), CABundle: []byte("pem"),
	}
}

func TestThereAndBack(t *testing.T) {
	t.Parallel()
	fetch := valid()
	fetch.Direction = Fetch
	for i := range fetch.Parts {
		fetch.Parts[i].Request.Method = "GET"
	}
	sent := valid()
	sent.Parts[0].Request = nil
	for name, want := range map[string]Order{"send": valid(), "fetch": fetch, "partly sent": sent} {
		text, err := want.Write()
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		got, err := Read(text)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Order){
		"direction":       func(o *Order) { o.Direction = secret },
		"no direction":    func(o *Order) { o.Direction = "" },
		"no file":         func(o *Order) { o.File = "" },
		"a folder":        func(o *Order) { o.File = "a/b" },
		"up":              func(o *Order) { o.File = ".." },
		"hidden":          func(o *Order) { o.File = ".a" },
		"an option":       func(o *Order) { o.File = "-a" },
		"a long name":     func(o *Order) { o.File = strings.Repeat("a", 129) },
		"a line":          func(o *Order) { o.File = "a\n" },
		"no checksum":     func(o *Order) { o.SHA256 = "" },
		"upper case":      func(o *Order) { o.SHA256 = strings.Repeat("0A", 32) },
		"no parts":        func(o *Order) { o.Parts, o.Bytes = nil, 0 },
		"many parts":      func(o *Order) { o.Parts, o.Bytes = slices.Repeat(o.Parts[1:], MaxParts+1), 5*(MaxParts+1) },
		"a large part":    func(o *Order) { o.Parts[0].Bytes++; o.Bytes++ },
		"an empty part":   func(o *Order) { o.Parts[1].Bytes = 0; o.Bytes -= 5 },
		"a negative part": func(o *Order) { o.Parts[1].Bytes = -5; o.Bytes -= 10 },
		"another size":    func(o *Order) { o.Bytes++ },
		"GET to send":     func(o *Order) { o.Parts[0].Request.Method = "GET" },
		"PUT to fetch":    func(o *Order) { o.Direction = Fetch },
		"a verb":          func(o *Order) { o.Parts[0].Request.Method = "DELETE" },
		"no URL":          func(o *Order) { o.Parts[0].Request.URL = "" },
		"no host":         func(o *Order) { o.Parts[0].Request.URL = "https:///" + secret },
		"a file's URL":    func(o *Order) { o.Parts[0].Request.URL = "file://host/" + secret },
		"a broken URL":    func(o *Order) { o.Parts[0].Request.URL = "https://host/%zz" + secret },
		"half to fetch": func(o *Order) {
			o.Direction = Fetch
			o.Parts[0].Request, o.Parts[1].Request.Method = nil, "GET"
		},
	}
	for name, change := range cases {
		o := valid()
		change(&o)
		if _, err := o.Write(); !errors.Is(err, errOrder) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: written, %v", name, err)
		}
		text, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(text); !errors.Is(err, errOrder) || strings.Contains(err.Error(), secret) {
			t.Errorf("%s: read, %v", name, err)
		}
	}
	for _, text := range []string{"", "{", "null", "[]", `"` + secret + `"`, `{"bytes":"` + secret + `"}`} {
		if _, err := Read([]byte(text)); !errors.Is(err, errOrder) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestSizes(t *testing.T) {
	t.Parallel()
	for bytes, want := range map[int64][]int64{
		-1: nil, 0: nil, 1: {1}, PartBytes: {PartBytes}, PartBytes + 1: {PartBytes, 1}, 2 * PartBytes: {PartBytes, PartBytes},
		PartBytes * MaxParts: slices.Repeat([]int64{PartBytes}, MaxParts), PartBytes*MaxParts + 1: nil,
	} {
		if diff := cmp.Diff(want, Sizes(bytes)); diff != "" {
			t.Errorf("%d (-want +got):\n%s", bytes, diff)
		}
	}
}

// FuzzRead checks that an Order that Read accepts is within bounds, and is written unchanged.
func FuzzRead(f *testing.F) {
	text, err := valid().Write()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add([]byte(`{"direction":"Fetch","file":"a","bytes":1,"sha256":"","parts":[{"bytes":1}]}`))
	f.Add([]byte(`{"parts":[{"bytes":9223372036854775807},{"bytes":9223372036854775807}]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := Read(text)
		if err != nil {
			if !errors.Is(err, errOrder) {
				t.Errorf("another error: %v", err)
			}
			return
		}
		if o.Bytes <= 0 || o.Bytes > PartBytes*MaxParts || len(o.Parts) > MaxParts || strings.ContainsAny(o.File, "/\\\x00\n") {
			t.Errorf("out of bounds: %d bytes in %d parts of %q", o.Bytes, len(o.Parts), o.File)
		}
		written, err := o.Write()
		if err != nil {
			t.Fatal(err)
		}
		again, err := Read(written)
		if err != nil {
			t.Fatal(err)
		}
		if rewritten, err := again.Write(); err != nil || !bytes.Equal(written, rewritten) {
			t.Errorf("%s became %s: %v", written, rewritten, err)
		}
	})
}

package order

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"path"
	"regexp"
	"slices"
	"time"
)

const (
	// FileName is the key of the Order in its Secret, and its file name in the mounted
	// volume.
	FileName = "order.json"
	// PartBytes is the size of every part but the last.
	PartBytes = 1 << 30
	// MaxParts is the maximum number of parts of an Order.
	MaxParts = 200
)

// Direction is the direction of a transfer.
type Direction string

// The directions.
const (
	// Send uploads a file to the bucket.
	Send Direction = "Send"
	// Fetch downloads a file from the bucket.
	Fetch Direction = "Fetch"
)

// Order describes the transfer of one file. It contains signed requests, and must be kept secret.
type Order struct {
	Direction Direction `json:"direction"`
	// File is the name of the file, without directory.
	File string `json:"file"`
	// Bytes and SHA256, in hexadecimal, are the size and checksum of the whole file.
	Bytes  int64  `json:"bytes"`
	SHA256 string `json:"sha256"`
	// Parts are all parts of the file, in order.
	Parts []Part `json:"parts"`
	// ExpiresAt is when the first request expires.
	ExpiresAt time.Time `json:"expiresAt"`
	// CABundle verifies the bucket's certificate, in PEM; empty for the system's root
	// certificates.
	CABundle []byte `json:"caBundle,omitempty"`
}

// Part is one part of the file.
type Part struct {
	Bytes int64 `json:"bytes"`
	// Request transfers the part; nil if it is in the bucket already.
	Request *Request `json:"request,omitempty"`
}

// Request is a signed request, to be sent unchanged.
type Request struct {
	Method string            `json:"method"`
	URL    string            `json:"url"`
	Header map[string]string `json:"header,omitempty"`
}

// errOrder means that a text is not a valid Order.
var errOrder = errors.New("not an order")

// Write encodes an Order.
func (o Order) Write() ([]byte, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	text, err := json.Marshal(o)
	if err != nil {
		return nil, fmt.Errorf("encoding the order: %w", err)
	}
	return text, nil
}

// Read decodes and validates an Order. Errors do not contain any of its content.
func Read(text []byte) (Order, error) {
	var o Order
	if err := json.Unmarshal(text, &o); err != nil {
		return Order{}, fmt.Errorf("decoding it: %w", errOrder)
	}
	return o, o.check()
}

// Sizes returns the sizes of the parts of a file; nil if it would have too many.
func Sizes(bytes int64) []int64 {
	if bytes <= 0 || bytes > PartBytes*MaxParts {
		return nil
	}
	sizes := slices.Repeat([]int64{PartBytes}, int(bytes/PartBytes))
	if rest := bytes % PartBytes; rest > 0 {
		sizes = append(sizes, rest)
	}
	return sizes
}

func (o Order) check() error {
	switch {
	case o.Direction != Send && o.Direction != Fetch:
		return fmt.Errorf("the direction: %w", errOrder)
	case o.File != path.Base(o.File) || !regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$`).MatchString(o.File):
		return fmt.Errorf("the name of the file: %w", errOrder)
	case !regexp.MustCompile(`^[0-9a-f]{64}$`).MatchString(o.SHA256):
		return fmt.Errorf("the checksum: %w", errOrder)
	case len(o.Parts) == 0 || len(o.Parts) > MaxParts:
		return fmt.Errorf("%d parts: %w", len(o.Parts), errOrder)
	}
	var sum int64
	for i, p := range o.Parts {
		if err := o.checkPart(p); err != nil {
			return fmt.Errorf("part %d: %w", i, err)
		}
		sum += p.Bytes
	}
	if sum != o.Bytes {
		return fmt.Errorf("parts of %d bytes for a file of %d: %w", sum, o.Bytes, errOrder)
	}
	return nil
}

func (o Order) checkPart(p Part) error {
	if p.Bytes <= 0 || p.Bytes > PartBytes {
		return fmt.Errorf("%d bytes: %w", p.Bytes, errOrder)
	}
	if p.Request == nil {
		if o.Direction == Fetch {
			return fmt.Errorf("no request: %w", errOrder)
		}
		return nil
	}
	u, err := url.Parse(p.Request.URL)
	if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" {
		return fmt.Errorf("its URL: %w", errOrder)
	}
	if want := map[Direction]string{Send: "PUT", Fetch: "GET"}[o.Direction]; p.Request.Method != want {
		return fmt.Errorf("its method is not %s: %w", want, errOrder)
	}
	return nil
}

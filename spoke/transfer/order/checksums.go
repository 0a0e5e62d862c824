package order

import (
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"strings"
)

// checksumBytes is the size of a CRC-32C.
const checksumBytes = 4

// Checksums holds the CRC-32C of every part of a file, in order. With MaxParts of them the text
// fits into a termination message.
type Checksums []uint32

// String encodes the checksums, each in 4 bytes, in base64.
func (c Checksums) String() string {
	raw := make([]byte, 0, len(c)*checksumBytes)
	for _, sum := range c {
		raw = binary.BigEndian.AppendUint32(raw, sum)
	}
	return base64.StdEncoding.EncodeToString(raw)
}

// Of returns the checksum of one part in base64, as storages want it.
func (c Checksums) Of(part int) string { return c[part : part+1].String() }

// ReadChecksums decodes the checksums of a number of parts. Errors do not contain the text.
func ReadChecksums(text string, parts int) (Checksums, error) {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(text))
	if err != nil || len(raw) != parts*checksumBytes {
		return nil, fmt.Errorf("decoding checksums of %d parts: %w", parts, errOrder)
	}
	out := make(Checksums, 0, parts)
	for at := 0; at < len(raw); at += checksumBytes {
		out = append(out, binary.BigEndian.Uint32(raw[at:]))
	}
	return out, nil
}

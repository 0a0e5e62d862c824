package bucket

import (
	"bytes"
	"crypto/md5" //nolint:gosec // S3 and its like tell this checksum of each object.
	"fmt"
	"hash"
	"hash/crc32"
	"io"
	"os"
)

// maxMemory bounds the bytes of an object in memory, if there is a directory for larger
// objects.
const maxMemory = 1 << 20

// content holds the content of an object: bytes, or a file.
type content struct {
	bytes []byte
	file  string
}

// open reads it. A file that is dropped meanwhile is read on.
func (c content) open() (io.ReadSeekCloser, error) {
	if c.file != "" {
		return os.Open(c.file)
	}
	return inMemory{bytes.NewReader(c.bytes)}, nil
}

func (c content) drop() {
	if c.file != "" {
		_ = os.Remove(c.file) // It is in a directory that goes as a whole.
	}
}

// inMemory is a reader with nothing to close.
type inMemory struct{ *bytes.Reader }

func (inMemory) Close() error { return nil }

// draft is content on its way in.
type draft struct {
	dir string

	bytes  bytes.Buffer
	file   *os.File
	size   int64
	md5    hash.Hash
	crc32c hash.Hash32
}

// Write takes some of it, to a file when it becomes too much for memory.
func (d *draft) Write(p []byte) (int, error) {
	d.begin()
	if d.file == nil && d.dir != "" && d.size+int64(len(p)) > maxMemory {
		if err := d.spill(); err != nil {
			return 0, err
		}
	}
	var to io.Writer = &d.bytes
	if d.file != nil {
		to = d.file
	}
	n, err := to.Write(p)
	d.size += int64(n)
	_, _ = d.md5.Write(p[:n]) // A hash takes everything.
	_, _ = d.crc32c.Write(p[:n])
	return n, err
}

func (d *draft) begin() {
	if d.md5 == nil {
		d.md5 = md5.New() //nolint:gosec // See the import.
		d.crc32c = crc32.New(crc32.MakeTable(crc32.Castagnoli))
	}
}

func (d *draft) spill() error {
	file, err := os.CreateTemp(d.dir, "object-*")
	if err != nil {
		return fmt.Errorf("keeping the content: %w", err)
	}
	if _, err := file.Write(d.bytes.Bytes()); err != nil {
		_ = file.Close()
		return fmt.Errorf("keeping the content: %w", err)
	}
	d.file, d.bytes = file, bytes.Buffer{}
	return nil
}

// finish returns the content, its size and its checksums.
func (d *draft) finish() (content, int64, [md5.Size]byte, uint32) {
	d.begin()
	c := content{bytes: d.bytes.Bytes()}
	if d.file != nil {
		_ = d.file.Close() // All writes were seen to succeed.
		c = content{file: d.file.Name()}
	}
	return c, d.size, [md5.Size]byte(d.md5.Sum(nil)), d.crc32c.Sum32()
}

func (d *draft) discard() {
	c, _, _, _ := d.finish()
	c.drop()
}

package transfer

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"net/http"
	"os"

	"k8s.io/utils/clock"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// partialSuffix is the suffix of the temporary file of a download.
const partialSuffix = ".partial"

// Options configure Run.
type Options struct {
	Order order.Order
	// Reread reads the Order again, which may have been renewed since; nil if it never is.
	Reread func() (order.Order, error)
	// Dir is the directory of the file.
	Dir string
	// HTTP sends the requests; the default is a transport that trusts the Order's CABundle.
	HTTP http.RoundTripper
	// Clock is the real clock by default.
	Clock clock.Clock
	// Out receives progress messages, one per line; may be nil.
	Out io.Writer
}

// Run executes an Order. If it returns nil, the whole file is at its destination; an
// error wraps *Error. Each request is of the Order as it is when the request is sent. Run ends when ctx is
// done, or when the requests have expired and the Order is not renewed.
func Run(ctx context.Context, o Options) error {
	m, err := newMover(o)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(o.Dir)
	if err != nil {
		return retry("opening the folder: %w", err)
	}
	defer func() { _ = root.Close() }()
	if o.Order.Direction == order.Fetch {
		if there, err := m.isThere(ctx, root); there || err != nil {
			return err
		}
	}
	if o.Order.Direction == order.Send {
		return m.send(ctx, root)
	}
	return m.fetch(ctx, root)
}

// mover transfers one file.
type mover struct {
	order    order.Order
	reread   func() (order.Order, error)
	http     http.RoundTripper
	clock    clock.Clock
	progress *progress
	// sums are the checksums of the parts of the file that was verified last.
	sums order.Checksums
}

func newMover(o Options) (*mover, error) {
	m := &mover{order: o.Order, reread: o.Reread, http: o.HTTP, clock: o.Clock}
	if m.clock == nil {
		m.clock = clock.RealClock{}
	}
	if m.http == nil {
		t, err := transport(o.Order.CABundle)
		if err != nil {
			return nil, err
		}
		m.http = t
	}
	out := o.Out
	if out == nil {
		out = io.Discard
	}
	m.progress = &progress{out: out, clock: m.clock}
	return m, nil
}

// send verifies the file and uploads the parts that have a request.
func (m *mover) send(ctx context.Context, root *os.Root) error {
	file, err := openRegular(root, m.order.File)
	if errors.Is(err, fs.ErrNotExist) {
		return failure(order.ExitGone, "%s: %w", m.order.File, errMissing)
	} else if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := m.verify(ctx, file); err != nil {
		return err
	}
	var todo int64
	for _, p := range m.order.Parts {
		if p.Request != nil {
			todo += p.Bytes
		}
	}
	m.progress.begin("sent", todo)
	var offset int64
	for i, p := range m.order.Parts {
		section := io.NewSectionReader(file, offset, p.Bytes)
		err := m.part(ctx, i, func(ctx context.Context, p order.Part) error { return m.put(ctx, p, section) })
		if Status(err) == order.ExitChecksums {
			return &Error{Status: order.ExitChecksums, Err: err, Checksums: m.sums}
		} else if err != nil {
			return err
		}
		offset += p.Bytes
	}
	return nil
}

// isThere reports whether the file exists with the right content. Otherwise it is
// overwritten.
func (m *mover) isThere(ctx context.Context, root *os.Root) (bool, error) {
	file, err := openRegular(root, m.order.File)
	if err != nil {
		return false, nil // A file that cannot be opened is replaced.
	}
	defer func() { _ = file.Close() }()
	if err := m.verify(ctx, file); err != nil {
		if ctx.Err() != nil {
			return false, ended(ctx)
		}
		return false, nil
	}
	m.progress.say(m.order.File + " exists already")
	return true, nil
}

// fetch downloads the parts that are missing, verifies the file and renames it.
func (m *mover) fetch(ctx context.Context, root *os.Root) error {
	partial := m.order.File + partialSuffix
	if named, err := root.Lstat(partial); err == nil && !named.Mode().IsRegular() {
		return failure(order.ExitFinal, "%s: %w", partial, errNoFile)
	}
	file, err := root.OpenFile(partial, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return retry("creating the file: %w", err)
	}
	resumed, err := m.fill(ctx, file)
	if resumed && Status(err) == order.ExitFinal {
		m.progress.say("the existing parts are invalid; downloading all parts again")
		if err = file.Truncate(0); err != nil {
			err = retry("writing the file: %w", err)
		} else {
			_, err = m.fill(ctx, file)
		}
	}
	if closed := file.Close(); err == nil && closed != nil {
		err = retry("writing the file: %w", closed)
	}
	if Status(err) == order.ExitFinal {
		_ = root.Remove(partial) // It cannot be completed.
	}
	if err != nil {
		return err
	}
	if err := root.Rename(partial, m.order.File); err != nil {
		return retry("naming the file: %w", err)
	}
	return syncFolder(root)
}

// fill downloads the missing parts in order, and verifies the whole file.
func (m *mover) fill(ctx context.Context, file *os.File) (resumed bool, err error) {
	first, offset, err := m.resume(file)
	if err != nil {
		return false, err
	}
	resumed = first > 0
	m.progress.begin("fetched", m.order.Bytes-offset)
	for i, p := range m.order.Parts[first:] {
		i += first
		if err := m.part(ctx, i, func(ctx context.Context, p order.Part) error {
			return m.get(ctx, p, io.NewOffsetWriter(file, offset))
		}); err != nil {
			return resumed, err
		}
		offset += p.Bytes
	}
	if err := file.Sync(); err != nil {
		return resumed, retry("writing the file: %w", err)
	}
	return resumed, m.verify(ctx, file)
}

// resume returns the first part to download, and its offset. Earlier parts were written
// completely, because they are written in order; whether their content is right is only
// known from the checksum of the whole file.
func (m *mover) resume(file *os.File) (first int, offset int64, err error) {
	info, err := file.Stat()
	if err != nil {
		return 0, 0, retry("reading the file: %w", err)
	}
	for _, p := range m.order.Parts {
		if offset+p.Bytes > info.Size() {
			break
		}
		first++
		offset += p.Bytes
	}
	if err := file.Truncate(offset); err != nil {
		return 0, 0, retry("writing the file: %w", err)
	}
	if first > 0 {
		m.progress.say(fmt.Sprintf("%d of %d parts exist already", first, len(m.order.Parts)))
	}
	return first, offset, nil
}

// verify compares size and checksum of a file with the Order, and takes the checksums of its parts.
func (m *mover) verify(ctx context.Context, file *os.File) error {
	info, err := file.Stat()
	if err != nil {
		return retry("reading the file: %w", err)
	}
	if info.Size() != m.order.Bytes {
		return failure(order.ExitFinal, "%s has %d bytes, want %d: %w", m.order.File, info.Size(), m.order.Bytes, errOther)
	}
	m.progress.begin("checked", m.order.Bytes)
	sum, from := sha256.New(), &reader{stopped: ctx.Err, from: io.NewSectionReader(file, 0, m.order.Bytes), progress: m.progress}
	m.sums = m.sums[:0]
	for _, p := range m.order.Parts {
		ofPart := crc32.New(crc32.MakeTable(crc32.Castagnoli))
		if _, err := io.CopyN(io.MultiWriter(sum, ofPart), from, p.Bytes); err != nil {
			if ctx.Err() != nil {
				return ended(ctx)
			}
			return retry("reading the file: %w", err)
		}
		m.sums = append(m.sums, ofPart.Sum32())
	}
	if hex.EncodeToString(sum.Sum(nil)) != m.order.SHA256 {
		return failure(order.ExitFinal, "the checksum of %s: %w", m.order.File, errOther)
	}
	return nil
}

// openRegular opens a regular file; it fails for symbolic links.
func openRegular(root *os.Root, name string) (*os.File, error) {
	named, err := root.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, err
	} else if err != nil {
		return nil, retry("looking for the file: %w", err)
	}
	if !named.Mode().IsRegular() {
		return nil, failure(order.ExitFinal, "%s: %w", name, errNoFile)
	}
	file, err := root.Open(name)
	if err != nil {
		return nil, retry("opening the file: %w", err)
	}
	if opened, err := file.Stat(); err != nil || !os.SameFile(named, opened) {
		_ = file.Close()
		return nil, failure(order.ExitFinal, "%s: %w", name, errNoFile)
	}
	return file, nil
}

// syncFolder makes the renaming of a file durable.
func syncFolder(root *os.Root) error {
	folder, err := root.Open(".")
	if err != nil {
		return retry("opening the folder: %w", err)
	}
	defer func() { _ = folder.Close() }()
	if err := folder.Sync(); err != nil {
		return retry("writing the folder: %w", err)
	}
	return nil
}

package binaries

import (
	"context"
	"crypto/sha256"
	"crypto/sha512"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

const (
	// downloadInterval is the time between two lines about a download.
	downloadInterval = 3 * time.Second
	// downloadTimeout bounds a download that makes progress: building takes as long.
	downloadTimeout = 10 * time.Minute
	// defaultMaxSilence is how long a server may be silent.
	defaultMaxSilence = 5 * time.Second
	// maxChecksums bounds a document with checksums.
	maxChecksums = 4 << 20
	mebibyte     = 1 << 20
)

var (
	errSilent     = errors.New("the server is silent")
	errChecksum   = errors.New("its checksum is not the published one")
	errNoChecksum = errors.New("no checksum is published")
	errStatus     = errors.New("the server answered")
)

// transfer downloads released programs into a folder.
type transfer struct {
	Releases

	pins     pins
	dir      Dir
	progress io.Writer

	received, expected atomic.Int64
}

// download downloads the programs that are released, at the same time, and reports those
// that it does not get. It returns an error only if the context ends.
func (t *transfer) download(ctx context.Context, programs []program) error {
	releases := t.of(programs, t.pins)
	if len(releases) == 0 {
		return nil
	}
	released := make([]string, 0, len(releases))
	for _, r := range releases {
		released = append(released, r.names())
	}
	what := "downloading " + strings.Join(released, ", ")
	bounded, cancel := context.WithTimeout(ctx, downloadTimeout)
	defer cancel()
	finish := task{what: what, every: downloadInterval, detail: func() string {
		return fmt.Sprintf("%d of %d MiB", t.received.Load()/mebibyte, t.expected.Load()/mebibyte)
	}}.report(t.progress)
	failed := make([]error, len(releases))
	var group sync.WaitGroup
	for i, r := range releases {
		group.Go(func() { failed[i] = t.one(bounded, r, i) })
	}
	group.Wait()
	finish()
	if err := context.Cause(ctx); err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	for i, err := range failed {
		if err != nil {
			_, _ = fmt.Fprintf(t.progress, "cannot download %s, building it instead: %v\n", releases[i].names(), err)
		}
	}
	return nil
}

// one downloads a release, and puts its programs in place if its checksum is right. The number
// distinguishes it from the others.
func (t *transfer) one(ctx context.Context, from release, number int) error {
	published, err := t.checksum(ctx, from)
	if err != nil {
		return err
	}
	downloaded := t.dir.Path(fmt.Sprintf(".%d.download", number))
	defer func() { _ = os.Remove(downloaded) }()
	sum, err := t.save(ctx, from, downloaded)
	if err != nil {
		return err
	}
	if sum != published {
		return fmt.Errorf("verifying %s: %w: %s instead of %s", from.file, errChecksum, sum, published)
	}
	for name, member := range from.programs {
		if err := t.place(downloaded, member, name); err != nil {
			return err
		}
	}
	return nil
}

// place puts a program of a downloaded file in place.
func (t *transfer) place(downloaded, member, name string) error {
	unpacked := downloaded
	if member != "" {
		unpacked = t.dir.Path("." + name + ".partial")
		defer func() { _ = os.Remove(unpacked) }()
		if err := extract(downloaded, member, unpacked); err != nil {
			return err
		}
	}
	if err := os.Chmod(unpacked, 0o700); err != nil {
		return fmt.Errorf("making %q executable: %w", name, err)
	}
	if err := os.Rename(unpacked, t.dir.Path(name)); err != nil {
		return fmt.Errorf("putting %q in place: %w", name, err)
	}
	return nil
}

// checksum returns the published checksum of a file.
func (t *transfer) checksum(ctx context.Context, from release) (string, error) {
	if from.sha512 != "" {
		return from.sha512, nil
	}
	var raw []byte
	err := t.get(ctx, from.checksums, func(answer io.Reader, _ int64) (err error) {
		raw, err = io.ReadAll(io.LimitReader(answer, maxChecksums))
		return err
	})
	if err != nil {
		return "", err
	}
	sum := from.find(raw, path.Base(from.file))
	if sum == "" {
		return "", fmt.Errorf("reading %s: %w", from.checksums, errNoChecksum)
	}
	return sum, nil
}

// save writes the response to a file and returns its checksum.
func (t *transfer) save(ctx context.Context, from release, name string) (string, error) {
	file, err := os.OpenFile(name, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return "", fmt.Errorf("creating %q: %w", name, err)
	}
	sum := sha256.New()
	if from.sha512 != "" {
		sum = sha512.New()
	}
	err = t.get(ctx, from.file, func(answer io.Reader, length int64) error {
		t.expected.Add(max(length, 0))
		_, err := io.Copy(io.MultiWriter(file, sum, (*counter)(&t.received)), answer)
		return err
	})
	if err := errors.Join(err, file.Close()); err != nil {
		return "", err
	}
	return hex.EncodeToString(sum.Sum(nil)), nil
}

// get passes on the body of a response and its length. It gives up if the server is
// silent for too long.
func (t *transfer) get(ctx context.Context, address string, read func(answer io.Reader, length int64) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	silence := time.AfterFunc(t.MaxSilence, func() { cancel(fmt.Errorf("%w for %s", errSilent, t.MaxSilence)) })
	defer silence.Stop()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return fmt.Errorf("making a request for %s: %w", address, err)
	}
	answer, err := http.DefaultClient.Do(request)
	if err == nil {
		if answer.StatusCode == http.StatusOK {
			err = read(&attentive{Reader: answer.Body, silence: silence, maxSilence: t.MaxSilence}, answer.ContentLength)
		} else {
			err = fmt.Errorf("%w %s", errStatus, answer.Status)
		}
		err = errors.Join(err, answer.Body.Close())
	}
	// The client's error repeats the address.
	if client := (*url.Error)(nil); errors.As(err, &client) {
		err = client.Err
	}
	if err != nil && ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fmt.Errorf("getting %s: %w", address, err)
	}
	return nil
}

// attentive restarts the time of silence with each read.
type attentive struct {
	io.Reader

	silence    *time.Timer
	maxSilence time.Duration
}

func (a *attentive) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	a.silence.Reset(a.maxSilence)
	return n, err
}

// counter counts the bytes written to it.
type counter atomic.Int64

func (c *counter) Write(p []byte) (int, error) {
	(*atomic.Int64)(c).Add(int64(len(p)))
	return len(p), nil
}

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/scheme"
)

// frameBuffer is how much of an event is read at once, in bytes.
const frameBuffer = 64 << 10

// filterWatch applies the faults to each event of a watch.
func (p *Proxy) filterWatch(response *http.Response) error {
	x, ok := response.Request.Context().Value(exchangeKey{}).(*exchange)
	if !ok || x.entry.Verb != "watch" || response.StatusCode != http.StatusOK {
		return nil
	}
	media, _, err := mime.ParseMediaType(response.Header.Get("Content-Type"))
	if err != nil {
		return fmt.Errorf("reading the type of a watch: %w", err)
	}
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok || info.StreamSerializer == nil {
		return nil
	}
	response.Body = &events{
		exchange: x, info: info,
		frames: info.StreamSerializer.NewFrameReader(response.Body),
	}
	return nil
}

// events is the body of a watch, event by event.
type events struct {
	exchange *exchange
	info     runtime.SerializerInfo
	frames   io.ReadCloser
	// pending holds an event that was read and has not passed yet.
	pending bytes.Buffer
	// silent means that an event was swallowed, over that the stream has ended.
	silent, over bool
}

// Close implements io.Closer.
func (e *events) Close() error { return e.frames.Close() }

// Read implements io.Reader.
func (e *events) Read(p []byte) (int, error) {
	for e.pending.Len() == 0 {
		if e.over {
			return 0, io.EOF
		}
		frame, err := e.next()
		if err != nil {
			return 0, err
		}
		if frame, err = e.filter(frame); err != nil {
			return 0, err
		}
		if frame == nil {
			continue
		}
		if _, err := e.info.StreamSerializer.NewFrameWriter(&e.pending).Write(frame); err != nil {
			return 0, fmt.Errorf("writing an event: %w", err)
		}
	}
	return e.pending.Read(p)
}

// next reads one event.
func (e *events) next() ([]byte, error) {
	var frame []byte
	part := make([]byte, frameBuffer)
	for {
		n, err := e.frames.Read(part)
		frame = append(frame, part[:n]...)
		if !errors.Is(err, io.ErrShortBuffer) {
			return frame, err
		}
	}
}

// filter returns what passes of an event: itself, nothing, or an error of the API.
func (e *events) filter(frame []byte) ([]byte, error) {
	f := e.exchange.proxy.fault(e.exchange.entry)
	switch {
	case e.silent:
		return nil, nil
	case f == nil:
		return frame, nil
	case f.action.swallow:
		e.silent = true
		return nil, nil
	}
	e.exchange.wait(f, 0)
	e.exchange.proxy.mu.Lock()
	e.over = f.expired
	e.exchange.proxy.mu.Unlock()
	if !e.over {
		return frame, nil
	}
	return e.expired()
}

// fault returns the fault that an event of a watch meets, if any.
func (p *Proxy) fault(entry *Entry) *Fault {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		if f.action.serve == nil && f.match.accepts(entry.Event) {
			f.fired++
			entry.Fault = f.action.name
			return f
		}
	}
	return nil
}

// expired encodes the event that ends a watch whose version was compacted.
func (e *events) expired() ([]byte, error) {
	status := apierrors.NewResourceExpired("injected").Status()
	object, err := runtime.Encode(scheme.Codecs.EncoderForVersion(e.info.Serializer, corev1.SchemeGroupVersion), &status)
	if err != nil {
		return nil, fmt.Errorf("encoding a status: %w", err)
	}
	var frame bytes.Buffer
	event := &metav1.WatchEvent{Type: string(watch.Error), Object: runtime.RawExtension{Raw: object}}
	if err := e.info.StreamSerializer.Encode(event, &frame); err != nil {
		return nil, fmt.Errorf("encoding an event: %w", err)
	}
	return frame.Bytes(), nil
}

package bucket

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// ProviderMemory is the provider without a wire, in errors.
const ProviderMemory v1.Provider = "memory"

// maxWhole is the most that PutObject and GetObject take, in bytes.
const maxWhole = 1 << 20

// Options configures Objects.
type Options struct {
	// Prefix is the account's, without slashes at its ends; empty means no prefix.
	Prefix string
	// URL is the address of the store, for signed requests; without a trailing slash.
	URL string
	// Script injects faults; nil injects none.
	Script *faults.Script
	// BadCredentials are refused, Missing is a bucket that is not there.
	BadCredentials, Missing bool
	// PageSize returns the number of objects in a page of a list; nil or 0 means 1000.
	PageSize func() int
}

// Connect makes Objects on a store.
func Connect(store *Store, o Options) cloud.ObjectStore {
	if o.Prefix != "" {
		o.Prefix += "/"
	}
	return &objects{store: store, Options: o}
}

type objects struct {
	Options

	store *Store
}

// SignRequests implements cloud.ObjectStore. It sends nothing.
func (o *objects) SignRequests(_ context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	const op = "SignRequests"
	if err := cloud.CheckRequests(wanted, life); err != nil {
		return nil, o.fail(op, &cloud.Error{Class: cloud.ClassInvalid, Message: err.Error(), Err: err})
	}
	if o.BadCredentials {
		return nil, o.fail(op, badCredentials())
	}
	out := make([]cloud.SignedRequest, 0, len(wanted))
	for _, w := range wanted {
		signed := o.store.sign(o.URL, w.Method, o.Prefix+w.Key, life)
		if w.CRC32C != "" {
			signed.Header["Crc32c"] = w.CRC32C // It is not verified.
		}
		out = append(out, signed)
	}
	return out, nil
}

// PutObject implements cloud.ObjectStore.
func (o *objects) PutObject(ctx context.Context, key string, content []byte) error {
	const op = "PutObject"
	if err := o.check(op, key, int64(len(content))); err != nil {
		return err
	}
	_, err := ask(ctx, o, request{op, faults.OpPutObject, key}, func() (Object, error) {
		return o.store.Create(o.Prefix+key, bytes.NewReader(content))
	})
	if !errors.Is(err, ErrExists) {
		return err
	}
	same, err := o.read(ctx, op, key)
	if err == nil && !bytes.Equal(same, content) {
		err = o.fail(op, &cloud.Error{Class: cloud.ClassConflict, Code: "Exists", Message: fmt.Sprintf("object %q has another content", key)})
	}
	return err
}

// GetObject implements cloud.ObjectStore.
func (o *objects) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	const op = "GetObject"
	if err := o.check(op, key, limit); err != nil {
		return nil, err
	}
	content, err := o.read(ctx, op, key)
	if err != nil {
		return nil, err
	}
	if int64(len(content)) > limit {
		return nil, o.fail(op, &cloud.Error{Class: cloud.ClassInvalid, Code: "TooLarge", Message: fmt.Sprintf("object %q has more than %d bytes", key, limit)})
	}
	return content, nil
}

func (o *objects) read(ctx context.Context, op, key string) ([]byte, error) {
	return ask(ctx, o, request{op, faults.OpGetObject, key}, func() ([]byte, error) {
		_, reader, err := o.store.Open(o.Prefix + key)
		if err != nil {
			return nil, err
		}
		defer func() { _ = reader.Close() }()
		return io.ReadAll(io.LimitReader(reader, maxWhole+1))
	})
}

// page is one page of a list.
type page struct {
	objects []Object
	more    bool
}

// ListObjects implements cloud.ObjectStore.
func (o *objects) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	return func(yield func(cloud.Object, error) bool) {
		size, after := 1000, ""
		if o.PageSize != nil && o.PageSize() > 0 {
			size = o.PageSize()
		}
		for more := true; more; {
			got, err := ask(ctx, o, request{"ListObjects", faults.OpListObjects, prefix}, func() (page, error) {
				list, more := o.store.Page(o.Prefix+prefix, after, size)
				return page{list, more}, nil
			})
			if err != nil {
				yield(cloud.Object{}, err)
				return
			}
			for _, object := range got.objects {
				after = object.Key
				if !yield(cloud.Object{Key: strings.TrimPrefix(object.Key, o.Prefix), Bytes: object.Bytes, ModifiedAt: object.ModifiedAt}, nil) {
					return
				}
			}
			more = got.more
		}
	}
}

// DeleteObject implements cloud.ObjectStore.
func (o *objects) DeleteObject(ctx context.Context, key string) error {
	const op = "DeleteObject"
	if err := o.check(op, key, 0); err != nil {
		return err
	}
	_, err := ask(ctx, o, request{op, faults.OpDeleteObject, key}, func() (struct{}, error) {
		if err := o.store.Delete(o.Prefix + key); !errors.Is(err, ErrMissing) {
			return struct{}{}, err
		}
		return struct{}{}, nil
	})
	return err
}

// check rejects calls that the interface does not allow. It sends nothing.
func (o *objects) check(op, key string, size int64) error {
	err := cloud.CheckKey(key)
	if err == nil && (size < 0 || size > maxWhole) {
		err = fmt.Errorf("%d bytes are not 0 to %d", size, maxWhole)
	}
	if err != nil {
		return o.fail(op, &cloud.Error{Class: cloud.ClassInvalid, Message: err.Error(), Err: err})
	}
	return nil
}

// request is one request to the bucket, on behalf of a method.
type request struct {
	method string
	op     faults.Op
	what   string
}

// errLost is the cause when an answer does not come.
var errLost = errors.New("connection lost")

// ask sends a request: it calls the store, unless the script injects a fault. It returns
// ErrExists of the store unchanged.
func ask[T any](ctx context.Context, m *objects, r request, do func() (T, error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, m.lost(r, ctx.Err())
	}
	fault, wrong := faults.Fault{}, false
	if m.Script != nil {
		fault, wrong = m.Script.Next(r.op, string(r.op)+" "+r.what)
	}
	switch {
	case !wrong && m.BadCredentials:
		return none, m.fail(r.method, badCredentials())
	case !wrong && m.Missing:
		return none, m.fail(r.method, &cloud.Error{Class: cloud.ClassNotFound, Code: "NoSuchBucket", Message: "the bucket does not exist"})
	case !wrong:
		got, err := do()
		return got, m.answer(r, err)
	case fault.Kind == faults.Refuse:
		return none, m.refused(r, fault.Answer)
	case fault.Kind == faults.Hang:
		<-ctx.Done()
		return none, m.lost(r, ctx.Err())
	case fault.Kind == faults.DropAfter || fault.Kind == faults.Truncate:
		_, _ = do() // It takes effect, and its result is lost.
	}
	return none, m.lost(r, errLost)
}

// answer returns the error with which the bucket reports an error of the store.
func (o *objects) answer(r request, err error) error {
	switch {
	case err == nil, errors.Is(err, ErrExists):
		return err
	case errors.Is(err, ErrMissing):
		return o.fail(r.method, &cloud.Error{Class: cloud.ClassNotFound, Code: "NoSuchKey", Message: fmt.Sprintf("object %q does not exist", r.what), Err: err})
	case errors.Is(err, ErrLocked):
		return o.fail(r.method, &cloud.Error{Class: cloud.ClassLocked, Code: "Locked", Message: fmt.Sprintf("object %q is locked", r.what), Err: err})
	default:
		return o.lost(r, err)
	}
}

func badCredentials() *cloud.Error {
	return &cloud.Error{Class: cloud.ClassAuthExpired, Code: "BadCredentials", Message: "the credentials are not accepted"}
}

// fail adds the provider and the operation to an error.
func (*objects) fail(op string, e *cloud.Error) error {
	e.Provider, e.Op = ProviderMemory, op
	return e
}

// lost returns the error of a request without a response.
func (o *objects) lost(r request, cause error) error {
	class := cloud.ClassTransient
	if r.op.Mutates() {
		class = cloud.ClassAmbiguous
	}
	return o.fail(r.method, &cloud.Error{Class: class, Message: cause.Error(), Err: cause})
}

// The headers of a refusal.
const (
	headerClass = "Class"
	headerAfter = "Retry-After"
)

// Refusal returns this provider's response for an error class of an operation.
func Refusal(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	header := http.Header{headerClass: {string(class)}}
	if after > 0 {
		header.Set(headerAfter, strconv.Itoa(int(after/time.Second)))
	}
	return faults.Answer{Status: http.StatusBadRequest, Header: header, Body: fmt.Sprintf("%s is refused: permission memory.%s", op, op)}
}

// refused returns the error of a response that the script refuses.
func (o *objects) refused(r request, a faults.Answer) error {
	e := &cloud.Error{Class: cloud.Class(a.Header.Get(headerClass)), Message: a.Body}
	e.Code = "Refused" + string(e.Class)
	if seconds, err := strconv.Atoi(a.Header.Get(headerAfter)); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if e.Class == cloud.ClassThrottled && e.RetryAfter == 0 {
		e.RetryAfter = 5 * time.Second
	}
	if e.Class == cloud.ClassTransient && r.op.Mutates() {
		e.Class = cloud.ClassAmbiguous // As with any 5xx.
	}
	return o.fail(r.method, e)
}

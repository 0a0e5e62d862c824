package objectstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/api/googleapi"
	"google.golang.org/api/storage/v1"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
)

const (
	// maxWhole is the most that is sent or read at once, in bytes.
	maxWhole = 1 << 20
	// pageSize is the number of objects per page, Google's maximum.
	pageSize = 1000
	// codeTooLarge is the code of an object that is larger than the caller wants it.
	codeTooLarge = "TooLarge"
)

// PutObject makes an object.
func (o *objects) PutObject(ctx context.Context, key string, content []byte) error {
	const op = "PutObject"
	if err := check(op, key, int64(len(content))); err != nil {
		return err
	}
	_, status, err := do(ctx, o, call[*storage.Object]{op: op, mutates: true, gone: codeNoBucket, send: func(ctx context.Context, s *storage.ObjectsService) (*storage.Object, error) {
		made := &storage.Object{Name: o.prefix + key, Crc32c: checksum(content)}
		return s.Insert(o.bucket, made).IfGenerationMatch(0).Fields("generation").
			Media(bytes.NewReader(content), googleapi.ChunkSize(0), googleapi.ContentType("application/octet-stream")).Context(ctx).Do()
	}})
	// Without the permission to overwrite, the error is about the permission or the
	// existing object.
	if status != http.StatusPreconditionFailed && codeOf(err) != "storage.objects.delete" && cloud.ClassOf(err) != cloud.ClassLocked {
		return err
	}
	there, err := o.read(ctx, op, key, int64(len(content)))
	switch {
	case err == nil && bytes.Equal(there, content):
		return nil
	case err == nil || codeOf(err) == codeTooLarge:
		return apierror.Refuse(op, cloud.ClassConflict, "object %q is there with another content", key)
	case codeOf(err) == codeNoKey:
		return apierror.Refuse(op, cloud.ClassTransient, "object %q was there, and is not any more", key)
	default:
		return err
	}
}

// GetObject reads an object.
func (o *objects) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	const op = "GetObject"
	if err := check(op, key, limit); err != nil {
		return nil, err
	}
	return o.read(ctx, op, key, limit)
}

// errContent means that the content differs from the object's metadata.
var errContent = errors.New("the content is not that of the object")

// read returns an object of at most limit bytes: its metadata, then the content of that
// generation.
func (o *objects) read(ctx context.Context, op, key string, limit int64) ([]byte, error) {
	found, err := o.stat(ctx, op, key, "generation,size,crc32c")
	if err != nil {
		return nil, err
	}
	if size, err := bytesOf(found); err != nil || size > limit {
		e := apierror.Refuse(op, cloud.ClassInvalid, "object %q has %d bytes, more than %d", key, found.Size, limit)
		e.Code = codeTooLarge
		return nil, e
	}
	content, _, err := do(ctx, o, call[[]byte]{op: op, gone: codeNoKey, send: func(ctx context.Context, s *storage.ObjectsService) ([]byte, error) {
		response, err := s.Get(o.bucket, o.prefix+key).Generation(found.Generation).Context(ctx).Download()
		if err != nil {
			return nil, err
		}
		defer func() { _ = response.Body.Close() }()
		content, err := io.ReadAll(io.LimitReader(response.Body, limit+1))
		if err == nil && checksum(content) != found.Crc32c {
			err = errContent
		}
		return content, err
	}})
	if err != nil {
		return nil, err
	}
	return content, nil
}

// stat reads some fields of an object.
func (o *objects) stat(ctx context.Context, op, key string, fields googleapi.Field) (*storage.Object, error) {
	found, _, err := do(ctx, o, call[*storage.Object]{op: op, send: func(ctx context.Context, s *storage.ObjectsService) (*storage.Object, error) {
		return s.Get(o.bucket, o.prefix+key).Fields(fields).Context(ctx).Do()
	}})
	if cloud.ClassOf(err) == cloud.ClassNotFound {
		err = o.missing(ctx, op, key)
	}
	if err != nil {
		return nil, err
	}
	return found, nil
}

// missing returns the error for an object that is not found. Google distinguishes a missing
// object from a missing bucket only in the text of its message, so missing lists objects,
// for which only the bucket must exist.
func (o *objects) missing(ctx context.Context, op, key string) error {
	_, err := o.page(ctx, op, key, page{size: 1})
	if err != nil && cloud.ClassOf(err) != cloud.ClassDenied {
		return err
	}
	e := apierror.Refuse(op, cloud.ClassNotFound, "object %q is not there", key)
	e.Code = codeNoKey
	return e
}

// checksum returns the CRC32C of a content in the encoding of Google.
func checksum(content []byte) string {
	sum := crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli))
	return base64.StdEncoding.EncodeToString(binary.BigEndian.AppendUint32(nil, sum))
}

// ListObjects reads all whose keys begin with a prefix.
func (o *objects) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	const op = "ListObjects"
	return func(yield func(cloud.Object, error) bool) {
		for token, more := "", true; more; more = token != "" {
			list, err := o.page(ctx, op, prefix, page{token: token, size: pageSize})
			if err != nil {
				yield(cloud.Object{}, err)
				return
			}
			for _, item := range list.Items {
				found, err := o.object(item)
				if !yield(found, err) || err != nil {
					return
				}
			}
			token = list.NextPageToken
		}
	}
}

// page is a page of a list: its start and its size.
type page struct {
	token string
	size  int64
}

func (o *objects) page(ctx context.Context, op, prefix string, p page) (*storage.Objects, error) {
	list, _, err := do(ctx, o, call[*storage.Objects]{op: op, gone: codeNoBucket, send: func(ctx context.Context, s *storage.ObjectsService) (*storage.Objects, error) {
		list := s.List(o.bucket).Prefix(o.prefix+prefix).MaxResults(p.size).Fields("nextPageToken", "items(name,size,timeCreated)")
		if p.token != "" {
			list = list.PageToken(p.token)
		}
		return list.Context(ctx).Do()
	}})
	return list, err
}

// object converts an item of a list to cloud.Object.
func (o *objects) object(item *storage.Object) (cloud.Object, error) {
	at, err := time.Parse(time.RFC3339, item.TimeCreated)
	size, sizeErr := bytesOf(item)
	if err != nil || sizeErr != nil {
		return cloud.Object{}, apierror.Refuse("ListObjects", cloud.ClassTransient, "the list says nothing sound of object %q", item.Name)
	}
	return cloud.Object{Key: strings.TrimPrefix(item.Name, o.prefix), Bytes: size, ModifiedAt: at}, nil
}

// bytesOf returns the size of an object.
func bytesOf(o *storage.Object) (int64, error) {
	size, err := strconv.ParseInt(strconv.FormatUint(o.Size, 10), 10, 64)
	if err != nil {
		return 0, fmt.Errorf("reading the size: %w", err)
	}
	return size, nil
}

// DeleteObject deletes an object.
func (o *objects) DeleteObject(ctx context.Context, key string) error {
	const op = "DeleteObject"
	if err := check(op, key, 0); err != nil {
		return err
	}
	_, _, err := do(ctx, o, call[struct{}]{op: op, mutates: true, empty: true, send: func(ctx context.Context, s *storage.ObjectsService) (struct{}, error) {
		return struct{}{}, s.Delete(o.bucket, o.prefix+key).Context(ctx).Do()
	}})
	switch {
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		if err := o.missing(ctx, op, key); codeOf(err) != codeNoKey {
			return err
		}
		return nil
	case cloud.ClassOf(err) == cloud.ClassDenied && codeOf(err) == "forbidden":
		return o.orLocked(ctx, key, err)
	default:
		return err
	}
}

// orLocked returns the error of a denied deletion without a permission. Google reports a
// hold or a retention policy with reasons of their own, and formerly with this one.
func (o *objects) orLocked(ctx context.Context, key string, denied error) error {
	const op = "DeleteObject"
	found, err := o.stat(ctx, op, key, "temporaryHold,eventBasedHold,retentionExpirationTime")
	if err != nil {
		return denied
	}
	until, err := time.Parse(time.RFC3339, found.RetentionExpirationTime)
	switch {
	case found.TemporaryHold || found.EventBasedHold:
		return apierror.Refuse(op, cloud.ClassLocked, "object %q is under a hold", key)
	case err == nil && o.clock.Now().Before(until):
		return apierror.Refuse(op, cloud.ClassLocked, "object %q is retained until %s", key, until.UTC().Format(time.RFC3339))
	default:
		return denied
	}
}

// codeOf returns the code of a cloud.Error, or an empty string.
func codeOf(err error) string {
	if e, ok := errors.AsType[*cloud.Error](err); ok {
		return e.Code
	}
	return ""
}

// check returns an error for arguments that cloud.ObjectStore does not allow. No request is
// sent.
func check(op, key string, size int64) error {
	err := cloud.CheckKey(key)
	if err == nil && (size < 0 || size > maxWhole) {
		err = fmt.Errorf("%d bytes are not 0 to %d", size, maxWhole)
	}
	if err != nil {
		return apierror.Refuse(op, cloud.ClassInvalid, "%v", err)
	}
	return nil
}

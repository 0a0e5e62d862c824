package objectstore

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"iter"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/streaming"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/blockblob"
	"github.com/Azure/azure-sdk-for-go/sdk/storage/azblob/container"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/azure/apierror"
)

const (
	// maxWhole is the maximum size of an object that is read or written, in bytes.
	maxWhole = 1 << 20
	// codeInvalidAnswer is our own.
	codeInvalidAnswer = "InvalidAnswer"
)

// PutObject implements cloud.ObjectStore. It reads an existing blob to find out whether an
// earlier attempt created it.
func (b *box) PutObject(ctx context.Context, key string, content []byte) error {
	q := question("PutObject", "write")
	if err := checkObject(q, key, int64(len(content))); err != nil {
		return err
	}
	_, err := b.container.NewBlockBlobClient(b.prefix+key).Upload(ctx, streaming.NopCloser(bytes.NewReader(content)), &blockblob.UploadOptions{
		AccessConditions: &blob.AccessConditions{ModifiedAccessConditions: &blob.ModifiedAccessConditions{IfNoneMatch: new(azcore.ETagAny)}},
	})
	if err = b.fail(q, err); cloud.ClassOf(err) != cloud.ClassConflict {
		return err
	}
	there, more, readErr := b.read(ctx, question(q.Op, "read"), key, int64(len(content)))
	switch {
	case codeOf(readErr) == codeMissing: // Deleted meanwhile.
		return q.Refuse(cloud.ClassTransient, codeOf(err), fmt.Sprintf("blob %q was there, and is gone", key))
	case readErr != nil:
		return readErr
	case more || !bytes.Equal(there, content):
		return q.Refuse(cloud.ClassConflict, codeOf(err), fmt.Sprintf("there is a blob %q of another content", key))
	}
	return nil
}

// GetObject reads a blob.
func (b *box) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	q := question("GetObject", "read")
	if err := checkObject(q, key, limit); err != nil {
		return nil, err
	}
	content, more, err := b.read(ctx, q, key, limit)
	if err != nil {
		return nil, err
	}
	if more {
		return nil, q.Refuse(cloud.ClassInvalid, "TooLarge", fmt.Sprintf("blob %q has more than %d bytes", key, limit))
	}
	return content, nil
}

// read reads at most limit bytes of a blob, and reports whether it has more.
func (b *box) read(ctx context.Context, q apierror.Question, key string, limit int64) ([]byte, bool, error) {
	answer, err := b.container.NewBlobClient(b.prefix+key).DownloadStream(ctx, nil)
	if err != nil {
		return nil, false, b.fail(q, err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.BlobType == nil || answer.ContentLength == nil {
		return nil, false, q.Refuse(q.Lost(), codeInvalidAnswer, "the answer is not a blob")
	}
	if *answer.ContentLength > limit {
		return nil, true, nil
	}
	content, err := io.ReadAll(io.LimitReader(answer.Body, limit+1))
	if err != nil {
		return nil, false, b.fail(q, err)
	}
	if int64(len(content)) != *answer.ContentLength {
		return nil, false, q.Refuse(q.Lost(), codeInvalidAnswer, "the answer is not as long as it says")
	}
	return content, false, nil
}

// ListObjects reads the pages of a flat list.
func (b *box) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	q := question("ListObjects", "read")
	return func(yield func(cloud.Object, error) bool) {
		pages := b.container.NewListBlobsFlatPager(&container.ListBlobsFlatOptions{Prefix: new(b.prefix + prefix)})
		for pages.More() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(cloud.Object{}, b.fail(q, err))
				return
			}
			if page.Segment == nil {
				yield(cloud.Object{}, q.Refuse(q.Lost(), codeInvalidAnswer, "the answer is not a list"))
				return
			}
			for object, err := range b.objects(q, page.Segment.BlobItems, prefix) {
				if !yield(object, err) || err != nil {
					return
				}
			}
		}
	}
}

// objects returns the objects of a page of items. It ends with an error at the first invalid
// item.
func (b *box) objects(q apierror.Question, items []*container.BlobItem, prefix string) iter.Seq2[cloud.Object, error] {
	return func(yield func(cloud.Object, error) bool) {
		for _, item := range items {
			if folder(item) {
				continue
			}
			object, ok := b.object(item, prefix)
			if !ok {
				yield(cloud.Object{}, q.Refuse(q.Lost(), codeInvalidAnswer, "the list has what was not asked for"))
				return
			}
			if !yield(object, nil) {
				return
			}
		}
	}
}

// folder reports whether an item is one of the folders that accounts with a hierarchy have.
func folder(item *container.BlobItem) bool {
	return item != nil && item.Properties != nil && item.Properties.ResourceType != nil && *item.Properties.ResourceType == "directory"
}

// object returns the object that an item of a list describes, and whether the item is valid.
func (b *box) object(item *container.BlobItem, prefix string) (cloud.Object, bool) {
	if item == nil || item.Name == nil || item.Properties == nil || item.Properties.ContentLength == nil || item.Properties.LastModified == nil {
		return cloud.Object{}, false
	}
	key, ok := strings.CutPrefix(*item.Name, b.prefix)
	return cloud.Object{Key: key, Bytes: *item.Properties.ContentLength, ModifiedAt: *item.Properties.LastModified}, ok && strings.HasPrefix(key, prefix)
}

// DeleteObject deletes a blob and its snapshots, which would hold it.
func (b *box) DeleteObject(ctx context.Context, key string) error {
	q := question("DeleteObject", "delete")
	if err := checkObject(q, key, 0); err != nil {
		return err
	}
	_, err := b.container.NewBlobClient(b.prefix+key).Delete(ctx, &blob.DeleteOptions{DeleteSnapshots: new(blob.DeleteSnapshotsOptionTypeInclude)})
	if err = b.fail(q, err); codeOf(err) == codeMissing {
		return nil
	}
	return err
}

// checkObject returns an error for arguments that cloud.ObjectStore does not allow. No
// request is sent.
func checkObject(q apierror.Question, key string, size int64) error {
	err := cloud.CheckKey(key)
	if err == nil && (size < 0 || size > maxWhole) {
		err = fmt.Errorf("%d bytes are not 0 to %d", size, maxWhole)
	}
	if err != nil {
		out := q.Refuse(cloud.ClassInvalid, "", err.Error())
		out.Err = err
		return out
	}
	return nil
}

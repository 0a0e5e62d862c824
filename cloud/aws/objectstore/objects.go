package objectstore

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"iter"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shopfleet/shopfleet/cloud"
)

// maxWhole is the most that PutObject and GetObject take, in bytes.
const maxWhole = 1 << 20

// PutObject implements cloud.ObjectStore. Where something is there already it is read. A checksum is sent
// only to a bucket that refuses objects without one: not every compatible service knows it.
func (c *client) PutObject(ctx context.Context, key string, content []byte) error {
	const op = "PutObject"
	if err := allowed(op, key, int64(len(content))); err != nil {
		return err
	}
	failed := c.put(ctx, op, &s3.PutObjectInput{Key: aws.String(c.prefix + key)}, content)
	if is(failed, codeUnsummed) {
		raw := binary.BigEndian.AppendUint32(nil, crc32.Checksum(content, crc32.MakeTable(crc32.Castagnoli)))
		failed = c.put(ctx, op, &s3.PutObjectInput{
			Key: aws.String(c.prefix + key), ChecksumCRC32C: aws.String(base64.StdEncoding.EncodeToString(raw)),
		}, content)
	}
	if failed == nil || !is(failed, codeExists) {
		return failed
	}
	there, err := c.get(ctx, op, key, int64(len(content)))
	switch {
	case is(err, codeTooLarge), err == nil && !bytes.Equal(there, content):
		return refusal(op, cloud.ClassConflict, codeExistsOther, fmt.Sprintf("there is an object of another content under %q", key), nil)
	case cloud.ClassOf(err) == cloud.ClassNotFound:
		return refusal(op, cloud.ClassTransient, codeExists, fmt.Sprintf("what was under %q is gone again", key), err)
	}
	return err
}

// put sends a request to create an object.
func (c *client) put(ctx context.Context, op string, in *s3.PutObjectInput, content []byte) error {
	in.Bucket, in.Body, in.IfNoneMatch = &c.bucket, bytes.NewReader(content), aws.String("*")
	if _, err := c.s3.PutObject(ctx, in); err != nil {
		return c.fail(op, change, err)
	}
	return nil
}

// GetObject implements cloud.ObjectStore.
func (c *client) GetObject(ctx context.Context, key string, limit int64) ([]byte, error) {
	const op = "GetObject"
	if err := allowed(op, key, limit); err != nil {
		return nil, err
	}
	return c.get(ctx, op, key, limit)
}

// get reads an object of at most limit bytes. It requests one byte more to detect larger
// objects. S3 refuses a range of an empty object.
func (c *client) get(ctx context.Context, op, key string, limit int64) ([]byte, error) {
	out, err := c.s3.GetObject(ctx, &s3.GetObjectInput{
		Bucket: &c.bucket, Key: aws.String(c.prefix + key), Range: aws.String(fmt.Sprintf("bytes=0-%d", limit)),
	})
	if err != nil {
		failed := c.fail(op, read, err)
		if is(failed, codeEmpty) {
			return nil, nil
		}
		return nil, failed
	}
	content, err := io.ReadAll(out.Body)
	if closing := out.Body.Close(); err == nil {
		err = closing
	}
	if err != nil {
		return nil, c.fail(op, read, err)
	}
	if int64(len(content)) > limit {
		return nil, refusal(op, cloud.ClassInvalid, codeTooLarge, fmt.Sprintf("the object under %q has more than %d bytes", key, limit), nil)
	}
	return content, nil
}

// ListObjects implements cloud.ObjectStore.
func (c *client) ListObjects(ctx context.Context, prefix string) iter.Seq2[cloud.Object, error] {
	const op = "ListObjects"
	return func(yield func(cloud.Object, error) bool) {
		pages := s3.NewListObjectsV2Paginator(c.s3, &s3.ListObjectsV2Input{Bucket: &c.bucket, Prefix: aws.String(c.prefix + prefix)})
		for pages.HasMorePages() {
			page, err := pages.NextPage(ctx)
			if err != nil {
				yield(cloud.Object{}, c.fail(op, read, err))
				return
			}
			for _, o := range page.Contents {
				key, ours := strings.CutPrefix(aws.ToString(o.Key), c.prefix)
				if !ours {
					continue
				}
				if !yield(cloud.Object{Key: key, Bytes: aws.ToInt64(o.Size), ModifiedAt: aws.ToTime(o.LastModified)}, nil) {
					return
				}
			}
		}
	}
}

// allowed returns an error for arguments that cloud.ObjectStore does not allow. No request is
// sent.
func allowed(op, key string, size int64) error {
	if err := cloud.CheckKey(key); err != nil {
		return refusal(op, cloud.ClassInvalid, "", err.Error(), err)
	}
	if size < 0 || size > maxWhole {
		return refusal(op, cloud.ClassInvalid, "", fmt.Sprintf("%d bytes are not 0 to %d", size, maxWhole), nil)
	}
	return nil
}

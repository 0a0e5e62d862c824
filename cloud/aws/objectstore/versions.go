package objectstore

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"

	"github.com/shopfleet/shopfleet/cloud"
)

// noVersion is the ID of the version of an object that was written while the bucket kept no versions.
const noVersion = "null"

// DeleteObject implements cloud.ObjectStore. It deletes every version of the object: where a bucket keeps
// versions, S3 otherwise hides the object, a locked one too, and stores it for ever.
func (c *client) DeleteObject(ctx context.Context, key string) error {
	const op = "DeleteObject"
	if err := allowed(op, key, 0); err != nil {
		return err
	}
	in := &s3.DeleteObjectInput{Bucket: &c.bucket, Key: aws.String(c.prefix + key)}
	versions, err := c.versions(ctx, op, *in.Key)
	switch {
	case cloud.ClassOf(err) == cloud.ClassUnsupported:
		return c.delete(ctx, op, in)
	case err != nil:
		return err
	case len(versions) == 1 && versions[0] == noVersion:
		return c.delete(ctx, op, in)
	}
	for _, version := range versions {
		in.VersionId = &version
		if err := c.delete(ctx, op, in); err != nil {
			return err
		}
	}
	return nil
}

// delete sends one request. It succeeds if there is nothing to delete.
func (c *client) delete(ctx context.Context, op string, in *s3.DeleteObjectInput) error {
	_, err := c.s3.DeleteObject(ctx, in)
	if err == nil {
		return nil
	}
	if failed := c.fail(op, change, err); failed.Code != "NoSuchKey" && failed.Code != "NoSuchVersion" {
		return failed
	}
	return nil
}

// versions returns the IDs of the versions of one object, the markers of deletions included. Lists have a key
// before those that begin with it.
func (c *client) versions(ctx context.Context, op, key string) ([]string, error) {
	var ids []string
	pages := s3.NewListObjectVersionsPaginator(c.s3, &s3.ListObjectVersionsInput{Bucket: &c.bucket, Prefix: &key})
	for more := true; more && pages.HasMorePages(); {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, c.fail(op, read, err)
		}
		add := func(of, id *string) {
			if more = aws.ToString(of) == key; more {
				ids = append(ids, aws.ToString(id))
			}
		}
		for _, m := range page.DeleteMarkers {
			add(m.Key, m.VersionId)
		}
		for _, v := range page.Versions {
			add(v.Key, v.VersionId)
		}
	}
	return ids, nil
}

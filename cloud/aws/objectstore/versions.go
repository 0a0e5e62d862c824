package objectstore

import (
	"context"
	"errors"

	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
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
	d := deletion{client: c, op: op, key: c.prefix + key}
	versions, err := c.versions(ctx, op, d.key)
	switch {
	case cloud.ClassOf(err) == cloud.ClassUnsupported:
		return d.deleteCurrent(ctx)
	case cloud.ClassOf(err) == cloud.ClassDenied:
		return d.deleteUnlisted(ctx, err)
	case err != nil:
		return err
	case len(versions) == 0 || len(versions) == 1 && versions[0] == noVersion:
		return d.deleteUnversioned(ctx, versions)
	}
	return d.deleteVersions(ctx, versions)
}

// deletion deletes one object.
type deletion struct {
	client  *client
	op, key string
}

// deleteUnversioned deletes an object that was written while its bucket kept no versions, with the IDs that were
// listed. The bucket may keep versions since: then one without an ID would hide the object.
func (d deletion) deleteUnversioned(ctx context.Context, listed []string) error {
	found, err := d.find(ctx)
	switch {
	case err != nil:
		return err
	case found.exists && !found.versioned:
		return d.deleteCurrent(ctx)
	}
	return d.deleteVersions(ctx, listed)
}

// deleteUnlisted deletes an object whose versions may not be listed, if its bucket keeps none. Otherwise it returns the
// error of the list.
func (d deletion) deleteUnlisted(ctx context.Context, denied error) error {
	found, err := d.find(ctx)
	switch {
	case found.versioned || cloud.ClassOf(err) == cloud.ClassDenied:
		return denied
	case err != nil || !found.exists:
		return err
	}
	return d.deleteCurrent(ctx)
}

// objectState describes the current version of an object.
type objectState struct {
	exists bool
	// versioned is true for an object, or a marker of its deletion, in a bucket that keeps versions.
	versioned bool
}

// find returns the state of the object.
func (d deletion) find(ctx context.Context) (objectState, error) {
	out, err := d.client.s3.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &d.client.bucket, Key: &d.key})
	if err == nil {
		return objectState{exists: true, versioned: out.VersionId != nil}, nil
	}
	if failed := d.client.fail(d.op, read, err); failed.Class != cloud.ClassNotFound {
		return objectState{}, failed
	}
	response, ok := errors.AsType[*awshttp.ResponseError](err)
	return objectState{versioned: ok && response.Response.Header.Get("X-Amz-Delete-Marker") == "true"}, nil
}

// deleteCurrent deletes an object without the ID of a version. Services that do not show the ID of what was written
// before they kept versions hide it: then its versions are deleted.
func (d deletion) deleteCurrent(ctx context.Context) error {
	hidden, err := d.send(ctx, nil)
	if err != nil || !hidden {
		return err
	}
	versions, err := d.client.versions(ctx, d.op, d.key)
	if err != nil {
		return err
	}
	return d.deleteVersions(ctx, versions)
}

// deleteVersions deletes versions by their IDs, the markers first: what is refused is not hidden.
func (d deletion) deleteVersions(ctx context.Context, ids []string) error {
	for _, id := range ids {
		if _, err := d.send(ctx, &id); err != nil {
			return err
		}
	}
	return nil
}

// send sends one request, which succeeds if there is nothing to delete, and reports whether the object is hidden.
func (d deletion) send(ctx context.Context, version *string) (hidden bool, _ error) {
	out, err := d.client.s3.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &d.client.bucket, Key: &d.key, VersionId: version})
	if err == nil {
		return aws.ToBool(out.DeleteMarker), nil
	}
	if failed := d.client.fail(d.op, change, err); failed.Code != "NoSuchKey" && failed.Code != "NoSuchVersion" {
		return false, failed
	}
	return false, nil
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

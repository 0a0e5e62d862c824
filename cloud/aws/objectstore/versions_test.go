package objectstore_test

import (
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// TestDeletionLeavesNoVersion checks that nothing of an object is left in a bucket that keeps versions, and all of
// one whose name is longer.
func TestDeletionLeavesNoVersion(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.store.KeepVersions()
	e.server.SetPageSize(2)
	e.store.Put("shopfleet/part", []byte("first"))
	if err := e.store.Delete("shopfleet/part"); err != nil {
		t.Fatal(err)
	}
	e.store.Put("shopfleet/part", []byte("second"))
	e.store.Put("shopfleet/part-2", []byte("another"))
	objects := open(t, e.configure(t, objectstore.Options{}))
	for range 2 {
		if err := objects.DeleteObject(t.Context(), "shopfleet/part"); err != nil {
			t.Fatal(err)
		}
	}
	if left := e.store.Versions(""); len(left) != 1 || left[0].Key != "shopfleet/part-2" {
		t.Errorf("left are %+v", left)
	}
	if n := e.script.Count(faults.OpDeleteObject); n != 3 {
		t.Errorf("%d deletions for two versions and a marker", n)
	}
}

// TestRetainedObjectStays checks that a default retention is reported, hides nothing, and ends.
func TestRetainedObjectStays(t *testing.T) {
	t.Parallel()
	e, f := retaining(t)
	e.store.KeepVersions()
	objects := open(t, e.configure(t, objectstore.Options{}))
	if err := objects.PutObject(t.Context(), "shopfleet/manifest.json", []byte("{}")); err != nil {
		t.Fatal(err)
	}
	err := objects.DeleteObject(t.Context(), "shopfleet/manifest.json")
	if cloud.ClassOf(err) != cloud.ClassLocked {
		t.Errorf("%v, want class %q", err, cloud.ClassLocked)
	}
	f.WantList(objects, "shopfleet/", "shopfleet/manifest.json")
	e.clock.Step(25 * time.Hour)
	if err := objects.DeleteObject(t.Context(), "shopfleet/manifest.json"); err != nil || len(e.store.Versions("")) > 0 {
		t.Errorf("after the retention: %v, left are %+v", err, e.store.Versions(""))
	}
}

// TestDeletionNeedsVersions checks that an identity that may not see or delete versions hides nothing, and is told why.
func TestDeletionNeedsVersions(t *testing.T) {
	t.Parallel()
	for _, permission := range []string{"s3:ListBucketVersions", "s3:DeleteObjectVersion"} {
		t.Run(permission, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.store.KeepVersions()
			e.server = s3.New(e.store, s3.Options{
				Clock: e.clock, Bucket: bucketName, Region: region, Host: ownHost,
				Keys: []s3.Key{{ID: keyID, Secret: key, ARN: userARN, Policy: documented(t, "").Without(permission)}},
			})
			objects := open(t, e.configure(t, objectstore.Options{}))
			e.store.Put("shopfleet/there", []byte("x"))
			want(t, permission, objects.DeleteObject(t.Context(), "shopfleet/there"))
			if keys := e.store.Keys(); len(keys) != 1 {
				t.Errorf("left are %q", keys)
			}
		})
	}
}

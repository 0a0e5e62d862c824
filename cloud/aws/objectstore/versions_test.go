package objectstore_test

import (
	"net/http"
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

// limited replaces the server by one whose client lacks some of the documented permissions.
func (e *testEnv) limited(t *testing.T, permissions ...string) cloud.ObjectStore {
	t.Helper()
	policy := documented(t, "")
	for _, permission := range permissions {
		policy = policy.Without(permission)
	}
	e.server = s3.New(e.store, s3.Options{
		Clock: e.clock, Bucket: bucketName, Region: region, Host: ownHost,
		Keys: []s3.Key{{ID: keyID, Secret: key, ARN: userARN, Policy: policy}},
	})
	return open(t, e.configure(t, objectstore.Options{}))
}

// TestDeletionNeedsVersions checks that an identity that may not see or delete versions hides nothing, and is told why.
func TestDeletionNeedsVersions(t *testing.T) {
	t.Parallel()
	const list, remove, read = "s3:ListBucketVersions", "s3:DeleteObjectVersion", "s3:GetObject"
	for name, tt := range map[string]struct {
		object  string
		missing []string
		want    string
	}{
		"no list":                          {"new", []string{list}, list},
		"no list, written before versions": {"earlier", []string{list}, list},
		"no list, hidden by another":       {"hidden", []string{list}, list},
		"no list, never written":           {"none", []string{list}, ""},
		"no list and no reads":             {"new", []string{list, read}, list},
		"no deletion":                      {"new", []string{remove}, remove},
		"no deletion, before versions":     {"earlier", []string{remove}, remove},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.store.Put("shopfleet/earlier", []byte("x"))
			e.store.KeepVersions()
			e.store.Put("shopfleet/new", []byte("x"))
			e.store.Put("shopfleet/hidden", []byte("x"))
			e.store.Remove("shopfleet/hidden")
			want(t, tt.want, e.limited(t, tt.missing...).DeleteObject(t.Context(), "shopfleet/"+tt.object))
			if keys := e.store.Keys(); len(keys) != 2 {
				t.Errorf("left are %q", keys)
			}
		})
	}
}

// TestDeletionWithoutVersions checks that permissions on versions are not needed in a bucket without any.
func TestDeletionWithoutVersions(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	objects := e.limited(t, "s3:ListBucketVersions", "s3:DeleteObjectVersion")
	e.store.Put("shopfleet/there", []byte("x"))
	for range 2 {
		want(t, "", objects.DeleteObject(t.Context(), "shopfleet/there"))
	}
	if keys := e.store.Keys(); len(keys) > 0 {
		t.Errorf("left are %q", keys)
	}
}

// TestDeletionOfEarlierObject checks that nothing is left of an object that was written before its bucket kept
// versions, also by a service that does not tell a read that it keeps them; and that a locked one is not hidden.
func TestDeletionOfEarlierObject(t *testing.T) {
	t.Parallel()
	for name, hide := range map[string]bool{"S3": false, "another service": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.store.Put("shopfleet/there", []byte("x"))
			e.store.KeepVersions()
			e.store.Lock("shopfleet/there", true)
			config := e.configure(t, objectstore.Options{})
			if hide {
				config.HTTP = &http.Client{Transport: withoutVersion{config.HTTP.Transport}}
			}
			objects := open(t, config)
			if err := objects.DeleteObject(t.Context(), "shopfleet/there"); cloud.ClassOf(err) != cloud.ClassLocked || len(e.store.Keys()) != 1 {
				t.Errorf("%v, want class %q; left are %q", err, cloud.ClassLocked, e.store.Keys())
			}
			e.store.Lock("shopfleet/there", false)
			if err := objects.DeleteObject(t.Context(), "shopfleet/there"); err != nil || len(e.store.Versions("")) > 0 {
				t.Errorf("%v, left are %+v", err, e.store.Versions(""))
			}
		})
	}
}

// withoutVersion takes the IDs of versions from the headers of answers.
type withoutVersion struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (w withoutVersion) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := w.next.RoundTrip(r)
	if err == nil {
		answer.Header.Del("X-Amz-Version-Id")
	}
	return answer, err
}

// TestDeletionOfUnlistedObject checks that an object is deleted where lists of versions are always empty, as by
// a compatible service that knows none.
func TestDeletionOfUnlistedObject(t *testing.T) {
	t.Parallel()
	e := newTestEnv(t)
	e.store.Put("shopfleet/there", []byte("x"))
	e.script.Add(faults.Fault{Op: faults.OpOther, Kind: faults.Refuse, Answer: faults.Answer{Status: http.StatusOK, Body: "<ListVersionsResult/>"}})
	err := open(t, e.configure(t, objectstore.Options{})).DeleteObject(t.Context(), "shopfleet/there")
	if keys := e.store.Keys(); err != nil || len(keys) > 0 {
		t.Errorf("%v, left are %q", err, keys)
	}
}

package objectstore_test

import (
	"testing"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake/iam"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// TestKeyOfBucket checks that objects of a bucket with a customer managed key need permissions on the key as well,
// which the error names.
func TestKeyOfBucket(t *testing.T) {
	t.Parallel()
	all := documented(t, "")
	for name, tt := range map[string]struct {
		policy   *iam.Policy
		put, get string
	}{
		"the documented policies": {all, "", ""},
		"no data key":             {all.Without("kms:GenerateDataKey"), "kms:GenerateDataKey", ""},
		"no decryption":           {all.Without("kms:Decrypt"), "", "kms:Decrypt"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newTestEnv(t)
			e.server = s3.New(e.store, s3.Options{
				Clock: e.clock, Bucket: bucketName, Region: region, Host: ownHost, KMSKey: bucketKey,
				Keys: []s3.Key{{ID: keyID, Secret: key, ARN: userARN, Policy: tt.policy}},
			})
			objects := open(t, e.configure(t, objectstore.Options{}))
			e.store.Put("shopfleet/there", []byte("x"))
			_, get := objects.GetObject(t.Context(), "shopfleet/there", 10)
			want(t, tt.put, objects.PutObject(t.Context(), "shopfleet/new", []byte("x")))
			want(t, tt.get, get)
		})
	}
}

// want fails unless an error denies a permission, or is nil if the permission is empty.
func want(t *testing.T, permission string, err error) {
	t.Helper()
	if permission == "" && err == nil {
		return
	}
	if code := fixture.CodeOf(err); cloud.ClassOf(err) != cloud.ClassDenied || code != permission {
		t.Errorf("%v, want class %q with code %q", err, cloud.ClassDenied, permission)
	}
}

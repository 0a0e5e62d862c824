package objectstore_test

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/aws/objectstore"
	"github.com/shopfleet/shopfleet/cloud/fake"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/cloud/fake/s3"
)

// TestDeletionByAnotherIdentity checks that an identity that may not delete suffices for all but deletions, and one that
// may not write for these.
func TestDeletionByAnotherIdentity(t *testing.T) {
	t.Parallel()
	writing := documented(t, "").Without("s3:DeleteObject").Without("s3:DeleteObjectVersion")
	e := newTestEnv(t)
	e.sts = ec2.New(fake.NewCloud(e.clock), ec2.Options{
		Clock: e.clock, Keys: []ec2.Key{{ID: keyID, Secret: key, Account: account, Name: "shopfleet"}},
		Roles: []ec2.Role{{ARN: roleARN, Policy: documented(t, "").Without("s3:PutObject")}},
	})
	e.server = s3.New(e.store, s3.Options{
		Clock: e.clock, Bucket: bucketName, Region: region, Host: ownHost,
		Lookup: func(id string) (s3.Key, bool) {
			if id == keyID {
				return s3.Key{ID: id, Secret: key, ARN: userARN, Policy: writing}, true
			}
			known := e.sts.Known(id)
			return s3.Key{ID: id, Secret: known.Secret, Token: known.Token, ARN: known.ARN, Expires: known.Expires, Policy: known.Policy}, known.Secret != ""
		},
	})
	for name, deletes := range map[string]bool{"alone": false, "beside another": true} {
		config := e.config()
		if deletes {
			config.Spec.Deletion = &v1.DeletionIdentity{RoleARN: roleARN}
		}
		objects, err := cloud.WithBucketDeletion(objectstore.Open)(t.Context(), config)
		if err != nil {
			t.Fatal(err)
		}
		if err := objects.PutObject(t.Context(), "shopfleet/part", []byte("x")); err != nil {
			t.Errorf("%s: writing: %v", name, err)
		}
		if _, err := objects.GetObject(t.Context(), "shopfleet/part", 1); err != nil {
			t.Errorf("%s: reading: %v", name, err)
		}
		err = objects.DeleteObject(t.Context(), "shopfleet/part")
		if left := len(e.store.Keys()) > 0; left == deletes || deletes && err != nil || !deletes && cloud.ClassOf(err) != cloud.ClassDenied {
			t.Errorf("%s: deleting: %v, left: %t", name, err, left)
		}
		e.store.Remove("shopfleet/part")
	}
}

package accounts

import (
	"context"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// deletions counts deletions by role.
type deletions struct {
	cloud.Snapshots
	cloud.ObjectStore

	role  string
	count map[string]int
}

func (d deletions) DeleteSnapshot(context.Context, cloud.SnapshotRef, cloud.Owner) error {
	d.count[d.role]++
	return nil
}

func (d deletions) DeleteObject(context.Context, string) error {
	d.count[d.role]++
	return nil
}

// TestDeletionIdentity checks that snapshots and objects are deleted with the identity that the account has for it.
func TestDeletionIdentity(t *testing.T) {
	t.Parallel()
	const writing, deletion = "arn:aws:iam::123456789012:role/writing", "arn:aws:iam::123456789012:role/deletion"
	count := map[string]int{}
	of := func(c cloud.Config) deletions { return deletions{role: c.Spec.AWS.RoleARN, count: count} }
	all := New(Options{
		Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
			return cloud.Session{Snapshots: of(c)}, nil
		}},
		Buckets: cloud.Buckets{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.ObjectStore, error) { return of(c), nil }},
	})
	all.Set("prod", v1.CloudAccountSpec{
		Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{RoleARN: writing}, Deletion: &v1.DeletionIdentity{RoleARN: deletion},
		ObjectStorage: &v1.ObjectStorage{Bucket: "dumps"},
	}, nil)
	session, err := all.Session(t.Context(), "prod", "eu-west-1")
	if err == nil {
		err = session.Snapshots.DeleteSnapshot(t.Context(), cloud.SnapshotRef{}, cloud.Owner{})
	}
	if err != nil {
		t.Fatal(err)
	}
	bucket, err := all.Bucket(t.Context(), "prod")
	if err == nil {
		err = bucket.DeleteObject(t.Context(), "k")
	}
	if err != nil || count[writing] != 0 || count[deletion] != 2 {
		t.Errorf("deletions %v, %v, want two with %s", count, err, deletion)
	}
}

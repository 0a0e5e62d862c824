package cloud_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

const (
	writingRole  = "arn:aws:iam::123456789012:role/writing"
	deletionRole = "arn:aws:iam::123456789012:role/deletion"
)

// identified is a session of one identity, whose requests fail as they do for it.
type identified struct {
	cloud.Snapshots
	cloud.ObjectStore

	role string
	fail map[string]error
}

func (i identified) DeleteSnapshot(context.Context, cloud.SnapshotRef, cloud.Owner) error {
	return &cloud.Error{Class: cloud.ClassDenied, Message: i.role}
}

func (i identified) DeleteObject(context.Context, string) error {
	return &cloud.Error{Class: cloud.ClassDenied, Message: i.role}
}

func (i identified) Identity(context.Context) (cloud.Identity, error) {
	return cloud.Identity{Name: i.role}, i.fail[i.role]
}

func (i identified) Preflight(context.Context, cloud.Owner) ([]cloud.PermissionCheck, error) {
	return []cloud.PermissionCheck{{Permission: "create", By: i.role}, {Permission: "delete", By: i.role, Deletion: true}}, i.fail[i.role]
}

// TestWithDeletion checks which identity does what, and that errors of the one for deletions say so.
func TestWithDeletion(t *testing.T) {
	t.Parallel()
	refused := &cloud.Error{Class: cloud.ClassAuthExpired, Code: "AccessDenied", Message: "no"}
	for name, tt := range map[string]struct {
		deletion *v1.DeletionIdentity
		fail     map[string]error
		deletes  string
		says     string
		checks   []cloud.PermissionCheck
	}{
		"one identity": {nil, nil, writingRole, "", []cloud.PermissionCheck{{Permission: "create", By: writingRole}, {Permission: "delete", By: writingRole, Deletion: true}}},
		"two": {&v1.DeletionIdentity{RoleARN: deletionRole}, nil, deletionRole, "",
			[]cloud.PermissionCheck{{Permission: "create", By: writingRole}, {Permission: "delete", By: deletionRole, Deletion: true}}},
		"the first is refused":  {&v1.DeletionIdentity{RoleARN: deletionRole}, map[string]error{writingRole: refused}, deletionRole, "(AccessDenied): no", nil},
		"the second is refused": {&v1.DeletionIdentity{RoleARN: deletionRole}, map[string]error{deletionRole: refused}, deletionRole, "(AccessDenied): with the identity of spec.deletion: no", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := cloud.Config{Spec: v1.CloudAccountSpec{Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{RoleARN: writingRole}, Deletion: tt.deletion}}
			session, err := cloud.WithDeletion(func(_ context.Context, c cloud.Config) (cloud.Session, error) {
				i := identified{role: c.Spec.AWS.RoleARN, fail: tt.fail}
				return cloud.Session{Snapshots: i, Access: i}, nil
			})(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			objects, err := cloud.WithBucketDeletion(func(_ context.Context, c cloud.Config) (cloud.ObjectStore, error) {
				return identified{role: c.Spec.AWS.RoleARN}, nil
			})(t.Context(), config)
			if err != nil {
				t.Fatal(err)
			}
			for what, err := range map[string]error{
				"a snapshot": session.Snapshots.DeleteSnapshot(t.Context(), cloud.SnapshotRef{}, cloud.Owner{}), "an object": objects.DeleteObject(t.Context(), "k"),
			} {
				if !strings.HasSuffix(err.Error(), tt.deletes) {
					t.Errorf("%s is deleted with %v, want %s", what, err, tt.deletes)
				}
			}
			who, identityErr := session.Access.Identity(t.Context())
			checks, err := session.Access.Preflight(t.Context(), cloud.Owner{})
			for _, err := range []error{identityErr, err} {
				if (err == nil) != (tt.says == "") || err != nil && !strings.HasSuffix(err.Error(), tt.says) {
					t.Errorf("%v, want %q", err, tt.says)
				}
			}
			if tt.says == "" && who.Name != writingRole {
				t.Errorf("identity %q", who.Name)
			}
			if diff := cmp.Diff(tt.checks, checks); tt.says == "" && diff != "" {
				t.Errorf("checks (-want +got):\n%s", diff)
			}
		})
	}
}

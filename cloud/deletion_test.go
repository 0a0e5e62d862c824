package cloud_test

import (
	"context"
	"fmt"
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

// withDeletion connects to an account, with another identity for deletions if there is one.
func withDeletion(t *testing.T, deletion *v1.DeletionIdentity, fail map[string]error) (cloud.Session, cloud.ObjectStore) {
	t.Helper()
	config := cloud.Config{Spec: v1.CloudAccountSpec{Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{RoleARN: writingRole}, Deletion: deletion}}
	session, err := cloud.WithDeletion(func(_ context.Context, c cloud.Config) (cloud.Session, error) {
		i := identified{role: c.Spec.AWS.RoleARN, fail: fail}
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
	return session, objects
}

// TestWithDeletion checks which identity does what, and that errors of the one for deletions say so.
func TestWithDeletion(t *testing.T) {
	t.Parallel()
	const nothing = "<nil>"
	refused := &cloud.Error{Class: cloud.ClassAuthExpired, Code: "AccessDenied", Message: "no"}
	for name, tt := range map[string]struct {
		deletion *v1.DeletionIdentity
		fail     map[string]error
		deletes  string
		// says ends the text of both errors.
		says   string
		checks []cloud.PermissionCheck
	}{
		"one identity": {nil, nil, writingRole, nothing, []cloud.PermissionCheck{{Permission: "create", By: writingRole}, {Permission: "delete", By: writingRole, Deletion: true}}},
		"two": {&v1.DeletionIdentity{RoleARN: deletionRole}, nil, deletionRole, nothing,
			[]cloud.PermissionCheck{{Permission: "create", By: writingRole}, {Permission: "delete", By: deletionRole, Deletion: true}}},
		"the first is refused":  {&v1.DeletionIdentity{RoleARN: deletionRole}, map[string]error{writingRole: refused}, deletionRole, "(AccessDenied): no", nil},
		"the second is refused": {&v1.DeletionIdentity{RoleARN: deletionRole}, map[string]error{deletionRole: refused}, deletionRole, "(AccessDenied): with the identity of spec.deletion: no", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session, objects := withDeletion(t, tt.deletion, tt.fail)
			who, identityErr := session.Access.Identity(t.Context())
			checks, checksErr := session.Access.Preflight(t.Context(), cloud.Owner{})
			for _, got := range []struct {
				err  error
				ends string
			}{
				{session.Snapshots.DeleteSnapshot(t.Context(), cloud.SnapshotRef{}, cloud.Owner{}), tt.deletes},
				{objects.DeleteObject(t.Context(), "k"), tt.deletes}, {identityErr, tt.says}, {checksErr, tt.says},
			} {
				if text := fmt.Sprint(got.err); !strings.HasSuffix(text, got.ends) {
					t.Errorf("%s, want %s at the end", text, got.ends)
				}
			}
			if diff := cmp.Diff(tt.checks, checks); tt.says == nothing && (diff != "" || who.Name != writingRole) {
				t.Errorf("identity %q, checks (-want +got):\n%s", who.Name, diff)
			}
		})
	}
}

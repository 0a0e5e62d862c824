package store

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
)

// Store holds the records of all members. It is safe for concurrent use.
type Store struct {
	hub       client.Client
	namespace string
}

// New returns a store in the hub's namespace. It reads as hub does: from the cache, if that
// has one.
func New(hub client.Client, namespace string) *Store {
	return &Store{hub: hub, namespace: namespace}
}

// Add adds a record, and reports whether it was missing. It sends no write if not. The
// error is recovery.ErrFull if the member's ConfigMap would exceed recovery.MaxBytes.
func (s *Store) Add(ctx context.Context, member string, r recovery.Residue) (bool, error) {
	found, err := s.get(ctx, member)
	if err != nil {
		return false, err
	}
	patch, err := recovery.AddPatch(found.Data, r)
	if err != nil || patch == nil {
		return false, err
	}
	err = s.patch(ctx, member, patch)
	if apierrors.IsNotFound(err) {
		created := s.object(member)
		if created.Data, err = recovery.Data(r); err == nil {
			err = s.hub.Create(ctx, created, client.FieldOwner(v1.HubFieldManager))
		}
	}
	if err != nil {
		return false, fmt.Errorf("recording the copy of %s in member %q: %w", r.Key(), member, err)
	}
	return true, nil
}

// Remove removes the record with an ID. A record that is missing is no error.
func (s *Store) Remove(ctx context.Context, member string, id types.UID) error {
	patch, err := recovery.RemovePatch(id)
	if err != nil {
		return fmt.Errorf("encoding a record: %w", err)
	}
	if err := s.patch(ctx, member, patch); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing the record of a copy in member %q: %w", member, err)
	}
	return nil
}

// List returns the records of a member. A nil store has none.
func (s *Store) List(ctx context.Context, member string) ([]recovery.Residue, error) {
	if s == nil {
		return nil, nil
	}
	found, err := s.get(ctx, member)
	if err != nil {
		return nil, err
	}
	records, _ := recovery.Decode(found.Data)
	return records, nil
}

// get returns the ConfigMap of a member; it has no data if there is none.
func (s *Store) get(ctx context.Context, member string) (*corev1.ConfigMap, error) {
	found := s.object(member)
	if err := s.hub.Get(ctx, client.ObjectKeyFromObject(found), found); client.IgnoreNotFound(err) != nil {
		return nil, fmt.Errorf("reading the residue of member %q: %w", member, err)
	}
	return found, nil
}

func (s *Store) patch(ctx context.Context, member string, patch []byte) error {
	return s.hub.Patch(ctx, s.object(member), client.RawPatch(types.MergePatchType, patch), client.FieldOwner(v1.HubFieldManager))
}

func (s *Store) object(member string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.namespace, Name: recovery.Name(member),
		Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.MemberRecordLabel: member},
	}}
}

package members

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// QueueKey returns the key of a member in queues of its own: its name, and one key for all names that no member
// has, since users can create objects with any name of a member.
func QueueKey(ctx context.Context, hub client.Reader, name string) (string, error) {
	err := hub.Get(ctx, client.ObjectKey{Name: name}, &v1.MemberCluster{}, client.UnsafeDisableDeepCopy)
	if apierrors.IsNotFound(err) {
		return "-", nil
	}
	if err != nil {
		return "", fmt.Errorf("getting member %q: %w", name, err)
	}
	return name, nil
}

package connect

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/members/connect/transport"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// errRefused means that this process must not manage the member by its record. It is retried: a repair
// of the ConfigMap is no event if no inspection has ended the connection by then.
var errRefused = errors.New("the record in the cluster refuses this hub")

// RecordClient reads and writes the record of a member, and keeps what it read or wrote last. It is safe for
// concurrent use. A nil RecordClient has no deletions and writes none.
type RecordClient struct {
	settings *Settings
	client   corev1client.CoreV1Interface
	known    *Known
	// replaces is Attempt.Replaces.
	replaces string

	// waiting are the deletions whose callers have yet to return. The next write has all of them.
	waiting waiting
	// mu is held during requests: a member's record has one writer.
	mu      sync.Mutex
	current ownership.Record
	// version is the resource version of the ConfigMap; empty if there is none.
	version string
	// lost is true if the ConfigMap lacks deletions of current.
	lost bool
}

// newRecord returns the record of a member before it was read; nil if none is kept.
func (a *Attempt) newRecord(t *transport.Transport) (*RecordClient, error) {
	if a.Settings.Record.Name == "" {
		return nil, nil
	}
	client, err := corev1client.NewForConfigAndClient(t.Config(), t.Client())
	if err != nil {
		return nil, fmt.Errorf("creating a client for the record: %w", err)
	}
	return &RecordClient{settings: a.Settings, client: client, known: a.Known, replaces: a.Replaces}, nil
}

// check reads the record. It returns a failure if this process must not manage the member.
func (r *RecordClient) check(ctx context.Context) (*health.Failure, error) {
	if r == nil {
		return nil, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeouts.Request)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.read(ctx)
}

func (r *RecordClient) read(ctx context.Context) (*health.Failure, error) {
	name, known := r.settings.Record, r.known.deleted.Load()
	live, err := r.client.ConfigMaps(name.Namespace).Get(ctx, name.Name, metav1.GetOptions{})
	switch {
	case apierrors.IsNotFound(err):
		r.current, r.version = ownership.Record{Deleted: r.known.deletions()}, "" // The next inspection writes it again.
		r.lost = len(r.current.Deleted) > 0
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("reading ConfigMap %s: %w", name, err)
	}
	current, err := ownership.Parse(live.Data)
	if err != nil { // The last record that was read stays known.
		return health.RecordInvalid(name, err), nil
	}
	current, lost := r.restore(current, known)
	r.remember(current, live.ResourceVersion)
	r.lost = lost
	if r.standing() == ownership.Current { // Also by a claim whose response was lost.
		r.known.epoch.Store(current.Epoch)
	}
	return r.refused(), nil
}

// restore returns a record that was read with the known deletions that it lost by an edit, and
// whether it lost any. Before its claim, and in the record of another hub, this process cannot
// tell an edit from what the other one forgot.
func (r *RecordClient) restore(read ownership.Record, known *[]ownership.Deletion) (ownership.Record, bool) {
	switch {
	case r.known.epoch.Load() == 0, read.Hub != "" && read.Hub != r.settings.HubUID:
		return read, false
	case known == nil, known != r.known.deleted.Load(): // Another connection of this process knows more.
		return read, false
	}
	return read.Restore(*known, r.settings.Clock.Now())
}

// refused returns a failure if this process must not manage the member, by what was read last.
func (r *RecordClient) refused() *health.Failure {
	switch r.standing() {
	case ownership.Foreign:
		return health.ManagedByAnotherHub(r.current)
	case ownership.Superseded:
		return health.Superseded()
	case ownership.Current, ownership.Unclaimed:
	}
	return nil
}

// remember stores a record that was read or written.
func (r *RecordClient) remember(current ownership.Record, version string) {
	r.current, r.version, r.lost = current, version, false
	r.known.deleted.Store(&current.Deleted)
}

func (r *RecordClient) standing() ownership.Standing { return r.current.Check(r.process()) }

func (r *RecordClient) process() ownership.Process {
	return ownership.Process{Hub: r.settings.HubUID, ID: r.known.process, Epoch: r.known.epoch.Load(), Replaces: r.replaces}
}

// isOfAnotherHub reports whether another hub manages the member, which this one may replace.
func (r *RecordClient) isOfAnotherHub() bool {
	if r == nil {
		return false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.current.ID() == r.replaces
}

// refusal returns the error for a failure of check.
func refusal(f *health.Failure) error {
	return fmt.Errorf("%w: %s", errRefused, f.Message)
}

// Confirm reads the record. It returns an error if this process does not manage the member any
// more, until the next inspection ends the connection, and if the record cannot be read.
func (r *RecordClient) Confirm(ctx context.Context) error {
	refused, err := r.check(ctx)
	if refused != nil {
		return refusal(refused)
	}
	return err
}

// claim takes the member over, with one write, unless this process did before. The write also
// restores deletions that the record lost.
func (r *RecordClient) claim(ctx context.Context) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeouts.Request)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.standing() == ownership.Current && !r.lost {
		return nil
	}
	return r.write(ctx, r.claimed())
}

// claimed returns the record with this process as the one that manages the member.
func (r *RecordClient) claimed() ownership.Record {
	if r.standing() == ownership.Current {
		return r.current
	}
	return r.current.Claim(r.process(), r.settings.Clock.Now())
}

// DeletedAt returns the time at which an application was deleted; zero if it was not. It does not
// wait for a request.
func (r *RecordClient) DeletedAt(app types.UID) time.Time {
	if r == nil {
		return time.Time{}
	}
	return ownership.Record{Deleted: r.known.deletions()}.DeletedAt(app)
}

// Left returns the generation at which an application left the member last; 0 if it did not. It
// does not wait for a request.
func (r *RecordClient) Left(app types.UID) int64 {
	if r == nil {
		return 0
	}
	return ownership.Record{Deleted: r.known.deletions()}.Left(app)
}

// Delete records a deletion with one write, unless it is recorded: deletions at the same time share one. It
// returns an error if this process does not manage the member any more, and if the record cannot be read.
func (r *RecordClient) Delete(ctx context.Context, deletion ownership.Deletion) error {
	if r == nil {
		return nil
	}
	r.waiting.add(deletion)
	defer r.waiting.remove(deletion)
	return r.change(ctx, func(current ownership.Record) (ownership.Record, bool) {
		next := current
		for _, each := range r.waiting.all() {
			next = next.Delete(each)
		}
		return next, !current.Includes(deletion)
	})
}

// Forget removes a deletion from the record with one write, unless it is not recorded; see
// ownership.Record.Forget. It returns the same errors as Delete.
func (r *RecordClient) Forget(ctx context.Context, former ownership.Deletion) error {
	return r.change(ctx, func(current ownership.Record) (ownership.Record, bool) {
		next := current.Forget(former)
		return next, len(next.Deleted) < len(current.Deleted)
	})
}

// change writes the record that next returns, if next reports that it has to be written, or if
// the ConfigMap lost deletions.
func (r *RecordClient) change(ctx context.Context, next func(ownership.Record) (ownership.Record, bool)) error {
	if r == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.settings.Timeouts.Request)
	defer cancel()
	r.mu.Lock()
	defer r.mu.Unlock()
	if refused := r.refused(); refused != nil {
		return refusal(refused)
	}
	changed, needed := next(r.claimed())
	if !needed && !r.lost {
		return nil
	}
	err := r.write(ctx, changed)
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) && !apierrors.IsAlreadyExists(err) {
		return err
	}
	// Another connection of this process wrote it, or a user, or another process.
	refused, err := r.read(ctx)
	switch {
	case err != nil:
		return err
	case refused != nil:
		return refusal(refused)
	}
	if changed, needed = next(r.claimed()); !needed && !r.lost {
		return nil
	}
	return r.write(ctx, changed)
}

// write writes the record over the one that was read. If another process wrote it since, the
// error is a conflict.
func (r *RecordClient) write(ctx context.Context, next ownership.Record) error {
	name := r.settings.Record
	object := &corev1.ConfigMap{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name, ResourceVersion: r.version},
		Data:       next.Data(),
	}
	written, err := r.send(ctx, object)
	if err != nil {
		return fmt.Errorf("writing ConfigMap %s: %w", name, err)
	}
	r.remember(next, written.ResourceVersion)
	r.known.epoch.Store(next.Epoch)
	return nil
}

func (r *RecordClient) send(ctx context.Context, object *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	client := r.client.ConfigMaps(object.Namespace)
	if r.version == "" {
		if err := r.ensureNamespace(ctx); err != nil {
			return nil, err
		}
		object.Labels = map[string]string{v1.PartOfLabel: v1.ManagedBy}
		return client.Create(ctx, object, metav1.CreateOptions{FieldManager: v1.HubFieldManager})
	}
	body, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("encoding: %w", err)
	}
	return client.Patch(ctx, object.Name, types.MergePatchType, body, metav1.PatchOptions{FieldManager: v1.HubFieldManager})
}

// ensureNamespace creates the namespace of the record in a member that was registered without
// the manifests.
func (r *RecordClient) ensureNamespace(ctx context.Context) error {
	name := r.settings.Record.Namespace
	_, err := r.client.Namespaces().Get(ctx, name, metav1.GetOptions{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	_, err = r.client.Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}},
		metav1.CreateOptions{FieldManager: v1.HubFieldManager})
	return err
}

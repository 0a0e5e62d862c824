package revisions

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/rollout"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// HistoryLimit is the number of revisions that were healthy and are kept, besides those in use.
const HistoryLimit = 10

// Memory keeps the revisions that were read. *state.State is one.
type Memory interface {
	Revision(app *v1.EcommerceApp, number int64) []byte
	KeepRevision(app *v1.EcommerceApp, number int64, raw []byte)
}

// Store reads and writes the revisions of applications. It is safe for concurrent use.
type Store struct {
	client client.Writer
	// reader reads from the API server.
	reader client.Reader
	// known remembers the revisions that clusters have although the spec is of another one; nil if nothing does.
	known Memory
}

// New returns a Store. Reader reads from the API server. Without known each revision is read whenever it is needed.
func New(writer client.Writer, reader client.Reader, known Memory) *Store {
	return &Store{client: writer, reader: reader, known: known}
}

// Resolved is a revision of an application.
type Resolved struct {
	// template is the revision as JSON if it is not stored yet, and stored are the others.
	template []byte
	stored   []appsv1.ControllerRevision

	// Revision is the number of the revision in the spec, and Hash its hash.
	Revision int64
	Hash     string
	// Healthy is the revision that was healthy last, or 0.
	Healthy int64
}

// Resolve returns the revision in the spec of an application: the stored one that equals it, or a new one.
func (s *Store) Resolve(ctx context.Context, app *v1.EcommerceApp) (Resolved, error) {
	raw, hash, err := rollout.Template(rollout.RevisionSpec(app))
	if err != nil {
		return Resolved{}, err
	}
	if last := app.Status.Rollout; last != nil && last.SpecHash == hash {
		return Resolved{Revision: last.Revision, Hash: hash}, nil
	}
	stored, err := s.list(ctx, app)
	if err != nil {
		return Resolved{}, err
	}
	found := Resolved{Hash: hash}
	next, healthyAt := newest(app), ""
	for i := range stored {
		r := &stored[i]
		next = max(next, r.Revision)
		if !metav1.IsControlledBy(r, app) {
			continue // An application of this name was deleted.
		}
		found.stored = append(found.stored, *r)
		if r.Labels[appsv1.ControllerRevisionHashLabelKey] == hash {
			found.Revision = r.Revision
		}
		if at := r.Annotations[v1.CompletedAtAnnotation]; at > healthyAt {
			found.Healthy, healthyAt = r.Revision, at
		}
	}
	if found.Revision != 0 {
		return found, nil
	}
	found.Revision, found.template = next+1, raw
	return found, nil
}

// Store stores a revision that is new, and deletes those that are superfluous. It costs no request if the
// revision is not.
func (s *Store) Store(ctx context.Context, app *v1.EcommerceApp, r Resolved) error {
	if r.template == nil {
		return nil
	}
	if err := s.create(ctx, app, r); err != nil {
		return err
	}
	used := []int64{r.Revision}
	if last := app.Status.Rollout; last != nil {
		used = append(used, last.Revision, last.PreviousRevision)
	}
	for i := range app.Status.Clusters {
		used = append(used, app.Status.Clusters[i].Revision)
	}
	return s.prune(ctx, r.stored, used)
}

// newest returns the highest revision that the status of an application names.
func newest(app *v1.EcommerceApp) int64 {
	var highest int64
	if last := app.Status.Rollout; last != nil {
		highest = max(last.Revision, last.PreviousRevision)
	}
	for i := range app.Status.Clusters {
		highest = max(highest, app.Status.Clusters[i].Revision)
	}
	return highest
}

func (s *Store) create(ctx context.Context, app *v1.EcommerceApp, next Resolved) error {
	r := &appsv1.ControllerRevision{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: nameOf(app, next.Revision),
			Labels: map[string]string{
				v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: app.Name,
				appsv1.ControllerRevisionHashLabelKey: next.Hash,
			},
			OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(app, v1.GroupVersion.WithKind("EcommerceApp"))},
		},
		Data: runtime.RawExtension{Raw: next.template}, Revision: next.Revision,
	}
	// The reference must not block the deletion of the application, which the hub may not update.
	r.OwnerReferences[0].BlockOwnerDeletion = nil
	err := s.client.Create(ctx, r, client.FieldOwner(v1.HubFieldManager))
	if apierrors.IsAlreadyExists(err) {
		return s.existing(ctx, app, r, err)
	}
	if err != nil {
		return fmt.Errorf("storing revision %d: %w", next.Revision, err)
	}
	return nil
}

// existing returns the error of a revision whose name is taken: a conflict if it is of the application, as after a
// response that was lost, and otherwise one that a user has to settle.
func (s *Store) existing(ctx context.Context, app *v1.EcommerceApp, next *appsv1.ControllerRevision, taken error) error {
	live := &appsv1.ControllerRevision{}
	err := s.reader.Get(ctx, client.ObjectKeyFromObject(next), live)
	if apierrors.IsNotFound(err) || err == nil && metav1.IsControlledBy(live, app) && live.Labels[v1.InstanceLabel] == app.Name && live.Labels[v1.ManagedByLabel] == v1.ManagedBy {
		return fmt.Errorf("storing revision %d: %w", next.Revision, taken)
	}
	if err != nil {
		return fmt.Errorf("reading ControllerRevision %q: %w", next.Name, err)
	}
	return &apierror.SpecError{Reason: v1.ReasonRevisionNotStored, Err: fmt.Errorf("ControllerRevision %q is not of this application: delete it: %w", next.Name, errTaken)}
}

// errTaken means that an object that is not ours has the name of a revision.
var errTaken = errors.New("its name is that of the next revision")

// nameOf returns the name of a revision of an application.
func nameOf(app *v1.EcommerceApp, revision int64) string {
	return app.Name + "-revision-" + strconv.FormatInt(revision, 10)
}

func (s *Store) list(ctx context.Context, app *v1.EcommerceApp) ([]appsv1.ControllerRevision, error) {
	stored := &appsv1.ControllerRevisionList{}
	err := s.reader.List(ctx, stored, client.InNamespace(app.Namespace), client.MatchingLabels{v1.ManagedByLabel: v1.ManagedBy, v1.InstanceLabel: app.Name})
	if err != nil {
		return nil, fmt.Errorf("listing the revisions: %w", err)
	}
	return stored.Items, nil
}

// missing returns the error of a revision that an application cannot return to, and says what to do.
func missing(app *v1.EcommerceApp, revision int64, why string) error {
	return &apierror.SpecError{Reason: v1.ReasonRevisionNotFound, Err: fmt.Errorf("revision %d %s: %w: see kubectl shopfleet rollout history %s -n %s",
		revision, why, errMissing, app.Name, app.Namespace)}
}

// errMissing means that a revision was deleted, or never was healthy.
var errMissing = errors.New("edit the spec, or ask for another revision")

// Spec returns the spec of an application with an earlier revision in place of its own. The error is an
// *apierror.SpecError if the revision does not exist.
func (s *Store) Spec(ctx context.Context, app *v1.EcommerceApp, revision int64) (*v1.EcommerceAppSpec, error) {
	raw, err := s.raw(ctx, app, revision)
	if err != nil {
		return nil, err
	}
	spec, err := rollout.Merge(&app.Spec, raw)
	if err != nil {
		return nil, &apierror.SpecError{Reason: v1.ReasonRevisionNotFound, Err: fmt.Errorf("reading revision %d: %w", revision, err)}
	}
	return spec, nil
}

// raw returns a stored revision as JSON, and remembers it.
func (s *Store) raw(ctx context.Context, app *v1.EcommerceApp, revision int64) ([]byte, error) {
	if s.known != nil {
		if raw := s.known.Revision(app, revision); raw != nil {
			return raw, nil
		}
	}
	stored, err := s.get(ctx, app, revision)
	if err != nil {
		return nil, err
	}
	if s.known != nil {
		s.known.KeepRevision(app, revision, stored.Data.Raw)
	}
	return stored.Data.Raw, nil
}

func (s *Store) get(ctx context.Context, app *v1.EcommerceApp, revision int64) (*appsv1.ControllerRevision, error) {
	stored := &appsv1.ControllerRevision{}
	err := s.reader.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: nameOf(app, revision)}, stored)
	if apierrors.IsNotFound(err) || err == nil && !metav1.IsControlledBy(stored, app) {
		return nil, missing(app, revision, "does not exist")
	}
	if err != nil {
		return nil, fmt.Errorf("reading revision %d: %w", revision, err)
	}
	return stored, nil
}

// CheckHealthy returns an error if a revision does not exist or never was healthy: an *apierror.SpecError.
func (s *Store) CheckHealthy(ctx context.Context, app *v1.EcommerceApp, revision int64) error {
	stored, err := s.get(ctx, app, revision)
	if err == nil && stored.Annotations[v1.CompletedAtAnnotation] == "" {
		return missing(app, revision, "was never healthy in all clusters")
	}
	return err
}

// Complete adds a revision to the history, and deletes those that neither belong to it nor are in use. The
// state in use is that of the status that follows.
func (s *Store) Complete(ctx context.Context, app *v1.EcommerceApp, next *v1.RolloutStatus, revisions map[string]int64) error {
	stored, err := s.list(ctx, app)
	if err != nil {
		return err
	}
	stored = slices.DeleteFunc(stored, func(r appsv1.ControllerRevision) bool { return !metav1.IsControlledBy(&r, app) })
	for i := range stored {
		if r := &stored[i]; r.Revision == next.Revision {
			if err := s.complete(ctx, r, next.CompletionTime.UTC().Format(time.RFC3339)); err != nil {
				return err
			}
		}
	}
	return s.prune(ctx, stored, append(slices.Collect(maps.Values(revisions)), next.Revision, next.PreviousRevision))
}

// prune deletes the revisions that neither belong to the history nor are used.
func (s *Store) prune(ctx context.Context, stored []appsv1.ControllerRevision, used []int64) error {
	for _, r := range superfluous(stored, used) {
		// Another one that took its name has another UID.
		if err := s.client.Delete(ctx, &r, client.Preconditions{UID: &r.UID}); client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("deleting revision %d: %w", r.Revision, err)
		}
	}
	return nil
}

// complete notes when a revision was healthy last. It costs no request if that is noted.
func (s *Store) complete(ctx context.Context, r *appsv1.ControllerRevision, at string) error {
	if r.Annotations[v1.CompletedAtAnnotation] == at {
		return nil
	}
	before := r.DeepCopy()
	metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1.CompletedAtAnnotation, at)
	if err := s.client.Patch(ctx, r, client.MergeFrom(before), client.FieldOwner(v1.HubFieldManager)); err != nil {
		return fmt.Errorf("completing revision %d: %w", r.Revision, err)
	}
	return nil
}

// superfluous returns the revisions that are not in use, and are not among the last HistoryLimit that were
// healthy. The one with the highest number stays, so that no number is given twice.
func superfluous(stored []appsv1.ControllerRevision, used []int64) []appsv1.ControllerRevision {
	slices.SortFunc(stored, func(a, b appsv1.ControllerRevision) int {
		return strings.Compare(b.Annotations[v1.CompletedAtAnnotation], a.Annotations[v1.CompletedAtAnnotation])
	})
	kept, highest := 0, int64(0)
	for i := range stored {
		highest = max(highest, stored[i].Revision)
	}
	return slices.DeleteFunc(stored, func(r appsv1.ControllerRevision) bool {
		if r.Annotations[v1.CompletedAtAnnotation] != "" && kept < HistoryLimit {
			kept++
			return true
		}
		return r.Revision == highest || slices.Contains(used, r.Revision)
	})
}

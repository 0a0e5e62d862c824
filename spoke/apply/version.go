package apply

import (
	"cmp"
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// noVersion is a resource version that no object has: an API server creates a missing object
// with it, and returns a conflict for one that exists.
const noVersion = "1"

// basis is the state of an object that an update was decided on.
type basis struct {
	uid     types.UID
	version string
	// content is the hash of the object without status and server-side metadata.
	content string
}

// basisOf returns the state of a live object, or the state after the last write if the cache
// does not contain that yet.
func (a *Applier) basisOf(key component.Key, live component.Resource) (basis, error) {
	a.mu.Lock()
	last, ok := a.written[key]
	a.mu.Unlock()
	if ok && last.over == live.GetResourceVersion() {
		content, err := a.resultHash(last.answer)
		return basis{uid: live.GetUID(), version: last.answer.GetResourceVersion(), content: content}, err
	}
	content, err := a.resultHash(live)
	return basis{uid: live.GetUID(), version: live.GetResourceVersion(), content: content}, err
}

// overwrite applies an intent over the given state, with force, and returns the response. If
// the object was changed or recreated since, the API server returns a conflict.
func (a *Applier) overwrite(ctx context.Context, intent *unstructured.Unstructured, over basis) (*unstructured.Unstructured, error) {
	sent := intent.DeepCopy()
	sent.SetUID(over.uid)
	sent.SetResourceVersion(over.version)
	err := a.send(ctx, sent, client.ForceOwnership)
	if apierrors.IsInvalid(err) {
		return a.replace(ctx, intent, over.version, err)
	}
	return sent, err
}

// ApplyOver applies an intent, without a hash, over a resource version; empty if there is no such object. It returns the
// next one. If the object has another version, the API server returns a conflict. Nothing is compared or remembered: it is
// for objects whose content no memory may have.
func (a *Applier) ApplyOver(ctx context.Context, intent component.Resource, version string) (next string, err error) {
	content, err := contentOf(intent)
	if err != nil {
		return "", err
	}
	sent := &unstructured.Unstructured{Object: content}
	sent.SetResourceVersion(cmp.Or(version, noVersion))
	err = a.send(ctx, sent, client.ForceOwnership)
	return sent.GetResourceVersion(), err
}

// overwriteNewer applies an intent after a conflict, if all that changed since the given
// state is the status or metadata of the API server: a status changes often, and must not
// delay an update. It returns the conflict if anything else changed, since the intent may be
// the older one, and nothing if the object matches the intent already.
func (a *Applier) overwriteNewer(ctx context.Context, intent *unstructured.Unstructured, over basis, conflict error) (*unstructured.Unstructured, error) {
	live, err := a.get(ctx, intent)
	switch {
	case err != nil:
		return nil, err
	case live == nil || live.GetUID() != over.uid || live.GetDeletionTimestamp() != nil:
		return nil, conflict
	}
	content, err := contentOf(live)
	if err != nil || matches(content, intent) {
		return nil, err
	}
	now, err := a.resultHash(live)
	if err != nil {
		return nil, err
	}
	if now != over.content {
		return nil, conflict
	}
	over.version = live.GetResourceVersion()
	return a.overwrite(ctx, intent, over)
}

// matches reports whether the content of a live object needs no write.
func matches(content map[string]any, intent *unstructured.Unstructured) bool {
	live := unstructured.Unstructured{Object: content}
	return live.GetAnnotations()[v1.SpecHashAnnotation] == intent.GetAnnotations()[v1.SpecHashAnnotation] &&
		Contains(content, intent.Object)
}

// replace writes an intent that the API server rejected as an apply. Items that others
// added to a list may conflict with the intent, for example a port of the same name. An
// apply keeps them, while a merge patch replaces the list. The patch requires the given
// resource version. If it is rejected too, the first error is returned.
func (a *Applier) replace(ctx context.Context, intent *unstructured.Unstructured, version string, rejection error) (*unstructured.Unstructured, error) {
	body := intent.DeepCopy()
	// Owner references and finalizers of others must stay.
	body.SetOwnerReferences(nil)
	body.SetFinalizers(nil)
	body.SetResourceVersion(version)
	raw, err := body.MarshalJSON()
	if err != nil {
		return nil, fmt.Errorf("encoding %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	err = a.client.Patch(ctx, body, client.RawPatch(types.MergePatchType, raw), client.FieldOwner(a.manager))
	if apierrors.IsInvalid(err) {
		return nil, rejection
	}
	if err != nil {
		return nil, fmt.Errorf("replacing %s %q: %w", intent.GetKind(), intent.GetName(), err)
	}
	if a.dryRun {
		return body, nil // The next patch would not be of what was written.
	}
	return a.ownAgain(ctx, body)
}

// ownAgain merges the fields that a patch of this field manager wrote into those that it applied,
// and returns the object that was written. A field that only an update owned would stay when a
// later intent drops it.
func (a *Applier) ownAgain(ctx context.Context, written *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	const attempts = 3
	err := a.mergeManagers(ctx, written)
	for range attempts - 1 {
		if !apierrors.IsConflict(err) {
			break
		}
		// What another client wrote since is not what was written here.
		live, readErr := a.get(ctx, written)
		if newer, ok := live.(*unstructured.Unstructured); readErr == nil && ok {
			err = a.mergeManagers(ctx, newer)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("merging the managed fields of %s %q: %w", written.GetKind(), written.GetName(), err)
	}
	return written, nil
}

// mergeManagers sends a patch of the managed fields of an object, which then holds the response.
func (a *Applier) mergeManagers(ctx context.Context, live *unstructured.Unstructured) error {
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(live, sets.New(a.manager), a.manager)
	if err != nil || patch == nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, a.timeout)
	defer cancel()
	return a.client.Patch(ctx, live, client.RawPatch(types.JSONPatchType, patch), client.FieldOwner(a.manager))
}

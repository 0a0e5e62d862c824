package reconciler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// maxMissing bounds the number of missing objects that a message names.
	maxMissing = 10
	// copiedWithin bounds how long the components of a new copy wait for what its hub writes beside it.
	copiedWithin = 10 * time.Second
)

// referredObjects has what the API server last answered about the Secrets and ConfigMaps that one application refers to
// and no cache has. It is valid while the application is the same and no user asks to look again.
type referredObjects struct {
	uid         types.UID
	reconcileAt string
	answers     map[component.Key]answer
}

// answer reports whether an object exists, until it is due to be read again. The zero value
// stands for an object in a cache.
type answer struct {
	missing bool
	due     time.Time
}

// of returns what is known about an owner: nothing if it was about another one, or a user asks to look again.
func (r referredObjects) of(owner client.Object) referredObjects {
	if at := owner.GetAnnotations()[v1.ReconcileAtAnnotation]; r.uid != owner.GetUID() || r.reconcileAt != at {
		return referredObjects{uid: owner.GetUID(), reconcileAt: at}
	}
	return r
}

// awaited returns the objects that components refer to and that a hub is about to write beside a new copy. Their watch
// ends the wait. It is bounded, since the hub may be unable to write them; a clock that is too far behind ends it too.
func (r *reconciler[T]) awaited(ctx context.Context, p *pass[T]) map[component.Key]bool {
	listed := strings.Split(p.object.GetAnnotations()[v1.PropagatedAnnotation], ",")
	rest := copiedWithin - r.member.Settings.Clock.Since(p.object.GetCreationTimestamp().Time)
	if rest <= 0 || rest > 2*copiedWithin {
		return nil
	}
	awaited := map[component.Key]bool{}
	for _, c := range p.components {
		for _, key := range c.References {
			if !slices.Contains(listed, key.Kind+"/"+key.Name) {
				continue
			}
			if found, err := r.isCached(ctx, p.live, key); !found && err == nil {
				awaited[key] = true
				p.checkDue = retry.Sooner(p.checkDue, rest)
			}
		}
	}
	return awaited
}

// checkReferences reports the objects that components refer to and the cluster does not have. The
// components may work all the same. What cannot be read is logged, and nothing is reported of it.
func (r *reconciler[T]) checkReferences(ctx context.Context, p *pass[T]) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	known := r.memory.of(client.ObjectKeyFromObject(p.object))
	before, answers := known.referred.of(p.object), make(map[component.Key]answer)
	_, copied := p.object.GetAnnotations()[v1.HubAppUIDAnnotation]
	var failed error
	for _, c := range p.components {
		var missing []component.Key
		for _, key := range c.References {
			if p.awaited[key] {
				continue
			}
			if _, looked := answers[key]; !looked {
				found, err := r.look(ctx, p.live, key, before.answers[key])
				answers[key], failed = found, cmp.Or(failed, err)
			}
			if answers[key].missing {
				missing = append(missing, key)
			}
		}
		if len(missing) > 0 {
			p.retryIn = retry.Sooner(p.retryIn, apierror.BlockedWait)
			p.problems = append(p.problems, component.Problem{
				Component: c.Name, Reason: v1.ReasonMissing, Explains: true, Optional: true, Message: describeMissing(missing, copied),
			})
		}
	}
	before.answers = answers
	known.referred = before
	if failed != nil {
		log.FromContext(ctx).Info("References could not be checked", "cause", failed.Error())
	}
}

// look returns whether an object exists. Those that the hub copies are in a cache; others are read from
// the API server, without their content, when the last answer is due.
func (r *reconciler[T]) look(ctx context.Context, live component.Live, key component.Key, last answer) (answer, error) {
	if found, err := r.isCached(ctx, live, key); found && err == nil {
		return answer{}, nil
	}
	settings := r.member.Settings
	now := settings.Clock.Now()
	if now.Before(last.due) {
		return last, nil
	}
	object := referred(key)
	err := r.member.APIReader.Get(ctx, client.ObjectKeyFromObject(object), object)
	if apierrors.IsNotFound(err) {
		return answer{missing: true, due: now.Add(settings.Waits.Scaled(apierror.BlockedWait))}, nil
	}
	if err != nil {
		err = fmt.Errorf("reading %s %q: %w", key.Kind, key.Name, err)
	}
	return answer{due: now.Add(settings.Waits.Scaled(resync))}, err
}

// isCached reports whether an object is in a cache, which only has those that a hub writes.
func (r *reconciler[T]) isCached(ctx context.Context, live component.Live, key component.Key) (bool, error) {
	cached := component.Live{key: live[key]}
	err := r.read(ctx, referred(key), cached)
	return cached[key] != nil, err
}

// referred returns an object without content.
func referred(key component.Key) *metav1.PartialObjectMetadata {
	object := &metav1.PartialObjectMetadata{}
	object.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(key.Kind))
	object.SetNamespace(key.Namespace)
	object.SetName(key.Name)
	return object
}

// describeMissing returns the message that tells a user what to do about missing objects, which a hub may
// copy if the application is a copy.
func describeMissing(missing []component.Key, copied bool) string {
	names := make([]string, 0, maxMissing+1)
	for i, key := range missing {
		if i == maxMissing {
			names = append(names, fmt.Sprintf("and %d more", len(missing)-maxMissing))
			break
		}
		names = append(names, key.Kind+" "+key.Name)
	}
	does, it := "does", "it"
	if len(missing) > 1 {
		does, it = "do", "them"
	}
	text := fmt.Sprintf("%s %s not exist in this cluster: create %s there", strings.Join(names, ", "), does, it)
	if copied {
		text += fmt.Sprintf(", or list %s in spec.propagate", it)
	}
	return text
}

package controller

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/controller/reconciler"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

// member is an engaged cluster.
type member struct {
	*reconciler.Member
	optional *optional
}

func newMember(ctx context.Context, name string, cl cluster.Cluster, o Options) (*member, error) {
	optional, err := newOptional(cl, o)
	if err != nil {
		return nil, err
	}
	recorder, err := newRecorder(ctx, cl, o.Logger.WithName("events"))
	if err != nil {
		return nil, err
	}
	m := &member{optional: optional, Member: &reconciler.Member{
		Name:      name,
		Settings:  o.settings(),
		Scheme:    cl.GetScheme(),
		Client:    cl.GetClient(),
		Reader:    cl.GetCache(),
		APIReader: cl.GetAPIReader(),
		Exec: func(ctx context.Context, target podexec.Container, command podexec.Command) (string, error) {
			return o.Exec(ctx, cl, target, command)
		},
		Applier:  newApplier(cl, o, false),
		Recorder: recorder,
		Progress: retry.NewProgress(retry.ProgressPeriod),
		Facts:    func() render.Cluster { return optional.facts(o.Facts(name)) },
		Children: func(extra []client.Object) []reconciler.Child { return childrenIn(cl, extra, optional) },
	}}
	m.Paused = o.Paused != nil && o.Paused(name)
	if o.OnStatus != nil {
		m.OnStatus = func(ctx context.Context, object client.Object) { o.OnStatus(ctx, name, object) }
	}
	return m, nil
}

func newApplier(cl cluster.Cluster, o Options, dryRun bool) *apply.Applier {
	writer := cl.GetClient()
	if dryRun {
		writer = apply.DryRunClient(cl)
	}
	return apply.New(apply.Options{
		Client:       writer,
		Reader:       cl.GetAPIReader(),
		FieldManager: v1.SpokeFieldManager,
		Timeout:      o.Timeout,
		Slim:         isSlim,
		Random:       o.Random,
		Clock:        o.Clock,
		DryRun:       dryRun,
	})
}

// facts adds to what is known of a cluster which optional kinds it has, and which it may have.
func (o *optional) facts(known render.Cluster) render.Cluster {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, kind := range optionalKinds() {
		switch {
		case kind.isReadOnly():
		case o.synced[kind.crd]:
			kind.mark(&known)
		case o.unknown[kind.crd] && kind.unknown != nil:
			kind.unknown(&known)
		}
	}
	return known
}

// childrenIn returns the kinds of children that a cluster has.
func childrenIn(cl cluster.Cluster, extra []client.Object, o *optional) []reconciler.Child {
	objects := append(children(), extra...)
	all := make([]reconciler.Child, 0, len(objects)+len(optionalKinds()))
	for _, object := range objects {
		// The scheme has them, or the cluster would not have been engaged.
		if gvk, err := apiutil.GVKForObject(object, cl.GetScheme()); err == nil {
			_, partial := object.(*metav1.PartialObjectMetadata)
			all = append(all, reconciler.Child{Kind: gvk, Reader: cl.GetCache(), Partial: partial})
		}
	}
	for _, kind := range o.present() {
		all = append(all, reconciler.Child{Kind: kind.gvk, Reader: o.cacheOf(kind), Partial: kind.partial, ReadOnly: kind.isReadOnly()})
	}
	return all
}

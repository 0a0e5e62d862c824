package controller

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/render"
)

// member is an engaged cluster, as the reconcilers of its kinds share it.
type member struct {
	name    string
	options Options
	scheme  *runtime.Scheme
	// client writes, reader reads from the main cache.
	client   client.Client
	reader   client.Reader
	applier  *apply.Applier
	recorder events.EventRecorder
	optional *optional
	ending   *ending
}

// child is a kind of children, and where to read it.
type child struct {
	gvk    schema.GroupVersionKind
	reader client.Reader
}

func newMember(name string, cl cluster.Cluster, o Options) (*member, error) {
	optional, err := newOptional(cl, o)
	if err != nil {
		return nil, err
	}
	return &member{
		name:    name,
		options: o,
		scheme:  cl.GetScheme(),
		client:  cl.GetClient(),
		reader:  cl.GetCache(),
		applier: apply.New(apply.Options{
			Client:       cl.GetClient(),
			Reader:       cl.GetAPIReader(),
			FieldManager: v1.SpokeFieldManager,
			Timeout:      o.Timeout,
			Random:       o.Random,
			Clock:        o.Clock,
		}),
		recorder: cl.GetEventRecorder("shopfleet-spoke"),
		optional: optional,
		ending:   newEnding(o.Clock),
	}, nil
}

// facts are what is known of the cluster: what the options tell, and which
// optional kinds it has.
func (m *member) facts() render.Cluster {
	facts := m.options.Facts(m.name)
	for _, kind := range m.optional.present() {
		kind.mark(&facts)
	}
	return facts
}

// children returns the kinds of children that the cluster has.
func (m *member) children(kind Runner) []child {
	objects := append(children(), kind.extra()...)
	all := make([]child, 0, len(objects)+len(optionalKinds()))
	for _, object := range objects {
		// The scheme has them, or the cluster would not have been engaged.
		if gvk, err := apiutil.GVKForObject(object, m.scheme); err == nil {
			all = append(all, child{gvk, m.reader})
		}
	}
	for _, kind := range m.optional.present() {
		all = append(all, child{kind.gvk, m.optional.cache})
	}
	return all
}

// child returns one kind of children; false when the cluster does not have it.
func (m *member) child(kind Runner, gvk schema.GroupVersionKind) (child, bool) {
	for _, c := range m.children(kind) {
		if c.gvk == gvk {
			return c, true
		}
	}
	return child{}, false
}

package commands

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/tty"
)

// list shows objects of one kind, once or as they change.
type list struct {
	*Program
	hub    *cluster
	output *output
	watch  bool
	// kind is an empty list of the kind.
	kind    client.ObjectList
	options []client.ListOption
	// keep filters the objects; nil keeps all.
	keep func(client.Object) bool
	// single prints one object as itself and not as a list of one.
	single bool
	// empty is the text for no objects.
	empty string
	// missing returns an error if an object that the user named is not there; it may be nil.
	missing func(context.Context, []client.Object) error
	render  func([]client.Object, time.Time) string
	// enough ends a watch; nil never does.
	enough func([]client.Object) bool
}

func (l *list) run(ctx context.Context) error {
	if l.watch {
		return l.runWatch(ctx)
	}
	var objects []client.Object
	err := l.during("waiting for the hub at "+l.hub.config.Host, func() (err error) {
		objects, err = l.get(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if l.missing != nil {
		if err := l.missing(ctx, objects); err != nil {
			return err
		}
	}
	if !l.output.text() {
		return l.print(objects)
	}
	if len(objects) == 0 {
		l.say("%s", l.empty)
		return nil
	}
	if _, err := io.WriteString(l.streams.Out, l.render(objects, l.clock.Now())); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

func (l *list) get(ctx context.Context) ([]client.Object, error) {
	found, ok := l.kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		return nil, fmt.Errorf("copying %T: not a list", l.kind)
	}
	if err := l.hub.client.List(ctx, found, l.options...); err != nil {
		return nil, fmt.Errorf("listing from the hub: %w", err)
	}
	items, err := meta.ExtractList(found)
	if err != nil {
		return nil, fmt.Errorf("reading the list: %w", err)
	}
	var objects []client.Object
	for _, item := range items {
		if object, ok := item.(client.Object); ok {
			objects = append(objects, object)
		}
	}
	return l.filter(objects), nil
}

func (l *list) filter(objects []client.Object) []client.Object {
	if l.keep == nil {
		return objects
	}
	return slices.DeleteFunc(objects, func(o client.Object) bool { return !l.keep(o) })
}

func (l *list) print(objects []client.Object) error {
	if l.single && len(objects) == 1 {
		return l.output.print(l.Program, objects[0], l.hub.scheme)
	}
	all := l.kind.DeepCopyObject()
	items := make([]runtime.Object, 0, len(objects))
	for _, o := range objects {
		items = append(items, o)
	}
	if err := meta.SetList(all, items); err != nil {
		return fmt.Errorf("creating a list: %w", err)
	}
	return l.output.print(l.Program, all, l.hub.scheme)
}

// runWatch shows changes until there is enough or the user interrupts.
func (l *list) runWatch(ctx context.Context) error {
	display := tty.New(l.streams.Out, l.streams.ErrOut, l.clock)
	defer display.Close()
	query, err := l.hub.query(display.SetError)
	if err != nil {
		return err
	}
	query.List, query.Options = l.kind, l.options
	versions := map[string]string{}
	return query.Run(ctx, func(all []client.Object) (bool, error) {
		objects := l.filter(all)
		enough := l.enough != nil && l.enough(objects)
		if !l.output.text() {
			return enough, l.printChanged(objects, versions)
		}
		display.Show(func(now time.Time) string {
			if len(objects) == 0 {
				return l.empty + "\n"
			}
			return l.render(objects, now)
		})
		return enough, nil
	})
}

// printChanged prints the objects that differ from those that were printed before.
func (l *list) printChanged(objects []client.Object, versions map[string]string) error {
	for _, o := range objects {
		key := client.ObjectKeyFromObject(o).String()
		if versions[key] == o.GetResourceVersion() {
			continue
		}
		versions[key] = o.GetResourceVersion()
		if err := l.output.print(l.Program, o, l.hub.scheme); err != nil {
			return err
		}
	}
	return nil
}

// itemsOf returns the objects of a kind as the items of its list.
func itemsOf[T any, P interface {
	*T
	client.Object
}](objects []client.Object) []T {
	items := make([]T, 0, len(objects))
	for _, o := range objects {
		if object, ok := o.(P); ok {
			items = append(items, *object)
		}
	}
	return items
}

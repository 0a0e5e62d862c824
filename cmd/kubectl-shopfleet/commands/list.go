package commands

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/tty"
)

// errNotFound tells that what was named does not exist.
var errNotFound = errors.New("not found")

// list shows objects of one kind, once or as they change.
type list struct {
	*session
	hub    *cluster
	output *output
	watch  bool
	// kind is an empty list of the kind.
	kind    client.ObjectList
	options []client.ListOption
	// keep chooses among what was listed.
	keep func(client.Object) bool
	// single prints one object as itself and not as a list of one.
	single bool
	// empty is said when there is nothing.
	empty string
	// missing says, with an error, that something that was named is not there.
	missing func(context.Context, []client.Object) error
	render  func([]client.Object, time.Time) string
	// enough ends a watch; nil never does.
	enough func([]client.Object) bool
}

func (l *list) run(ctx context.Context) error {
	if l.watch {
		return l.follow(ctx)
	}
	var objects []client.Object
	err := l.during("waiting for the hub at "+l.hub.config.Host, func() error {
		var err error
		objects, err = l.once(ctx)
		return err
	})
	if err != nil {
		return err
	}
	if err := l.missing(ctx, objects); err != nil {
		return err
	}
	if !l.output.table() {
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

func (l *list) once(ctx context.Context) ([]client.Object, error) {
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
		if object, ok := item.(client.Object); ok && l.keep(object) {
			objects = append(objects, object)
		}
	}
	return objects, nil
}

func (l *list) print(objects []client.Object) error {
	if l.single && len(objects) == 1 {
		return l.output.print(l.session, objects[0], l.hub.scheme)
	}
	all, ok := l.kind.DeepCopyObject().(client.ObjectList)
	if !ok {
		return fmt.Errorf("copying %T: not a list", l.kind)
	}
	items := make([]runtime.Object, 0, len(objects))
	for _, o := range objects {
		items = append(items, o)
	}
	if err := meta.SetList(all, items); err != nil {
		return fmt.Errorf("making a list: %w", err)
	}
	return l.output.print(l.session, all, l.hub.scheme)
}

// follow shows changes until there is enough, or the user interrupts, which is how
// a watch ends.
func (l *list) follow(ctx context.Context) error {
	display := tty.New(l.streams.Out, l.streams.ErrOut, l.clock)
	defer display.Close()
	query, err := l.query(l.hub, display.SetTrouble)
	if err != nil {
		return err
	}
	query.List, query.Options = l.kind, l.options
	versions := map[string]string{}
	return query.Run(ctx, func(all []client.Object) (bool, error) {
		objects := slices.DeleteFunc(slices.Clone(all), func(o client.Object) bool { return !l.keep(o) })
		enough := l.enough != nil && l.enough(objects)
		if l.output.table() {
			display.Show(func(now time.Time) string {
				if len(objects) == 0 {
					return l.empty + "\n"
				}
				return l.render(objects, now)
			})
			return enough, nil
		}
		return enough, l.printChanged(objects, versions)
	})
}

// printChanged prints what is not as it was printed before.
func (l *list) printChanged(objects []client.Object, versions map[string]string) error {
	for _, o := range objects {
		key := client.ObjectKeyFromObject(o).String()
		if versions[key] == o.GetResourceVersion() {
			continue
		}
		versions[key] = o.GetResourceVersion()
		if err := l.output.print(l.session, o, l.hub.scheme); err != nil {
			return err
		}
	}
	return nil
}

// named keeps objects by name; no names keep all.
func named(names []string) func(client.Object) bool {
	return func(o client.Object) bool { return len(names) == 0 || slices.Contains(names, o.GetName()) }
}

// missing complains about the first name that is not among the objects.
func missing(what string, names []string) func(context.Context, []client.Object) error {
	return func(_ context.Context, objects []client.Object) error {
		for _, name := range names {
			if !slices.ContainsFunc(objects, func(o client.Object) bool { return o.GetName() == name }) {
				return hint.With(fmt.Errorf("%s %q: %w", what, name, errNotFound), "See all: kubectl shopfleet clusters")
			}
		}
		return nil
	}
}

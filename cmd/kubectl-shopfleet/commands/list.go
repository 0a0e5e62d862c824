package commands

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
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
	// expand returns what the listed objects are records of; nil for themselves.
	expand func([]client.Object) []client.Object
	// keep filters the objects; nil keeps all.
	keep func(client.Object) bool
	// single prints one object as itself and not as a list of one.
	single bool
	// empty is the text for no objects.
	empty string
	// missing returns an error if an object that the user named is not there; it may be nil.
	missing func(context.Context, []client.Object) error
	// render returns the table of objects. Where they are not nil, detail describes them instead, once, and changes
	// returns the table of what has changed in a watch, or nil if there are no parts to compare.
	render  func([]client.Object, time.Time) *metav1.Table
	changes func([]client.Object, time.Time) *metav1.Table
	detail  func([]client.Object, time.Time) string
	// allNamespaces adds the namespace to the table.
	allNamespaces bool
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
	if err := l.output.sort(objects); err != nil {
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
	return l.show(objects)
}

// show prints objects as text.
func (l *list) show(objects []client.Object) error {
	switch {
	case len(objects) == 0:
		l.say("%s", l.empty)
		return nil
	case l.detail == nil:
		return l.output.printTable(l.Program, l.render(objects, l.clock.Now()), l.allNamespaces)
	}
	if _, err := io.WriteString(l.streams.Out, l.detail(objects, l.clock.Now())); err != nil {
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
	if l.expand != nil {
		objects = l.expand(objects)
	}
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

// query returns what to watch.
func (l *list) query() (watchuntil.Query, error) {
	query, err := l.hub.query(l.retrying)
	query.List, query.Options = l.kind, l.options
	return query, err
}

// runWatch prints the objects, and then those that change, until the user interrupts.
func (l *list) runWatch(ctx context.Context) error {
	if l.output.sortBy() != "" {
		l.say(sortIgnored)
	}
	query, err := l.query()
	if err != nil {
		return err
	}
	versions := map[string]string{}
	return query.Run(ctx, func(all []client.Object) (bool, error) {
		objects := l.filter(all)
		if len(objects)+len(versions) == 0 && l.output.text() {
			l.say("%s", l.empty)
		}
		return false, l.printChanged(objects, versions)
	})
}

// sortIgnored says what a watch cannot do.
const sortIgnored = "--watch shows changes as they come: --sort-by is ignored"

// printChanged prints the objects that differ from those that were printed before. What the hub has recorded of an orphan
// has no version, and does not change.
func (l *list) printChanged(objects []client.Object, versions map[string]string) error {
	var changed []client.Object
	for _, o := range objects {
		key, version := client.ObjectKeyFromObject(o).String()+"/"+string(o.GetUID()), cmp.Or(o.GetResourceVersion(), string(o.GetUID()))
		if versions[key] != version {
			versions[key] = version
			changed = append(changed, o)
		}
	}
	if l.output.text() && len(changed) > 0 {
		return l.showChanged(changed)
	}
	for _, o := range changed {
		if err := l.output.print(l.Program, o, l.hub.scheme); err != nil {
			return err
		}
	}
	return nil
}

// showChanged prints objects that differ from those before as text.
func (l *list) showChanged(objects []client.Object) error {
	table := l.render(objects, l.clock.Now())
	if l.changes != nil {
		if rows := l.changes(objects, l.clock.Now()); rows != nil {
			table = rows
		}
	}
	if len(table.Rows) == 0 {
		return nil
	}
	return l.output.printTable(l.Program, table, l.allNamespaces)
}

// listFlags are flags of kubectl get that select objects.
type listFlags struct {
	selector, fields     string
	allNamespaces, watch bool
}

func (l *listFlags) add(cmd *cobra.Command) {
	l.addSelection(cmd)
	cmd.Flags().StringVar(&l.fields, "field-selector", "", "Field selector, for example metadata.name=shop")
	cmd.Flags().BoolVarP(&l.allNamespaces, "all-namespaces", "A", false, "List the objects of all namespaces")
}

// addSelection adds the flags of each list, also of one that is about an EcommerceApp or about several kinds.
func (l *listFlags) addSelection(cmd *cobra.Command) {
	cmdutil.AddLabelSelectorFlagVar(cmd, &l.selector)
	cmd.Flags().BoolVarP(&l.watch, "watch", "w", false, "Print changes, too, until you interrupt the command")
}

// options returns the namespace, or an empty string for all, and what selects the objects.
func (l *listFlags) options(p *Program) (namespace string, options []client.ListOption, err error) {
	selector, err := labels.Parse(l.selector)
	if err != nil {
		return "", nil, usagef("--selector: %w", err)
	}
	field, err := fields.ParseSelector(l.fields)
	if err != nil {
		return "", nil, usagef("--field-selector: %w", err)
	}
	if !l.allNamespaces {
		if namespace, err = p.namespaceFlag(); err != nil {
			return "", nil, err
		}
	}
	options = []client.ListOption{client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}}
	if !field.Empty() {
		options = append(options, client.MatchingFieldsSelector{Selector: field})
	}
	return namespace, options, nil
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

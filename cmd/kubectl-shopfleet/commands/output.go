package commands

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/liggitt/tabwriter"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"k8s.io/kubectl/pkg/cmd/get"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
)

const (
	// wide is the output format of tables with all columns.
	wide = "wide"
	// nameFormat is the output format of the kind and the name of objects.
	nameFormat = "name"
)

// printFlags are the flags of kubectl that choose a printer.
type printFlags interface {
	AddFlags(cmd *cobra.Command)
	AllowedFormats() []string
	ToPrinter() (printers.ResourcePrinter, error)
}

// output is the flag --output and the printer that it chooses.
type output struct {
	flags    printFlags
	chosen   *string
	template *string
	formats  []string
	printer  printers.ResourcePrinter
	// get are the flags of kubectl get, of a command that prints tables. These are printed by one printer, which prints
	// the headers once.
	get    *get.PrintFlags
	tables printers.ResourcePrinter
	lines  *tabwriter.Writer
}

// newOutput adds --output to a command that prints text unless the flag is set.
func newOutput(cmd *cobra.Command) *output {
	return addOutput(cmd, genericclioptions.NewPrintFlags(""))
}

// newReportOutput adds --output to a command that prints a report, which has no name.
func newReportOutput(cmd *cobra.Command) *output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil
	return addOutput(cmd, flags)
}

// newListOutput adds the flags of kubectl get about the output to a command that lists objects of one kind.
func newListOutput(cmd *cobra.Command) *output {
	flags := get.NewGetPrintFlags()
	flags.HumanReadableFlags.ShowKind = nil
	o := &output{flags: flags, chosen: flags.OutputFormat, template: flags.TemplateFlags.TemplateArgument, get: flags}
	o.add(cmd, flags.AllowedFormats())
	return o
}

// newTableOutput adds the flags of kubectl get about the output to a command that prints a report as a table. Its rows have
// no names, no labels, and no fields to sort by.
func newTableOutput(cmd *cobra.Command) *output {
	flags := get.NewGetPrintFlags()
	flags.HumanReadableFlags = &get.HumanPrintFlags{}
	o := &output{flags: flags, chosen: flags.OutputFormat, template: flags.TemplateFlags.TemplateArgument, get: flags}
	o.add(cmd, slices.DeleteFunc(flags.AllowedFormats(), func(format string) bool { return format == nameFormat }))
	return o
}

func addOutput(cmd *cobra.Command, flags *genericclioptions.PrintFlags) *output {
	o := &output{flags: flags, chosen: flags.OutputFormat, template: flags.TemplatePrinterFlags.TemplateArgument}
	o.add(cmd, flags.AllowedFormats())
	return o
}

func (o *output) add(cmd *cobra.Command, formats []string) {
	o.formats = formats
	o.flags.AddFlags(cmd)
	cmd.Flag("output").Usage = "Output format: " + strings.Join(o.formats, ", ")
	if _, done := cmd.GetFlagCompletionFunc("output"); done {
		return // By kubectl.
	}
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag was registered above.
	}
}

// check rejects an unknown format, and chooses the printer.
func (o *output) check() error {
	if o.text() && (o.format() == "" || slices.Contains(o.formats, wide)) {
		return nil
	}
	printer, err := o.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) || o.format() == nameFormat && !slices.Contains(o.formats, nameFormat) {
		return usagef("--output %q: must be one of %s", o.format(), strings.Join(o.formats, ", "))
	}
	if err != nil {
		return usagef("--output %q: %w", o.format(), err)
	}
	o.printer = printer
	return nil
}

// sort sorts objects by the field of --sort-by, if there is one.
func (o *output) sort(objects []client.Object) error {
	if o.sortBy() == "" || len(objects) < 2 {
		return nil
	}
	all := make([]runtime.Object, 0, len(objects))
	for _, object := range objects {
		content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
		if err != nil {
			return fmt.Errorf("encoding %T: %w", object, err)
		}
		all = append(all, &unstructured.Unstructured{Object: content})
	}
	sorter := get.NewRuntimeSorter(all, o.sortBy())
	if err := sorter.Sort(); err != nil {
		return usagef("--sort-by %q: %w", o.sortBy(), err)
	}
	before := slices.Clone(objects)
	for i := range objects {
		objects[i] = before[sorter.OriginalPosition(i)]
	}
	return nil
}

// sortBy returns the field by which the user wants objects to be sorted, or an empty string.
func (o *output) sortBy() string {
	if o.get == nil || o.get.HumanReadableFlags.SortBy == nil {
		return ""
	}
	return *o.get.HumanReadableFlags.SortBy
}

// rowFlag returns a flag that the user has set about the rows of a table of objects, or an empty string.
func (o *output) rowFlag() string {
	human := o.get.HumanReadableFlags
	switch {
	case o.sortBy() != "":
		return "--sort-by"
	case human.ShowLabels != nil && *human.ShowLabels:
		return "--show-labels"
	case human.ColumnLabels != nil && len(*human.ColumnLabels) > 0:
		return "--label-columns"
	}
	return ""
}

// printTable prints a table of a command that has the flags of kubectl get. Further tables continue it.
func (o *output) printTable(p *Program, table *metav1.Table, allNamespaces bool) error {
	if o.tables == nil {
		human := o.get.HumanReadableFlags
		human.NoHeaders, human.WithNamespace = *o.get.NoHeaders, allNamespaces
		tables, err := human.ToPrinter(o.format())
		if err != nil {
			return fmt.Errorf("choosing a printer: %w", err)
		}
		o.tables, o.lines = tables, printers.GetNewTabWriter(p.streams.Out)
	}
	if err := errors.Join(o.tables.PrintObj(table, o.lines), o.lines.Flush()); err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

func (o *output) format() string { return *o.chosen }

func (o *output) wide() bool { return o.format() == wide }

// text reports whether the command prints text for the user, and not objects.
func (o *output) text() bool {
	return o.wide() || o.format() == "" && *o.template == ""
}

// print writes an object or a list in the chosen format.
func (o *output) print(p *Program, object runtime.Object, scheme *runtime.Scheme) error {
	object = object.DeepCopyObject()
	if err := setKinds(object, scheme); err != nil {
		return err
	}
	write := func(one runtime.Object) error { return o.printer.PrintObj(one, p.streams.Out) }
	var err error
	if meta.IsListType(object) && o.format() == nameFormat {
		// The printer of names takes no lists.
		err = meta.EachListItem(object, write)
	} else {
		err = write(object)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// printDone prints what was done to an object: "backup.ecommerce.io/a created", or the object.
func (o *output) printDone(p *Program, object runtime.Object, scheme *runtime.Scheme, operation string) error {
	if o.text() {
		o.printer = &printers.NamePrinter{Operation: operation}
	}
	return o.print(p, object, scheme)
}

// reportVersion is the API version of reports, which no server has.
const reportVersion = "cli.ecommerce.io/v1"

// printReport prints a report, a pointer to a struct, in the chosen format.
func (o *output) printReport(p *Program, kind string, fields any) error {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(fields)
	if err != nil {
		return fmt.Errorf("encoding %T: %w", fields, err)
	}
	report := &unstructured.Unstructured{Object: content}
	report.SetAPIVersion(reportVersion)
	report.SetKind(kind)
	return o.print(p, report, runtime.NewScheme())
}

// results returns a function that prints what was done to objects of manifests.
func (o *output) results(p *Program) func(installer.Result) error {
	return func(done installer.Result) error {
		return o.printDone(p, done.Object, runtime.NewScheme(), done.Operation())
	}
}

// setKinds sets the kind of an object or of a list and its items, which typed clients leave out.
func setKinds(object runtime.Object, scheme *runtime.Scheme) error {
	kind, err := apiutil.GVKForObject(object, scheme)
	if err != nil {
		return fmt.Errorf("finding the kind of %T: %w", object, err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	if !meta.IsListType(object) {
		return nil
	}
	if err := meta.EachListItem(object, func(item runtime.Object) error { return setKinds(item, scheme) }); err != nil {
		return fmt.Errorf("setting the kinds of a list: %w", err)
	}
	return nil
}

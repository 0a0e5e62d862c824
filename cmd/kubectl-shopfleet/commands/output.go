package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/printers"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/installer"
)

// wide is the output format of tables with all columns.
const wide = "wide"

// output is the flag --output and the printer that it chooses.
type output struct {
	flags   *genericclioptions.PrintFlags
	formats []string
	printer printers.ResourcePrinter
}

// newOutput adds --output to a command that prints text unless the flag is set. The
// extra formats are implemented by the command itself.
func newOutput(cmd *cobra.Command, extra ...string) *output {
	return addOutput(cmd, genericclioptions.NewPrintFlags(""), extra)
}

// newReportOutput adds --output to a command that prints a report, which has no name.
func newReportOutput(cmd *cobra.Command, extra ...string) *output {
	flags := genericclioptions.NewPrintFlags("")
	flags.NamePrintFlags = nil
	return addOutput(cmd, flags, extra)
}

func addOutput(cmd *cobra.Command, flags *genericclioptions.PrintFlags, extra []string) *output {
	o := &output{flags: flags}
	o.formats = append(o.flags.AllowedFormats(), extra...)
	o.flags.AddFlags(cmd)
	cmd.Flag("output").Usage = "Output format: " + strings.Join(o.formats, ", ")
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(o.formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag was registered above.
	}
	return o
}

// check rejects an unknown format, and chooses the printer.
func (o *output) check() error {
	if o.text() && (o.format() == "" || slices.Contains(o.formats, wide)) {
		return nil
	}
	printer, err := o.flags.ToPrinter()
	if genericclioptions.IsNoCompatiblePrinterError(err) {
		return usagef("--output %q: must be one of %s", o.format(), strings.Join(o.formats, ", "))
	}
	if err != nil {
		return usagef("--output %q: %w", o.format(), err)
	}
	o.printer = printer
	return nil
}

func (o *output) format() string { return *o.flags.OutputFormat }

func (o *output) wide() bool { return o.format() == wide }

// text reports whether the command prints text for the user, and not objects.
func (o *output) text() bool {
	return o.wide() || o.format() == "" && *o.flags.TemplatePrinterFlags.TemplateArgument == ""
}

// print writes an object or a list in the chosen format.
func (o *output) print(p *Program, object runtime.Object, scheme *runtime.Scheme) error {
	object = object.DeepCopyObject()
	if err := setKinds(object, scheme); err != nil {
		return err
	}
	write := func(one runtime.Object) error { return o.printer.PrintObj(one, p.streams.Out) }
	var err error
	if meta.IsListType(object) && o.format() == "name" {
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

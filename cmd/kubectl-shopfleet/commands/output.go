package commands

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"
)

// wide is the format of tables with all columns.
const wide = "wide"

// output is the flag --output and what it chooses.
type output struct {
	flags *genericclioptions.PrintFlags
}

// newOutput adds --output to a command. Operation is what -o name says was done.
func newOutput(cmd *cobra.Command, operation string) *output {
	o := &output{flags: genericclioptions.NewPrintFlags(operation)}
	o.flags.JSONYamlPrintFlags.AddFlags(cmd)
	formats := o.formats()
	cmd.Flags().StringVarP(o.flags.OutputFormat, "output", "o", "", "Output format: "+strings.Join(formats, ", "))
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(formats, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is registered two lines above.
	}
	return o
}

func (o *output) formats() []string {
	formats := append(o.flags.JSONYamlPrintFlags.AllowedFormats(), o.flags.NamePrintFlags.AllowedFormats()...)
	return append(formats, wide)
}

// check refuses a format that does not exist.
func (o *output) check() error {
	if format := *o.flags.OutputFormat; format != "" && !slices.Contains(o.formats(), format) {
		return &usageError{fmt.Errorf("--output %q: must be one of %s", format, strings.Join(o.formats(), ", "))}
	}
	return nil
}

// table tells whether the output is for people.
func (o *output) table() bool { return *o.flags.OutputFormat == "" || o.wide() }

func (o *output) wide() bool { return *o.flags.OutputFormat == wide }

// print writes an object or a list in the chosen format.
func (o *output) print(s *session, object runtime.Object, kinds *runtime.Scheme) error {
	object = object.DeepCopyObject()
	if err := name(object, kinds); err != nil {
		return err
	}
	printer, err := o.flags.ToPrinter()
	if err != nil {
		return fmt.Errorf("choosing the output: %w", err)
	}
	write := func(one runtime.Object) error { return printer.PrintObj(one, s.streams.Out) }
	if meta.IsListType(object) && *o.flags.OutputFormat == "name" {
		// Names are printed of objects alone.
		err = meta.EachListItem(object, write)
	} else {
		err = write(object)
	}
	if err != nil {
		return fmt.Errorf("printing: %w", err)
	}
	return nil
}

// name fills in what kind an object and the items of a list are: clients leave it out.
func name(object runtime.Object, kinds *runtime.Scheme) error {
	kind, err := apiutil.GVKForObject(object, kinds)
	if err != nil {
		return fmt.Errorf("naming the kind of %T: %w", object, err)
	}
	object.GetObjectKind().SetGroupVersionKind(kind)
	if !meta.IsListType(object) {
		return nil
	}
	if err := meta.EachListItem(object, func(item runtime.Object) error { return name(item, kinds) }); err != nil {
		return fmt.Errorf("naming the kinds of a list: %w", err)
	}
	return nil
}

package commands

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/labels"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// selection chooses objects of a kind as kubectl does: by their names, by --selector, or by --all.
type selection struct {
	selector string
	all      bool
}

// add adds the flags to a command that takes names.
func (s *selection) add(cmd *cobra.Command) {
	cmdutil.AddLabelSelectorFlagVar(cmd, &s.selector)
	cmd.Flags().BoolVar(&s.all, "all", false, "Select all objects, in the namespace if they have one")
}

// check rejects names beside a flag, or nothing of them.
func (s *selection) check(names []string) error {
	given := 0
	for _, is := range []bool{len(names) > 0, s.selector != "", s.all} {
		if is {
			given++
		}
	}
	if given != 1 {
		return usagef("give either names, --selector or --all")
	}
	return nil
}

// names returns the names that the user gave, or those of the objects of a list that the flags select.
func (s *selection) names(ctx context.Context, of *list, given []string) ([]string, error) {
	if len(given) > 0 {
		return given, nil
	}
	selector, err := labels.Parse(s.selector)
	if err != nil {
		return nil, usagef("--selector: %w", err)
	}
	of.options = append(of.options, client.MatchingLabelsSelector{Selector: selector})
	objects, err := of.get(ctx)
	if err != nil {
		return nil, fmt.Errorf("selecting objects: %w", err)
	}
	names := make([]string, 0, len(objects))
	for _, o := range objects {
		names = append(names, o.GetName())
	}
	if len(names) == 0 {
		of.say("No resources found.")
	}
	return names, nil
}

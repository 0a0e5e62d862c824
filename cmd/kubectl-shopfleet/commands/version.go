package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// versions is the output of the command version.
type versions struct {
	Client  clientVersion   `json:"client"`
	Hub     *hubVersion     `json:"hub,omitempty"`
	Members []memberVersion `json:"members,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

type hubVersion struct {
	Server     string `json:"server"`
	Kubernetes string `json:"kubernetes"`
}

type memberVersion struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
}

// versionFormats are fewer than those of newOutput, because versions are no object.
func versionFormats() []string { return []string{"json", "yaml", "name", wide} }

func (p *Program) versionCommand() *cobra.Command {
	var clientOnly bool
	var format string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, of the hub and of the members",
		Example: `  kubectl shopfleet version
  kubectl shopfleet version --client
  kubectl shopfleet version -o yaml`,
		Args: usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if format != "" && !slices.Contains(versionFormats(), format) {
				return usagef("--output %q: must be one of %s", format, strings.Join(versionFormats(), ", "))
			}
			found, err := p.versions(cmd.Context(), clientOnly)
			// The version of the program is shown also when the hub does not answer.
			text, failed := found.format(format)
			if failed != nil {
				return fmt.Errorf("printing the versions: %w", failed)
			}
			if _, failed := fmt.Fprint(p.streams.Out, text); failed != nil {
				return fmt.Errorf("printing the versions: %w", failed)
			}
			return err
		},
	}
	cmd.Flags().StringVarP(&format, "output", "o", "", "Output format: "+strings.Join(versionFormats(), ", "))
	if err := cmd.RegisterFlagCompletionFunc("output", cobra.FixedCompletions(versionFormats(), cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag is one of this command.
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "Show the version of this program only; sends no request")
	return cmd
}

func (p *Program) versions(ctx context.Context, clientOnly bool) (versions, error) {
	found := versions{Client: clientVersion{Version: p.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}}
	if clientOnly {
		return found, nil
	}
	hub, err := p.hub()
	if err != nil {
		return found, err
	}
	err = p.during("waiting for the hub at "+hub.config.Host, func() error {
		kubernetes, err := join.Kubernetes(ctx, hub.config)
		if err != nil {
			return err
		}
		found.Hub = &hubVersion{Server: hub.config.Host, Kubernetes: kubernetes}
		members := &v1.MemberClusterList{}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing MemberClusters: %w", err)
		}
		for i := range members.Items {
			found.Members = append(found.Members, memberVersion{
				Name: members.Items[i].Name, Kubernetes: members.Items[i].Status.KubernetesVersion,
			})
		}
		return nil
	})
	return found, err
}

func (v versions) format(format string) (string, error) {
	switch format {
	case "json":
		raw, err := json.MarshalIndent(v, "", "    ")
		return string(raw) + "\n", err
	case "yaml":
		raw, err := yaml.Marshal(v)
		return string(raw), err
	case "name":
		return program + "/" + v.Client.Version + "\n", nil
	}
	client, hub := v.Client.Version, ""
	if format == wide {
		client += " (" + v.Client.Go + ", " + v.Client.Platform + ")"
	}
	rows := [][]string{{program, client}}
	if v.Hub != nil {
		hub = v.Hub.Kubernetes
		if format == wide {
			hub += " (" + v.Hub.Server + ")"
		}
		rows = append(rows, []string{"hub, Kubernetes", hub})
	}
	for _, m := range v.Members {
		rows = append(rows, []string{m.Name + ", Kubernetes", cmp.Or(m.Kubernetes, "unknown")})
	}
	return printers.Rows([]string{"WHAT", "VERSION"}, rows), nil
}

package cli

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"runtime"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/table"
)

// versions are what `version` reports.
type versions struct {
	Client  clientVersion   `json:"client"`
	Hub     *clusterVersion `json:"hub,omitempty"`
	Members []memberVersion `json:"members,omitempty"`
}

type clientVersion struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

type clusterVersion struct {
	Server     string `json:"server"`
	Kubernetes string `json:"kubernetes"`
}

type memberVersion struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
}

func (s *session) versionCommand() *cobra.Command {
	var only bool
	var o *output
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Show the versions of this program, the hub's cluster and the members",
		Args:  usage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if err := o.check(); err != nil {
				return err
			}
			found, err := s.versions(cmd.Context(), only)
			// What is known is worth showing when the hub does not answer.
			if shown := found.write(s.streams.Out, o); shown != nil {
				return shown
			}
			return err
		},
	}
	o = newOutput(cmd, "")
	cmd.Flags().BoolVar(&only, "client", false, "Only the version of this program; asks no cluster")
	return cmd
}

func (s *session) versions(ctx context.Context, only bool) (versions, error) {
	found := versions{Client: clientVersion{
		Version: s.version, Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}}
	if only {
		return found, nil
	}
	hub, err := s.hub()
	if err != nil {
		return found, err
	}
	err = s.during("waiting for the hub at "+hub.config.Host, func() error {
		kubernetes, err := join.Kubernetes(ctx, hub.config)
		if err != nil {
			return err
		}
		found.Hub = &clusterVersion{Server: hub.config.Host, Kubernetes: kubernetes}
		members := &v1.MemberClusterList{}
		if err := hub.client.List(ctx, members); err != nil {
			return fmt.Errorf("listing the members of the hub: %w", err)
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

func (v versions) write(w io.Writer, o *output) error {
	var raw []byte
	var err error
	switch *o.flags.OutputFormat {
	case "json":
		if raw, err = json.MarshalIndent(v, "", "    "); err == nil {
			raw = append(raw, '\n')
		}
	case "yaml":
		raw, err = yaml.Marshal(v)
	case "name":
		raw = []byte(program + "/" + v.Client.Version + "\n")
	default:
		raw = []byte(v.table(o.wide()).Text())
	}
	if err != nil {
		return fmt.Errorf("printing the versions: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("writing the versions: %w", err)
	}
	return nil
}

func (v versions) table(wide bool) table.Table {
	t := table.Table{Header: []string{"WHAT", "VERSION"}}
	client := v.Client.Version
	if wide {
		client += " (" + v.Client.Go + ", " + v.Client.Platform + ")"
	}
	t.Rows = append(t.Rows, []string{program, client})
	if v.Hub != nil {
		hub := v.Hub.Kubernetes
		if wide {
			hub += " (" + v.Hub.Server + ")"
		}
		t.Rows = append(t.Rows, []string{"hub, Kubernetes", hub})
	}
	for _, m := range v.Members {
		t.Rows = append(t.Rows, []string{m.Name + ", Kubernetes", cmp.Or(m.Kubernetes, "unknown")})
	}
	return t
}

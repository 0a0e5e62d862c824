package versions

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// Report is what `version` reports.
type Report struct {
	// Program is the name of the program.
	Program string   `json:"-"`
	Client  Client   `json:"client"`
	Hub     *Cluster `json:"hub,omitempty"`
	Members []Member `json:"members,omitempty"`
}

// Client is this program.
type Client struct {
	Version  string `json:"version"`
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

// Cluster is the hub's.
type Cluster struct {
	Server     string `json:"server"`
	Kubernetes string `json:"kubernetes"`
}

// Member is a member of the fleet.
type Member struct {
	Name       string `json:"name"`
	Kubernetes string `json:"kubernetes"`
}

// Write writes the report as json, yaml, name, wide, or as a table.
func (v Report) Write(w io.Writer, format string) error {
	var raw []byte
	var err error
	switch format {
	case "json":
		if raw, err = json.MarshalIndent(v, "", "    "); err == nil {
			raw = append(raw, '\n')
		}
	case "yaml":
		raw, err = yaml.Marshal(v)
	case "name":
		raw = []byte(v.Program + "/" + v.Client.Version + "\n")
	default:
		raw = []byte(v.table(format == "wide").Text())
	}
	if err != nil {
		return fmt.Errorf("printing the versions: %w", err)
	}
	if _, err := w.Write(raw); err != nil {
		return fmt.Errorf("writing the versions: %w", err)
	}
	return nil
}

func (v Report) table(wide bool) printers.Table {
	t := printers.Table{Header: []string{"WHAT", "VERSION"}}
	client := v.Client.Version
	if wide {
		client += " (" + v.Client.Go + ", " + v.Client.Platform + ")"
	}
	t.Rows = append(t.Rows, []string{v.Program, client})
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

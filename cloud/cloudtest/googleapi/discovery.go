package googleapi

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
)

// API is Google's description of an API.
type API struct {
	description

	methods []*method
}

type description struct {
	BasePath   string              `json:"basePath"`
	Parameters map[string]*schema  `json:"parameters"`
	Schemas    map[string]*schema  `json:"schemas"`
	Resources  map[string]resource `json:"resources"`
}

type resource struct {
	Methods map[string]*method `json:"methods"`
}

type method struct {
	ID          string             `json:"id"`
	HTTPMethod  string             `json:"httpMethod"`
	FlatPath    string             `json:"flatPath"`
	Path        string             `json:"path"`
	Parameters  map[string]*schema `json:"parameters"`
	Request     *schema            `json:"request"`
	Response    *schema            `json:"response"`
	MediaUpload struct {
		Protocols struct {
			Simple struct {
				Path string `json:"path"`
			} `json:"simple"`
		} `json:"protocols"`
	} `json:"mediaUpload"`

	pattern *regexp.Regexp
	// upload matches where the method takes a file with its request; nil for most.
	upload *regexp.Regexp
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 string             `json:"type"`
	Format               string             `json:"format"`
	Pattern              string             `json:"pattern"`
	Enum                 []string           `json:"enum"`
	Items                *schema            `json:"items"`
	Properties           map[string]*schema `json:"properties"`
	AdditionalProperties *schema            `json:"additionalProperties"`
	ReadOnly             bool               `json:"readOnly"`
	Location             string             `json:"location"`
	Required             bool               `json:"required"`
	Annotations          struct {
		Required []string `json:"required"`
	} `json:"annotations"`
}

// Load reads version 1 of an API's description: "compute", "storage". It asks the go
// command where the module is.
func Load(ctx context.Context, name string) (*API, error) {
	dir, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "google.golang.org/api").Output()
	if err != nil {
		return nil, fmt.Errorf("finding module google.golang.org/api, which has Google's description of the API: %w", err)
	}
	text, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), name, "v1", name+"-api.json")) //nolint:gosec // The go command says where.
	if err != nil {
		return nil, fmt.Errorf("reading Google's description of API %q: %w", name, err)
	}
	a := &API{}
	if err := json.Unmarshal(text, &a.description); err != nil {
		return nil, fmt.Errorf("reading Google's description of API %q: %w", name, err)
	}
	for _, resource := range a.Resources {
		for _, m := range resource.Methods {
			path := m.FlatPath
			if path == "" {
				path = m.Path
			}
			m.pattern = pattern(a.BasePath + path)
			if upload := m.MediaUpload.Protocols.Simple.Path; upload != "" {
				m.upload = pattern(upload)
			}
			a.methods = append(a.methods, m)
		}
	}
	if len(a.methods) < 20 {
		return nil, fmt.Errorf("google's description of API %q has %d methods", name, len(a.methods))
	}
	return a, nil
}

// pattern matches paths, as they are sent, of a template with variables.
func pattern(path string) *regexp.Regexp {
	variable := regexp.MustCompile(`\\\{\+?(\w+)\\\}`)
	return regexp.MustCompile("^" + variable.ReplaceAllString(regexp.QuoteMeta(path), `(?P<$1>[^/]+)`) + "$")
}

package main

import (
	"fmt"
	"path/filepath"
	"text/template"
	"time"
)

// guide says what to try. Each line works as it stands, in the root of the
// repository.
const guide = `
{{.Shop}} runs in three regions, {{.Took}} after the start. Now, in this folder:

  export KUBECONFIG={{.Below}}{{.Dir}}/hub/kubeconfig PATH={{.Below}}{{.Dir}}/bin:$PATH

The fleet, and what runs in one region:
  kubectl shopfleet clusters
  kubectl --kubeconfig {{.Dir}}/eu-1/kubeconfig get pods -n {{.Namespace}}

A region stops answering. It turns Unknown within 40 seconds, the others go on; Ctrl-C ends the watch:
  fleet freeze eu-1{{.Flag}}
  kubectl shopfleet status {{.Shop}} -n {{.Namespace}} -w
  fleet thaw eu-1{{.Flag}}

Scale everywhere; delete everywhere, in order (volumes stay):
  kubectl scale ecommerceapp {{.Shop}} -n {{.Namespace}} --replicas 5
  kubectl delete ecommerceapp {{.Shop}} -n {{.Namespace}}

The hub's log is {{.Dir}}/{{.Log}}. End everything: {{.Down}}
`

// next says what to try next.
func (d *demo) next() error {
	dir, below := d.dir, ""
	if relative, err := filepath.Rel(d.root, d.dir); err == nil && filepath.IsLocal(relative) {
		dir, below = relative, "$PWD/"
	}
	data := map[string]string{
		"Dir": dir, "Below": below, "Flag": "", "Shop": shop, "Namespace": namespace, "Log": operatorLog,
		"Took": time.Since(d.begin).Round(time.Second).String(), "Down": "make demo-down",
	}
	if dir != defaultDir {
		data["Flag"], data["Down"] = " --dir "+dir, "go run ./e2e/demo --dir "+dir+" down"
	}
	parsed, err := template.New("guide").Parse(guide)
	if err == nil {
		err = parsed.Execute(d.screen.out, data)
	}
	if err != nil {
		return fmt.Errorf("writing what to try next: %w", err)
	}
	return nil
}

package main

import (
	"fmt"
	"path/filepath"
	"text/template"
	"time"
)

// guide lists commands to try, each of which works unchanged in the root of the
// repository.
const guide = `
{{.Shop}} runs in all its regions, and doctor finds nothing to do. Now, in this folder:

  export KUBECONFIG={{.Below}}{{.Dir}}/hub/kubeconfig PATH={{.Below}}{{.Dir}}/bin:$PATH

The fleet in a browser, until Ctrl-C:
  kubectl shopfleet ui

The fleet, and what runs in one region:
  kubectl get memberclusters
  kubectl --kubeconfig {{.Dir}}/eu-1/kubeconfig get pods -n {{.Namespace}}

A region stops answering. It turns Unknown within 40 seconds, the others go on; Ctrl-C ends the watch:
  fleet freeze eu-1{{.Flag}}
  kubectl shopfleet status {{.Shop}} -n {{.Namespace}} -w
  fleet thaw eu-1{{.Flag}}

Roll out an image that cannot be pulled: the region that gets it first returns to the one before:
  {{.Rollout}}

Back up again; bring the data of eu-1, and with it the shop, to a region that has neither:
  kubectl shopfleet backup create {{.Shop}} -n {{.Namespace}} --member eu-1
  {{.Restore}}

Scale everywhere; delete everywhere, in order (volumes stay):
  kubectl scale ecommerceapp {{.Shop}} -n {{.Namespace}} --replicas 5
  kubectl delete ecommerceapp {{.Shop}} -n {{.Namespace}}

Logs are {{.Dir}}/{{.Log}} of the hub and {{.Dir}}/{{.CloudLog}} of the cloud. End everything: {{.Down}}

The demo took {{.Took}}.
`

// restoredGuide lists commands to try after a restore.
const restoredGuide = `
{{.Shop}} runs on the data of eu-1 in us-2, too, {{.Took}} after the start. Now, in this folder:

  export KUBECONFIG={{.Below}}{{.Dir}}/hub/kubeconfig PATH={{.Below}}{{.Dir}}/bin:$PATH

What was restored, and from which snapshot:
  kubectl get restores -n {{.Namespace}} -o wide
  kubectl shopfleet backup list -n {{.Namespace}} -o wide

eu-1 is lost; the shop goes on where its data was brought:
  fleet kill eu-1{{.Flag}}
  kubectl shopfleet status {{.Shop}} -n {{.Namespace}} -w

End everything: {{.Down}}
`

// rolloutGuide lists commands to try after rollouts.
const rolloutGuide = `
{{.Shop}} runs the new image in all its regions, {{.Took}} after the start. Now, in this folder:

  export KUBECONFIG={{.Below}}{{.Dir}}/hub/kubeconfig PATH={{.Below}}{{.Dir}}/bin:$PATH

Take it back, and roll it out once more:
  kubectl shopfleet rollout undo {{.Shop}} -n {{.Namespace}}
  kubectl shopfleet rollout undo {{.Shop}} -n {{.Namespace}} --to-revision 3

End everything: {{.Down}}
`

// next prints commands to try.
func (d *demo) next() error { return d.say(guide) }

// restored prints commands to try after a restore.
func (d *demo) restored() error { return d.say(restoredGuide) }

func (d *demo) say(text string) error {
	dir, below := d.dir, ""
	if relative, err := filepath.Rel(d.root, d.dir); err == nil && filepath.IsLocal(relative) {
		dir, below = relative, "$PWD/"
	}
	data := map[string]string{
		"Dir": dir, "Below": below, "Flag": "", "Shop": shop, "Namespace": namespace, "Log": operatorLog,
		"Took": time.Since(d.begin).Round(time.Second).String(), "Down": "make demo-down", "Restore": "make demo-restore",
		"CloudLog": providerLog, "Rollout": "make demo-rollout",
	}
	if dir != defaultDir {
		data["Flag"], data["Down"] = " --dir "+dir, "go run ./e2e/demo --dir "+dir+" down"
		data["Rollout"] = "go run ./e2e/demo --dir " + dir + " rollout"
		data["Restore"] = "go run ./e2e/demo --dir " + dir + " restore"
	}
	parsed, err := template.New("guide").Parse(text)
	if err == nil {
		err = parsed.Execute(d.screen.out, data)
	}
	if err != nil {
		return fmt.Errorf("writing what to try next: %w", err)
	}
	return nil
}

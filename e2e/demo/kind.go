package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"text/template"
	"time"

	"sigs.k8s.io/yaml"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	kindDir    = ".kind/demo"
	kindPrefix = "shopfleet-"
	// kindTimeout limits the start of containers.
	kindTimeout = 10 * time.Minute
)

// page exposes the frontend of the shop on a port of the node, without the login of its
// ingress.
const page = `
apiVersion: v1
kind: Service
metadata: {name: page, namespace: %[1]s}
spec:
  type: NodePort
  selector: {app.kubernetes.io/instance: %[2]s, app.kubernetes.io/component: frontend}
  ports: [{port: 80, targetPort: http, nodePort: %[3]d}]
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata: {name: page, namespace: %[1]s}
spec:
  podSelector: {matchLabels: {app.kubernetes.io/instance: %[2]s, app.kubernetes.io/component: frontend}}
  ingress: [{}]
`

// kindGuide lists commands to try on kind.
const kindGuide = `
{{.Shop}} runs in two regions, {{.Took}} after the start. Order something:
{{range .Pages}}
  {{.}}{{end}}

Now, in this folder:

  export KUBECONFIG={{.Dir}}/hub/kubeconfig PATH={{.Dir}}/bin:$PATH

The fleet in a browser, until Ctrl-C:
  kubectl shopfleet ui

The fleet, and what runs in one region:
  kubectl get memberclusters
  kubectl --kubeconfig {{.Dir}}/eu-1/kubeconfig get pods -n {{.Namespace}}

A region stops answering. It turns Unknown within 40 seconds, the other goes on; Ctrl-C ends the watch:
  docker pause {{.Prefix}}eu-1-control-plane
  kubectl shopfleet status {{.Shop}} -n {{.Namespace}} -w
  docker unpause {{.Prefix}}eu-1-control-plane

Bring out the next version of the shop; customers notice nothing but the banner:
  kubectl patch ecommerceapp {{.Shop}} -n {{.Namespace}} --type merge -p '{"spec":{"frontend":{"image":"ecommerce-frontend:v2.1.0"},"backend":{"image":"ecommerce-backend:v2.1.0"}}}'

End everything: make demo-down KIND=1
`

// kindDemo is the demo on kind clusters, with real containers.
type kindDemo struct {
	options testenv.Options
	env     *testenv.Environment
	screen  *steps
	begin   time.Time
}

func newKindDemo(d *demo) *kindDemo {
	return &kindDemo{
		options: testenv.Options{Root: d.root, Dir: filepath.Join(d.root, kindDir), Prefix: kindPrefix},
		screen:  d.screen, begin: d.begin,
	}
}

// up starts the demo. An interruption removes what this run has started.
func (k *kindDemo) up(ctx context.Context) error {
	existed := testenv.Exists(k.options)
	if err := k.steps(ctx); err != nil {
		return k.screen.stopped(ctx, err, ending{existed: existed, command: "make demo-down KIND=1", remove: func() error { return k.down(context.WithoutCancel(ctx)) }})
	}
	return k.next(ctx)
}

func (k *kindDemo) down(ctx context.Context) error {
	k.options.Progress = &indented{steps: k.screen}
	return testenv.Down(ctx, k.options)
}

func (k *kindDemo) steps(ctx context.Context) error {
	if err := k.screen.all(ctx, []step{
		{"Starting three kind clusters, building images", k.start},
		{"Installing the hub", k.install},
		{"Joining eu-1, and us-1 with an agent", k.join},
		{"Applying " + sample, k.apply},
	}); err != nil {
		return err
	}
	return k.watch(ctx)
}

func (k *kindDemo) start(ctx context.Context, progress io.Writer) (err error) {
	k.options.Progress = progress
	k.env, err = testenv.Up(ctx, k.options)
	return err
}

func (k *kindDemo) install(ctx context.Context, _ io.Writer) error {
	_, err := testenv.Run(k.env.Command(ctx, "kubectl-shopfleet", "install", "hub", "--image", k.env.Images.Hub))
	return err
}

func (k *kindDemo) join(ctx context.Context, progress io.Writer) error {
	more := [][]string{nil, {"--mode", "agent", "--spoke-image", k.env.Images.Spoke}}
	var group sync.WaitGroup
	said, failed := make([]string, len(more)), make([]error, len(more))
	for i, m := range k.env.Members {
		group.Go(func() {
			args := append([]string{"join", m.MemberName, "--member-kubeconfig", m.Kubeconfig, "--member-server", m.InternalServer}, more[i]...)
			said[i], failed[i] = testenv.Run(k.env.Command(ctx, "kubectl-shopfleet", args...))
		})
	}
	group.Wait()
	_, _ = io.WriteString(progress, strings.Join(said, ""))
	return errors.Join(failed...)
}

// apply applies the sample with requests that fit on this machine, and opens the
// page in each region.
func (k *kindDemo) apply(ctx context.Context, _ io.Writer) error {
	raw, err := os.ReadFile(filepath.Join(k.options.Root, sample))
	if err != nil {
		return fmt.Errorf("reading the sample: %w", err)
	}
	app := &v1.EcommerceApp{}
	if err := yaml.UnmarshalStrict(raw, app); err != nil {
		return fmt.Errorf("parsing the sample: %w", err)
	}
	app.Spec.Frontend.Resources, app.Spec.Backend.Resources = v1.Resources{}, v1.Resources{}
	if raw, err = yaml.Marshal(app); err != nil {
		return fmt.Errorf("writing the sample: %w", err)
	}
	space := "{apiVersion: v1, kind: Namespace, metadata: {name: " + namespace + "}}"
	if err := k.pipe(ctx, k.env.Hub.Kubeconfig, space+"\n---\n"+string(raw)); err != nil {
		return err
	}
	for _, m := range k.env.Members {
		if err := k.pipe(ctx, m.Kubeconfig, space+"\n---\n"+fmt.Sprintf(page, namespace, shop, testenv.PagePort)); err != nil {
			return err
		}
	}
	return nil
}

// pipe applies manifests.
func (k *kindDemo) pipe(ctx context.Context, kubeconfig, manifests string) error {
	cmd := k.env.Command(ctx, "kubectl", "--kubeconfig", kubeconfig, "apply", "--server-side", "--filename", "-")
	cmd.Stdin = bytes.NewBufferString(manifests)
	_, err := testenv.Run(cmd)
	return err
}

func (k *kindDemo) watch(ctx context.Context) error {
	_, _ = fmt.Fprintln(k.screen.out)
	status := k.env.Command(ctx, "kubectl-shopfleet", "rollout", "status", shop, "-n", namespace, "--timeout", kindTimeout.String())
	status.Stdout, status.Stderr = k.screen.out, os.Stderr
	if err := status.Run(); err != nil {
		return fmt.Errorf("the shop does not run in all regions: %w", err)
	}
	return nil
}

func (k *kindDemo) next(ctx context.Context) error {
	var pages []string
	for _, m := range k.env.Members {
		address, err := m.Address(ctx, testenv.PagePort)
		if err != nil {
			return err
		}
		pages = append(pages, fmt.Sprintf("http://%s  (%s, %s)", address, m.MemberName, m.Region))
	}
	parsed, err := template.New("guide").Parse(kindGuide)
	if err == nil {
		err = parsed.Execute(k.screen.out, map[string]any{
			"Shop": shop, "Namespace": namespace, "Dir": "$PWD/" + kindDir, "Prefix": kindPrefix, "Pages": pages,
			"Took": time.Since(k.begin).Round(time.Second).String(),
		})
	}
	if err != nil {
		return fmt.Errorf("writing what to try next: %w", err)
	}
	return nil
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
)

const (
	sample    = "config/samples/ecommerceapp.yaml"
	shop      = "my-ecommerce-app"
	namespace = "production"
	// readyTimeout limits the start of the shop in all regions.
	readyTimeout = 2 * time.Minute
	// policyTimeout limits how long the hub may take to see that the policies of a member are in force.
	policyTimeout = 2 * time.Minute
	// requestTimeout bounds each of the demo's own requests.
	requestTimeout = 15 * time.Second
)

func members() []string { return []string{"eu-1", "us-1", "asia-1"} }

// up starts the demo. An interruption removes what this run has started.
func (d *demo) up(ctx context.Context) error {
	existed := false
	if f, err := fleet.Open(d.dir); err == nil {
		existed = f.Complete()
	}
	if err := d.steps(ctx); err != nil {
		return d.screen.stopped(ctx, err, ending{existed: existed, command: "make demo-down", remove: func() error {
			cleanup, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTimeout)
			defer cancel()
			return d.down(cleanup)
		}})
	}
	return d.next()
}

func (d *demo) steps(ctx context.Context) error {
	if err := d.screen.all(ctx, []step{
		{"Building the hub and getting a control plane", d.build},
		{"Building the controllers of a storage driver", d.buildCSI},
		{"Starting four control planes", d.fleet},
		{"Installing definitions, permissions, policies", func(ctx context.Context, _ io.Writer) error {
			return d.kubectl(ctx, append(apply(), "-f", "config/crd/bases", "-f", "config/rbac/hub", "-f", "config/admission/hub")...)
		}},
		{"Starting the hub", func(ctx context.Context, _ io.Writer) error { return d.ensureOperator(ctx) }},
		{"Starting a cloud with a storage driver", func(ctx context.Context, _ io.Writer) error { return d.ensureProvider(ctx) }},
		{"Joining " + strings.Join(members(), ", "), func(ctx context.Context, progress io.Writer) error {
			return d.join(ctx, progress, members()...)
		}},
		{"Telling the hub the account of " + home, func(ctx context.Context, progress io.Writer) error {
			return d.introduce(ctx, progress, home)
		}},
		{"Applying " + sample, func(ctx context.Context, _ io.Writer) error { return d.applySample(ctx) }},
	}); err != nil {
		return err
	}
	if err := d.watch(ctx); err != nil {
		return err
	}
	if err := d.showMissing(ctx); err != nil {
		return err
	}
	_, _ = fmt.Fprintln(d.screen.out)
	if err := d.screen.all(ctx, []step{
		{"Giving it a login and copies of its backups", d.complete},
		{"Backing up " + home + ", with a copy in " + away, d.backUp},
	}); err != nil {
		return err
	}
	if err := d.listBackups(ctx); err != nil {
		return err
	}
	return d.check(ctx)
}

// join makes the clusters members, at the same time; those that are ready stay as
// they are.
func (d *demo) join(ctx context.Context, progress io.Writer, members ...string) error {
	_, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	var group sync.WaitGroup
	said, failed := make([][]byte, len(members)), make([]error, len(members))
	for i, name := range members {
		if joined(ctx, hub, name) {
			continue
		}
		group.Go(func() {
			said[i], failed[i] = quiet(d.command(ctx, d.path("bin", "kubectl-shopfleet"),
				"join", name, "--member-kubeconfig", d.path(name, "kubeconfig")))
		})
	}
	group.Wait()
	for _, text := range said {
		if len(bytes.TrimSpace(text)) > 0 {
			_, _ = progress.Write(text)
		}
	}
	if err := errors.Join(failed...); err != nil {
		return fmt.Errorf("%w\nthe hub's log ends with:\n%s", err, d.operator().LogTail())
	}
	return d.awaitPolicies(ctx, members)
}

// awaitPolicies waits until the hub has seen that the members enforce the admission policies that join
// installed: an API server takes a moment for that, and the hub looks again after a few seconds, then once a minute.
func (d *demo) awaitPolicies(ctx context.Context, members []string) error {
	return d.kubectl(ctx, append([]string{
		"wait", "membercluster", "--for=condition=" + v1.ConditionAccountRestricted, "--timeout=" + policyTimeout.String(),
	}, members...)...)
}

// joined reports whether the hub reports the member ready.
func joined(ctx context.Context, hub client.Client, name string) bool {
	member := &v1.MemberCluster{}
	return hub.Get(ctx, client.ObjectKey{Name: name}, member) == nil &&
		member.DeletionTimestamp.IsZero() &&
		meta.IsStatusConditionTrue(member.Status.Conditions, v1.ConditionReady)
}

// apply returns the arguments of kubectl that apply files as an installation does. A later run takes
// fields back that were changed meanwhile.
func apply() []string { return []string{"apply", "--server-side", "--force-conflicts"} }

// applySample applies the sample as it is.
func (d *demo) applySample(ctx context.Context) error {
	if err := d.pipe(ctx, apply(), "{apiVersion: v1, kind: Namespace, metadata: {name: "+namespace+"}}"); err != nil {
		return err
	}
	return d.kubectl(ctx, append(apply(), "-f", sample)...)
}

// watch shows the shop until it runs in all regions.
func (d *demo) watch(ctx context.Context) error {
	_, _ = fmt.Fprintln(d.screen.out)
	status := d.command(ctx, d.path("bin", "kubectl-shopfleet"),
		"rollout", "status", shop, "-n", namespace, "--timeout", readyTimeout.String())
	status.Stdout, status.Stderr = d.screen.out, os.Stderr
	err := status.Run()
	if err == nil {
		return d.show(ctx, d.screen.out, "status", shop, "-n", namespace)
	}
	if ctx.Err() == nil {
		return fmt.Errorf("the shop does not run in all regions: %w\nits conditions:\n%s\nthe hub's log ends with:\n%s",
			err, d.conditions(ctx), d.operator().LogTail())
	}
	return err
}

// conditions lists the shop's conditions.
func (d *demo) conditions(ctx context.Context) string {
	_, hub, err := d.hubClient()
	if err != nil {
		return "  " + err.Error()
	}
	app := &v1.EcommerceApp{}
	if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, app); err != nil {
		return "  " + err.Error()
	}
	lines := make([]string, 0, len(app.Status.Conditions))
	for _, c := range app.Status.Conditions {
		lines = append(lines, fmt.Sprintf("  %s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return strings.Join(lines, "\n")
}

// hubClient returns the administrator's configuration and client of the hub.
func (d *demo) hubClient() (*rest.Config, client.Client, error) {
	config, err := clientcmd.BuildConfigFromFlags("", d.path("hub", "kubeconfig"))
	if err != nil {
		return nil, nil, fmt.Errorf("reading the kubeconfig of the hub: %w", err)
	}
	config.Timeout = requestTimeout
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, corev1.AddToScheme, authenticationv1.AddToScheme} {
		if err := add(kinds); err != nil {
			return nil, nil, fmt.Errorf("making the scheme: %w", err)
		}
	}
	c, err := client.New(config, client.Options{Scheme: kinds})
	if err != nil {
		return nil, nil, fmt.Errorf("making a client of the hub: %w", err)
	}
	return config, c, nil
}

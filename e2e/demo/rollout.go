package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// rolloutTimeout limits each rollout of the demo.
	rolloutTimeout = 2 * time.Minute
	// rolloutPeriod is how often the demo looks at one.
	rolloutPeriod = 500 * time.Millisecond
	// badImage cannot be pulled by the simulated nodes, or by any other: its registry does not exist.
	badImage  = "registry.invalid/ecommerce-frontend:v2.1.0"
	nextImage = "ecommerce-frontend:v2.1.0"
)

var (
	// errRollout means that a rollout does not get where the demo wants it.
	errRollout = errors.New("the rollout has another end")
	// errNotServing means that a rollout changed a region before its turn.
	errNotServing = errors.New("it is not available with the revision that it had")
)

// edit is a change of the spec of the shop.
type edit struct {
	// spec is merged into the spec.
	spec string
	// want is the state of the rollout to wait for.
	want v1.RolloutState
	// serving are the members that must serve customers with the previous revision meanwhile.
	serving []string
}

// rollOut gives the shop a bad image and then a good one, region by region.
func (d *demo) rollOut(ctx context.Context) error {
	if err := d.running(ctx); err != nil {
		return err
	}
	if err := d.rollingOut(ctx); err != nil {
		return d.screen.stopped(ctx, err, ending{existed: true, command: "make demo-down"})
	}
	return d.say(rolloutGuide)
}

func (d *demo) rollingOut(ctx context.Context) error {
	for _, s := range []struct {
		what string
		edit edit
		// show lists the revisions afterwards.
		show bool
	}{
		{what: "Rolling out in eu-west-1 first from now on", edit: edit{
			spec: `{"rollout":{"order":["eu-west-1","us-central1"],"soak":"5s","progressDeadline":"15s"},"frontend":{"image":"ecommerce-frontend:v2.0.0"}}`,
			want: v1.RolloutComplete,
		}},
		{what: "Rolling out an image that cannot be pulled", show: true, edit: edit{
			spec: `{"frontend":{"image":"` + badImage + `"}}`, want: v1.RolloutRolledBack, serving: []string{"us-1", "asia-1"},
		}},
		{what: "Rolling out an image that can", show: true, edit: edit{spec: `{"frontend":{"image":"` + nextImage + `"}}`, want: v1.RolloutComplete}},
	} {
		change := func(ctx context.Context, progress io.Writer) error { return d.change(ctx, progress, s.edit) }
		if err := d.screen.all(ctx, []step{{s.what, change}}); err != nil {
			return err
		}
		if !s.show {
			continue
		}
		_, _ = fmt.Fprintln(d.screen.out)
		for _, command := range [][]string{{"status"}, {"rollout", "history"}} {
			if err := d.show(ctx, d.screen.out, append(command, shop, "-n", namespace)...); err != nil {
				return err
			}
			_, _ = fmt.Fprintln(d.screen.out)
		}
	}
	return nil
}

// change changes the spec of the shop, and shows its rollout until it has a state.
func (d *demo) change(ctx context.Context, progress io.Writer, e edit) error {
	_, hub, err := d.hubClient()
	if err != nil {
		return err
	}
	if err := d.kubectl(ctx, "patch", "ecommerceapp", shop, "-n", namespace, "--type=merge", "-p", `{"spec":`+e.spec+`}`); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, rolloutTimeout, errRollout)
	defer cancel()
	ticker := time.NewTicker(rolloutPeriod)
	defer ticker.Stop()
	shown := ""
	for {
		app := &v1.EcommerceApp{}
		if err := hub.Get(ctx, client.ObjectKey{Namespace: namespace, Name: shop}, app); err != nil {
			return fmt.Errorf("getting the shop: %w", err)
		}
		if r := app.Status.Rollout; r != nil && app.Status.ObservedGeneration == app.Generation {
			shown = report(progress, r, shown)
			if err := e.check(&app.Status); err != nil {
				return err
			}
			if r.State == e.want {
				if len(e.serving) > 0 {
					_, _ = fmt.Fprintf(progress, "%s: available with revision %d all the time\n", strings.Join(e.serving, " and "), r.PreviousRevision)
				}
				return nil
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w", e.want, context.Cause(ctx))
		case <-ticker.C:
		}
	}
}

// report shows the state of a rollout, unless that was shown last, and returns what is shown now.
func report(progress io.Writer, r *v1.RolloutStatus, last string) string {
	text := fmt.Sprintf("revision %d: %s, %d of %d clusters updated", r.Revision, r.State, r.Updated, r.Total)
	if text == last {
		return last
	}
	_, _ = fmt.Fprintln(progress, text)
	// RollingBack can be over before it is seen.
	if r.State == v1.RolloutRollingBack || r.State == v1.RolloutRolledBack && !strings.Contains(last, string(v1.RolloutRollingBack)) {
		_, _ = fmt.Fprintln(progress, "  "+r.Message)
	}
	return text
}

// check returns an error if a member that must serve customers does not, or has another revision.
func (e *edit) check(status *v1.EcommerceAppStatus) error {
	for _, name := range e.serving {
		i := slices.IndexFunc(status.Clusters, func(c v1.ClusterStatus) bool { return c.Name == name })
		if i < 0 || !status.Clusters[i].Available || status.Clusters[i].Revision != status.Rollout.PreviousRevision {
			return fmt.Errorf("observing %q: %w", name, errNotServing)
		}
	}
	return nil
}

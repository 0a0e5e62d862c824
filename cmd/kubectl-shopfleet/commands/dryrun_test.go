package commands

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/join"
)

var errWritten = errors.New("a client dry run writes")

// readOnly returns a hub that has objects, and to which nothing may be written.
func readOnly(t *testing.T, objects ...client.Object) *cluster {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	byName := func(o client.Object) []string { return []string{o.GetName()} }
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(objects...).WithIndex(&v1.EcommerceApp{}, "metadata.name", byName).WithInterceptorFuncs(interceptor.Funcs{
		Patch: func(context.Context, client.WithWatch, client.Object, client.Patch, ...client.PatchOption) error {
			return errWritten
		},
	}).Build()
	return &cluster{config: &rest.Config{Host: "hub"}, scheme: scheme, client: c}
}

// printing returns a program, the flag -o with a format, and what the program prints.
func printing(t *testing.T, format string) (p *Program, out *output, printed func() string) {
	t.Helper()
	streams, _, stdout, _ := genericiooptions.NewTestIOStreams()
	out = newOutput(&cobra.Command{})
	*out.chosen = format
	if err := out.check(); err != nil {
		t.Fatal(err)
	}
	return &Program{streams: streams, clock: testclock.NewFakeClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))}, out, stdout.String
}

// TestClientDryRun: the object that a client dry run prints has what the command would write, which it does not.
func TestClientDryRun(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", Annotations: map[string]string{v1.RolloutPausedAnnotation: "true"}}}
	app.Spec.Rollout, app.Status.Rollout = &v1.Rollout{}, &v1.RolloutStatus{}
	hub := readOnly(t, app, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}})
	annotated := func(key, value string) func(*Program, *output) error {
		return func(p *Program, out *output) error {
			c := annotateCommand{Program: p, output: out, dryRun: dryRunClient, key: key, value: func(*v1.EcommerceApp) (string, error) { return value, nil }}
			_, err := c.annotate(t.Context(), hub, client.ObjectKeyFromObject(app))
			return err
		}
	}
	for name, tt := range map[string]struct {
		run  func(*Program, *output) error
		path string
		want string
	}{
		"cordon": {func(p *Program, out *output) error {
			return (&scheduling{Program: p, output: out, dryRun: dryRunClient, to: v1.SchedulingCordoned}).set(t.Context(), hub, "eu-1")
		}, "{.spec.scheduling}", "Cordoned"},
		"pause": {func(p *Program, out *output) error {
			return (&pause{Program: p, output: out, dryRun: dryRunClient, to: true}).set(t.Context(), hub, &v1.MemberCluster{})
		}, "{.spec.paused}", "true"},
		"annotation":           {annotated("a", "new"), "{.metadata.annotations.a}", "new"},
		"no annotation longer": {annotated(v1.RolloutPausedAnnotation, ""), "{.metadata.annotations}", ""},
		"join": {func(p *Program, out *output) error {
			r := join.Registration{Name: "eu-1", Region: "eu", Labels: map[string]string{"a": "b"}, Mode: v1.ModeAgent, CloudAccount: "prod"}
			return out.printDone(p, memberFrom(r), hub.scheme, "registered")
		}, "{.metadata.labels.a} {.spec.region} {.spec.mode} {.spec.cloudAccountRef.name}", "b eu Agent prod"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p, out, printed := printing(t, "jsonpath="+tt.path)
			if err := tt.run(p, out); err != nil || printed() != tt.want {
				t.Errorf("printed %q and %v, want %q", printed(), err, tt.want)
			}
		})
	}
}

// TestDrainPreviewFormats: a dry run prints its preview in each format but that of names.
func TestDrainPreviewFormats(t *testing.T) {
	t.Parallel()
	app, eu, us := drainedApp("shop", nil, "eu-1", "us-1"), drainedMember("eu-1"), drainedMember("us-1")
	hub := readOnly(t, &app, &eu, &us)
	for format, want := range map[string]string{
		"":                                 "NAMESPACE   NAME   DRAIN    REASON   MESSAGE\nshops       shop   leaves   -        -\n",
		"yaml":                             "apiVersion: cli.ecommerce.io/v1\napps:\n- drain: leaves\n  name: shop\n  namespace: shops\nkind: DrainPreview\nmember: eu-1\n",
		"jsonpath={.kind} {.apps[*].name}": "DrainPreview shop",
		"name":                             "",
	} {
		p, out, printed := printing(t, format)
		d := &drain{scheduling: scheduling{Program: p, output: out, dryRun: dryRunClient}, names: []string{"eu-1"}}
		if err := d.showPreview(t.Context(), hub, "eu-1"); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(printed(), "\t", " ")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", format, diff)
		}
	}
}

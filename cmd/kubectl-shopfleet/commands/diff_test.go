package commands

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

func pausedApp() *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "shop", Generation: 3}}
	app.Status.ObservedGeneration = 3
	app.Status.Clusters = []v1.ClusterStatus{{Name: "us-1", PendingChangeCount: 2}, {Name: "eu-1", Stale: true}}
	app.Status.PendingChanges = []v1.PendingChange{{Cluster: "us-1", Kind: "EcommerceApp", Name: "shop", Action: v1.PendingUpdate, Fields: []string{"spec.image: a -> b"}}}
	return app
}

// TestCompare: only changes of the clusters that the user chose are shown.
func TestCompare(t *testing.T) {
	t.Parallel()
	us := printers.ClusterDiff{Name: "us-1", Paused: true, PendingChangeCount: 2, Changes: pausedApp().Status.PendingChanges}
	eu := printers.ClusterDiff{Name: "eu-1", Stale: true, Changes: []v1.PendingChange{}}
	member := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}, Spec: v1.MemberClusterSpec{Paused: true}}
	for name, tt := range map[string]struct {
		named []string
		want  []printers.ClusterDiff
		err   error
	}{
		"all":     {nil, []printers.ClusterDiff{eu, us}, nil},
		"one":     {[]string{"us-1"}, []printers.ClusterDiff{us}, nil},
		"unknown": {[]string{"us-1", "us-2"}, nil, errNotFound},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := compare(pausedApp(), []v1.MemberCluster{member}, tt.named)
			if !errors.Is(err, tt.err) {
				t.Fatalf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, got.Clusters); err == nil && diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
		})
	}
}

// TestDiffOfACopy: the changes of a copy are about its own cluster.
func TestDiffOfACopy(t *testing.T) {
	t.Parallel()
	app := pausedApp()
	app.Status.Clusters, app.Status.PendingChanges[0].Cluster = nil, ""
	got, err := compare(app, nil, nil)
	if err != nil || len(got.Clusters) != 1 || got.Clusters[0].Name != thisCluster || got.Clusters[0].PendingChangeCount != 1 {
		t.Errorf("%+v, %v; want one change in %s", got.Clusters, err, thisCluster)
	}
}

// TestShowDifferences: the exit code is the same as of kubectl diff, and what is paused is named.
func TestShowDifferences(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		change func(*v1.EcommerceApp)
		code   int
		says   []string
	}{
		"nothing":      {func(app *v1.EcommerceApp) { app.Status = v1.EcommerceAppStatus{ObservedGeneration: 3} }, exitDone, nil},
		"differences":  {func(*v1.EcommerceApp) {}, exitFound, []string{"-spec.image: a\n+spec.image: b\n", "# 1 more", "Member eu-1 does not respond"}},
		"paused":       {func(app *v1.EcommerceApp) { app.Spec.Paused = true }, exitFound, []string{"EcommerceApp shops/shop is paused", "kubectl shopfleet unpause app shop -n shops"}},
		"not observed": {func(app *v1.EcommerceApp) { app.Generation = 4 }, exitFound, []string{"has not observed the current spec"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, _, out, errOut := genericiooptions.NewTestIOStreams()
			p := New(Invocation{Args: []string{program}, Streams: streams})
			app := pausedApp()
			tt.change(app)
			found, err := compare(app, nil, nil)
			if err != nil {
				t.Fatal(err)
			}
			c := &diff{Program: p, output: newReportOutput(p.root)}
			if err := c.output.check(); err != nil {
				t.Fatal(err)
			}
			if code := p.exit(t.Context(), p.root, c.show(found)); code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			text := out.String() + errOut.String()
			for _, part := range tt.says {
				if !strings.Contains(text, part) {
					t.Errorf("it says %q, want %q in it", text, part)
				}
			}
			if strings.Contains(text, "error:") {
				t.Errorf("differences are no error: %q", text)
			}
		})
	}
}

// TestSafeMode: a member that is paused without its spec is so by the safe mode of the hub.
func TestSafeMode(t *testing.T) {
	t.Parallel()
	m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "us-1"}}
	m.Status.Conditions = []metav1.Condition{{Type: v1.ConditionReady, Status: metav1.ConditionFalse, Reason: v1.ReasonPaused}}
	for spec, want := range map[bool]string{false: "The hub is in safe mode", true: "Member us-1 is paused"} {
		m.Spec.Paused = spec
		found, err := compare(pausedApp(), []v1.MemberCluster{m}, []string{"us-1"})
		if err != nil || len(found.notes()) != 1 || !strings.HasPrefix(found.notes()[0], want) {
			t.Errorf("notes %q, %v; want %q", found.notes(), err, want)
		}
	}
}

// TestExitCodeValues: scripts compare with the documented numbers.
func TestExitCodeValues(t *testing.T) {
	t.Parallel()
	want := []int{0, 1, 2, 3, 4, 130}
	got := []int{exitDone, exitFound, exitFailed, exitNotReady, exitUsage, exitInterrupted}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("exit codes (-want +got):\n%s", diff)
	}
}

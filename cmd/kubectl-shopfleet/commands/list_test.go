package commands

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// listing returns a list with the flags of a user, and what it prints.
func listing(t *testing.T, args ...string) (l *list, printed func() string) {
	t.Helper()
	scheme, err := newScheme()
	if err != nil {
		t.Fatal(err)
	}
	streams, _, out, _ := genericiooptions.NewTestIOStreams()
	cmd := &cobra.Command{}
	l = &list{
		Program: &Program{streams: streams, clock: testclock.NewFakeClock(time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC))},
		hub:     &cluster{scheme: scheme}, output: newListOutput(cmd), kind: &v1.BackupList{},
		render: func(objects []client.Object, now time.Time) *metav1.Table {
			return printers.Backups(itemsOf[v1.Backup](objects), now)
		},
	}
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	if err := l.output.check(); err != nil {
		t.Fatal(err)
	}
	return l, out.String
}

func listedBackup(name, phase string, labels map[string]string) client.Object {
	b := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: name, Labels: labels, ResourceVersion: "1"}}
	b.Spec.AppRef.Name, b.Spec.ClusterRef.Name, b.Status.Phase = "shop", "eu-1", v1.BackupPhase(phase)
	return b
}

// TestListFlags: the flags of kubectl get about the output have the meanings of kubectl.
func TestListFlags(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		want string
	}{
		"none":           {nil, "NAME   APP    CLUSTER   PHASE       SIZE   AGE   MESSAGE\nb      shop   eu-1      Failed      -      -     -\na      shop   eu-1      Completed   -      -     -\n"},
		"no headers":     {[]string{"--no-headers"}, "b     shop   eu-1   Failed      -     -     -\na     shop   eu-1   Completed   -     -     -\n"},
		"sorted":         {[]string{"--no-headers", "--sort-by=.metadata.name"}, "a     shop   eu-1   Completed   -     -     -\nb     shop   eu-1   Failed      -     -     -\n"},
		"names, sorted":  {[]string{"-o", "name", "--sort-by={.status.phase}"}, "backup.ecommerce.io/a\nbackup.ecommerce.io/b\n"},
		"custom columns": {[]string{"-o", "custom-columns=N:.metadata.name,P:.status.phase"}, "N     P\nb     Failed\na     Completed\n"},
		"labels":         {[]string{"--no-headers", "--show-labels"}, "b     shop   eu-1   Failed      -     -     -     tier=prod\na     shop   eu-1   Completed   -     -     -     <none>\n"},
		"label columns":  {[]string{"--no-headers", "-L", "tier"}, "b     shop   eu-1   Failed      -     -     -     prod\na     shop   eu-1   Completed   -     -     -     \n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, printed := listing(t, tt.args...)
			objects := []client.Object{listedBackup("b", "Failed", map[string]string{"tier": "prod"}), listedBackup("a", "Completed", nil)}
			if err := l.output.sort(objects); err != nil {
				t.Fatal(err)
			}
			show := l.show
			if !l.output.text() {
				show = l.print
			}
			if err := show(objects); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, printed()); diff != "" {
				t.Errorf("output (-want +got):\n%s", diff)
			}
		})
	}
	l, _ := listing(t, "--sort-by={.status.none}")
	var wrong *usageError
	if err := l.output.sort([]client.Object{listedBackup("a", "", nil), listedBackup("b", "", nil)}); !errors.As(err, &wrong) {
		t.Errorf("error %v, want that no object has the field", err)
	}
}

// TestWatchAppends: a watch prints what changes below what it has printed, as kubectl does, with one header.
func TestWatchAppends(t *testing.T) {
	t.Parallel()
	l, printed := listing(t)
	versions := map[string]string{}
	first, second := listedBackup("a", "Creating", nil), listedBackup("b", "Creating", nil)
	changed := listedBackup("a", "Completed", nil)
	changed.SetResourceVersion("2")
	for _, objects := range [][]client.Object{{first, second}, {first, second}, {changed, second}, {second}} {
		if err := l.printChanged(objects, versions); err != nil {
			t.Fatal(err)
		}
	}
	want := "NAME   APP    CLUSTER   PHASE      SIZE   AGE   MESSAGE\na      shop   eu-1      Creating   -      -     -\n" +
		"b      shop   eu-1      Creating   -      -     -\na      shop   eu-1      Completed   -      -     -\n"
	if diff := cmp.Diff(want, printed()); diff != "" {
		t.Errorf("output (-want +got):\n%s", diff)
	}
}

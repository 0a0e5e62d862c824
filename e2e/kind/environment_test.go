package kind

import (
	"bytes"
	"context"
	"fmt"
	"iter"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/clusters"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

const (
	namespace = "production"
	// shop is the seed's application, ledger the same trade on MySQL.
	shop   = "my-ecommerce-app"
	ledger = "ledger"

	// patience is a generous timeout for containers on two cores.
	patience = 8 * time.Minute
	// unknownWithin is the promise about a member that stops answering.
	unknownWithin = 40 * time.Second
)

// environment is the test environment of the cases.
type environment struct {
	env     *testenv.Environment
	hub     *view
	regions []*region
	// credentials are all that were seen, with where they were.
	credentials map[string]string
	// followed are the sections of hub/README.md whose commands were run.
	followed map[string]bool
}

// view is a cluster with an administrator's client.
type view struct {
	*clusters.Cluster
	client.Client
	env *testenv.Environment
}

// region is a member and the mode that it is in.
type region struct {
	*view
	name string
	mode v1.Mode
}

func newEnvironment(t *testing.T, l *testenv.Environment) *environment {
	t.Helper()
	w := &environment{env: l, hub: newView(t, l, l.Hub), credentials: map[string]string{}, followed: map[string]bool{}}
	modes := []v1.Mode{v1.ModeAgentless, v1.ModeAgent}
	for i, m := range l.Members {
		w.regions = append(w.regions, &region{view: newView(t, l, m.Cluster), name: m.MemberName, mode: modes[i]})
	}
	return w
}

func newView(t *testing.T, l *testenv.Environment, c *clusters.Cluster) *view {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, v1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	cfg, err := c.Config()
	if err != nil {
		t.Fatal(err)
	}
	made, err := client.New(cfg, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	return &view{Cluster: c, Client: made, env: l}
}

// each lists the members by a name for a subtest: their own, and their mode.
func (e *environment) each() iter.Seq2[string, *region] {
	return func(yield func(string, *region) bool) {
		for _, r := range e.regions {
			if !yield(fmt.Sprintf("%s in mode %s", r.name, r.mode), r) {
				return
			}
		}
	}
}

// inEach runs a test in all members at the same time, and returns when it has ended in each.
func (e *environment) inEach(t *testing.T, name string, test func(*testing.T, *region)) {
	t.Helper()
	t.Run(name, func(t *testing.T) {
		for name, r := range e.each() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				test(t, r)
			})
		}
	})
}

// others returns the members but the named one.
func (e *environment) others(name string) []*region {
	return slices.DeleteFunc(slices.Clone(e.regions), func(r *region) bool { return r.name == name })
}

// reset removes what an earlier run left in clusters that were kept.
func (e *environment) reset(t *testing.T) {
	t.Helper()
	views := []*view{e.hub}
	for _, r := range e.regions {
		views = append(views, r.view)
	}
	for _, v := range views {
		// A process that goes on would add its finalizers again.
		v.must(t, "delete", "deployment", "--namespace", config.Namespace, "--all", "--ignore-not-found", "--cascade=foreground", "--timeout=3m")
	}
	for _, v := range views {
		for _, kind := range []string{"restores", "backups", "ecommerceapps", "memberclusters"} {
			v.release(t, kind)
		}
		v.must(t, "delete", "namespace", namespace, config.Namespace, "--ignore-not-found", "--timeout=3m")
	}
}

// release removes the finalizers of all objects of a kind and deletes them, because no
// controller is left.
func (v *view) release(t *testing.T, kind string) {
	t.Helper()
	found, err := v.kubectl(t.Context(), "get", kind, "--all-namespaces", "--output=jsonpath={range .items[*]}{.metadata.namespace}/{.metadata.name} {end}")
	if err != nil {
		return // The kind is not served: nothing was left.
	}
	for name := range strings.FieldsSeq(found) {
		space, name, _ := strings.Cut(name, "/")
		args := []string{kind, name}
		if space != "" {
			args = append(args, "--namespace", space)
		}
		v.must(t, append([]string{"patch", "--type=merge", "--patch", `{"metadata":{"finalizers":null}}`}, args...)...)
		v.must(t, append([]string{"delete", "--ignore-not-found"}, args...)...)
	}
}

// kubectl runs kubectl on the cluster.
func (v *view) kubectl(ctx context.Context, args ...string) (string, error) {
	return testenv.Run(v.env.Command(ctx, "kubectl", append([]string{"--kubeconfig", v.Kubeconfig}, args...)...))
}

// must runs kubectl on the cluster, successfully.
func (v *view) must(t *testing.T, args ...string) string {
	t.Helper()
	out, err := v.kubectl(t.Context(), args...)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// get reads an object of the namespace.
func (v *view) get(ctx context.Context, name string, into client.Object) error {
	return v.Get(ctx, client.ObjectKey{Namespace: namespace, Name: name}, into)
}

// mark returns the end of the audit log.
func (v *view) mark(t *testing.T) audit.Mark {
	t.Helper()
	_, mark, err := v.Audit(0)
	if err != nil {
		t.Fatal(err)
	}
	if mark == 0 {
		// Nothing could be found missing in it.
		t.Fatalf("the audit log of %s is empty: delete the cluster, it was made by other sources", v.Name)
	}
	return mark
}

// since returns the audit log from a mark on.
func (v *view) since(t *testing.T, mark audit.Mark) audit.Log {
	t.Helper()
	log, _, err := v.Audit(mark)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

// app reads an application on the hub.
func (e *environment) app(ctx context.Context, name string) (*v1.EcommerceApp, error) {
	app := &v1.EcommerceApp{}
	return app, e.hub.get(ctx, name, app)
}

// running waits until the applications run as their specs say in all regions.
func (e *environment) running(t *testing.T, names ...string) {
	t.Helper()
	var regions []string
	for _, r := range e.regions {
		regions = append(regions, r.Region)
	}
	slices.Sort(regions)
	for _, name := range names {
		fleettest.Within(t, patience, name+" to run in all regions", func(ctx context.Context) error {
			app, err := e.app(ctx, name)
			if err != nil {
				return err
			}
			return framework.Runs(app, regions...)
		})
	}
}

// change changes the shop on the hub as a person does, by a merge patch.
func (e *environment) change(t *testing.T, patch string) {
	t.Helper()
	e.patch(t, shop, patch)
}

// patch changes an application on the hub as a person does, by a merge patch.
func (e *environment) patch(t *testing.T, app, patch string) {
	t.Helper()
	e.hub.must(t, "patch", "ecommerceapp", app, "--namespace", namespace, "--type=merge", "--patch", patch)
}

// pods returns the pods of a component of the shop, those that end left out.
func (r *region) pods(ctx context.Context, component string) ([]corev1.Pod, error) {
	list := &corev1.PodList{}
	if err := r.List(ctx, list, client.InNamespace(namespace), client.MatchingLabels{
		v1.InstanceLabel: shop, v1.ComponentLabel: component,
	}); err != nil {
		return nil, fmt.Errorf("listing pods: %w", err)
	}
	var pods []corev1.Pod
	for _, pod := range list.Items {
		if pod.DeletionTimestamp.IsZero() {
			pods = append(pods, pod)
		}
	}
	return pods, nil
}

// gone waits until an object is not there any more.
func (v *view) gone(t *testing.T, object client.Object) {
	t.Helper()
	fleettest.Within(t, patience, fmt.Sprintf("%T %s to be gone", object, client.ObjectKeyFromObject(object)), func(ctx context.Context) error {
		return framework.Gone(ctx, v, object)
	})
}

// follow runs the commands of a section of hub/README.md, as they stand there.
func (e *environment) follow(t *testing.T, section string) string {
	t.Helper()
	raw, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	e.followed[section] = true
	commands := commandsOf(string(raw), section)
	if len(commands) == 0 {
		t.Fatalf("hub/README.md has no commands under %q", section)
	}
	cmd := e.env.Command(t.Context(), "bash", "-euo", "pipefail", "-c", strings.Join(commands, "\n"))
	begin := time.Now()
	var all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &all, &all
	if err := cmd.Run(); err != nil {
		t.Fatalf("following %q of hub/README.md: %v\n%s\n%s", section, err, strings.Join(commands, "\n"), all.String())
	}
	t.Logf("%s of hub/README.md took %s:\n%s", section, time.Since(begin).Round(time.Second/10), all.String())
	return all.String()
}

// commandsOf returns the lines of the indented code blocks in a section of Markdown. Fenced ones are no
// commands.
func commandsOf(text, section string) []string {
	var commands []string
	inside, fenced := false, false
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "```") {
			fenced = !fenced
		}
		if fenced {
			continue
		}
		if strings.HasPrefix(line, "#") {
			inside = strings.TrimSpace(strings.TrimLeft(line, "#")) == section
			continue
		}
		if code, ok := strings.CutPrefix(line, "    "); ok && inside {
			commands = append(commands, code)
		}
	}
	return commands
}

// sectionsOf returns the headings of Markdown.
func sectionsOf(text string) []string {
	var sections []string
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "#") {
			sections = append(sections, strings.TrimSpace(strings.TrimLeft(line, "#")))
		}
	}
	return sections
}

// objectMeta returns the metadata of an object in the shops' namespace.
func objectMeta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: namespace, Name: name}
}

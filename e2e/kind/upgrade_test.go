package kind

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// templatesCommit is the last commit that changed pod templates: between builds from there on, no pod
// restarts. The way to it from before is testBase's.
const templatesCommit = "d7d86dcf3e05ea8e924f81237e9df54c4d44e4f8"

// testUpgrade goes back to the previous build of the hub and the agent, and then follows
// the upgrade to this one: either way no pod of a shop is started again, and only objects that
// the two builds render differently are written to.
func (e *environment) testUpgrade(t *testing.T) {
	t.Helper()
	previous := e.previousSources(t)
	hubImage, spokeImage, err := e.env.LoadProduct(t.Context(), previous)
	if err != nil {
		t.Fatal(err)
	}
	if hubImage == e.env.Images.Hub && spokeImage == e.env.Images.Spoke {
		t.Log("the programs are the same as before: only manifests can differ")
	}
	e.checkReplaced(t, "back", func() {
		e.hub.installFrom(t, previous, "hub", hubImage)
		for _, r := range e.regions {
			r.installFrom(t, previous, "spoke", spokeImage)
			// The previous release has its own permissions in the members.
			e.hub.runFrom(t, previous, "join", r.name, "--member-kubeconfig", r.Kubeconfig, "--member-server", r.InternalServer)
		}
	})
	e.checkReplaced(t, "upgrade", func() { e.follow(t, "Upgrade") })
}

// checkReplaced replaces the hub and the agents, and checks that the shops go on as they were.
func (e *environment) checkReplaced(t *testing.T, way string, replace func()) {
	t.Helper()
	before, marks, rendered := e.podsOf(t), []audit.Mark{}, []map[string]string{}
	for _, r := range e.regions {
		marks = append(marks, r.mark(t))
		rendered = append(rendered, r.contents(t))
	}
	replace()
	e.reconcile(t)
	e.running(t, shop, ledger)
	if after := e.podsOf(t); !slices.Equal(before, after) {
		t.Errorf("%s: pods and restarts before:\n%v\nand after:\n%v", way, before, after)
	}
	for i, r := range e.regions {
		changed := r.contents(t)
		maps.DeleteFunc(changed, func(object, content string) bool { return content == rendered[i][object] })
		r.checkUntouched(t, marks[i], slices.Collect(maps.Keys(changed))...)
		// The copies may have new fields, and pass on the request above.
		copies := r.since(t, marks[i]).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes().Succeeded().Of("ecommerceapps")
		applied := slices.DeleteFunc(copies, func(event audit.Event) bool { return event.Subresource != "" })
		if len(applied) > 3 {
			t.Errorf("%s: %s: want each copy written at most once, and one again for the request:\n%s", way, r.name, applied)
		}
	}
}

// checkUntouched checks that since a mark the hub and the agents wrote no objects of the shops
// but copies and the given ones.
func (r *region) checkUntouched(t *testing.T, since audit.Mark, changed ...string) {
	t.Helper()
	var written audit.Log
	for _, e := range r.since(t, since).In(namespace).Writes().Succeeded() {
		if e.Resource == "ecommerceapps" || slices.Contains(changed, e.Resource+"/"+e.Name) {
			continue
		}
		if strings.HasPrefix(e.User, "system:serviceaccount:"+config.Namespace+":") {
			written = append(written, e)
		}
	}
	if len(written) > 0 {
		t.Errorf("%s: written to:\n%s", r.name, written)
	}
}

// contents returns what is rendered into the ConfigMaps of the shops, and what is noted in their workloads of how their
// pods were rendered: what a build may change without a pod being started again.
func (r *region) contents(t *testing.T) map[string]string {
	t.Helper()
	list, contents := &corev1.ConfigMapList{}, map[string]string{}
	if err := r.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		contents["configmaps/"+list.Items[i].Name] = fmt.Sprint(list.Items[i].Data)
	}
	deployments, sets := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	for _, workloads := range []client.ObjectList{deployments, sets} {
		if err := r.List(t.Context(), workloads, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
			t.Fatal(err)
		}
	}
	for i := range deployments.Items {
		contents["deployments/"+deployments.Items[i].Name] = deployments.Items[i].Annotations[v1.RenderedAnnotation]
	}
	for i := range sets.Items {
		contents["statefulsets/"+sets.Items[i].Name] = sets.Items[i].Annotations[v1.RenderedAnnotation]
	}
	return contents
}

// previousSources returns a folder with the sources of the previous build of the product: the
// commit that changes are made on or, where nothing is changed, the one before the
// product was changed last, and none before the last change of a pod template.
func (e *environment) previousSources(t *testing.T) string {
	t.Helper()
	product := []string{
		"--", "api", "cmd", "config", "hub", "spoke", "go.mod", "go.sum",
		":(exclude)*_test.go", ":(exclude)*.md", ":(exclude)config/tools", ":(exclude)config/samples", ":(exclude)config/monitoring",
	}
	changed, err := e.git(t, append([]string{"rev-list", "--max-count=1", "HEAD"}, product...)...)
	if err != nil {
		t.Skipf("needs the history of the sources, to upgrade from: clone the repository: %v", err)
	}
	commit := changed + "^"
	if _, err := e.git(t, "merge-base", "--is-ancestor", templatesCommit, commit); err != nil {
		commit = templatesCommit // From an earlier one, pods restart.
	}
	if dirty, err := e.git(t, append([]string{"status", "--porcelain"}, product...)...); err == nil && dirty != "" {
		commit = "HEAD"
	}
	if _, err := e.git(t, "rev-parse", "--verify", "--quiet", commit+"^{commit}"); err != nil {
		t.Skipf("needs commit %s, to upgrade from: fetch more of the history (git fetch --unshallow): %v", commit, err)
	}
	if _, err := e.git(t, "cat-file", "-e", commit+":cmd/Dockerfile"); err != nil {
		t.Skipf("needs a previous build that can be installed: commit %s has no cmd/Dockerfile", commit)
	}
	t.Logf("the previous build is that of commit %s", commit)
	return e.sourcesOf(t, commit)
}

// sourcesOf returns a folder with the sources of a commit.
func (e *environment) sourcesOf(t *testing.T, commit string) string {
	t.Helper()
	dir := e.env.Path("previous")
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	archive := filepath.Join(t.TempDir(), "previous.tar")
	if _, err := e.git(t, "archive", "--output", archive, commit); err != nil {
		t.Fatal(err)
	}
	if _, err := testenv.Run(exec.CommandContext(t.Context(), "tar", "--extract", "--file", archive, "--directory", dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// git runs git in the repository.
func (e *environment) git(t *testing.T, args ...string) (string, error) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = e.env.Root
	out, err := testenv.Run(cmd)
	return strings.TrimSpace(out), err
}

// installFrom installs the hub or the spoke by the program and manifests of a tree.
// A member without the Deployment has no agent, and is left alone.
func (v *view) installFrom(t *testing.T, root, what, image string) {
	t.Helper()
	if what == "spoke" && v.must(t, "get", "deployment", "shopfleet-spoke", "--namespace=shopfleet-system", "--ignore-not-found", "--output=name") == "" {
		return
	}
	v.runFrom(t, root, "install", what, "--image", image)
}

// runFrom runs the plugin of a tree on the cluster.
func (v *view) runFrom(t *testing.T, root string, args ...string) {
	t.Helper()
	cmd := v.env.Command(t.Context(), "go", append([]string{"run", "./cmd/kubectl-shopfleet"}, args...)...)
	cmd.Dir = root
	cmd.Env = append(cmd.Env, "KUBECONFIG="+v.Kubeconfig)
	if _, err := testenv.Run(cmd); err != nil {
		t.Fatal(err)
	}
}

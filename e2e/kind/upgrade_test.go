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
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// templatesCommit is the build that the upgrade test goes back to: it holds pod templates of other builds, and is the
// last one before they changed. The build that testBase upgrades from is a later one, which renders them as this one.
const templatesCommit = "382aa08d012ee6c4157e5a25108ed4a4b4680d60"

// testUpgrade goes back to an earlier build of the hub and the agent, and then follows the upgrade to this one. While
// the rollouts of the shops are paused, no pod is started again either way, and only objects that the two builds render
// differently are written to. The rollout of one shop is resumed with either build, and follows its pod templates
// through the regions; the other shop stays paused, and keeps its pods all the time.
func (e *environment) testUpgrade(t *testing.T) {
	t.Helper()
	previous := e.previousSources(t)
	hubImage, spokeImage, err := e.env.LoadProduct(t.Context(), previous, framework.Before)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{shop, ledger} {
		e.patch(t, name, fmt.Sprintf(`{"spec":{"rollout":{"order":[%q],"soak":"1s","progressDeadline":"10m"}}}`, e.regions[0].Region))
		e.awaitRollout(t, name, v1.RolloutComplete)
		e.steer(t, "pause", name)
	}
	e.checkReplaced(t, "back", func() {
		e.hub.installFrom(t, previous, "hub", hubImage)
		for _, r := range e.regions {
			r.installFrom(t, previous, "spoke", spokeImage)
			// The previous release has its own permissions in the members.
			e.hub.runFrom(t, previous, "join", r.name, "--member-kubeconfig", r.Kubeconfig, "--member-server", r.InternalServer)
		}
	})
	others := e.podsIn(t, ledger)
	e.followTemplates(t, shop)
	e.steer(t, "pause", shop)
	e.checkReplaced(t, "upgrade", func() { e.follow(t, "Upgrade") })
	e.followTemplates(t, shop)
	e.followTemplates(t, ledger)
	if now := e.podsIn(t, ledger); !slices.Equal(others, now) {
		t.Errorf("pods and restarts of %s, whose rollout was paused, before:\n%v\nand after:\n%v", ledger, others, now)
	}
	for _, name := range []string{shop, ledger} {
		e.patch(t, name, `{"spec":{"rollout":null}}`)
	}
	e.running(t, shop, ledger)
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
		for object, content := range rendered[i] {
			if now := changed[object]; strings.HasPrefix(object, "secrets/") && now != "" && now != content {
				t.Errorf("%s: %s: %s had the keys %s, which pods name, and has %s", way, r.name, object, content, now)
			}
		}
		gone := goneSettings(rendered[i], changed)
		maps.DeleteFunc(changed, func(object, content string) bool { return content == rendered[i][object] })
		r.checkUntouched(t, marks[i], slices.AppendSeq(gone, maps.Keys(changed))...)
		// The copies may have new fields, and pass on the request above.
		copies := r.since(t, marks[i]).ByServiceAccount(config.Namespace, config.HubServiceAccount).Writes().Succeeded().Of("ecommerceapps")
		applied := slices.DeleteFunc(copies, func(event audit.Event) bool { return event.Subresource != "" })
		if len(applied) > 3 {
			t.Errorf("%s: %s: want each copy written at most once, and one again for the request:\n%s", way, r.name, applied)
		}
	}
}

// goneSettings returns the ConfigMaps that are gone: settings that another build rendered, and that no pod reads.
func goneSettings(before, after map[string]string) []string {
	var gone []string
	for object := range before {
		if _, exists := after[object]; !exists && strings.HasPrefix(object, "configmaps/") {
			gone = append(gone, object)
		}
	}
	return gone
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

// contents returns what a build may render differently without a pod being started again: the content of ConfigMaps, the
// annotations of Services, the keys of Secrets, and what is noted in workloads of how they were rendered.
func (r *region) contents(t *testing.T) map[string]string {
	t.Helper()
	configs, services, secrets := &corev1.ConfigMapList{}, &corev1.ServiceList{}, &corev1.SecretList{}
	deployments, sets, crons := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}, &batchv1.CronJobList{}
	for _, list := range []client.ObjectList{configs, services, secrets, deployments, sets, crons} {
		if err := r.List(t.Context(), list, client.InNamespace(namespace), client.HasLabels{v1.InstanceLabel}); err != nil {
			t.Fatal(err)
		}
	}
	contents := map[string]string{}
	for i := range configs.Items {
		contents["configmaps/"+configs.Items[i].Name] = fmt.Sprint(configs.Items[i].Data)
	}
	for i := range services.Items {
		contents["services/"+services.Items[i].Name] = fmt.Sprint(services.Items[i].Annotations)
	}
	for i := range secrets.Items {
		contents["secrets/"+secrets.Items[i].Name] = fmt.Sprint(slices.Sorted(maps.Keys(secrets.Items[i].Data)))
	}
	for i := range deployments.Items {
		contents["deployments/"+deployments.Items[i].Name] = noted(&deployments.Items[i])
	}
	for i := range sets.Items {
		contents["statefulsets/"+sets.Items[i].Name] = noted(&sets.Items[i])
	}
	for i := range crons.Items { // Their pods change with the next run.
		contents["cronjobs/"+crons.Items[i].Name] = noted(&crons.Items[i])
	}
	return contents
}

// noted returns what is noted in a workload of how it was rendered.
func noted(o client.Object) string {
	return o.GetAnnotations()[v1.RenderedAnnotation] + " " + o.GetAnnotations()[v1.SpecHashAnnotation]
}

// previousSources returns a folder with the sources of the build that the test goes back to.
func (e *environment) previousSources(t *testing.T) string {
	t.Helper()
	if err := e.git(t, "cat-file", "-e", templatesCommit+":cmd/Dockerfile"); err != nil {
		t.Skipf("needs commit %s, to upgrade from: clone the repository, or fetch more of its history (git fetch --unshallow): %v", templatesCommit, err)
	}
	return e.sourcesOf(t, templatesCommit)
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
	if err := e.git(t, "archive", "--output", archive, commit); err != nil {
		t.Fatal(err)
	}
	if _, err := testenv.Run(exec.CommandContext(t.Context(), "tar", "--extract", "--file", archive, "--directory", dir)); err != nil {
		t.Fatal(err)
	}
	return dir
}

// git runs git in the repository.
func (e *environment) git(t *testing.T, args ...string) error {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = e.env.Root
	_, err := testenv.Run(cmd)
	return err
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

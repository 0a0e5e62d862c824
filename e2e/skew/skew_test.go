package skew

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// enabled is the variable that enables the test.
	enabled = "SHOPFLEET_SKEW"
	// The members: eu has no agent, us has one.
	eu, euRegion = "eu-1", "eu-west-1"
	us, usRegion = "us-1", "us-central1"
	namespace    = "production"
	// kept is the shop that lives through the upgrade.
	kept = "kept"
	// newer is the shop with a field that the release before lacks.
	newer = "newer"
	// wait gives commands as much time as the tests take.
	wait = "--timeout=4m"
)

var errWaiting = errors.New("not there yet")

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// suite is a fleet whose hub and agent are of two releases.
type suite struct {
	*framework.Environment
	// programs are the folders of the programs by version.
	programs map[string]string
	// home is the home of the user.
	home string
	// stopHub and stopAgent end what runs.
	stopHub, stopAgent func()
}

// TestSkew begins with a hub of the release before and an agent of this one, and goes on the other way round.
func TestSkew(t *testing.T) {
	if os.Getenv(enabled) == "" {
		t.Skip("builds the programs of two releases: run make skew")
	}
	programs := buildAll(t)
	s := &suite{programs: programs, home: t.TempDir(), Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub: fleet.ClusterSpec{Name: "hub", Nodes: 2},
			Members: []fleet.ClusterSpec{
				{Name: eu, Provider: fleet.AWS, Region: euRegion, Nodes: 3},
				{Name: us, Provider: fleet.GCP, Region: usRegion, Nodes: 3},
			},
		},
		Manifests: map[string][]string{"hub": nil, eu: nil, us: nil},
	})}
	const first, firstShops = "hub before, agent now", "hub before, agent now: applications"
	const second, permitted = "hub now, agent before", "a member that lacks a permission"
	const unknown = "hub now, agent before: a field that only the hub has"
	var steps framework.Steps
	steps.Add(first, s.testHubBefore)
	steps.Add(firstShops, s.testApplications(kept, "one"), first)
	steps.Add("hub before: the plugin before", s.testPluginBefore, firstShops)
	steps.Add("hub before: the plugin now", s.testPluginNow, firstShops)
	steps.Add("hub before: doctor now", s.testDoctorOfHubBefore, firstShops)
	steps.Add(second, s.testHubNow, firstShops)
	steps.Add(permitted, s.testJoinAgain, second)
	steps.Add("hub now, agent before: applications", s.testApplications("two", "three"), permitted)
	steps.Add("hub now: the plugin before", s.testPluginBefore, permitted)
	steps.Add("hub now: the plugin now", s.testPluginNow, permitted)
	steps.Add(unknown, s.testUnknownField, permitted)
	steps.Add("the agent is upgraded", s.testAgentNow, unknown)
	steps.Run(t)
}

// testHubBefore installs the hub of the release before, and joins a member of each mode. The agent is of this one.
func (s *suite) testHubBefore(t *testing.T) {
	t.Helper()
	s.run(t, before, "install", "hub", wait).Want(t, framework.Done)
	s.stopHub = s.start(t, "hub", before, s.Fleet.Hub())
	s.run(t, before, "join", eu, "--member-kubeconfig", s.Fleet.Member(eu).AdminKubeconfig(), wait).Want(t, framework.Done, "is ready")
	s.runIn(t, now, s.Fleet.Member(us), "install", "spoke", wait).Want(t, framework.Done)
	s.stopAgent = s.start(t, "spoke", now, s.Fleet.Member(us))
	s.run(t, now, "join", us, "--mode", "agent", "--member-kubeconfig", s.Fleet.Member(us).AdminKubeconfig(), wait).Want(t, framework.Done, "is ready", "with an agent")
	s.awaitVersion(t, before, now)
}

// awaitVersion waits until the plugin shows the versions of the hub and the agent.
func (s *suite) awaitVersion(t *testing.T, hub, agent string) {
	t.Helper()
	show := func() framework.Outcome {
		return s.run(t, now, "version", "-o", "jsonpath={.hub.version} {.hub.skew} {.members[?(@.name=='"+us+"')].agent} {.members[?(@.name=='"+us+"')].skew}")
	}
	framework.Eventually(t, fmt.Sprintf("hub %s and agent %s", hub, agent), func(context.Context) error {
		o := show()
		if want := hub + " Supported " + agent + " Supported"; o.Out != want {
			return fmt.Errorf("%w: %q, want %q", errWaiting, o.Out, want)
		}
		return nil
	})
}

// testApplications creates two shops in both members, changes both, and deletes the second.
func (s *suite) testApplications(names ...string) func(*testing.T) {
	return func(t *testing.T) {
		t.Helper()
		apps := make([]*v1.EcommerceApp, 0, len(names))
		for _, name := range names {
			app := shop(name)
			s.Create(t, app)
			apps = append(apps, app)
		}
		for _, app := range apps {
			s.AwaitRunning(t, app, euRegion, usRegion)
			s.change(t, app, "shop-frontend:v3.0.0")
		}
		for _, app := range apps {
			s.AwaitRunning(t, app, euRegion, usRegion)
			for _, member := range []string{eu, us} {
				s.awaitImage(t, member, app.Name, "shop-frontend:v3.0.0")
			}
		}
		last := apps[len(apps)-1]
		s.run(t, now, "delete", last.Name, "-n", namespace, "--yes", wait).Want(t, framework.Done)
		for _, member := range []string{eu, us} {
			framework.AwaitGone(t, s.Members[member], &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: last.Name}})
			framework.AwaitGone(t, s.Members[member], &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: last.Name + "-frontend"}})
		}
	}
}

// shop returns the sample with a rollout whose regions follow one another at once.
func shop(name string) *v1.EcommerceApp {
	app := apitest.Seed()
	app.ObjectMeta = metav1.ObjectMeta{Namespace: namespace, Name: name}
	app.Spec.Rollout = &v1.Rollout{Soak: &metav1.Duration{}}
	return app
}

// change gives a shop another image of the frontend.
func (s *suite) change(t *testing.T, app *v1.EcommerceApp, image string) {
	t.Helper()
	framework.Edit(t, s.Hub, app, func(a *v1.EcommerceApp) { a.Spec.Frontend.Image = image })
}

// awaitImage waits until the frontend of a shop in a member has an image.
func (s *suite) awaitImage(t *testing.T, member, name, image string) {
	t.Helper()
	deployment := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name + "-frontend"}}
	framework.Await(t, s.Members[member], deployment, name+" in "+member+" to have "+image, func(d *appsv1.Deployment) error {
		if got := d.Spec.Template.Spec.Containers[0].Image; got != image {
			return fmt.Errorf("%w: %s", errWaiting, got)
		}
		return nil
	})
}

// testPluginBefore runs what the plugin of the release before has, in its own words and with its own exit codes.
func (s *suite) testPluginBefore(t *testing.T) {
	t.Helper()
	const changes, failed = 2, 1
	in := []string{"-n", namespace}
	run := func(args ...string) framework.Outcome { return s.run(t, before, append(args, in...)...) }
	run("status", kept).Want(t, framework.Done, kept, "Running", eu, us)
	run("plan", "-f", s.manifest(t)).Want(t, changes, eu, us)
	run("pause", kept).Want(t, framework.Done, "paused")
	run("resume", kept).Want(t, framework.Done, "resumed")
	run("history", kept).Want(t, framework.Done)
	run("why", kept).Want(t, framework.Done, "Chosen")
	run("backups").Want(t, framework.Done)
	run("diff", kept).Want(t, framework.Done)
	s.run(t, before, "drain", eu, "--dry-run=server").Want(t, framework.Done, eu+" draining (server dry run)")
	s.run(t, before, "version").Want(t, framework.Done, before)
	// By the rule of its release hub and agent, or hub and plugin, do not fit.
	s.run(t, before, "doctor").Want(t, failed, "VersionSkew")
}

// testPluginNow runs what the plugin of this release has. Its doctor names what the other side lacks.
func (s *suite) testPluginNow(t *testing.T) {
	t.Helper()
	in := []string{"-n", namespace}
	run := func(args ...string) framework.Outcome { return s.run(t, now, append(args, in...)...) }
	run("status", kept).Want(t, framework.Done, kept, "Running", eu, us)
	run("plan", "-f", s.manifest(t)).Want(t, framework.Found, eu, us)
	run("rollout", "pause", kept).Want(t, framework.Done, "paused")
	run("rollout", "resume", kept).Want(t, framework.Done, "resumed")
	run("pause", "app", kept).Want(t, framework.Done, "paused")
	run("unpause", "app", kept).Want(t, framework.Done)
	run("rollout", "history", kept).Want(t, framework.Done)
	run("why", kept).Want(t, framework.Done, "Chosen")
	run("backup", "list").Want(t, framework.Done)
	run("diff", kept).Want(t, framework.Done)
	s.run(t, now, "drain", eu, "--dry-run=server").Want(t, framework.Done, eu+" draining (server dry run)", kept)
	if o := s.run(t, now, "doctor"); strings.Contains(o.Out, "VersionSkew") || !strings.Contains(o.Out, v1.ReasonDefinitionOutdated) {
		t.Error("doctor says that the versions do not fit, or does not name the definitions")
	}
}

// testDoctorOfHubBefore checks that the hub does not fail for what only this release has.
func (s *suite) testDoctorOfHubBefore(t *testing.T) {
	t.Helper()
	o := s.run(t, now, "doctor", "-o", `jsonpath={.checks[?(@.object=="(hub)")].failed}`)
	if strings.Contains(o.Out, "true") || !strings.Contains(o.Out, "false") {
		t.Errorf("checks of the hub fail: %s", o.Out)
	}
}

// manifest returns a file with the kept shop and another image.
func (s *suite) manifest(t *testing.T) string {
	t.Helper()
	app := shop(kept)
	app.APIVersion, app.Kind = v1.GroupVersion.String(), "EcommerceApp"
	app.Spec.Frontend.Image = "shop-frontend:v4.0.0"
	raw, err := yaml.Marshal(app)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "app.yaml")
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// testHubNow upgrades the hub before its members have joined again, one of which lacks a permission as if the release
// were the first that needs it. The agent goes back to the release before.
func (s *suite) testHubNow(t *testing.T) {
	t.Helper()
	s.stopAgent()
	s.runIn(t, before, s.Fleet.Member(us), "install", "spoke", wait).Want(t, framework.Done)
	s.stopAgent = s.start(t, "spoke", before, s.Fleet.Member(us))
	s.revoke(t)
	s.stopHub()
	s.run(t, now, "install", "hub", wait).Want(t, framework.Done)
	s.stopHub = s.start(t, "hub", now, s.Fleet.Hub())
	s.awaitVersion(t, now, before)
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: us}}
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionDefinitionsCurrent, Status: metav1.ConditionFalse, Reason: v1.ReasonDefinitionOutdated})
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionReady, Status: metav1.ConditionTrue, Reason: v1.ReasonConnected})
}

// revoke takes the permission to create PodDisruptionBudgets in eu from the hub.
func (s *suite) revoke(t *testing.T) {
	t.Helper()
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: config.MemberClusterRole}}
	framework.Edit(t, s.Members[eu], role, func(r *rbacv1.ClusterRole) {
		for i, rule := range r.Rules {
			if !slices.Contains(rule.Resources, "poddisruptionbudgets") {
				continue
			}
			rest := *rule.DeepCopy()
			rest.Resources = slices.DeleteFunc(rest.Resources, func(resource string) bool { return resource == "poddisruptionbudgets" })
			r.Rules[i].Resources = []string{"poddisruptionbudgets"}
			r.Rules[i].Verbs = slices.DeleteFunc(r.Rules[i].Verbs, func(verb string) bool { return verb == "create" })
			if len(rest.Resources) > 0 {
				r.Rules = append(r.Rules, rest)
			}
		}
	})
}

// testJoinAgain checks that the hub names the member with the command, changes what it may there, and that the
// command ends it.
func (s *suite) testJoinAgain(t *testing.T) {
	t.Helper()
	member := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: eu}}
	framework.AwaitCondition(t, s.Hub, member, metav1.Condition{Type: v1.ConditionAuthorized, Status: metav1.ConditionFalse, Reason: v1.ReasonPermissionsMissing})
	s.run(t, now, "doctor", "-o", "wide").Want(t, framework.Found,
		"create poddisruptionbudgets.policy", "kubectl shopfleet join "+eu+" --member-kubeconfig FILE",
		v1.ReasonDefinitionOutdated, "kubectl shopfleet join "+us+" --member-kubeconfig FILE")
	app := shop(kept)
	s.change(t, app, "shop-frontend:v3.1.0")
	s.awaitImage(t, eu, kept, "shop-frontend:v3.1.0")
	s.awaitImage(t, us, kept, "shop-frontend:v3.1.0")
	s.run(t, now, "join", eu, "--member-kubeconfig", s.Fleet.Member(eu).AdminKubeconfig(), wait).
		Want(t, framework.Done, "is ready")
	s.AwaitRunning(t, app, euRegion, usRegion)
}

// testUnknownField creates a shop with a field that the definition of the release before lacks, as if this release were
// the first that has it: the other member runs the shop, and the one with the agent says what is to be done.
func (s *suite) testUnknownField(t *testing.T) {
	t.Helper()
	definition := &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "ecommerceapps." + v1.GroupVersion.Group}}
	definition.SetGroupVersionKind(schema.GroupVersionKind{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"})
	const field = "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/frontend/properties/podAnnotations"
	if err := s.Members[us].Patch(t.Context(), definition, client.RawPatch(types.JSONPatchType, []byte(`[{"op":"remove","path":"`+field+`"}]`))); err != nil {
		t.Fatal(err)
	}
	app := shop(newer)
	app.Spec.Frontend.PodAnnotations = map[string]string{"example.com/team": "web"}
	framework.Eventually(t, "the API server of "+us+" to refuse the field", func(ctx context.Context) error {
		err := s.Members[us].Create(ctx, app.DeepCopy(), client.DryRunAll, client.FieldValidation(metav1.FieldValidationStrict))
		if !apierrors.IsBadRequest(err) {
			return fmt.Errorf("%w: %w", errWaiting, err)
		}
		return nil
	})
	s.Create(t, app)
	s.AwaitApp(t, app, "a shop in "+eu+" and a remedy in "+us, func(status *v1.EcommerceAppStatus) error {
		if c := cluster(status, eu); !c.Available {
			return fmt.Errorf("%w: %s: %s", errWaiting, eu, c.Message)
		}
		if c := cluster(status, us); !strings.Contains(c.Message, "repair what the cluster fails on, such as a webhook or a definition") ||
			!strings.Contains(c.Message, ".spec.frontend.podAnnotations: field not declared in schema") {
			return fmt.Errorf("%w: %s: %s", errWaiting, us, c.Message)
		}
		return nil
	})
}

// cluster returns what a status says of a cluster.
func cluster(status *v1.EcommerceAppStatus, name string) v1.ClusterStatus {
	for _, c := range status.Clusters {
		if c.Name == name {
			return c
		}
	}
	return v1.ClusterStatus{}
}

// testAgentNow upgrades the agent by the manual, after which nothing is left to do, and a shop that waited for it runs.
func (s *suite) testAgentNow(t *testing.T) {
	t.Helper()
	s.stopAgent()
	s.runIn(t, now, s.Fleet.Member(us), "install", "spoke", wait).Want(t, framework.Done)
	s.stopAgent = s.start(t, "spoke", now, s.Fleet.Member(us))
	s.awaitVersion(t, now, now)
	framework.Eventually(t, "the definitions to be current", func(ctx context.Context) error {
		member := &v1.MemberCluster{}
		if err := s.Hub.Get(ctx, client.ObjectKey{Name: us}, member); err != nil {
			return err
		}
		if c := framework.Condition(member.Status.Conditions, v1.ConditionDefinitionsCurrent); c.Status != "" {
			return fmt.Errorf("%w: %s", errWaiting, c.Message)
		}
		return nil
	})
	if o := s.run(t, now, "doctor"); strings.Contains(o.Out, "VersionSkew") || strings.Contains(o.Out, v1.ReasonDefinitionOutdated) {
		t.Error("doctor says that something is still old")
	}
	s.AwaitRunning(t, shop(newer), euRegion, usRegion)
}

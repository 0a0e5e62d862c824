package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/setup"
)

const (
	appName = "my-ecommerce-app"
	// hubVersion is another build of the plugin's release: with a newer one join refuses, and doctor excuses an older one.
	hubVersion = framework.CLIVersion + "-4-g1234567"
)

// suite is a fleet with a running hub.
type suite struct {
	*framework.Environment
	hub, eu *fleet.Cluster
}

func TestCLI(t *testing.T) {
	s := &suite{Environment: framework.New(t, framework.Options{
		Fleet: fleet.Options{
			Hub:     fleet.ClusterSpec{Name: "hub"},
			Members: []fleet.ClusterSpec{{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 2}},
		},
		Manifests: map[string][]string{"hub": nil, "eu-1": nil},
		// The Lease has the version of the hub.
		Hub: func(o *setup.Options) { o.LeaderElect, o.Version = true, hubVersion },
	})}
	s.hub, s.eu = s.Fleet.Hub(), s.Fleet.Member("eu-1")

	const installed, joined, running = "hub starts", "join waits until the member is ready", "rollout status waits until the EcommerceApp is ready"
	const checked, messages = "doctor names each problem with its remedy", "errors name the object and the next command"
	var steps framework.Steps
	steps.Add("status explains that the CRDs are not installed", s.testBeforeInstallation)
	steps.Add(installed, s.testInstall)
	steps.Add("doctor checks the hub", s.testHubDoctor, installed)
	steps.Add("join explains that the hub cannot reach the member", s.testUnreachableForHub, installed)
	steps.Add("join explains that the user cannot reach the member", s.testUnreachableForUser, installed)
	steps.Add(joined, s.testJoin, installed)
	steps.Add("join again renews the token", s.testJoinAgain, joined)
	steps.Add("join again keeps the address", s.testJoinElsewhere, joined)
	steps.Add("renew asks the hub, or uses the member's kubeconfig", s.testTokenRenew, joined)
	steps.Add("join rejects the hub and a member under a second name", s.testRefusedJoin, joined)
	steps.Add(running, s.testStatus, joined)
	steps.Add("completion returns names", s.testCompletion, running)
	steps.Add(checked, s.testDoctor, joined)
	steps.Add("recover has nothing to settle", s.testRecover, running)
	steps.Add("diff shows what is not written", s.testDiff, running)
	steps.Add("drain says what stays", s.testDrain, running)
	steps.Add("rollouts are steered", s.testRollout, running)
	steps.Add("render prints the spec for a member", s.testRender, running)
	steps.Add("dry runs and questions change nothing", s.testDryRuns, running)
	steps.Add(messages, s.testMessages, running)
	steps.Add("restore asks before it replaces data", s.testRestore, messages)
	steps.Add("join sets the CloudAccount", s.testCloudAccount, running)
	steps.Add("the archive of doctor has no secrets", s.testReport, running, checked)
	steps.Add("unjoin leaves the workloads", s.testUnjoin, running)
	steps.Add("unjoin revokes permissions", s.testRevoke, installed)
	steps.Run(t)
}

// testInstall applies the CRDs and RBAC of the hub, and starts one with these permissions.
func (s *suite) testInstall(t *testing.T) {
	t.Helper()
	framework.Apply(t, s.hub, framework.HubManifests()...)
	s.StartHub(t)
}

// run runs the program against the hub.
func (s *suite) run(t *testing.T, args ...string) framework.Outcome {
	t.Helper()
	return framework.CLI(t, s.hub, args...)
}

func (s *suite) testBeforeInstallation(t *testing.T) {
	t.Helper()
	s.run(t, "status").Want(t, framework.Failed, "kubectl apply --server-side -f config/crd/bases")
}

func (s *suite) testUnreachableForHub(t *testing.T) {
	t.Helper()
	server := "https://" + framework.FreeAddress(t)
	s.Create(t, &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "dead"}, Spec: v1.MemberClusterSpec{Health: framework.Health()}})
	s.run(t, "join", "dead", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--member-server", server, "--timeout", "15s").
		Want(t, framework.NotReady, `MemberCluster "dead": not ready`, "The hub cannot reach "+server, "--member-server")
	s.run(t, "doctor", "dead").Want(t, framework.Found, "dead", v1.ConditionConnected, "False")
	s.run(t, "unjoin", "dead", "none").Want(t, framework.Failed, `MemberCluster "none"`, "not a member of this fleet")
	s.run(t, "unjoin", "--all").Want(t, framework.Misused, "remove member dead from the fleet", "confirm it with --yes")
	s.run(t, "unjoin", "--all", "--yes").Want(t, framework.Done, "dead left the fleet")
	member := &v1.MemberCluster{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "dead"}, member); !apierrors.IsNotFound(err) {
		t.Errorf("the MemberCluster is there after unjoin: %v", err)
	}
}

func (s *suite) testUnreachableForUser(t *testing.T) {
	t.Helper()
	raw, err := os.ReadFile(s.eu.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	moved := bytes.ReplaceAll(raw, []byte(s.eu.Server()), []byte("https://"+framework.FreeAddress(t)))
	if err := os.WriteFile(path, moved, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "join", "gone", "--member-kubeconfig", path).Want(t, framework.Failed, "reaching the member", "does not answer")
	secrets := &corev1.SecretList{}
	if err := s.Hub.List(t.Context(), secrets, client.InNamespace(config.Namespace), client.HasLabels{v1.MemberClusterLabel}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) > 0 {
		t.Error("a Secret was written for a member that does not answer")
	}
}

func (s *suite) testJoin(t *testing.T) {
	t.Helper()
	for _, mode := range []string{"agentless", "agent"} { // A cluster without the Namespace yet.
		s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--mode", mode, "--dry-run=server").
			Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 registered (server dry run)")
	}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "eu-1"}, &v1.MemberCluster{}); !apierrors.IsNotFound(err) {
		t.Errorf("a dry run makes a member: %v", err)
	}
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--labels", "tier=prod").
		Want(t, framework.Done, "eu-1 is ready: provider aws, region eu-west-1", "2 of 2 nodes ready")
	s.run(t, "version").Want(t, framework.Done, framework.CLIVersion, hubVersion, "eu-1", "agentless", "Supported")
}

// secret returns the registration of the member.
func (s *suite) secret(t *testing.T) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: "eu-1"}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (s *suite) testJoinAgain(t *testing.T) {
	t.Helper()
	before := s.secret(t).Data[v1.KubeconfigKey]
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "-o", "name").
		Want(t, framework.Done, "membercluster.ecommerce.io/eu-1")
	if bytes.Equal(before, s.secret(t).Data[v1.KubeconfigKey]) {
		t.Error("the token is the old one")
	}
	member := &v1.MemberCluster{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "eu-1"}, member); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"tier": "prod"}, member.Labels); diff != "" {
		t.Errorf("labels after joining without any (-want +got):\n%s", diff)
	}
}

// testJoinElsewhere joins a member that the hub reaches at another address than the user does.
func (s *suite) testJoinElsewhere(t *testing.T) {
	t.Helper()
	own := s.eu.Server()
	theirs := strings.Replace(own, "127.0.0.1", "localhost", 1)
	for _, tt := range []struct {
		server, want, says string
	}{
		{"--member-server=" + theirs, theirs, "registers " + own},
		{"", theirs, "the hub keeps the registered address " + theirs},
		{"--member-server=" + own, own, "registers " + theirs},
		{"", own, "registers " + own},
	} {
		args := []string{"join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig()}
		if tt.server != "" {
			args = append(args, tt.server)
		}
		s.run(t, args...).Want(t, framework.Done, "eu-1 is ready", tt.says)
		access, err := kubeconfig.Parse(s.secret(t).Data[v1.KubeconfigKey])
		if err != nil {
			t.Fatal(err)
		}
		if access.Config.Host != tt.want {
			t.Errorf("%v: the hub connects to %s, want %s", args, access.Config.Host, tt.want)
		}
	}
}

func (s *suite) testTokenRenew(t *testing.T) {
	t.Helper()
	token := func() string { return string(s.secret(t).Data[v1.KubeconfigKey]) }
	first := token()
	s.run(t, "renew", "eu-1").Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 renewed")
	second := token()
	s.run(t, "renew", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--token-ttl", "1h", "-o", "name").
		Want(t, framework.Done, "created a token, valid for 60m", "membercluster.ecommerce.io/eu-1\n")
	third := token()
	if first == second || second == third {
		t.Error("the token is the old one")
	}
	s.AwaitMembers(t, "eu-1")
	s.run(t, "renew", "eu-1", "--member-kubeconfig", s.hub.AdminKubeconfig()).
		Want(t, framework.Failed, "may be that of another cluster", "Nothing was changed")
	s.run(t, "renew", "none").Want(t, framework.Failed, `getting MemberCluster "none"`)
	if third != token() {
		t.Error("a command that failed changed the token")
	}
	s.run(t, "__complete", "renew", "").Want(t, framework.Done, "eu-1\n:4")
	// A Secret that the user maintains, and a member that the hub cannot reach.
	secret := s.secret(t)
	framework.Edit(t, s.Hub, secret, func(o *corev1.Secret) { delete(o.Annotations, v1.RenewedAccountAnnotation) })
	s.run(t, "renew", "eu-1").Want(t, framework.Failed, "the hub does not renew its token", "kubectl shopfleet join eu-1")
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig()).Want(t, framework.Done)
	if got := s.secret(t).Annotations[v1.RenewedAccountAnnotation]; got != "shopfleet-system/shopfleet-hub" {
		t.Errorf("join names account %q", got)
	}
	// Revoked: the hub cannot renew the token, and the user can.
	s.revokeAccount(t)
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	c := framework.AwaitCondition(t, s.Hub, m, metav1.Condition{Type: v1.ConditionCredentialsValid, Status: metav1.ConditionFalse, Reason: v1.ReasonUnauthorized})
	if want := "run kubectl shopfleet renew eu-1 --member-kubeconfig FILE"; !strings.Contains(c.Message, want) {
		t.Errorf("message %q does not say %q", c.Message, want)
	}
	s.run(t, "renew", "eu-1").Want(t, framework.Failed, "the member rejects the hub's token", "renew eu-1 --member-kubeconfig FILE")
	s.run(t, "renew", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig()).Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 renewed")
	s.AwaitMembers(t, "eu-1")
}

// revokeAccount deletes the hub's account in the member and creates it again, so that all
// its tokens are invalid.
func (s *suite) revokeAccount(t *testing.T) {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}}
	framework.Delete(t, s.Members["eu-1"], account)
	framework.Create(t, s.Members["eu-1"], &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubServiceAccount}})
}

func (s *suite) testRefusedJoin(t *testing.T) {
	t.Helper()
	s.run(t, "join", "me", "--member-kubeconfig", s.hub.AdminKubeconfig()).Want(t, framework.Failed, "it is the hub itself")
	s.run(t, "join", "eu-2", "--member-kubeconfig", s.eu.AdminKubeconfig()).
		Want(t, framework.Failed, `already a member, under the name "eu-1"`, "kubectl shopfleet unjoin eu-1")
}

func (s *suite) testStatus(t *testing.T) {
	t.Helper()
	s.Create(t, apitest.Seed())
	s.run(t, "status", appName).Want(t, framework.Failed, "add -n production")
	s.run(t, "rollout", "status", appName, "-n", "production", "--timeout", fleettest.Timeout.String()).
		Want(t, framework.Done, appName+" Running, 1/1 clusters ready")
	for _, component := range []string{"database", "backend", "frontend", "ingress", "monitoring"} {
		s.run(t, "status", appName, "-n", "production", "-o", "wide").Want(t, framework.Done, component)
	}
	s.run(t, "status", appName, "-n", "production", "--region", "eu-west-1").Want(t, framework.Done, "eu-west-1   1/1", "eu-1      True")
	s.run(t, "status", "-A").Want(t, framework.Done, "production", appName, "Running", "1/1")

	s.run(t, "status", appName, "-n", "production", "-o", "jsonpath={.status.phase}").Want(t, framework.Done, "Running")
	s.run(t, "backup", "list", "-n", "production", "-o", "json").Want(t, framework.Done, `"kind": "BackupList"`)

	o := s.run(t, "status", appName, "-n", "production", "-o", "json")
	o.Want(t, framework.Done)
	app := &v1.EcommerceApp{}
	if err := json.Unmarshal([]byte(o.Out), app); err != nil {
		t.Fatal(err)
	}
	if app.Kind != "EcommerceApp" || app.Status.Phase != v1.PhaseRunning {
		t.Errorf("a %q in phase %q as JSON, want a running EcommerceApp", app.Kind, app.Status.Phase)
	}
}

func (s *suite) testCompletion(t *testing.T) {
	t.Helper()
	s.run(t, "__complete", "unjoin", "").Want(t, framework.Done, "eu-1\n:4")
	s.run(t, "__complete", "status", "-n", "production", "").Want(t, framework.Done, appName+"\n:4")
	s.run(t, "__complete", "backup", "create", appName, "--member", "us-1,e").Want(t, framework.Done, "us-1,eu-1\n:4")
	s.run(t, "__complete", "renew", "eu-1", "").Want(t, framework.Done, ":4")
	s.run(t, "__complete", "join", "new", "--region", "").Want(t, framework.Done, "eu-west-1\n:4")
	s.run(t, "__complete", "status", "-o", "js").Want(t, framework.Done, "json\n")
	s.run(t, "__complete", "status", "--cluster", "").Want(t, framework.Done, ":4")
	s.run(t, "__complete", "status", "--namespace", "").Want(t, framework.Done, "production\n")
}

func (s *suite) testRecover(t *testing.T) {
	t.Helper()
	s.run(t, "recover", "list", "-A").Want(t, framework.Done, "No decision is pending.")
	s.run(t, "recover", "list", "-A", "-l", "none=there").Want(t, framework.Done, "No decision is pending.")
	framework.Session{StopAt: "No decision is pending."}.CLI(t, s.hub, "recover", "list", "-A", "-w").Want(t, framework.Stopped)
	s.run(t, "recover", "import", appName, "-n", "production", "--member", "eu-1").
		Want(t, framework.Failed, "no decision is pending", "kubectl shopfleet recover list -A")
	s.run(t, "recover", "list", "none", "-n", "production").Want(t, framework.Failed, "not found")
	s.run(t, "recover", "overwrite", "none", "-n", "production").Want(t, framework.Failed, "not found")
	s.run(t, "recover", "take-over", "eu-1").Want(t, framework.Failed, "no decision is pending")
	s.run(t, "__complete", "recover", "import", appName, "-n", "production", "--member", "").Want(t, framework.Done, "eu-1\n:4")
}

// workloads lists the workloads of the member with their UIDs.
func (s *suite) workloads(t *testing.T) []string {
	t.Helper()
	deployments, databases := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	copies := &v1.EcommerceAppList{}
	var all []string
	for _, list := range []client.ObjectList{deployments, databases, copies} {
		if err := s.Members["eu-1"].List(t.Context(), list, client.InNamespace("production")); err != nil {
			t.Fatal(err)
		}
	}
	for _, o := range deployments.Items {
		all = append(all, fmt.Sprint(o.Name, " ", o.UID, " ", o.DeletionTimestamp))
	}
	for _, o := range databases.Items {
		all = append(all, fmt.Sprint(o.Name, " ", o.UID, " ", o.DeletionTimestamp))
	}
	for _, o := range copies.Items {
		all = append(all, fmt.Sprint(o.Name, " ", o.UID, " ", o.DeletionTimestamp))
	}
	return all
}

func (s *suite) testUnjoin(t *testing.T) {
	t.Helper()
	before := s.workloads(t)
	if len(before) < 4 {
		t.Fatalf("%d workloads before unjoin, want at least the copy, backend, frontend and database", len(before))
	}
	s.run(t, "unjoin", "eu-1", "--yes").Want(t, framework.Done, "eu-1 left the fleet", "Its EcommerceApps (1) keep running")
	if diff := cmp.Diff(before, s.workloads(t)); diff != "" {
		t.Errorf("workloads (-before +after unjoin):\n%s", diff)
	}
	s.run(t, "unjoin", "eu-1").Want(t, framework.Failed, "not a member of this fleet")
}

// deleteDetached deletes the copies that the hub has left in a member, and their workloads with them.
func (s *suite) deleteDetached(t *testing.T) {
	t.Helper()
	member := s.Members["eu-1"]
	copies := &v1.EcommerceAppList{}
	if err := member.List(t.Context(), copies); err != nil {
		t.Fatal(err)
	}
	for i := range copies.Items {
		if slices.Contains(copies.Items[i].Finalizers, v1.SpokeFinalizer) {
			t.Errorf("EcommerceApp %s has the finalizer that nobody removes", copies.Items[i].Name)
		}
		framework.Delete(t, member, &copies.Items[i])
	}
	framework.Eventually(t, "the workloads of copies that were deleted to be gone", func(ctx context.Context) error {
		left := &appsv1.DeploymentList{}
		if err := member.List(ctx, left, client.HasLabels{v1.InstanceLabel}); err != nil {
			return err
		}
		if n := len(left.Items); n > 0 {
			return fmt.Errorf("%d Deployments are left", n)
		}
		return nil
	})
}

func (s *suite) testRevoke(t *testing.T) {
	t.Helper()
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--region", "europe").
		Want(t, framework.Done, "eu-1 is ready: provider aws, region europe")
	s.run(t, "unjoin", "eu-1", "--revoke", "--member-kubeconfig", s.hub.AdminKubeconfig()).
		Want(t, framework.Failed, "may be that of another cluster", "Nothing was changed")
	s.run(t, "unjoin", "eu-1", "--revoke", "--yes", "--member-kubeconfig", s.eu.AdminKubeconfig()).Want(t, framework.Done, "deleted the hub's ServiceAccount")
	s.deleteDetached(t)
	account := &corev1.ServiceAccount{}
	err := s.Members["eu-1"].Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: config.HubServiceAccount}, account)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the account after revoking: %v, want it gone", err)
	}
}

package cli

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

var errNoLeader = errors.New("the Lease has no holder")

// testHubDoctor checks a hub without admission policies, and with them.
func (s *suite) testHubDoctor(t *testing.T) {
	t.Helper()
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub"}}
	framework.Await(t, s.Hub, lease, "the hub to lead", func(lease *coordinationv1.Lease) error {
		if lease.Spec.HolderIdentity == nil {
			return errNoLeader
		}
		return nil
	})
	s.run(t, "doctor").Want(t, framework.Found, "AdmissionPolicies", "PolicyMissing", "kubectl shopfleet install hub")
	framework.Apply(t, s.hub, "config/admission/hub")
	s.run(t, "doctor").Want(t, framework.Done, "(hub)    all     ok")
	s.run(t, "doctor", "-o", "jsonpath={.kind} {.healthy}").Want(t, framework.Done, "Diagnosis true")
}

// testDoctor checks a member without the driver of its cloud, also as a user who may read
// hardly anything.
func (s *suite) testDoctor(t *testing.T) {
	t.Helper()
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.AwaitCondition(t, s.Hub, m, metav1.Condition{Type: v1.ConditionStorageReady, Status: metav1.ConditionFalse, Reason: v1.ReasonDriverMissing})
	s.run(t, "doctor").Want(t, framework.Found, "(hub) ", "eu-1 ", "DriverMissing", "Install the CSI driver", "production/"+appName, v1.ReasonLoginNotConfigured, "checks failed, the first is StorageReady of eu-1")
	s.run(t, "doctor", "eu-1", "-o", "wide").Want(t, framework.Found, "LeaseRenewed", v1.ConditionCredentialsRenewed, "hub "+hubVersion+", plugin "+framework.CLIVersion)
	s.run(t, "doctor", "-o", "jsonpath={.checks[?(@.failed==true)].reason}").Want(t, framework.Found, v1.ReasonDriverMissing)

	s.allow(t, "viewer", rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"memberclusters"}, Verbs: []string{"get", "list"}})
	s.run(t, "doctor", "--as", "viewer").Want(t, framework.Found, "Leader", "Unknown", "Forbidden", "Ask an administrator",
		"1 of 19 checks failed, the first is StorageReady of eu-1")
}

// allow gives permissions to a user.
func (s *suite) allow(t *testing.T, user string, rules ...rbacv1.PolicyRule) {
	t.Helper()
	meta := metav1.ObjectMeta{Name: user}
	framework.Create(t, s.Hub, &rbacv1.ClusterRole{ObjectMeta: meta, Rules: rules})
	framework.Create(t, s.Hub, &rbacv1.ClusterRoleBinding{
		ObjectMeta: meta,
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
	})
}

// testDiff edits a paused EcommerceApp, and compares what the command shows with the page for
// operators.
func (s *suite) testDiff(t *testing.T) {
	t.Helper()
	s.run(t, "diff", appName, "-n", "production").Want(t, framework.Done)
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: appName}}
	s.run(t, "pause", "app", appName, "-n", "production").Want(t, framework.Done, "ecommerceapp.ecommerce.io/"+appName+" paused")
	s.run(t, "pause", "app", appName, "-n", "production").Want(t, framework.Done, "already paused")
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(5)) })
	s.AwaitApp(t, app, "the edit to be held back", func(status *v1.EcommerceAppStatus) error {
		if status.ObservedGeneration != app.Generation || status.PendingChangeCount == 0 {
			return fmt.Errorf("%d changes at generation %d", status.PendingChangeCount, status.ObservedGeneration)
		}
		return nil
	})
	const command = "kubectl shopfleet diff my-ecommerce-app -n production"
	o := s.run(t, "diff", appName, "-n", "production").Want(t, framework.Found, "is paused", "kubectl shopfleet unpause app "+appName)
	if diff := cmp.Diff(screen(t, command), o.Out); diff != "" {
		t.Errorf("what %q shows (-hub/README.md +command):\n%s", command, diff)
	}
	s.run(t, "diff", appName, "-n", "production", "--member", "eu-1", "-o", "jsonpath={.paused} {.clusters[0].changes[0].action}").
		Want(t, framework.Found, "true Update")
	s.run(t, "diff", appName, "-n", "production", "--member", "none").Want(t, framework.Failed, `finding member "none"`)
	s.run(t, "__complete", "diff", "-n", "production", "").Want(t, framework.Done, appName+"\n:4")
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Replicas = new(int32(3)) })
	s.run(t, "unpause", "app", appName, "-n", "production").Want(t, framework.Done, appName+" unpaused")
	s.AwaitApp(t, app, "nothing to be held back", func(status *v1.EcommerceAppStatus) error {
		if status.ObservedGeneration != app.Generation || status.PendingChangeCount > 0 || status.Phase != v1.PhaseRunning {
			return fmt.Errorf("%s with %d changes at generation %d", status.Phase, status.PendingChangeCount, status.ObservedGeneration)
		}
		return nil
	})
	s.testDiffForbidden(t)
}

// testDiffForbidden asks for differences as users who may not read everything.
func (s *suite) testDiffForbidden(t *testing.T) {
	t.Helper()
	s.run(t, "diff", appName, "-n", "production", "--as", "nobody").Want(t, framework.Failed,
		`getting EcommerceApp "`+appName+`"`, `cannot get resource "ecommerceapps"`, "kubectl auth can-i --list")
	s.allow(t, "developer", rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"ecommerceapps"}, Verbs: []string{"get"}})
	s.run(t, "diff", appName, "-n", "production", "--as", "developer").Want(t, framework.Failed,
		"listing MemberClusters", `cannot list resource "memberclusters"`, "kubectl auth can-i --list")
}

// screen returns what hub/README.md says that a command prints.
func screen(t *testing.T, command string) string {
	t.Helper()
	page, err := os.ReadFile("../../hub/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(page), "    $ "+command+"\n")
	if !ok {
		t.Fatalf("the page does not show %q", command)
	}
	var text strings.Builder
	for line := range strings.Lines(rest) {
		printed, ok := strings.CutPrefix(line, "    ")
		if !ok {
			break
		}
		text.WriteString(printed)
	}
	return text.String()
}

// testMessages checks that an error names the object, and the next command.
func (s *suite) testMessages(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		args        string
		names, next string
	}{
		{"status none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"doctor none", `MemberCluster "none"`, "kubectl get memberclusters"},
		{"unjoin none", `MemberCluster "none"`, "kubectl get memberclusters"},
		{"renew none", `MemberCluster "none"`, "kubectl get memberclusters"},
		{"pause member none", `member "none"`, "kubectl get memberclusters"},
		{"unpause app none", `app "none"`, "kubectl shopfleet status -A"},
		{"delete none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"diff none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"render none --member eu-1", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"backup create none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"backup create " + appName + " --member none", `MemberCluster "none"`, "--member: eu-1"},
		{"restore none", `Backup "none"`, "kubectl shopfleet backup list -A"},
		{"restore none --overwrite", `Backup "none"`, "kubectl shopfleet backup list -A"},
		{"restore undo none", `Restore "none"`, "kubectl get restores -A"},
		{"backup rediscover", "CloudAccount", "kubectl apply --server-side -f config/samples/cloudaccount.yaml"},
		{"recover adopt none", `orphan "none"`, "kubectl shopfleet recover list -A"},
		{"recover delete none", `orphan "none"`, "kubectl shopfleet recover list -A"},
		{"recover list none", `EcommerceApp "none"`, "kubectl shopfleet recover list -A"},
		{"recover overwrite none", `EcommerceApp "none"`, "kubectl shopfleet recover list -A"},
		{"recover import none --member eu-1", `EcommerceApp "none"`, "kubectl shopfleet recover list -A"},
		{"recover take-over none", `MemberCluster "none"`, "kubectl get memberclusters"},
		{"join eu-1 --cloud-account none --member-kubeconfig " + s.eu.AdminKubeconfig(), `CloudAccount "none"`, "kubectl get cloudaccounts"},
	} {
		t.Run(tt.args, func(t *testing.T) {
			o := s.run(t, append(strings.Fields(tt.args), "-n", "production")...)
			if o.Code == framework.Done || o.Code == framework.NotReady {
				t.Errorf("exit code %d", o.Code)
			}
			for _, part := range []string{tt.names, tt.next} {
				if !strings.Contains(o.ErrOut, part) {
					t.Errorf("it says %q, want %q in it", o.ErrOut, part)
				}
			}
		})
	}
	// A dump takes longer.
	s.run(t, "backup", "create", appName, "-n", "production", "--timeout", time.Millisecond.String()).
		Want(t, framework.NotReady, "backup "+appName+"-eu-1-", "timed out after 1ms", "kubectl describe backup "+appName, "-n production")
}

// testDryRuns checks that a dry run changes nothing, and a question is asked before that.
func (s *suite) testDryRuns(t *testing.T) {
	t.Helper()
	before, begin := s.Mark(t), time.Now()
	access := []string{"--member-kubeconfig", s.eu.AdminKubeconfig()}
	for _, mode := range []string{"client", "server"} {
		dry := func(args string, more ...string) framework.Outcome {
			return s.run(t, append(append(strings.Fields(args), "--dry-run="+mode, "-n", "production"), more...)...)
		}
		dry("unjoin eu-1 --revoke", access...).Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 left the fleet", "dry run)")
		dry("join eu-1 --mode agent --labels a=b --overwrite", access...).Want(t, framework.Done,
			"membercluster.ecommerce.io/eu-1 registered", "dry run)", "note: Secret shopfleet-system/eu-1, which registers "+s.eu.Server()+" is replaced")
		dry("backup create "+appName).Want(t, framework.Done, "created", "dry run)")
		dry("delete "+appName).Want(t, framework.Done, "deleted", "dry run)")
		dry("delete "+appName+" --skip-unreachable").Want(t, framework.Done, "deleted", "dry run)")
		s.run(t, "uninstall", "hub", "-o", "name", "--dry-run="+mode).Want(t, framework.Done)
		dry("pause member -l tier=prod").Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 paused (")
	}
	for command, action := range map[string]string{
		"unjoin eu-1": "remove member eu-1 from the fleet",
		"unjoin eu-1 --revoke --member-kubeconfig " + s.eu.AdminKubeconfig(): "permissions there",
		"delete " + appName: "delete EcommerceApp production/" + appName,
		"join eu-1 --overwrite --member-kubeconfig " + s.eu.AdminKubeconfig(): "and replace Secret shopfleet-system/eu-1",
	} {
		s.run(t, append(strings.Fields(command), "-n", "production")...).Want(t, framework.Misused, action, "confirm it with --yes")
		framework.Session{In: strings.NewReader("n\n")}.CLI(t, s.hub, append(strings.Fields(command), "-n", "production")...).
			Want(t, framework.Done, "You are about to ", action, "is cancelled")
	}
	s.unchanged(t, s.hub, s.Hub, before.Since(t, s.hub), begin)
	s.unchanged(t, s.eu, s.Members["eu-1"], before.Since(t, s.eu), begin)
}

// unchanged checks that the program changed nothing in a cluster, and that a dry run reached it.
func (s *suite) unchanged(t *testing.T, cluster *fleet.Cluster, c client.Client, log audit.Log, begin time.Time) {
	t.Helper()
	sent := log.ByAgent("kubectl-shopfleet/")
	if len(sent.Where(audit.Event.DryRun)) == 0 {
		t.Errorf("%s: no dry run reached the server, so that it shows nothing", cluster.Name())
	}
	for _, e := range sent.Where(func(e audit.Event) bool { return e.Write() || e.Subresource == "token" }) {
		if e.Verb != "delete" {
			t.Errorf("%s: a dry run or a question wrote: %s", cluster.Name(), e)
			continue
		}
		// Whether a deletion was a dry run is in its body, which the log does not have.
		if e.Code == http.StatusNotFound {
			continue
		}
		kind, err := c.RESTMapper().KindFor(schema.GroupVersionResource{Group: e.Group, Version: e.Version, Resource: e.Resource})
		if err != nil {
			t.Fatal(err)
		}
		object := &unstructured.Unstructured{}
		object.SetGroupVersionKind(kind)
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: e.Namespace, Name: e.Name}, object); err != nil ||
			object.GetDeletionTimestamp() != nil || !object.GetCreationTimestamp().Time.Before(begin.Truncate(time.Second)) {
			t.Errorf("%s: a dry run or a question deleted: %s, %v", cluster.Name(), e, err)
		}
	}
}

// testRestore checks that a Restore that replaces data has to be confirmed, and one that verifies does not. It uses a
// Backup of testMessages.
func (s *suite) testRestore(t *testing.T) {
	t.Helper()
	backups := &v1.BackupList{}
	if err := s.Hub.List(t.Context(), backups, client.InNamespace("production")); err != nil || len(backups.Items) == 0 {
		t.Fatalf("%d Backups, %v", len(backups.Items), err)
	}
	name := backups.Items[0].Name
	s.run(t, "__complete", "restore", "-n", "production", "").Want(t, framework.Done, name)
	s.run(t, "restore", name, "-n", "production", "--overwrite").
		Want(t, framework.Misused, "EcommerceApp production/"+appName+" in member eu-1", "its data is lost", "confirm it with --yes")
	for flag, path := range map[string]string{"--overwrite": "overwrite", "--verify": "verify"} {
		s.run(t, "restore", name, "-n", "production", flag, "--yes", "--dry-run=server", "-o", "jsonpath={.spec."+path+"}").Want(t, framework.Done, "true")
	}
	restores := &v1.RestoreList{}
	if err := s.Hub.List(t.Context(), restores); err != nil || len(restores.Items) > 0 {
		t.Errorf("%d Restores, %v; want none: nothing was confirmed", len(restores.Items), err)
	}
	s.run(t, "restore", name, "-n", "production", "--verify", "--wait=false").Want(t, framework.Done, "restore.ecommerce.io/"+name[:20], "created")
	if err := s.Hub.List(t.Context(), restores); err != nil || len(restores.Items) != 1 || !restores.Items[0].Spec.Verify {
		t.Fatalf("Restores %+v, %v; want one that verifies", restores.Items, err)
	}
	verifies := restores.Items[0].Name
	s.run(t, "__complete", "restore", "undo", "-n", "production", "").Want(t, framework.Done, verifies+"\n:4")
	s.run(t, "restore", "undo", verifies, "-n", "production", "--yes").
		Want(t, framework.Failed, `undoing Restore "`+verifies+`": it cannot be undone: it verifies a Backup`, "Nothing was changed.")
	framework.Delete(t, s.Hub, &restores.Items[0])
}

// testCloudAccount checks that join sets the CloudAccount of a member, and keeps it without the flag.
func (s *suite) testCloudAccount(t *testing.T) {
	t.Helper()
	account := apitest.CloudAccount("prod").AWS("123456789012").Obj()
	s.Create(t, account)
	access := s.eu.AdminKubeconfig()
	s.run(t, "__complete", "join", "eu-1", "--cloud-account", "").Want(t, framework.Done, "prod\n:4")
	for _, args := range [][]string{{"--cloud-account", "prod"}, {"--labels", "tier=prod"}} {
		s.run(t, append([]string{"join", "eu-1", "--member-kubeconfig", access}, args...)...).Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 is ready")
		m := &v1.MemberCluster{}
		if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "eu-1"}, m); err != nil || m.Spec.CloudAccountRef == nil || m.Spec.CloudAccountRef.Name != "prod" {
			t.Errorf("the member has the CloudAccount %v, %v; want prod", m.Spec.CloudAccountRef, err)
		}
	}
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Edit(t, s.Hub, m, func(m *v1.MemberCluster) { m.Spec.CloudAccountRef = nil })
	framework.Delete(t, s.Hub, account)
}

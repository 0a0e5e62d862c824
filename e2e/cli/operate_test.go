package cli

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
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
	s.run(t, "doctor").Want(t, framework.Failed, "AdmissionPolicies", "PolicyMissing", "kubectl shopfleet install hub")
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
	s.run(t, "doctor").Want(t, framework.Failed, "(hub)    all", "eu-1     StorageReady   False    DriverMissing   Install the CSI driver", "1 of 13 checks failed")
	s.run(t, "doctor", "eu-1", "-o", "wide").Want(t, framework.Failed, "LeaseRenewed", v1.ConditionCredentialsRenewed, "hub "+hubVersion+", plugin "+framework.CLIVersion)
	s.run(t, "doctor", "-o", "jsonpath={.checks[?(@.failed==true)].reason}").Want(t, framework.Failed, v1.ReasonDriverMissing)

	s.allow(t, "viewer", rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"memberclusters"}, Verbs: []string{"get", "list"}})
	s.run(t, "doctor", "--as", "viewer").Want(t, framework.Failed, "Leader", "Unknown", "Forbidden", "Ask an administrator",
		"1 of 13 checks failed, the first is StorageReady of eu-1")
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

// testDiff shows changes that a hub that has ended held back.
func (s *suite) testDiff(t *testing.T) {
	t.Helper()
	s.run(t, "diff", appName, "-n", "production").Want(t, framework.Done)
	s.StopHub()
	defer s.StartHub(t)
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "production", Name: appName}}
	if err := s.Hub.Get(t.Context(), client.ObjectKeyFromObject(app), app); err != nil {
		t.Fatal(err)
	}
	before := client.MergeFrom(app.DeepCopy())
	app.Status.PendingChanges = []v1.PendingChange{
		{Cluster: "eu-1", Kind: "Deployment", Name: appName + "-frontend", Action: v1.PendingUpdate, Fields: []string{"spec.replicas: 3 -> 5"}},
	}
	app.Status.PendingChangeCount, app.Status.Clusters[0].PendingChangeCount = 1, 1
	if err := s.Hub.Status().Patch(t.Context(), app, before); err != nil {
		t.Fatal(err)
	}
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Paused = true })
	s.run(t, "diff", appName, "-n", "production").Want(t, framework.Failed,
		"@@ update Deployment/"+appName+"-frontend @@\n-spec.replicas: 3\n+spec.replicas: 5\n", "is paused", "has not observed the current spec")
	s.run(t, "diff", appName, "-n", "production", "--member", "eu-1", "-o", "jsonpath={.paused} {.clusters[0].changes[0].action}").
		Want(t, framework.Failed, "true Update")
	s.run(t, "diff", appName, "-n", "production", "--member", "none").Want(t, framework.Misused, `finding member "none"`)
	s.run(t, "__complete", "diff", "-n", "production", "").Want(t, framework.Done, appName+"\n:4")
	framework.Edit(t, s.Hub, app, func(app *v1.EcommerceApp) { app.Spec.Paused = false })
}

// testMessages: an error names the object, and the next command.
func (s *suite) testMessages(t *testing.T) {
	t.Helper()
	for _, tt := range []struct {
		args        string
		names, next string
	}{
		{"status none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"clusters none", `MemberCluster "none"`, "kubectl shopfleet clusters"},
		{"doctor none", `MemberCluster "none"`, "kubectl shopfleet clusters"},
		{"unjoin none", `MemberCluster "none"`, "kubectl shopfleet clusters"},
		{"token renew none", `MemberCluster "none"`, "kubectl shopfleet clusters"},
		{"delete none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"diff none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"backup none", `EcommerceApp "none"`, "kubectl shopfleet status -A"},
		{"backup " + appName + " --member none", `MemberCluster "none"`, "--member: eu-1"},
		{"restore none", `Backup "none"`, "kubectl shopfleet backups -A"},
		{"restore none --overwrite", `Backup "none"`, "kubectl shopfleet backups -A"},
		{"backups rediscover", "CloudAccount", "kubectl apply -f config/samples/cloudaccount.yaml"},
		{"orphans adopt none", `orphan "none"`, "kubectl shopfleet orphans"},
		{"orphans delete none", `orphan "none"`, "kubectl shopfleet orphans"},
		{"recover none", `EcommerceApp "none"`, "kubectl shopfleet recover -A"},
		{"recover overwrite none", `EcommerceApp "none"`, "kubectl shopfleet recover -A"},
		{"recover import none --member eu-1", `EcommerceApp "none"`, "kubectl shopfleet recover -A"},
		{"recover take-over none", `MemberCluster "none"`, "kubectl shopfleet clusters"},
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
	s.run(t, "backup", appName, "-n", "production", "--timeout", time.Millisecond.String()).
		Want(t, framework.NotReady, "backup "+appName+"-eu-1-", "timed out after 1ms", "kubectl describe backup "+appName, "-n production")
}

// testDryRuns: a dry run changes nothing, and a question is asked before that.
func (s *suite) testDryRuns(t *testing.T) {
	t.Helper()
	mark := s.Mark(t)
	for _, mode := range []string{"client", "server"} {
		s.run(t, "unjoin", "eu-1", "--dry-run="+mode, "--revoke", "--member-kubeconfig", s.eu.AdminKubeconfig()).
			Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 left the fleet", "dry run)")
		s.run(t, "backup", appName, "-n", "production", "--dry-run="+mode).Want(t, framework.Done, "created", "dry run)")
		s.run(t, "uninstall", "hub", "--dry-run="+mode, "-o", "name").Want(t, framework.Done)
	}
	framework.Session{In: strings.NewReader("n\n")}.CLI(t, s.hub, "unjoin", "eu-1", "-i").Want(t, framework.Done, "remove member eu-1 from the fleet", "unjoin is cancelled")
	for _, c := range []string{"hub", "eu-1"} {
		cluster := s.hub
		if c == "eu-1" {
			cluster = s.eu
		}
		if wrote := s.Since(t, mark, cluster).ByAgent("kubectl-shopfleet/").Writes(); len(wrote) > 0 {
			t.Errorf("%s: a dry run or a question wrote:\n%s", c, wrote)
		}
	}
}

// testRestore: a Restore that replaces data has to be confirmed, and one that verifies does not.
// It uses a Backup of testMessages.
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
	framework.Delete(t, s.Hub, &restores.Items[0])
}

// testCloudAccount: join sets the CloudAccount of a member, and keeps it without the flag.
func (s *suite) testCloudAccount(t *testing.T) {
	t.Helper()
	account := apitest.CloudAccount("prod").AWS("123456789012").Obj()
	s.Create(t, account)
	access := s.eu.AdminKubeconfig()
	s.run(t, "__complete", "join", "eu-1", "--cloud-account", "").Want(t, framework.Done, "prod\n:4")
	for _, args := range [][]string{{"--cloud-account", "prod"}, {"--labels", "tier=prod"}} {
		s.run(t, append([]string{"join", "eu-1", "--member-kubeconfig", access}, args...)...).Want(t, framework.Done, "membercluster.ecommerce.io/eu-1 is ready")
		s.run(t, "clusters", "eu-1", "-o", "jsonpath={.spec.cloudAccountRef.name}").Want(t, framework.Done, "prod")
	}
	m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}}
	framework.Edit(t, s.Hub, m, func(m *v1.MemberCluster) { m.Spec.CloudAccountRef = nil })
	framework.Delete(t, s.Hub, account)
}

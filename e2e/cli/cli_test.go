package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	program "github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/commands"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/setup"
	"github.com/shopfleet/shopfleet/spoke/operator"
)

const (
	done     = 0
	failed   = 1
	notReady = 3

	root    = "../.."
	appName = "my-ecommerce-app"
)

// suite is a fleet with a running hub.
type suite struct {
	hub, eu    *fleet.Cluster
	onHub, onE client.Client
}

func TestCLI(t *testing.T) {
	f := fleettest.Start(t, fleet.Options{
		Hub:     fleet.ClusterSpec{Name: "hub"},
		Members: []fleet.ClusterSpec{{Name: "eu-1", Provider: fleet.AWS, Region: "eu-west-1", Nodes: 2}},
	})
	s := &suite{hub: f.Hub(), eu: f.Member("eu-1")}
	s.onHub, s.onE = newClient(t, s.hub.AdminConfig()), newClient(t, s.eu.AdminConfig())

	t.Run("clusters explains that the CRDs are not installed", s.beforeInstallation)
	s.install(t)
	t.Run("join explains that the hub cannot reach the member", s.unreachable)
	t.Run("join explains that the user cannot reach the member", s.unreachableForCaller)
	t.Run("join waits until the member is ready", s.join)
	t.Run("join again renews the token", s.joinAgain)
	t.Run("join rejects the hub and a member under a second name", s.refused)
	t.Run("status waits until the EcommerceApp is ready", s.status)
	t.Run("completion returns names", s.completion)
	t.Run("unjoin leaves the workloads", s.unjoin)
	t.Run("unjoin revokes permissions", s.revoke)
}

func newClient(t *testing.T, c *rest.Config) client.Client {
	t.Helper()
	kinds := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, corev1.AddToScheme, appsv1.AddToScheme} {
		if err := add(kinds); err != nil {
			t.Fatal(err)
		}
	}
	made, err := client.New(c, client.Options{Scheme: kinds})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// install applies the CRDs and RBAC of the hub, and starts one with these permissions.
func (s *suite) install(t *testing.T) {
	t.Helper()
	for _, folder := range []string{"config/crd/bases", "config/rbac/hub"} {
		if err := s.hub.ApplyFolder(t.Context(), filepath.Join(root, folder)); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := s.hub.ServiceAccountKubeconfig(t.Context(), config.Namespace, config.HubServiceAccount)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	var log bytes.Buffer
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		ended <- setup.Run(ctx, setup.Options{
			Kubeconfig: path, Namespace: config.Namespace, Options: operator.Options{
				MetricsBindAddress: "0", HealthProbeBindAddress: "0",
				Logger: logr.FromSlogHandler(slog.NewTextHandler(&log, nil)),
			},
		})
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("the hub ended with %v", err)
		}
		if t.Failed() {
			t.Logf("the hub's log:\n%s", &log)
		}
	})
}

// outcome is the result of one run of the program.
type outcome struct {
	code        int
	out, errOut string
}

// run runs the program against the hub.
func (s *suite) run(t *testing.T, args ...string) outcome {
	t.Helper()
	var out, errOut bytes.Buffer
	code := program.New(program.Invocation{
		Args:    append([]string{"kubectl-shopfleet", "--kubeconfig", s.hub.AdminKubeconfig()}, args...),
		Version: "v0.0.0-test",
		Streams: genericiooptions.IOStreams{In: &bytes.Buffer{}, Out: &out, ErrOut: &errOut},
	}).Run(t.Context())
	o := outcome{code, out.String(), errOut.String()}
	t.Logf("%s: exit code %d\n%s%s", strings.Join(args, " "), o.code, o.out, o.errOut)
	if strings.Contains(o.out+o.errOut, "eyJ") {
		t.Error("a token is shown")
	}
	return o
}

// want checks the exit code and parts of both streams.
func (o outcome) want(t *testing.T, code int, parts ...string) {
	t.Helper()
	if o.code != code {
		t.Errorf("exit code %d, want %d", o.code, code)
	}
	for _, part := range parts {
		if !strings.Contains(o.out+o.errOut, part) {
			t.Errorf("output without %q", part)
		}
	}
}

func (s *suite) beforeInstallation(t *testing.T) {
	s.run(t, "clusters").want(t, failed, "kubectl apply -f config/crd/bases")
}

// closedPort returns an address that refuses connections.
func closedPort(t *testing.T) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return "https://" + listener.Addr().String()
}

func (s *suite) unreachable(t *testing.T) {
	server := closedPort(t)
	probed := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "dead"}, Spec: v1.MemberClusterSpec{Health: framework.Health()}}
	if err := s.onHub.Create(t.Context(), probed); err != nil {
		t.Fatal(err)
	}
	s.run(t, "join", "dead", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--member-server", server, "--wait", "15s").
		want(t, notReady, `MemberCluster "dead": not ready`, "The hub cannot reach "+server, "--member-server")
	s.run(t, "clusters", "dead").want(t, done, "False")
	s.run(t, "unjoin", "dead").want(t, done, "dead left the fleet")
	member := &v1.MemberCluster{}
	if err := s.onHub.Get(t.Context(), client.ObjectKey{Name: "dead"}, member); !apierrors.IsNotFound(err) {
		t.Errorf("the MemberCluster is there after unjoin: %v", err)
	}
}

func (s *suite) unreachableForCaller(t *testing.T) {
	raw, err := os.ReadFile(s.eu.AdminKubeconfig())
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "kubeconfig")
	moved := bytes.ReplaceAll(raw, []byte(s.eu.Server()), []byte(closedPort(t)))
	if err := os.WriteFile(path, moved, 0o600); err != nil {
		t.Fatal(err)
	}
	s.run(t, "join", "gone", "--member-kubeconfig", path).want(t, failed, "reaching the member", "does not answer")
	secrets := &corev1.SecretList{}
	if err := s.onHub.List(t.Context(), secrets, client.InNamespace(config.Namespace), client.HasLabels{v1.MemberClusterLabel}); err != nil {
		t.Fatal(err)
	}
	if len(secrets.Items) > 0 {
		t.Error("a Secret was written for a member that does not answer")
	}
}

func (s *suite) join(t *testing.T) {
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--labels", "tier=prod").
		want(t, done, "eu-1 is ready: provider aws, region eu-west-1", "2 of 2 nodes ready")
	s.run(t, "clusters", "-l", "tier=prod").want(t, done, "eu-1", "True", "aws", "eu-west-1", "2/2")
	s.run(t, "clusters", "-o", "name").want(t, done, "membercluster.ecommerce.io/eu-1")
	s.run(t, "version").want(t, done, "v0.0.0-test", "eu-1, Kubernetes")
}

func (s *suite) secret(t *testing.T, name string) *corev1.Secret {
	t.Helper()
	secret := &corev1.Secret{}
	if err := s.onHub.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: name}, secret); err != nil {
		t.Fatal(err)
	}
	return secret
}

func (s *suite) joinAgain(t *testing.T) {
	before := s.secret(t, "eu-1").Data[v1.KubeconfigKey]
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "-o", "name").
		want(t, done, "membercluster.ecommerce.io/eu-1")
	if bytes.Equal(before, s.secret(t, "eu-1").Data[v1.KubeconfigKey]) {
		t.Error("the token is the old one")
	}
	member := &v1.MemberCluster{}
	if err := s.onHub.Get(t.Context(), client.ObjectKey{Name: "eu-1"}, member); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(map[string]string{"tier": "prod"}, member.Labels); diff != "" {
		t.Errorf("labels after joining without any (-want +got):\n%s", diff)
	}
}

func (s *suite) refused(t *testing.T) {
	s.run(t, "join", "me", "--member-kubeconfig", s.hub.AdminKubeconfig()).want(t, failed, "it is the hub itself")
	s.run(t, "join", "eu-2", "--member-kubeconfig", s.eu.AdminKubeconfig()).
		want(t, failed, `already a member, under the name "eu-1"`, "kubectl shopfleet unjoin eu-1")
}

func (s *suite) status(t *testing.T) {
	raw, err := os.ReadFile(filepath.Join(root, "config/samples/ecommerceapp.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	namespace := []byte("{apiVersion: v1, kind: Namespace, metadata: {name: production}}\n---\n")
	if err := s.hub.Apply(t.Context(), append(namespace, raw...)); err != nil {
		t.Fatal(err)
	}
	s.run(t, "status", appName).want(t, failed, "add -n production")
	s.run(t, "status", appName, "-n", "production", "--until-ready", "--timeout", fleettest.Timeout.String()).
		want(t, done, "production/"+appName+": Running, 1/1 clusters ready")
	for _, component := range []string{"database", "backend", "frontend", "ingress", "monitoring"} {
		s.run(t, "status", appName, "-n", "production").want(t, done, component)
	}
	s.run(t, "status", "-A").want(t, done, "production", appName, "Running", "1/1")

	s.run(t, "status", appName, "-n", "production", "-o", "jsonpath={.status.phase}").want(t, done, "Running")
	s.run(t, "backups", "-n", "production", "-o", "json").want(t, done, `"kind": "BackupList"`)

	o := s.run(t, "status", appName, "-n", "production", "-o", "json")
	o.want(t, done)
	app := &v1.EcommerceApp{}
	if err := json.Unmarshal([]byte(o.out), app); err != nil {
		t.Fatal(err)
	}
	if app.Kind != "EcommerceApp" || app.Status.Phase != v1.PhaseRunning {
		t.Errorf("a %q in phase %q as JSON, want a running EcommerceApp", app.Kind, app.Status.Phase)
	}
}

func (s *suite) completion(t *testing.T) {
	s.run(t, "__complete", "unjoin", "").want(t, done, "eu-1\n:4")
	s.run(t, "__complete", "status", "-n", "production", "").want(t, done, appName+"\n:4")
}

// workloads lists the workloads of the member with their UIDs.
func (s *suite) workloads(t *testing.T) []string {
	t.Helper()
	deployments, databases := &appsv1.DeploymentList{}, &appsv1.StatefulSetList{}
	copies := &v1.EcommerceAppList{}
	var all []string
	for _, list := range []client.ObjectList{deployments, databases, copies} {
		if err := s.onE.List(t.Context(), list, client.InNamespace("production")); err != nil {
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

func (s *suite) unjoin(t *testing.T) {
	before := s.workloads(t)
	if len(before) < 4 {
		t.Fatalf("%d workloads before unjoin, want at least the copy, backend, frontend and database", len(before))
	}
	s.run(t, "unjoin", "eu-1").want(t, done, "eu-1 left the fleet", "Its EcommerceApps (1) keep running")
	if diff := cmp.Diff(before, s.workloads(t)); diff != "" {
		t.Errorf("workloads (-before +after unjoin):\n%s", diff)
	}
	s.run(t, "clusters").want(t, done, "No clusters")
	s.run(t, "unjoin", "eu-1").want(t, failed, "not a member of this fleet")
}

func (s *suite) revoke(t *testing.T) {
	s.run(t, "join", "eu-1", "--member-kubeconfig", s.eu.AdminKubeconfig(), "--region", "europe").
		want(t, done, "eu-1 is ready: provider aws, region europe")
	s.run(t, "unjoin", "eu-1", "--revoke", "--member-kubeconfig", s.hub.AdminKubeconfig()).
		want(t, failed, "may be that of another cluster", "Nothing was changed")
	s.run(t, "unjoin", "eu-1", "--revoke", "--member-kubeconfig", s.eu.AdminKubeconfig()).want(t, done, "deleted the hub's ServiceAccount")
	account := &corev1.ServiceAccount{}
	err := s.onE.Get(t.Context(), client.ObjectKey{Namespace: config.Namespace, Name: config.HubServiceAccount}, account)
	if !apierrors.IsNotFound(err) {
		t.Errorf("the account after revoking: %v, want it gone", err)
	}
}

package cli

import (
	"archive/tar"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// hush is in each place of an object in which a user may put a secret.
	hush = "hush0815"
	// stored is in each Secret.
	stored = "stored4711"
)

// untar returns the files of an archive, without its folder.
func untar(t *testing.T, path string) map[string]string {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = file.Close() }()
	raw, err := gzip.NewReader(file)
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for reader := tar.NewReader(raw); ; {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatal(err)
		}
		content, err := io.ReadAll(reader)
		if err != nil {
			t.Fatal(err)
		}
		_, name, _ := strings.Cut(header.Name, "/")
		found[name] = string(content)
	}
}

// secretive returns objects with secrets in every place where a user may put them.
func secretive() []client.Object {
	system := func(name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: config.Namespace, Name: name, Labels: map[string]string{"app.kubernetes.io/name": "shopfleet-hub"},
			Annotations: map[string]string{"kubectl.kubernetes.io/last-applied-configuration": `{"a":"` + hush + `"}`, "example.com/token": hush, "example.com/url": "https://me:" + hush + "@git"}}
	}
	env := []corev1.EnvVar{{Name: "LEVEL", Value: hush}, {Name: "DSN", Value: "postgres://shop:" + hush + "@db/shop"}}
	pod := corev1.PodSpec{
		SecurityContext: &corev1.PodSecurityContext{RunAsNonRoot: new(true), RunAsUser: new(int64(65532)), SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}},
		Containers: []corev1.Container{{Name: "hub", Image: "hub:v1", Env: env, Args: []string{"--password=" + hush}, Command: []string{"sh", "-c", "PGPASSWORD=" + hush + " run"},
			Ports:           []corev1.ContainerPort{{Name: "metrics", ContainerPort: 8443}},
			SecurityContext: &corev1.SecurityContext{AllowPrivilegeEscalation: new(false), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}}},
		}},
	}
	labels := map[string]string{"app": "hub"}
	app := apitest.Seed()
	app.Name, app.Annotations = "secretive", map[string]string{"example.com/password": hush, "example.com/applied": `{"spec":{"a":"` + hush + `"}}`,
		"example.com/key": "-----BEGIN PRIVATE KEY-----\n" + hush + "\n-----END PRIVATE KEY-----"}
	app.Spec.Placement.ClusterNames = []string{"none"}
	app.Spec.Backend.Env = v1.EnvVars{{Name: "LEVEL", Value: hush}, {Name: "DSN", Value: "postgres://shop:" + hush + "@db/shop"}}
	app.Spec.Frontend.Env = app.Spec.Backend.Env
	event := func(namespace string) *corev1.Event {
		return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "said"}, Message: "dialing https://u:" + hush + "@db with token=" + hush + " failed",
			InvolvedObject: corev1.ObjectReference{Namespace: namespace, Kind: "Pod", Name: "hub"}}
	}
	account := apitest.CloudAccount("secretive").AWS("123456789012").Obj()
	account.Annotations = map[string]string{"example.com/secret-access-key": hush}
	return []client.Object{
		app, account, event(config.Namespace), event("production"),
		&corev1.Secret{ObjectMeta: system("login"), StringData: map[string]string{"user": stored, "password": stored}},
		&v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "spare", Annotations: map[string]string{"example.com/bearer": "Bearer " + hush}}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "spare", Labels: map[string]string{v1.MemberClusterLabel: "true"}}, StringData: map[string]string{"kubeconfig": stored}},
		&appsv1.Deployment{ObjectMeta: system("shopfleet-hub"), Spec: appsv1.DeploymentSpec{Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels, Annotations: map[string]string{"example.com/password": hush}}, Spec: pod}}},
		&corev1.Pod{ObjectMeta: system("shopfleet-hub-0"), Spec: pod},
	}
}

// testReport writes an archive of a hub whose users put secrets everywhere.
func (s *suite) testReport(t *testing.T) {
	t.Helper()
	objects := secretive()
	defer func() {
		for _, object := range slices.Backward(objects) { // The hub registers a member for its Secret.
			framework.Delete(t, s.Hub, object)
		}
	}()
	for _, object := range objects {
		s.Create(t, object)
	}
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: "shopfleet-hub-0"}}
	patch := `{"status":{"containerStatuses":[{"name":"hub","image":"hub:v1","imageID":"","ready":false,"restartCount":1}]}}`
	if err := s.Hub.Status().Patch(t.Context(), pod, client.RawPatch(types.MergePatchType, []byte(patch))); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "case.tar.gz")
	s.run(t, "doctor", "--archive", path).Want(t, framework.Done, "wrote "+path, "could not be read, see its index.yaml")
	s.run(t, "doctor", "--archive", path).Want(t, framework.Failed, "file exists", "--archive")
	found := untar(t, path)
	for name, text := range found {
		if strings.Contains(text, hush) || strings.Contains(text, stored) || strings.Contains(text, base64.StdEncoding.EncodeToString([]byte(stored))) {
			t.Errorf("%s has a secret", name)
		}
	}
	for _, want := range [][2]string{
		{"versions.yaml", hubVersion}, {"doctor.txt", "eu-1"}, {"objects/EcommerceApp.yaml", "name: " + appName},
		{"objects/MemberCluster.yaml", "name: eu-1"}, {"objects/CloudAccount.yaml", "name: secretive"},
		{"events/" + config.Namespace + ".yaml", "name: said"}, {"events/production.yaml", "name: said"},
		{"hub/Deployment.yaml", "image: hub:v1"}, {"hub/Pod.yaml", "name: LEVEL\n      value: REDACTED"}, {"hub/Lease.yaml", "holderIdentity"},
		{"secrets.yaml", "- keys:\n  - password\n  - user\n  name: login\n"}, {"index.yaml", "what: metrics/shopfleet-hub-0.txt"},
	} {
		name, part := want[0], want[1]
		if !strings.Contains(found[name], part) {
			t.Errorf("%s has no %q:\n%.2000s", name, part, found[name])
		}
	}
	if strings.Contains(found["objects/EcommerceApp.yaml"], "managedFields") {
		t.Error("objects have managedFields")
	}
	s.testFewPermissions(t)
}

// testFewPermissions writes archives as users who may read little, and not the Secrets with
// kubeconfigs. The archives say what they do not have.
func (s *suite) testFewPermissions(t *testing.T) {
	t.Helper()
	s.allow(t, "secretary",
		rbacv1.PolicyRule{APIGroups: []string{v1.GroupVersion.Group}, Resources: []string{"memberclusters"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"list"}},
		rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get"}, ResourceNames: []string{"login"}})
	path := filepath.Join(t.TempDir(), "secretary.tar.gz")
	s.run(t, "doctor", "--as", "secretary", "--archive", path).Want(t, framework.Done)
	found := untar(t, path)
	if secrets := found["secrets.yaml"]; !strings.Contains(secrets, "name: eu-1") || !strings.Contains(secrets, "- password") || strings.Contains(secrets, v1.KubeconfigKey) {
		t.Errorf("Secrets:\n%s", secrets)
	}
	if index := found["index.yaml"]; strings.Contains(index, "keys of Secret") {
		t.Errorf("it tried to read a Secret with a kubeconfig:\n%s", index)
	}
	path = filepath.Join(t.TempDir(), "viewer.tar.gz")
	s.run(t, "doctor", "--as", "viewer", "--archive", path).Want(t, framework.Done)
	found = untar(t, path)
	if index := found["index.yaml"]; !strings.Contains(index, "what: objects/Backup.yaml") || !strings.Contains(index, "forbidden") ||
		!strings.Contains(found["objects/MemberCluster.yaml"], "eu-1") {
		t.Errorf("index:\n%s", index)
	}
}

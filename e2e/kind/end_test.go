package kind

import (
	"bytes"
	"context"
	"encoding/base64"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// shortest is the length from which a value in a Secret is taken for a secret.
const shortest = 12

// testSecrets searches all logs, events and objects except Secrets for every password, key
// and token of every cluster.
func (e *environment) testSecrets(t *testing.T) {
	t.Helper()
	e.remember(t)
	if len(e.credentials) < 8 {
		t.Fatalf("%d credentials found, want those of two databases in two regions, and of two members", len(e.credentials))
	}
	dir := t.TempDir()
	if err := e.env.Collect(t.Context(), dir); err != nil {
		t.Fatal(err)
	}
	files := search(t, dir, e.credentials)
	t.Logf("looked for %d credentials in %d files", len(e.credentials), files)
	if files < 50 {
		t.Errorf("%d files collected, want the logs of three clusters", files)
	}
}

// remember records the current credentials: some will be renewed.
func (e *environment) remember(t *testing.T) {
	t.Helper()
	views := []*view{e.hub}
	for _, r := range e.regions {
		views = append(views, r.view)
	}
	for _, v := range views {
		for name, value := range v.secretValues(t) {
			e.credentials[value] = v.Name + ": " + name
		}
	}
}

// search searches all files of a folder for secrets, as text and in base64, and returns
// the number of files. The keys of secrets are their names.
func search(t *testing.T, dir string, secrets map[string]string) int {
	t.Helper()
	root := os.DirFS(dir)
	files := 0
	err := fs.WalkDir(root, ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		files++
		raw, err := fs.ReadFile(root, path)
		if err != nil {
			return err
		}
		for value, name := range secrets {
			if bytes.Contains(raw, []byte(value)) || bytes.Contains(raw, []byte(base64.StdEncoding.EncodeToString([]byte(value)))) {
				t.Errorf("%s is in %s", name, path)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// secretValues returns the secret values of a cluster by where they are.
func (v *view) secretValues(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, space := range []string{namespace, config.Namespace} {
		list := &corev1.SecretList{}
		if err := v.List(t.Context(), list, client.InNamespace(space)); err != nil {
			t.Fatal(err)
		}
		for i := range list.Items {
			s := &list.Items[i]
			for key, value := range s.Data {
				if secret := secretIn(t, key, value); secret != "" {
					found[fmt.Sprintf("%s of Secret %s/%s", key, s.Namespace, s.Name)] = secret
				}
			}
		}
	}
	return found
}

// secretIn returns the secret part of a value in a Secret, or an empty string.
func secretIn(t *testing.T, key string, value []byte) string {
	t.Helper()
	switch {
	case key == "kubeconfig":
		file, err := clientcmd.Load(value)
		if err != nil {
			t.Fatal(err)
		}
		return file.AuthInfos[file.Contexts[file.CurrentContext].AuthInfo].Token
	case key == "tls.key":
		// A line of it: logs and objects break it up in ways of their own.
		lines := strings.Split(string(value), "\n")
		return lines[len(lines)/2]
	case key == "accessKeyID": // A name: what goes with it is the secret.
		return ""
	case key == "tls.crt" || key == "ca.crt" || len(value) < shortest || public(string(value)):
		return ""
	default:
		return string(value)
	}
}

// public reports whether a value is no secret.
func public(value string) bool {
	return strings.HasPrefix(value, "https://") || slices.Contains([]string{"placeholder", shop, ledger}, value) ||
		strings.HasPrefix(value, strings.ReplaceAll(shop, "-", "_"))
}

// testHelm replaces the plugin's installation with the chart, upgrades it, and removes it:
// the shops keep running.
func (e *environment) testHelm(t *testing.T) {
	t.Helper()
	before := e.podsOf(t)
	e.follow(t, "Uninstall")
	name, tag, _ := strings.Cut(e.env.Images.Hub, ":")
	upgrade := []string{
		"upgrade", "--install", "shopfleet-hub", "config/charts/shopfleet-hub", "--namespace", config.Namespace, "--create-namespace",
		"--take-ownership", "--wait", "--timeout", patience.String(), "--set", "image.repository=" + name + ",image.tag=" + tag,
	}
	e.runHelm(t, upgrade...)
	e.reconcile(t)
	e.runHelm(t, append(upgrade, "--set", "replicas=1,logLevel=1")...)
	e.reconcile(t)
	e.runHelm(t, "uninstall", "shopfleet-hub", "--namespace", config.Namespace, "--wait")
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) { r.order(t, shop) })
	}
	e.follow(t, "Install")
	e.reconcile(t)
	e.running(t, shop, ledger)
	if after := e.podsOf(t); !slices.Equal(before, after) {
		t.Errorf("pods and restarts before:\n%v\nand after:\n%v", before, after)
	}
}

// testKustomize replaces the plugin's installation with an overlay.
func (e *environment) testKustomize(t *testing.T) {
	t.Helper()
	e.follow(t, "Uninstall")
	dir := e.env.Path("overlay")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	name, tag, _ := strings.Cut(e.env.Images.Hub, ":")
	overlay := fmt.Sprintf("resources: [../../../config/hub]\nimages: [{name: shopfleet-hub, newName: %s, newTag: %s}]\n", name, tag)
	if err := os.WriteFile(dir+"/kustomization.yaml", []byte(overlay), 0o600); err != nil {
		t.Fatal(err)
	}
	e.hub.must(t, "apply", "-k", dir)
	e.hub.must(t, "rollout", "status", "deployment/shopfleet-hub", "--namespace", config.Namespace, "--timeout", patience.String())
	e.reconcile(t)
	e.running(t, shop, ledger)
}

// runHelm runs the pinned helm on the hub; make builds it once.
func (e *environment) runHelm(t *testing.T, args ...string) {
	t.Helper()
	helm, err := e.env.Tool(t.Context(), "helm")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := testenv.Run(e.env.Command(t.Context(), helm, args...)); err != nil {
		t.Fatal(err)
	}
}

// testUninstall removes the hub: the shops keep running. After a new installation, the hub
// knows them, and deletes them in order; data is kept.
func (e *environment) testUninstall(t *testing.T) {
	t.Helper()
	before := e.podsOf(t)
	e.follow(t, "Uninstall")
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			r.order(t, shop)
			if r.mode == v1.ModeAgent {
				r.checkRepair(t) // The agent goes on alone.
			}
		})
	}
	if after := e.podsOf(t); !slices.Equal(before, after) {
		t.Errorf("pods and restarts before:\n%v\nand after:\n%v", before, after)
	}
	e.follow(t, "Install")
	e.reconcile(t)
	e.hub.must(t, "delete", "ecommerceapp", shop, ledger, "--namespace", namespace, "--timeout=4m")
	for name, r := range e.each() {
		t.Run(name, func(t *testing.T) {
			for _, app := range []string{shop, ledger} {
				r.gone(t, &v1.EcommerceApp{ObjectMeta: objectMeta(app)})
				fleettest.Within(t, patience, "the children of "+app+" to be gone", func(ctx context.Context) error {
					left, err := r.findChildren(ctx, app)
					if err == nil && len(left) > 0 {
						err = fmt.Errorf("%w: left are %v", errChildren, left)
					}
					return err
				})
				claim := &corev1.PersistentVolumeClaim{}
				if err := r.get(t.Context(), "data-"+app+"-database-0", claim); apierrors.IsNotFound(err) {
					t.Errorf("the volume of %s is gone with it", app)
				} else if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

package install

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

const root = "../.."

// objects are manifests by kind and name.
type objects map[string]*unstructured.Unstructured

func parse(t *testing.T, raw []byte) objects {
	t.Helper()
	found := objects{}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), 4096)
	for {
		var document runtime.RawExtension
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found
		}
		if err != nil {
			t.Fatalf("parsing manifests: %v", err)
		}
		if len(document.Raw) == 0 || string(document.Raw) == "null" {
			continue
		}
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(document.Raw); err != nil {
			t.Fatalf("parsing manifests: %v", err)
		}
		found.add(object)
	}
}

func (o objects) add(object *unstructured.Unstructured) {
	o[object.GetKind()+"/"+object.GetName()] = object
}

// without returns the objects but for some kinds.
func (o objects) without(kinds ...string) objects {
	kept := objects{}
	for _, object := range o {
		if !strings.Contains(strings.Join(kinds, " "), object.GetKind()) {
			kept.add(object)
		}
	}
	return kept
}

// kustomize builds a folder of config as kubectl apply -k does.
func kustomize(t *testing.T, folder string) objects {
	t.Helper()
	return overlay(t, filepath.Join(root, "config", folder))
}

// overlay builds a folder as kubectl apply -k does.
func overlay(t *testing.T, folder string) objects {
	t.Helper()
	programs, err := binaries.Ensure(t.Context(), os.Stderr)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), programs.Path(binaries.Kubectl), "kustomize", folder)
	cmd.Stderr = os.Stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("building %s: %v", folder, err)
	}
	return parse(t, raw)
}

// built returns the path of a pinned program, which make builds if it is not there. The
// variable of its name in capitals says where it is, also to the subtests.
func built(t *testing.T, name string) string {
	t.Helper()
	variable := strings.ToUpper(name)
	if path := os.Getenv(variable); path != "" {
		return path
	}
	cmd := exec.CommandContext(t.Context(), "make", "-s", "--no-print-directory", "-C", root, name)
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("building %s: %v", name, err)
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Setenv(variable, lines[len(lines)-1])
	return lines[len(lines)-1]
}

// helm runs helm on the chart of a process, which is the last argument.
func helm(t *testing.T, process config.Set, arguments ...string) (out []byte, stderr string, err error) {
	t.Helper()
	chart, err := filepath.Abs(filepath.Join(root, "config/charts", "shopfleet-"+string(process)))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), built(t, "helm"), append(arguments, chart)...)
	var said bytes.Buffer
	cmd.Stderr = &said
	out, err = cmd.Output()
	return out, said.String(), err
}

func template(t *testing.T, process config.Set, arguments ...string) objects {
	t.Helper()
	raw, stderr, err := helm(t, process, append([]string{"template", "--namespace", config.Namespace, "any"}, arguments...)...)
	if err != nil {
		t.Fatalf("helm template: %v\n%s", err, stderr)
	}
	return parse(t, raw)
}

func processes() []config.Set { return []config.Set{config.Hub, config.Spoke} }

// everything returns flags of helm that switch on what the charts have.
func everything() []string {
	return []string{
		"--set", "serviceMonitor.enabled=true,prometheusRule.enabled=true,dashboard.enabled=true",
		"--set", "minReadySeconds=5,deploymentAnnotations.team=shops,networkPolicy.metadataService=true,trustedCertificates.configMap=authorities",
		"--set", `serviceAccount.annotations.eks\.amazonaws\.com/role-arn=arn:aws:iam::1:role/hub,env[0].name=TZ,env[0].value=UTC`,
		"--set", "proxy.http=http://proxy.example.com:3128,proxy.https=http://proxy.example.com:3129,proxy.except={10.0.0.0/8}",
		"--set", "extraVolumes[0].name=scratch,extraVolumeMounts[0].name=scratch,extraVolumeMounts[0].mountPath=/scratch",
	}
}

func TestThreeWaysOneInstallation(t *testing.T) {
	for _, process := range processes() {
		t.Run(string(process), func(t *testing.T) {
			want := kustomize(t, string(process))
			if len(want) < 15 {
				t.Fatalf("%d objects, want a whole installation", len(want))
			}
			embedded, err := process.Install(config.Installation{})
			if err != nil {
				t.Fatal(err)
			}
			applied := objects{}
			for _, object := range embedded {
				applied.add(object)
			}
			if diff := cmp.Diff(want, applied); diff != "" {
				t.Errorf("embedded (-kustomize +embedded):\n%s", diff)
			}
			// The namespace is the release's, and helm makes it.
			if diff := cmp.Diff(want.without("Namespace"), kept(t, template(t, process))); diff != "" {
				t.Errorf("chart (-kustomize +helm):\n%s", diff)
			}
		})
	}
}

// TestSafeModeIsOneSwitch checks that flag and value change the same argument, and nothing else.
func TestSafeModeIsOneSwitch(t *testing.T) {
	for _, process := range processes() {
		t.Run(string(process), func(t *testing.T) {
			embedded, err := process.Install(config.Installation{SafeMode: true})
			if err != nil {
				t.Fatal(err)
			}
			want := objects{}
			for _, object := range embedded {
				want.add(object)
			}
			if diff := cmp.Diff(want.without("Namespace"), kept(t, template(t, process, "--set", "safeMode=true"))); diff != "" {
				t.Errorf("chart (-embedded +helm):\n%s", diff)
			}
		})
	}
}

// TestTheOverlayOfTheReadme builds the overlay that people are shown, word for word.
func TestTheOverlayOfTheReadme(t *testing.T) {
	const resources = `resources: ["https://github.com/shopfleet/shopfleet/config/hub?ref=` + config.Release + `"]`
	readme, err := os.ReadFile(filepath.Join(root, "config/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(readme), resources)
	if !found {
		t.Fatalf("there is no line %q", resources)
	}
	text, _, _ = strings.Cut(text, "\n\n")
	folder := t.TempDir()
	if err := os.CopyFS(filepath.Join(folder, "config"), os.DirFS(filepath.Join(root, "config"))); err != nil {
		t.Fatal(err)
	}
	text = "resources: [config/hub]" + strings.ReplaceAll(text, "\n    ", "\n")
	if err := os.WriteFile(filepath.Join(folder, "kustomization.yaml"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	embedded, err := config.Hub.Install(config.Installation{Image: "registry.example.com/shopfleet-hub:" + config.Release})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(embedded[len(embedded)-1], overlay(t, folder)["Deployment/shopfleet-hub"]); diff != "" {
		t.Errorf("Deployment (-plugin +overlay):\n%s", diff)
	}
}

// kept checks that helm keeps the definitions when a release goes, and takes the mark away.
func kept(t *testing.T, rendered objects) objects {
	t.Helper()
	for name, object := range rendered {
		if object.GetKind() != "CustomResourceDefinition" {
			continue
		}
		annotations := object.GetAnnotations()
		if annotations["helm.sh/resource-policy"] != "keep" {
			t.Errorf("%s goes with the release, and with it all shops", name)
		}
		delete(annotations, "helm.sh/resource-policy")
		object.SetAnnotations(annotations)
	}
	return rendered
}

func TestChartsMonitorAsKustomizeDoes(t *testing.T) {
	want, got := kustomize(t, "monitoring"), objects{}
	for _, object := range kustomize(t, "monitoring/spoke") {
		want.add(object)
	}
	for _, process := range processes() {
		for _, object := range template(t, process, everything()...) {
			switch object.GetKind() {
			case "ServiceMonitor", "PrometheusRule", "ConfigMap":
				got.add(object)
			}
		}
	}
	// kustomize ends the file's text with its last line break, a block in a template does not.
	for _, o := range []objects{want, got} {
		data, _, err := unstructured.NestedStringMap(o["ConfigMap/shopfleet-dashboard"].Object, "data")
		if err != nil {
			t.Fatal(err)
		}
		for name, text := range data {
			data[name] = strings.TrimSuffix(text, "\n")
		}
		if err := unstructured.SetNestedStringMap(o["ConfigMap/shopfleet-dashboard"].Object, data, "data"); err != nil {
			t.Fatal(err)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("monitoring (-kustomize +helm):\n%s", diff)
	}
}

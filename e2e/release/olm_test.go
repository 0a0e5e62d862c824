package main

import (
	"archive/tar"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/operator-framework/api/pkg/manifests"
	"github.com/operator-framework/api/pkg/validation"
	"sigs.k8s.io/yaml"
)

// TestSortForOLM checks that permissions in one namespace stay there, and that no kind is lost.
func TestSortForOLM(t *testing.T) {
	t.Parallel()
	const some = "kind: ClusterRole\nmetadata: {name: bound}\nrules: [{verbs: [list]}]\n---\n" +
		"kind: ClusterRole\nmetadata: {name: free}\nrules: [{verbs: [get]}]\n---\n" +
		"kind: ClusterRoleBinding\nroleRef: {name: bound}\n---\n" +
		"kind: Role\nmetadata: {name: secrets}\nrules: [{verbs: [patch]}]\n---\n" +
		"kind: ValidatingAdmissionPolicy\nmetadata: {name: protection}\n"
	parts, err := sortForOLM(some)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{object{"verbs": []any{"list"}}}, parts.rules); diff != "" {
		t.Errorf("permissions in the whole cluster (-want +got):\n%s", diff)
	}
	if got := names(parts.others); !slices.Equal(got, []string{"Role secrets", "ClusterRole free"}) {
		t.Errorf("the bundle also has %q", got)
	}
	if got := names(parts.beside); !slices.Equal(got, []string{"ValidatingAdmissionPolicy protection"}) {
		t.Errorf("beside the bundle are %q", got)
	}
	if _, err := sortForOLM(some + "---\nkind: MutatingAdmissionPolicy\n"); !errors.Is(err, errKind) {
		t.Errorf("a kind without a rule: %v", err)
	}
}

func names(objects []object) []string {
	var all []string
	for _, o := range objects {
		all = append(all, textAt(o, "kind")+" "+textAt(o, "metadata", "name"))
	}
	return all
}

// testOLM validates the bundle as OLM's own tools do, and compares it with the manifests, of which it has all objects.
func (m made) testOLM(t *testing.T) {
	folder := t.TempDir()
	m.unpack(t, "shopfleet-olm_"+version+".tar.gz", folder)
	bundle, err := manifests.GetBundleFromDir(filepath.Join(folder, "bundle"))
	if err != nil {
		t.Fatal(err)
	}
	m.checkValid(t, bundle)
	csv := read(t, filepath.Join(folder, "bundle", "manifests", "shopfleet."+version+".clusterserviceversion.yaml"))[0]
	for _, mode := range at(csv, "spec", "installModes").([]any) {
		if mode := mode.(object); mode["supported"] != (mode["type"] == "AllNamespaces") {
			t.Errorf("install mode %v", mode)
		}
	}
	if granted, rules := m.checkObjects(t, filepath.Join(folder, "bundle", "manifests"), csv), rulesOf(csv); len(rules) != granted {
		t.Errorf("the ClusterServiceVersion has %d rules for the whole cluster, and the manifests %d", len(rules), granted)
	}
	t.Run("images", m.testOLMImages)
	t.Run("catalogue", func(t *testing.T) { m.testCatalog(t, filepath.Join(folder, "catalog", "shopfleet", "catalog.yaml")) })
}

// checkObjects compares the objects of a bundle with the manifests, and returns how many rules these grant in the whole cluster.
func (m made) checkObjects(t *testing.T, bundle string, csv object) (granted int) {
	t.Helper()
	owned := ownedBy(t, csv)
	var installed, beside []string
	for _, o := range read(t, filepath.Join(m.folder, "install-hub.yaml")) {
		what := names([]object{o})[0]
		switch kind := textAt(o, "kind"); {
		case kind == "CustomResourceDefinition":
			installed = append(installed, textAt(o, "metadata", "name"))
		case kind == "Namespace", strings.HasPrefix(kind, "ValidatingAdmissionPolicy"):
			beside = append(beside, what)
		case kind == "Deployment":
			deployments := at(csv, "spec", "install", "spec", "deployments").([]any)
			if diff := cmp.Diff(o["spec"], deployments[0].(object)["spec"]); diff != "" || len(deployments) != 1 {
				t.Errorf("the Deployment (-manifests +bundle):\n%s", diff)
			}
		case kind == "ServiceAccount", kind == "ClusterRoleBinding":
		case kind == "ClusterRole" && (textAt(o, "metadata", "name") == "shopfleet-hub" || textAt(o, "metadata", "name") == "shopfleet-hub-metrics-auth"):
			rules := o["rules"].([]any)
			granted += len(rules)
			if !hasRules(csv, rules) {
				t.Errorf("the ClusterServiceVersion lacks permissions of %s", what)
			}
		default:
			file := textAt(o, "metadata", "name") + "." + strings.ToLower(kind) + ".yaml"
			if diff := cmp.Diff(o, read(t, filepath.Join(bundle, file))[0]); diff != "" {
				t.Errorf("%s (-manifests +bundle):\n%s", what, diff)
			}
		}
	}
	if !slices.Equal(owned, installed) || len(owned) < 6 {
		t.Errorf("the bundle owns %q, and the manifests have %q", owned, installed)
	}
	if got := names(read(t, filepath.Join(m.folder, policiesFile))); !slices.Equal(got, beside) || len(got) < 11 {
		t.Errorf("the objects beside the bundle are %q, and the manifests have %q", got, beside)
	}
	return granted
}

// ownedBy returns the definitions that an operator owns, each of which is described.
func ownedBy(t *testing.T, csv object) []string {
	t.Helper()
	var owned []string
	for _, kind := range at(csv, "spec", "customresourcedefinitions", "owned").([]any) {
		owned = append(owned, textAt(kind.(object), "name"))
		if about := textAt(kind.(object), "description"); len(about) < 20 {
			t.Errorf("%s is described by %q", owned[len(owned)-1], about)
		}
	}
	return owned
}

// rulesOf returns the permissions that an operator has in the whole cluster, which are those of one account.
func rulesOf(csv object) []any {
	permissions, _ := at(csv, "spec", "install", "spec", "clusterPermissions").([]any)
	if len(permissions) != 1 || textAt(permissions[0].(object), "serviceAccountName") != "shopfleet-hub" {
		return nil
	}
	rules, _ := permissions[0].(object)["rules"].([]any)
	return rules
}

// hasRules reports whether an operator has some permissions in the whole cluster.
func hasRules(csv object, rules []any) bool {
	granted := rulesOf(csv)
	for _, rule := range rules {
		if !slices.ContainsFunc(granted, func(g any) bool { return cmp.Equal(g, rule) }) {
			return false
		}
	}
	return true
}

// checkValid runs the validators of operator-framework/api, but for those that are deprecated, or read no bundle, or ask docker.
func (m made) checkValid(t *testing.T, bundle *manifests.Bundle) {
	t.Helper()
	objects := []any{bundle, bundle.CSV}
	for _, definition := range bundle.V1CRDs {
		objects = append(objects, definition)
	}
	for _, o := range bundle.Objects {
		objects = append(objects, o)
	}
	// Warnings that remain, each with its reason.
	accepted := map[string]string{
		"csv.Spec.Icon not specified": "there is no logo",
		`deprecated and removed in v1.25. More info: https://kubernetes.io/docs/reference/using-api/deprecation-guide/#v1-25. Migrate the API(s) for events: (["Cluster`: "permissions " +
			"name no version, and the hub writes events.k8s.io/v1",
	}
	validators := append(slices.Clone(validation.DefaultBundleValidators), validation.OperatorHubV2Validator, validation.StandardCategoriesValidator,
		validation.StandardCapabilitiesValidator, validation.ObjectValidator, validation.AlphaDeprecatedAPIsValidator, validation.GoodPracticesValidator)
	results := validators.Validate(objects...)
	if len(results) < len(validators) {
		t.Errorf("%d results of %d validators", len(results), len(validators))
	}
	for _, result := range results {
		for _, problem := range result.Errors {
			t.Errorf("%s: %s", result.Name, problem.Error())
		}
		for _, problem := range result.Warnings {
			known := false
			for text := range accepted {
				known = known || strings.Contains(problem.Error(), text)
			}
			if !known {
				t.Errorf("%s: %s", result.Name, problem.Error())
			}
		}
	}
}

// testOLMImages pulls the image of the bundle, which says what it is by its labels.
func (m made) testOLMImages(t *testing.T) {
	pushed := m.registry + "/" + olmBundle + ":" + version
	reference, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	image, err := remote.Image(reference)
	if err != nil {
		t.Fatal(err)
	}
	file, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(olmAnnotations(), file.Config.Labels); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
	content := mutate.Extract(image)
	defer func() { _ = content.Close() }()
	files := tar.NewReader(content)
	var has []string
	for header, err := files.Next(); err != io.EOF; header, err = files.Next() {
		if err != nil {
			t.Fatal(err)
		}
		has = append(has, header.Name)
	}
	if len(has) < 10 || !slices.Contains(has, "metadata/annotations.yaml") || !slices.Contains(has, "manifests/shopfleet."+version+".clusterserviceversion.yaml") {
		t.Errorf("%s has %q", pushed, has)
	}
	m.verifyPushed(t, m.public(t), pushed)
}

// testCatalog checks what opm rendered. That the catalogue is valid is checked by build, with opm.
func (m made) testCatalog(t *testing.T, path string) {
	t.Helper()
	if m.opm == "" {
		t.Skip("needs opm, which takes minutes to compile: run make release-check CATALOG=1")
	}
	blobs := read(t, path)
	var schemas []string
	for _, blob := range blobs {
		schemas = append(schemas, textAt(blob, "schema")+" "+textAt(blob, "name")+" "+textAt(blob, "image"))
	}
	want := []string{"olm.package shopfleet ", "olm.channel candidate ", "olm.bundle shopfleet." + version + " " + m.registry + "/" + olmBundle + ":" + version}
	if diff := cmp.Diff(want, schemas); diff != "" {
		t.Errorf("the catalogue (-want +got):\n%s", diff)
	}
	properties, _ := blobs[len(blobs)-1]["properties"].([]any)
	var types []string
	for _, p := range properties {
		types = append(types, textAt(p.(object), "type"))
	}
	if !slices.Contains(types, "olm.csv.metadata") || slices.Contains(types, "olm.bundle.object") {
		t.Errorf("the bundle has the properties %q, want the metadata of its ClusterServiceVersion and no copies of its objects", types)
	}
	m.verifyPushed(t, m.public(t), m.registry+"/"+olmCatalog+":"+version)
}

// read returns the documents of a file.
func read(t *testing.T, path string) []object {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var all []object
	for document := range strings.SplitSeq(string(raw), "---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if len(o) > 0 {
			all = append(all, o)
		}
	}
	return all
}

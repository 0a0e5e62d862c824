package config

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	// DevelopmentVersion is the tag of the images in the manifests.
	DevelopmentVersion = "v0.0.0-dev"
	// Release is the newest release, or the first one to come. Commands in pages and in help name it, which a test of
	// e2e/archtest checks.
	Release = "v0.1.0"
)

// Prefixes of the arguments that Install sets: that with the spoke's image, which the hub has, and
// that for the safe mode; and that which it adds, with the page of the runbook.
const (
	spokeImageFlag = "--spoke-image="
	safeModeFlag   = "--safe-mode="
	runbookURLFlag = "--runbook-url="
)

// Installation holds the options of Install. Zero values keep the values of the manifests.
type Installation struct {
	// Namespace is the namespace of the process. The default is Namespace.
	Namespace string
	// Image is the full reference of the image.
	Image string
	// SpokeImage is the full reference of the spoke's image, for the Jobs of the hub in
	// members. The default is SpokeImage of Image.
	SpokeImage string
	// PullSecrets are the names of Secrets in the namespace with which nodes pull the image, without duplicates. None
	// leaves that to the ServiceAccount.
	PullSecrets []string
	// Replicas is the number of pods, at least 1.
	Replicas int32
	// SafeMode makes the process observe and report, and write nothing but statuses.
	SafeMode bool
	// RunbookURL is the page that the alerts of shops link to. The default is that of the version of the process.
	RunbookURL string
}

// RunbookURL returns the page that the arguments of a process name; empty if they leave it to the process.
func RunbookURL(arguments []string) string {
	for _, argument := range arguments {
		if page, is := strings.CutPrefix(argument, runbookURLFlag); is {
			return page
		}
	}
	return ""
}

// Image returns the image of the set's process in a version, without a registry, for
// example "shopfleet-hub:v1.2.3".
func (s Set) Image(version string) string { return "shopfleet-" + string(s) + ":" + version }

// SpokeImage returns the spoke's image with the registry and tag of an image of the hub. It
// returns an empty string if the image has another name or no tag: the digest of one image
// does not identify another.
func SpokeImage(hubImage string) string {
	reference, _, _ := strings.Cut(hubImage, "@")
	folder, name := "", reference
	if i := strings.LastIndex(reference, "/"); i >= 0 {
		folder, name = reference[:i+1], reference[i+1:]
	}
	tag, ours := strings.CutPrefix(name, "shopfleet-"+string(Hub)+":")
	if !ours || tag == "" {
		return ""
	}
	return folder + Spoke.Image(tag)
}

// Install returns all objects of the set's process, in the order in which they are applied:
// CRDs, namespace, ServiceAccount, permissions and admission policies first, the Deployment
// last. Only Hub and
// Spoke have a process; for other sets the error is fs.ErrNotExist.
func (s Set) Install(i Installation) ([]*unstructured.Unstructured, error) {
	definitions, err := s.Definitions()
	if err != nil {
		return nil, err
	}
	permissions, err := s.Objects()
	if err != nil {
		return nil, err
	}
	process, err := folder("manager/" + string(s))
	if err != nil {
		return nil, err
	}
	admission, err := folder("admission/" + string(s))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	objects := slices.Concat(definitions, permissions, admission, process)
	slices.SortStableFunc(objects, func(a, b *unstructured.Unstructured) int {
		return cmp.Compare(rank(a.GetKind()), rank(b.GetKind()))
	})
	for _, object := range objects {
		if err := i.adapt(object); err != nil {
			return nil, fmt.Errorf("adapting %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return objects, nil
}

// Definitions returns the CRDs of the kinds that the set's process serves. Only Hub and Spoke have a process; for other
// sets the error is fs.ErrNotExist.
func (s Set) Definitions() ([]*unstructured.Unstructured, error) {
	served := map[Set][][2]string{
		Hub: {
			{"ecommerce.io", "ecommerceapps"}, {"ecommerce.io", "memberclusters"}, {"ecommerce.io", "cloudaccounts"},
			{"ecommerce.io", "backups"}, {"ecommerce.io", "restores"}, {"ecommerce.io", "plans"},
		},
		Spoke: {{"ecommerce.io", "ecommerceapps"}, {"example.com", "webapps"}, {"mysql.example.com", "mysqlclusters"}},
	}
	kinds, ok := served[s]
	if !ok {
		return nil, fmt.Errorf("installing the process of %q: %w", s, fs.ErrNotExist)
	}
	objects := make([]*unstructured.Unstructured, 0, len(kinds))
	for _, kind := range kinds {
		object, err := Definition(kind[0], kind[1])
		if err != nil {
			return nil, err
		}
		objects = append(objects, object)
	}
	return objects, nil
}

// rank orders kinds so that every object is applied after those that it refers to.
func rank(kind string) int {
	order := []string{
		"CustomResourceDefinition", "Namespace", "ServiceAccount", "ClusterRole", "ClusterRoleBinding",
		"Role", "RoleBinding", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "Service", "NetworkPolicy", "PodDisruptionBudget", "Deployment",
	}
	if at := slices.Index(order, kind); at >= 0 {
		return at
	}
	return len(order)
}

// adapt applies the options to an object of the manifests.
func (i Installation) adapt(object *unstructured.Unstructured) error {
	if i.Namespace != "" {
		if err := move(object, i.Namespace); err != nil {
			return err
		}
	}
	if object.GetKind() != "Deployment" {
		return nil
	}
	if i.Replicas != 0 {
		if err := unstructured.SetNestedField(object.Object, int64(i.Replicas), "spec", "replicas"); err != nil {
			return fmt.Errorf("setting the number of replicas: %w", err)
		}
	}
	if len(i.PullSecrets) > 0 {
		if err := unstructured.SetNestedSlice(object.Object, references(i.PullSecrets), "spec", "template", "spec", "imagePullSecrets"); err != nil {
			return fmt.Errorf("setting the pull Secrets: %w", err)
		}
	}
	spoke := i.SpokeImage
	if spoke == "" && i.Image != "" {
		spoke = SpokeImage(i.Image)
	}
	return eachMap(object, []string{"spec", "template", "spec", "containers"}, func(container map[string]any) {
		if i.Image != "" {
			container["image"] = i.Image
		}
		if i.Image != "" || i.SpokeImage != "" {
			setArgument(container, spokeImageFlag, spoke)
		}
		setArgument(container, safeModeFlag, strconv.FormatBool(i.SafeMode))
		if arguments, ok := container["args"].([]any); ok && i.RunbookURL != "" {
			container["args"] = append(arguments, runbookURLFlag+i.RunbookURL)
		}
	})
}

// references returns references to objects by name.
func references(names []string) []any {
	all := make([]any, 0, len(names))
	for _, name := range names {
		all = append(all, map[string]any{"name": name})
	}
	return all
}

// setArgument sets the value of the argument that begins with flag, if there is one.
func setArgument(container map[string]any, flag, value string) {
	arguments, ok := container["args"].([]any)
	if !ok {
		return
	}
	for i, argument := range arguments {
		if text, ok := argument.(string); ok && strings.HasPrefix(text, flag) {
			arguments[i] = flag + value
		}
	}
}

// move sets the namespace of an object and of its subjects.
func move(object *unstructured.Unstructured, namespace string) error {
	if object.GetKind() == "Namespace" {
		object.SetName(namespace)
	}
	if object.GetNamespace() != "" {
		object.SetNamespace(namespace)
	}
	return eachMap(object, []string{"subjects"}, func(subject map[string]any) { subject["namespace"] = namespace })
}

// eachMap calls change for every map in the list at path, if the list exists.
func eachMap(object *unstructured.Unstructured, path []string, change func(map[string]any)) error {
	items, found, err := unstructured.NestedSlice(object.Object, path...)
	if err != nil || !found {
		return err
	}
	for _, item := range items {
		if fields, ok := item.(map[string]any); ok {
			change(fields)
		}
	}
	return unstructured.SetNestedSlice(object.Object, items, path...)
}

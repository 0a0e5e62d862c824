package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// object is an object in YAML or a part of one.
type object = map[string]any

// olmParts are the objects of an installation, by what becomes of them in a bundle.
type olmParts struct {
	// definitions and others are files of the bundle.
	definitions, others []object
	// beside are the namespace and the admission policies, which a bundle cannot hold.
	beside []object
	// deployment and rules are parts of the ClusterServiceVersion, from which OLM makes the Deployment, its ServiceAccount and the bound
	// ClusterRoles.
	deployment object
	rules      []any
}

var errKind = errors.New("no rule says what becomes of this kind in a bundle for OLM")

// sortForOLM reads the manifests of the hub. The Role stays a Role in the bundle: OLM makes ClusterRoles of the permissions of an operator
// for all namespaces, with which the hub could read every Secret.
func sortForOLM(manifests string) (olmParts, error) {
	var parts olmParts
	var roles []object
	bound := map[string]bool{}
	for document := range strings.SplitSeq(manifests, "\n---\n") {
		var o object
		if err := yaml.Unmarshal([]byte(document), &o); err != nil {
			return parts, fmt.Errorf("reading the manifests of the hub: %w", err)
		}
		switch kind := textAt(o, "kind"); kind {
		case "": // Nothing but comments.
		case "CustomResourceDefinition":
			parts.definitions = append(parts.definitions, o)
		case "Namespace", "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding":
			parts.beside = append(parts.beside, o)
		case "Role", "RoleBinding", "Service", "NetworkPolicy", "PodDisruptionBudget":
			parts.others = append(parts.others, o)
		case "ClusterRole":
			roles = append(roles, o)
		case "ClusterRoleBinding":
			bound[textAt(o, "roleRef", "name")] = true
		case "ServiceAccount": // OLM makes it.
		case "Deployment":
			parts.deployment = o
		default:
			return parts, fmt.Errorf("%w: %s %s", errKind, kind, textAt(o, "metadata", "name"))
		}
	}
	for _, role := range roles {
		if rules, is := role["rules"].([]any); is && bound[textAt(role, "metadata", "name")] {
			parts.rules = append(parts.rules, rules...)
		} else {
			parts.others = append(parts.others, role)
		}
	}
	return parts, nil
}

// at returns what an object has at a path, nil if nothing.
func at(o object, path ...string) any {
	var value any = o
	for _, field := range path {
		inner, _ := value.(object)
		value = inner[field]
	}
	return value
}

// textAt returns a string of an object, empty if it has none there.
func textAt(o object, path ...string) string {
	text, _ := at(o, path...).(string)
	return text
}

// documents returns objects as documents of YAML.
func documents(objects []object) ([]byte, error) {
	var all []byte
	for _, o := range objects {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		all = append(append(all, "---\n"...), raw...)
	}
	return all, nil
}

// bundleFiles returns the files of a bundle.
func (r release) bundleFiles(parts olmParts) ([]member, error) {
	version, err := r.serviceVersion(parts)
	if err != nil {
		return nil, err
	}
	annotations, err := yaml.Marshal(object{"annotations": olmAnnotations()})
	if err != nil {
		return nil, err
	}
	files := []member{{name: "metadata/annotations.yaml", content: annotations, mode: 0o644}}
	for _, o := range slices.Concat([]object{version}, parts.definitions, parts.others) {
		raw, err := yaml.Marshal(o)
		if err != nil {
			return nil, err
		}
		name := textAt(o, "metadata", "name") + "." + strings.ToLower(textAt(o, "kind")) + ".yaml"
		files = append(files, member{name: "manifests/" + name, content: raw, mode: 0o644})
	}
	return files, nil
}

// examples returns the samples of the kinds of the hub, as a list in JSON.
func examples() (string, error) {
	var all []object
	for _, name := range []string{"shop", "membercluster", "cloudaccount", "backup", "restore", "plan"} {
		raw, err := os.ReadFile("config/samples/" + name + ".yaml")
		if err != nil {
			return "", err
		}
		var o object
		if err := yaml.Unmarshal(raw, &o); err != nil {
			return "", fmt.Errorf("reading the sample %s: %w", name, err)
		}
		all = append(all, o)
	}
	raw, err := json.Marshal(all)
	return string(raw), err
}

package main

import (
	"fmt"
	"strings"
	"time"
)

// summary is the first sentence about Shopfleet in catalogues.
const summary = "Run one shop in many clusters, regions and clouds"

// description holds the text that OLM shows about the hub. Its arguments are the address of the sources and the version.
const description = `The hub of Shopfleet places shops on member clusters, keeps them running and reports one status of each. It makes
backups of their databases, rolls out region by region, and moves shops away from a cluster that is drained.

Install it for all namespaces, in the namespace ` + "`shopfleet-system`" + `, where its Role is bound.

**Apply the policies of this version first.** A bundle cannot hold admission policies. These protect applications, definitions and
namespaces from deletion, and without them the hub answers no Plan:

    kubectl apply --server-side -f %[1]s/releases/download/%[2]s/` + policiesFile + `

` + "`kubectl shopfleet doctor`" + ` fails while one of them is missing. Apply those of the new version after an upgrade. Policies and definitions
stay when the operator is removed.

The bundle was validated, and was not installed by OLM in the tests of this version.
`

// bundleName returns the name of the ClusterServiceVersion.
func (r release) bundleName() string { return olmPackage + "." + r.version }

// serviceVersion returns the ClusterServiceVersion: what OLM shows and runs.
func (r release) serviceVersion(parts olmParts) (object, error) {
	samples, err := examples()
	if err != nil {
		return nil, err
	}
	oldest, err := constant("config/kubernetes.go", "OldestKubernetes")
	if err != nil {
		return nil, err
	}
	labels := object{}
	for _, p := range r.platforms {
		if p.system == "linux" {
			labels["operatorframework.io/os.linux"] = "supported"
			labels["operatorframework.io/arch."+p.processor] = "supported"
		}
	}
	var images []any
	for _, process := range processes() {
		images = append(images, object{"name": process, "image": r.registry + "/shopfleet-" + process + ":" + r.version})
	}
	return object{
		"apiVersion": "operators.coreos.com/v1alpha1",
		"kind":       "ClusterServiceVersion",
		"metadata": object{"name": r.bundleName(), "labels": labels, "annotations": object{
			"alm-examples":   samples,
			"capabilities":   "Full Lifecycle",
			"categories":     "Application Runtime",
			"containerImage": r.registry + "/shopfleet-hub:" + r.version,
			"createdAt":      r.time.Format(time.RFC3339),
			"description":    summary,
			"repository":     source,
			"operatorframework.io/suggested-namespace": textAt(parts.deployment, "metadata", "namespace"),
		}},
		"spec": object{
			"displayName":               "Shopfleet",
			"description":               fmt.Sprintf(description, source, r.version),
			"version":                   strings.TrimPrefix(r.version, "v"),
			"maturity":                  "alpha",
			"minKubeVersion":            oldest + ".0",
			"provider":                  object{"name": "Shopfleet", "url": source},
			"links":                     []any{object{"name": "Source and manual", "url": source}},
			"keywords":                  []any{"multicluster", "placement", "backup"},
			"relatedImages":             images,
			"installModes":              installModes(),
			"install":                   parts.install(),
			"customresourcedefinitions": object{"owned": parts.owned()},
		},
	}, nil
}

// installModes returns that the hub watches all namespaces, and no fewer.
func installModes() []any {
	mode := func(name string, supported bool) object { return object{"type": name, "supported": supported} }
	return []any{mode("OwnNamespace", false), mode("SingleNamespace", false), mode("MultiNamespace", false), mode("AllNamespaces", true)}
}

// install returns the Deployment of the manifests, and the permissions of its ServiceAccount in the whole cluster.
func (p olmParts) install() object {
	return object{"strategy": "deployment", "spec": object{
		"clusterPermissions": []any{object{
			"serviceAccountName": textAt(p.deployment, "spec", "template", "spec", "serviceAccountName"), "rules": p.rules,
		}},
		"deployments": []any{object{
			"name": textAt(p.deployment, "metadata", "name"), "label": at(p.deployment, "metadata", "labels"), "spec": p.deployment["spec"],
		}},
	}}
}

// owned returns the kinds of the definitions, each with the first sentence about it.
func (p olmParts) owned() []any {
	var kinds []any
	for _, definition := range p.definitions {
		versions, _ := at(definition, "spec", "versions").([]any)
		for _, version := range versions {
			served, _ := version.(object)
			about := strings.Join(strings.Fields(textAt(served, "schema", "openAPIV3Schema", "description")), " ")
			about, _, _ = strings.Cut(about, ". ")
			kind := textAt(definition, "spec", "names", "kind")
			kinds = append(kinds, object{
				"name": textAt(definition, "metadata", "name"), "version": textAt(served, "name"), "kind": kind,
				"displayName": kind, "description": strings.TrimSuffix(about, ".") + ".",
			})
		}
	}
	return kinds
}

package manifests

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"
)

const yamlBuffer = 4096

// Parse reads the documents of a YAML or JSON stream; lists are taken apart.
func Parse(raw []byte) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(raw), yamlBuffer)
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(&object.Object)
		if errors.Is(err, io.EOF) {
			return objects, nil
		}
		if err != nil {
			return nil, fmt.Errorf("parsing document %d: %w", len(objects)+1, err)
		}
		switch {
		case len(object.Object) == 0:
		case object.IsList():
			list, err := object.ToList()
			if err != nil {
				return nil, fmt.Errorf("parsing list in document %d: %w", len(objects)+1, err)
			}
			for i := range list.Items {
				objects = append(objects, &list.Items[i])
			}
		default:
			objects = append(objects, object)
		}
	}
}

// Load parses the YAML and JSON files of a folder and its subfolders, in the order
// of their names. Kustomization files are left out.
func Load(folder string) ([]*unstructured.Unstructured, error) {
	var objects []*unstructured.Unstructured
	root, err := os.OpenRoot(folder)
	if err != nil {
		return nil, fmt.Errorf("opening the manifests: %w", err)
	}
	defer func() { _ = root.Close() }()
	err = fs.WalkDir(root.FS(), ".", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !manifest(path) {
			return err
		}
		raw, err := root.ReadFile(path)
		if err != nil {
			return fmt.Errorf("reading %q: %w", path, err)
		}
		parsed, err := Parse(raw)
		if err != nil {
			return fmt.Errorf("in %q: %w", path, err)
		}
		objects = append(objects, parsed...)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("loading manifests from %q: %w", folder, err)
	}
	return objects, nil
}

func manifest(path string) bool {
	switch filepath.Base(path) {
	case "kustomization.yaml", "kustomization.yml", "Kustomization":
		return false
	}
	switch filepath.Ext(path) {
	case ".yaml", ".yml", ".json":
		return true
	}
	return false
}

// sorted returns the objects in order of their dependencies.
func sorted(objects []*unstructured.Unstructured) []*unstructured.Unstructured {
	rank := func(o *unstructured.Unstructured) int {
		switch {
		case definition(o):
			return 0
		case o.GetKind() == "Namespace" && o.GroupVersionKind().Group == "":
			return 1
		}
		return 2
	}
	ordered := slices.Clone(objects)
	slices.SortStableFunc(ordered, func(a, b *unstructured.Unstructured) int { return cmp.Compare(rank(a), rank(b)) })
	return ordered
}

func definition(o *unstructured.Unstructured) bool {
	return o.GetKind() == "CustomResourceDefinition" && o.GroupVersionKind().Group == "apiextensions.k8s.io"
}

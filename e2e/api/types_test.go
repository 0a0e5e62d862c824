package api_test

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
)

// TestKindsHaveNoTypesOfKubernetes fails on each type of k8s.io/api that a kind has: the next release of Kubernetes may add
// fields to it, which would be in our definitions without bounds, and could never be taken back.
func TestKindsHaveNoTypesOfKubernetes(t *testing.T) {
	scheme := runtime.NewScheme()
	groups := []schema.GroupVersion{v1.GroupVersion, mysqlv1.GroupVersion, webappv1.GroupVersion}
	for _, add := range []func(*runtime.Scheme) error{v1.AddToScheme, mysqlv1.AddToScheme, webappv1.AddToScheme} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	seen, ours := map[reflect.Type]bool{}, 0
	for _, group := range groups {
		for kind, is := range scheme.KnownTypes(group) {
			if !strings.HasPrefix(is.PkgPath(), "github.com/shopfleet/") {
				continue // Options of requests, of package meta.
			}
			ours++
			walk(kind, is, seen, func(path string, found reflect.Type) {
				if strings.HasPrefix(found.PkgPath(), "k8s.io/api/") {
					t.Errorf("%s is a %s: copy what is supported of it, with bounds, as Affinity is", path, found)
				}
			})
		}
	}
	if ours < len(kinds()) {
		t.Errorf("looked at %d kinds and lists, want %d at least", ours, len(kinds()))
	}
}

// walk calls the function for a type and each type that it has, with the path of its first field.
func walk(path string, is reflect.Type, seen map[reflect.Type]bool, f func(string, reflect.Type)) {
	if seen[is] {
		return
	}
	seen[is] = true
	f(path, is)
	switch is.Kind() {
	case reflect.Pointer, reflect.Slice, reflect.Array:
		walk(path, is.Elem(), seen, f)
	case reflect.Map:
		walk(path+"{}", is.Key(), seen, f)
		walk(path+"{}", is.Elem(), seen, f)
	case reflect.Struct:
		for field := range is.Fields() {
			if field.IsExported() {
				walk(path+"."+field.Name, field.Type, seen, f)
			}
		}
	default:
	}
}

package apitest

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RandomEdit changes one of EditedFields as the schema allows it, with what depends on it, and
// returns its path.
func RandomEdit(r *rand.Rand, app *v1.EcommerceApp) string {
	// A field that the schema hardly lets change is tried several times before another one.
	const tries = 12
	fields := EditedFields()
	for field, try := "", 0; ; try++ {
		if try%tries == 0 {
			field = fields[r.IntN(len(fields))]
		}
		next := app.DeepCopy()
		donor := RandomFullApp(r)
		take(strings.Split(field, ".")[1:], reflect.ValueOf(&next.Spec).Elem(), reflect.ValueOf(&donor.Spec).Elem())
		repair(&next.Spec)
		if !allowed(app.Spec.Database, next.Spec.Database) || equality.Semantic.DeepEqual(app.Spec, next.Spec) {
			continue
		}
		app.Spec = next.Spec
		return field
	}
}

// EditedFields returns the paths of the fields of an EcommerceAppSpec that RandomEdit changes: all
// but those that the schema forbids to change, those that the hub decides by, and the pause.
func EditedFields() []string {
	return slices.DeleteFunc(fieldsOf("", reflect.TypeFor[v1.EcommerceAppSpec]()), func(field string) bool {
		for _, prefix := range []string{".placement", ".overrides", ".rollout", ".propagate", ".deletion", ".paused", ".cloudConfig", ".security.podUserIDs", ".database.engine", ".database.allowUpgradeTo", ".database.storageClassName", ".database.storageProfile"} {
			if strings.HasPrefix(field, prefix) {
				return true
			}
		}
		return false
	})
}

// leaf reports whether edits replace values of a type as a whole.
func leaf(t reflect.Type) bool {
	return t == reflect.TypeFor[v1.Affinity]() || t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1.EcommerceAppSpec]().PkgPath()
}

// elem returns the type behind a pointer.
func elem(t reflect.Type) reflect.Type {
	if t.Kind() == reflect.Pointer {
		return t.Elem()
	}
	return t
}

// fieldsOf returns the paths of the leaves of a type.
func fieldsOf(prefix string, t reflect.Type) []string {
	if leaf(t) {
		return []string{prefix}
	}
	var all []string
	for field := range t.Fields() {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if field.Anonymous {
			all = append(all, fieldsOf(prefix, field.Type)...)
			continue
		}
		all = append(all, fieldsOf(prefix+"."+name, elem(field.Type))...)
	}
	return all
}

// take copies the field at a path. A struct that one side lacks is copied, or removed, as a
// whole.
func take(path []string, to, from reflect.Value) {
	for i := range to.NumField() {
		if to.Type().Field(i).Anonymous {
			take(path, to.Field(i), from.Field(i))
			continue
		}
		name, _, _ := strings.Cut(to.Type().Field(i).Tag.Get("json"), ",")
		if name != path[0] {
			continue
		}
		into, out := to.Field(i), from.Field(i)
		if len(path) == 1 || into.Kind() == reflect.Pointer && (into.IsNil() || out.IsNil()) {
			into.Set(out)
			return
		}
		take(path[1:], reflect.Indirect(into), reflect.Indirect(out))
	}
}

// repair makes fields agree that the schema relates to each other.
func repair(spec *v1.EcommerceAppSpec) {
	if spec.Image == "" && spec.Frontend.Image == "" {
		spec.Image = "frontend:v1"
	}
	tls := &spec.Security.TLS
	if tls.IssuerRef != nil {
		tls.SecretRef = nil
		if spec.Ingress.Host == "" {
			spec.Ingress.Host = "shop.example.com"
		}
	}
	for _, w := range []*v1.Workload{&spec.Backend, &spec.Frontend} {
		if w.Autoscaling != nil {
			w.Replicas, w.Strategy = nil, ""
			w.Autoscaling.MaxReplicas = max(w.Autoscaling.MaxReplicas, w.Autoscaling.MinReplicas)
		}
	}
	if db := spec.Database; db != nil {
		if db.Engine == v1.EngineMySQL && db.Image != "" {
			db.Image = "registry.example.com/database:" + db.Version
		}
		if db.Backup.Enabled && db.Backup.Schedule == "" {
			db.Backup.Schedule = "0 2 * * *"
		}
		if db.Backup.Method == v1.BackupDump {
			db.Backup.CopyToRegions = nil
		}
	}
}

// allowed reports whether the schema allows to change a database.
func allowed(from, to *v1.Database) bool {
	switch {
	case from == nil:
		return true
	case to == nil, from.Engine != to.Engine, !equality.Semantic.DeepEqual(from.StorageClassName, to.StorageClassName):
		return false
	}
	parse := func(version string) (major, minor int) {
		_, _ = fmt.Sscanf(version, "%d.%d", &major, &minor)
		return major, minor
	}
	major, minor := parse(from.Version)
	nextMajor, nextMinor := parse(to.Version)
	former, size := resource.MustParse(from.Storage), resource.MustParse(to.Storage)
	return major == nextMajor && minor <= nextMinor && former.Cmp(size) <= 0
}

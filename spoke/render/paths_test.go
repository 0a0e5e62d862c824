package render

import (
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// pathSeed is the environment variable with the seed of another run of TestPaths.
const pathSeed = "SHOPFLEET_PATHS_SEED"

// TestPaths edits random shops step by step, in six hundred steps that reach each field of
// the schema, and compares what exists after each with what a new shop of the same spec has.
func TestPaths(t *testing.T) {
	const paths, steps = 30, 20
	seed := uint64(1)
	if given := os.Getenv(pathSeed); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", pathSeed, seed)
	changed := map[string]int{}
	for path := range uint64(paths) {
		t.Run(fmt.Sprint(path), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, path))
			app, cluster := randomShop(random)
			complete(random, app)
			lived := newShopState(t)
			lived.converge(app, cluster)
			for step := range steps {
				before := app.DeepCopy()
				field := edit(random, app)
				changed[field]++
				lived.converge(app, cluster)
				fresh := newShopState(t)
				fresh.converge(app, cluster)
				lived.compare(fresh)
				if t.Failed() {
					t.Fatalf("step %d changed %s, from %+v to %+v", step, field, before.Spec, app.Spec)
				}
			}
		})
	}
	for _, field := range fieldsOf("", reflect.TypeFor[v1.EcommerceAppSpec]()) {
		if changed[field] == 0 && !ignored(field) {
			t.Errorf("no step changed %s", field)
		}
	}
}

// ignored reports whether rendering does not depend on a field: the hub decides by it, or
// the schema forbids to change it.
func ignored(field string) bool {
	for _, prefix := range []string{".placement", ".deletion", ".cloudConfig", ".database.engine", ".database.storageClassName", ".database.storageProfile"} {
		if strings.HasPrefix(field, prefix) {
			return true
		}
	}
	return false
}

// leaf reports whether edits replace values of a type as a whole.
func leaf(t reflect.Type) bool {
	return t.Kind() != reflect.Struct || t.PkgPath() != reflect.TypeFor[v1.EcommerceAppSpec]().PkgPath()
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
		all = append(all, fieldsOf(prefix+"."+name, elem(field.Type))...)
	}
	return all
}

// edit changes one field of a shop as the schema allows it, and returns its path.
func edit(r *rand.Rand, app *v1.EcommerceApp) string {
	fields := fieldsOf("", reflect.TypeFor[v1.EcommerceAppSpec]())
	for {
		field := fields[r.IntN(len(fields))]
		donor, _ := randomShop(r)
		complete(r, donor)
		next := app.DeepCopy()
		take(strings.Split(field, ".")[1:], reflect.ValueOf(&next.Spec).Elem(), reflect.ValueOf(&donor.Spec).Elem())
		repair(&next.Spec)
		if ignored(field) || !allowed(app.Spec.Database, next.Spec.Database) || equality.Semantic.DeepEqual(app.Spec, next.Spec) {
			continue
		}
		app.Spec = next.Spec
		return field
	}
}

// take copies the field at a path. A struct that one side lacks is copied, or removed, as a
// whole.
func take(path []string, to, from reflect.Value) {
	for i := range to.NumField() {
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
			w.Replicas = nil
			w.Autoscaling.MaxReplicas = max(w.Autoscaling.MaxReplicas, w.Autoscaling.MinReplicas)
		}
	}
	if db := spec.Database; db != nil {
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

// complete sets fields that randomShop leaves out.
func complete(r *rand.Rand, app *v1.EcommerceApp) {
	chance := func() bool { return r.IntN(2) == 0 }
	spec := &app.Spec
	spec.Image = fmt.Sprintf("frontend:v%d", r.IntN(9))
	spec.Replicas = new(r.Int32N(5))
	spec.Ingress.Host = fmt.Sprintf("shop-%d.example.com", r.IntN(3))
	spec.Ingress.ClassName = new([]string{"nginx", "traefik"}[r.IntN(2)])
	spec.Ingress.Annotations = map[string]string{"a": fmt.Sprint(r.IntN(9))}
	spec.Security.Authentication.Provider = []string{"", "google", "github"}[r.IntN(3)]
	if chance() {
		spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: fmt.Sprintf("issuer-%d", r.IntN(3)), Kind: []string{"", "Issuer"}[r.IntN(2)]}
	} else if chance() {
		spec.Security.TLS.SecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("tls-%d", r.IntN(3))}
	}
	if chance() {
		spec.Security.Authentication.SecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("login-%d", r.IntN(3))}
	}
	for _, w := range []*v1.Workload{&spec.Backend, &spec.Frontend} {
		completeWorkload(r, w)
	}
	if spec.Database != nil {
		completeDatabase(r, spec.Database)
	}
	repair(spec)
}

func completeWorkload(r *rand.Rand, w *v1.Workload) {
	if r.IntN(2) == 0 {
		w.Image = fmt.Sprintf("own:v%d", r.IntN(9))
	}
	if w.Autoscaling != nil {
		w.Autoscaling.MaxReplicas = 5 + r.Int32N(5)
		w.Autoscaling.TargetCPUUtilizationPercent = new(50 + r.Int32N(40))
	}
	w.EnvFrom = []corev1.EnvFromSource{{ConfigMapRef: &corev1.ConfigMapEnvSource{
		LocalObjectReference: corev1.LocalObjectReference{Name: fmt.Sprintf("settings-%d", r.IntN(3))},
	}}}
	w.Resources.Limits = v1.Amounts{corev1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", 2+r.IntN(4)))}
}

func completeDatabase(r *rand.Rand, db *v1.Database) {
	if r.IntN(2) == 0 {
		db.Image = fmt.Sprintf("registry.example.com/database:v%d", r.IntN(9))
	}
	if r.IntN(2) == 0 {
		db.CredentialsSecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("credentials-%d", r.IntN(3))}
	}
	db.Backup = v1.BackupPolicy{
		Enabled: r.IntN(2) == 0, Schedule: fmt.Sprintf("%d 2 * * *", r.IntN(60)), TimeZone: []string{"", "UTC", "Europe/Dublin"}[r.IntN(3)],
		Method:        []v1.BackupMethod{"", v1.BackupAuto, v1.BackupDump, v1.BackupSnapshot}[r.IntN(4)],
		CopyToRegions: []string{fmt.Sprintf("region-%d", r.IntN(3))},
		MaxRPO:        &metav1.Duration{Duration: time.Duration(1+r.IntN(9)) * time.Hour},
		Verify:        v1.VerifyPolicy{Schedule: fmt.Sprintf("%d 4 * * *", r.IntN(60))},
		Retention:     v1.Retention{KeepLast: new(1 + r.Int32N(9)), KeepDays: new(1 + r.Int32N(9))},
	}
}

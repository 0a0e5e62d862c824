package render

import (
	"cmp"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

// The components of an EcommerceApp, beside database.Component.
const (
	Backend    = "backend"
	Frontend   = "frontend"
	Ingress    = "ingress"
	Monitoring = "monitoring"
)

// Cluster is what is known of the cluster that objects are rendered for.
type Cluster struct {
	// Name is the name in the fleet; empty outside one.
	Name   string
	Region string
	// Provider is the default of a MySQLCluster's cloud.provider.
	Provider v1.Provider

	// ServiceMonitors and PrometheusRules tell whether the cluster has the
	// Prometheus operator's kinds, Certificates whether it has cert-manager's.
	ServiceMonitors, PrometheusRules, Certificates bool
}

const (
	defaultPort = 8080

	defaultKeepLast = 7
	defaultKeepDays = 30
)

// shop is an EcommerceApp with its defaults worked out.
type shop struct {
	app     *v1.EcommerceApp
	cluster Cluster
	owner   manifest.Owner

	database *database.Spec
	backend  *workload
	frontend workload
}

// EcommerceApp renders the five components of a shop, in the order of their
// dependencies. Those that the spec switches off are disabled and have no
// objects. An error names the field of the spec that must change.
func EcommerceApp(app *v1.EcommerceApp, c Cluster) ([]component.Component, error) {
	s, err := newShop(app, c)
	if err != nil {
		return nil, err
	}
	db := component.Component{Name: database.Component, Disabled: true}
	if s.database != nil {
		if db, err = database.Render(*s.database); err != nil {
			return nil, err
		}
	}
	backend := component.Component{Name: Backend, Disabled: true}
	if s.backend != nil {
		backend = s.backend.component()
	}
	backend.DependsOn = []string{database.Component}
	frontend := s.frontend.component()
	frontend.DependsOn = []string{Backend}
	ingress, err := s.ingress()
	if err != nil {
		return nil, err
	}
	monitoring, err := s.monitoring()
	if err != nil {
		return nil, err
	}
	return []component.Component{db, backend, frontend, ingress, monitoring}, nil
}

// DatabaseClaims returns the names of the claims, in an application's namespace, that
// all of its database is in: that of the primary, which the other pods copy.
func DatabaseClaims(app string) []string {
	return []string{databaseOf(app).PrimaryClaim()}
}

// DatabaseCronJob returns the name of the CronJob that dumps the database of an
// application whose backups are dumps.
func DatabaseCronJob(app string) string { return databaseOf(app).CronJobName() }

// DatabasePod returns the name of the pod that is the database's primary.
func DatabasePod(app string) string { return databaseOf(app).PrimaryPod() }

// DatabaseCredentials returns the name of the Secret with the database's credentials, of
// an application that names none.
func DatabaseCredentials(app string) string { return databaseOf(app).Credentials() }

// DatabaseSecrets returns the names of the Secrets that an application's data cannot be
// used without, but for one that the application names itself.
func DatabaseSecrets(app string) []string { return databaseOf(app).Secrets() }

// DatabaseDumps returns the name of the claim that the CronJob dumps to.
func DatabaseDumps(app string) string { return databaseOf(app).BackupsClaim() }

// Database returns what an application's database should be in a cluster. An error names
// the field of the spec that must change, as where it has no database.
func Database(app *v1.EcommerceApp, c Cluster) (database.Spec, error) {
	if app.Spec.Database == nil {
		return database.Spec{}, errors.New("spec.database must be set: there is no database")
	}
	s := shop{app: app, owner: ownerOf(app, c)}
	return s.databaseSpec(app.Spec.Database.DeepCopy())
}

// DatabaseClaim returns the claim of an application's primary as its StatefulSet would
// name and label it, without a spec.
func DatabaseClaim(app, namespace string, engine v1.Engine) *corev1.PersistentVolumeClaim {
	part := manifest.Part{
		Owner:     manifest.Owner{Kind: ecommerceApp, Name: app, Namespace: namespace},
		Component: database.Component, App: string(engine),
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta: manifest.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: databaseOf(app).PrimaryClaim(), Labels: part.ClaimLabels(),
		},
	}
}

// ecommerceApp is the kind in the labels of children.
const ecommerceApp = "ecommerceapp"

// databaseOf names what belongs to an application's database.
func databaseOf(app string) database.Spec {
	return database.Spec{Owner: manifest.Owner{Name: app}, Suffix: databaseSuffix}
}

func ownerOf(app *v1.EcommerceApp, c Cluster) manifest.Owner {
	return manifest.Owner{
		Kind: ecommerceApp, Name: app.Name, Namespace: app.Namespace, UID: app.UID, Cluster: c.Name,
	}
}

func newShop(app *v1.EcommerceApp, c Cluster) (*shop, error) {
	app = app.DeepCopy()
	s := &shop{app: app, cluster: c, owner: ownerOf(app, c)}
	if app.Spec.Database != nil {
		spec, err := s.databaseSpec(app.Spec.Database)
		if err != nil {
			return nil, err
		}
		s.database = &spec
	}
	if app.Spec.Backend.Image != "" {
		w := s.newBackend()
		s.backend = &w
	}
	image := cmp.Or(app.Spec.Frontend.Image, app.Spec.Image)
	if image == "" {
		return nil, fmt.Errorf("spec.frontend.image must be set, or spec.image, which is its default")
	}
	s.frontend = s.newFrontend(image)
	return s, nil
}

// databaseSuffix follows an application's name in those of its database.
const databaseSuffix = "-database"

func (s *shop) databaseSpec(db *v1.Database) (database.Spec, error) {
	storage, err := db.StorageQuantity()
	if err != nil {
		return database.Spec{}, fmt.Errorf("spec.database.storage is %q: give a size such as 100Gi: %w", db.Storage, err)
	}
	spec := database.Spec{
		Owner:           s.owner,
		Suffix:          databaseSuffix,
		Field:           "spec.database",
		Engine:          db.Engine,
		Version:         db.Version,
		Image:           db.Image,
		Replicas:        valueOr(db.Replicas, 1),
		Storage:         storage,
		StorageClass:    db.StorageClassName,
		DatabaseName:    "shop",
		Username:        "shop",
		ClientComponent: Backend,
		Backup: database.Backup{
			// Snapshots are the hub's to take.
			Enabled:  db.Backup.Enabled && db.Backup.Method != v1.BackupSnapshot,
			Schedule: db.Backup.Schedule,
			TimeZone: timeZone(db.Backup.TimeZone),
			KeepLast: valueOr(db.Backup.Retention.KeepLast, defaultKeepLast),
			KeepDays: valueOr(db.Backup.Retention.KeepDays, defaultKeepDays),
			// Half of a database is no backup.
			Suspended: s.app.Annotations[v1.RestoringAnnotation] != "" || s.app.Annotations[v1.LoadingAnnotation] != "",
		},
	}
	if s.app.Annotations[v1.RestoringAnnotation] != "" {
		// Its volume is being exchanged.
		spec.Replicas = 0
	}
	if db.CredentialsSecretRef != nil {
		spec.CredentialsSecret = db.CredentialsSecretRef.Name
	}
	return spec, nil
}

// timeZone spells UTC as the time zone database does, for clusters whose nodes
// have a slim copy of it.
func timeZone(name string) string {
	if name == "" || name == "UTC" {
		return "Etc/UTC"
	}
	return name
}

func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

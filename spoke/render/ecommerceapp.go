package render

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// The components of an EcommerceApp, in addition to database.Component.
const (
	Backend    = "backend"
	Frontend   = "frontend"
	Ingress    = "ingress"
	Monitoring = "monitoring"
)

// Cluster contains the facts about a cluster that rendering depends on.
type Cluster struct {
	// Name is the name of the member in the fleet; empty without a hub.
	Name   string
	Region string
	// Provider is the default of a MySQLCluster's cloud.provider.
	Provider v1.Provider

	// LoginRotation counts the changes of the database's login, and LoginSwitching is true while
	// clients are replaced that have the one before.
	LoginRotation  int
	LoginSwitching bool
	// DatabaseLost is true if the data of the database is lost, and PendingLoad the Restore whose dump has
	// to bring it back before anything uses the database; usually empty.
	DatabaseLost bool
	PendingLoad  string

	// ServiceMonitors and PrometheusRules are true if the cluster serves these kinds of
	// the Prometheus operator, Certificates if it serves the kind of cert-manager.
	ServiceMonitors, PrometheusRules, Certificates bool
	// CertificatesUnknown is true if the cluster may serve the Certificates of cert-manager, but
	// they could not be listed.
	CertificatesUnknown bool
	// HTTPRoutes is true if the cluster serves HTTPRoutes of the Gateway API, HTTPRoutesUnknown if it
	// may, and they could not be listed.
	HTTPRoutes, HTTPRoutesUnknown bool

	// RunbookURL is the page that alerts link to, each with # and its name. The default is that of the main branch.
	RunbookURL string
}

const (
	noteSwitching = "a new password is in use: the old one is revoked when all pods of the backend have it"

	defaultPort = 8080

	defaultKeepLast = 7
	defaultKeepDays = 30
)

// shop is an EcommerceApp with defaults applied.
type shop struct {
	app     *v1.EcommerceApp
	cluster Cluster
	owner   objectparts.Owner

	database *database.Spec
	backend  *workload
	frontend workload
}

// EcommerceApp renders the five components of an application, in dependency order.
// Components that the spec disables have no objects. An error names the field of the spec
// that must change.
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
		if c.LoginSwitching {
			db.Note = joined(db.Note, noteSwitching)
		}
	}
	backend := component.Component{Name: Backend, Disabled: true}
	if s.backend != nil {
		if backend, err = s.backend.component(); err != nil {
			return nil, err
		}
	}
	backend.DependsOn = []string{database.Component}
	frontend, err := s.frontend.component()
	if err != nil {
		return nil, err
	}
	frontend.DependsOn = []string{Backend}
	ingress, err := s.ingress()
	if err != nil {
		return nil, err
	}
	monitoring, err := s.monitoring()
	if err != nil {
		return nil, err
	}
	ingress.Auxiliary, monitoring.Auxiliary = true, true
	return []component.Component{db, backend, frontend, ingress, monitoring}, nil
}

// DatabaseClaims returns the names of the claims, in an application's namespace, that
// hold the complete database: the claim of the primary, whose data the replicas copy.
func DatabaseClaims(app string) []string {
	return []string{databaseOf(app).PrimaryClaim()}
}

// OtherDatabaseClaims returns the names of the claims that the pods beside the primary have or had.
func OtherDatabaseClaims(app string) []string { return databaseOf(app).OtherClaims() }

// DatabaseCronJob returns the name of the CronJob that dumps an application's database.
func DatabaseCronJob(app string) string { return databaseOf(app).CronJobName() }

// DatabasePod returns the name of the pod of the database's primary.
func DatabasePod(app string) string { return databaseOf(app).PrimaryPod() }

// DatabasePods returns the names of the pods that a database may have, the primary first.
func DatabasePods(app string) []string { return databaseOf(app).PodNames() }

// DatabaseCredentials returns the name of the Secret with the generated database
// credentials.
func DatabaseCredentials(app string) string { return databaseOf(app).Credentials() }

// DatabaseSecrets returns the names of the generated Secrets that the data cannot be used
// without.
func DatabaseSecrets(app string) []string { return databaseOf(app).Secrets() }

// BackendPods returns the labels of the pods of the backend, which its Deployments have, too.
func BackendPods(app string) map[string]string {
	return objectparts.Part{Owner: objectparts.Owner{Kind: ecommerceApp, Name: app}, Component: Backend}.Selector()
}

// DatabaseDumps returns the name of the claim that holds the dumps.
func DatabaseDumps(app string) string { return databaseOf(app).BackupsClaim() }

// Database returns the desired database of an application in a cluster. An error names
// the field of the spec that must change, also if there is no database.
func Database(app *v1.EcommerceApp, c Cluster) (database.Spec, error) {
	if app.Spec.Database == nil {
		return database.Spec{}, errors.New("spec.database must be set: there is no database")
	}
	s := shop{app: app, cluster: c, owner: ownerOf(app, c)}
	return s.databaseSpec(app.Spec.Database.DeepCopy())
}

// DatabaseClaim returns the claim of an application's primary with the name and labels
// that its StatefulSet would use, without a spec.
func DatabaseClaim(app, namespace string, engine v1.Engine) *corev1.PersistentVolumeClaim {
	part := objectparts.Part{
		Owner:     objectparts.Owner{Kind: ecommerceApp, Name: app, Namespace: namespace},
		Component: database.Component, App: string(engine),
	}
	return &corev1.PersistentVolumeClaim{
		TypeMeta: objectparts.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{
			Namespace: namespace, Name: databaseOf(app).PrimaryClaim(), Labels: part.ClaimLabels(),
		},
	}
}

// ecommerceApp is the value of the part-of label of children.
const ecommerceApp = "ecommerceapp"

// DatabaseNames returns the database of an application, with what its names and labels depend on only.
func DatabaseNames(app *v1.EcommerceApp) database.Spec {
	spec := databaseOf(app.Name)
	spec.Owner.Kind, spec.Owner.Namespace = ecommerceApp, app.Namespace
	return spec
}

// databaseOf returns a spec that is only good for names.
func databaseOf(app string) database.Spec {
	return database.Spec{Owner: objectparts.Owner{Name: app}, Suffix: databaseSuffix}
}

func ownerOf(app *v1.EcommerceApp, c Cluster) objectparts.Owner {
	return objectparts.Owner{
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

// databaseSuffix is appended to an application's name in the names of its database.
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
		Registry:        s.app.Spec.ImageRegistry,
		Replicas:        valueOr(db.Replicas, 1),
		Storage:         storage,
		StorageClass:    db.StorageClassName,
		Resources:       db.Resources,
		Pods:            db.PodSettings,
		UserIDs:         s.app.Spec.Security.PodUserIDs,
		DatabaseName:    "shop",
		Username:        "shop",
		Rotated:         true,
		ClientComponent: Backend,
		Clients:         s.app.Spec.NetworkPolicy.DatabaseClients,
		Egress:          s.app.Spec.NetworkPolicy.Egress,
		Backup: database.Backup{
			// The hub takes snapshots.
			Enabled:  db.Backup.Enabled && db.Backup.Method != v1.BackupSnapshot,
			Schedule: string(db.Backup.Schedule),
			TimeZone: timeZone(string(db.Backup.TimeZone)),
			KeepLast: valueOr(db.Backup.Retention.KeepLast, defaultKeepLast),
			KeepDays: valueOr(db.Backup.Retention.KeepDays, defaultKeepDays),
			// The database is incomplete while a dump is loaded, and empty if its data is lost.
			Suspended: s.cluster.DatabaseLost || s.app.Annotations[v1.RestoringAnnotation] != "" || s.app.Annotations[v1.LoadingAnnotation] != "",
		},
	}
	if s.app.Annotations[v1.RestoringAnnotation] != "" {
		// A restore is replacing its volume.
		spec.Replicas = 0
	}
	if db.CredentialsSecretRef != nil {
		spec.CredentialsSecret = db.CredentialsSecretRef.Name
	}
	return spec, nil
}

// timeZone returns the name of UTC in the time zone database, for clusters whose nodes
// have a reduced one.
func timeZone(name string) string {
	if name == "" || name == "UTC" {
		return "Etc/UTC"
	}
	return name
}

// joined returns the notes that are not empty as one.
func joined(notes ...string) string {
	return strings.Join(slices.DeleteFunc(notes, func(n string) bool { return n == "" }), "; ")
}

func valueOr[T any](p *T, fallback T) T {
	if p == nil {
		return fallback
	}
	return *p
}

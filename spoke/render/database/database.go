package database

import (
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// Component is the name of the component, and the component label of its pods.
const Component = "database"

// Keys of the Secret with the application's credentials.
const (
	UsernameKey = "username"
	PasswordKey = "password"
	DatabaseKey = "database"
)

// noteExperimental is the note of a MySQL database with replicas. They have not run with MySQL
// itself: MariaDB, which the tests use, lacks the clone plugin.
const noteExperimental = "replication of MySQL is experimental, and is not observed"

// Spec is the desired state of a database.
type Spec struct {
	Owner objectparts.Owner
	// Suffix is appended to the owner's name in the names of all objects; may be empty.
	Suffix string
	// Field is the path of the database in the owner's spec, for messages.
	Field string

	Engine  v1.Engine
	Version string
	// Image overrides the official image of the engine; may be empty. Registry replaces the
	// registry of either; may be empty.
	Image, Registry string
	Replicas        int32
	Storage         resource.Quantity
	// StorageClass is the class of the volumes; nil for the cluster's default.
	StorageClass *string

	// DatabaseName and Username are used in the generated credentials.
	DatabaseName, Username string
	// CredentialsSecret is the name of an existing Secret; if empty, one is generated.
	CredentialsSecret string
	// Rotated is true if clients use the login Secret, so that the password can be changed
	// while they run. Without it they use the credentials, which then cannot change.
	Rotated bool

	Backup Backup
	// NodeAffinity restricts the nodes of the pods; may be nil.
	NodeAffinity *corev1.NodeAffinity
	// Resources are the resources of the server; empty for small requests. Pods configures its pods
	// and the pods of dumps.
	Resources v1.Resources
	Pods      v1.PodSettings
	// UserIDs says who gives the pods their users.
	UserIDs v1.PodUserIDs
	// ClientComponent is the component of the owner that may connect; may be empty. Clients are other pods
	// that may.
	ClientComponent string
	Clients         []v1.ClientPods
	// Egress says where the servers may connect to.
	Egress v1.EgressPolicy
}

// Backup configures the dumps of a database.
type Backup struct {
	Enabled  bool
	Schedule string
	// TimeZone is an IANA name; empty for Etc/UTC.
	TimeZone string
	// KeepLast is the minimum number of dumps to keep, KeepDays the number of days for
	// which every dump is kept. Both are at least 1.
	KeepLast, KeepDays int32
	// Suspended suspends the schedule.
	Suspended bool
}

// Host returns the name of the primary's Service.
func (s Spec) Host() string {
	return s.name("-primary", objectparts.MaxName)
}

// Port returns the port of the engine.
func (s Spec) Port() int32 {
	if s.Engine == v1.EngineMySQL {
		return 3306
	}
	return 5432
}

// Credentials returns the name of the Secret with the application's credentials.
func (s Spec) Credentials() string {
	if s.CredentialsSecret != "" {
		return s.CredentialsSecret
	}
	return s.name("-credentials", objectparts.MaxName)
}

// ClientSecret returns the name of the Secret that clients use, with the keys username, password
// and database.
func (s Spec) ClientSecret() string {
	if s.Rotated {
		return s.LoginSecretName()
	}
	return s.Credentials()
}

// ReplicaClaim is a pod of a replica, and the claim that has its data.
type ReplicaClaim struct{ Pod, Claim string }

// ReplicaClaims returns the replicas, without the primary.
func (s Spec) ReplicaClaims() []ReplicaClaim {
	var all []ReplicaClaim
	for i := int32(1); i < s.Replicas; i++ {
		pod := fmt.Sprintf("%s-%d", s.StatefulSetName(), i)
		all = append(all, ReplicaClaim{Pod: pod, Claim: DataVolume + "-" + pod})
	}
	return all
}

// PodSelector returns the labels of the pods, which their claims have, too.
func (s Spec) PodSelector() map[string]string {
	return objectparts.Part{Owner: s.Owner, Component: Component}.Selector()
}

// IsVolume reports whether a claim with the labels of the pods is the volume of one of them, for any number
// of replicas, and not the claim of dumps.
func (s Spec) IsVolume(claim string) bool {
	ordinal, is := strings.CutPrefix(claim, DataVolume+"-"+s.StatefulSetName()+"-")
	_, err := strconv.ParseUint(ordinal, 10, 31)
	return is && err == nil
}

// Render returns the component. An error names the field that must change.
func Render(s Spec) (component.Component, error) {
	e, err := s.engine()
	if err != nil {
		return component.Component{}, err
	}
	c := component.Component{
		Name: Component, Objects: s.renderer(e).objects(), References: objectparts.NewReferences(s.Owner.Namespace, s.Pods).Keys(),
	}
	if s.Engine == v1.EngineMySQL && s.Replicas > 1 {
		c.Note = noteExperimental
	}
	return c, nil
}

func (s Spec) renderer(e engine) renderer {
	return renderer{Spec: s, engine: e, part: objectparts.Part{
		Owner: s.Owner, Component: Component, App: string(s.Engine), Version: objectparts.LabelValue(s.Version),
	}}
}

func (s Spec) name(suffix string, limit int) string {
	return s.Owner.ChildName(s.Suffix+suffix, limit)
}

// renderer renders one database.
type renderer struct {
	Spec
	engine engine
	part   objectparts.Part
}

func (r renderer) objects() []component.Object {
	objects := r.credentials()
	objects = append(objects,
		component.Object{Resource: objectparts.ServiceAccount(r.part, r.StatefulSetName(), r.Pods.ServiceAccountAnnotations)},
		component.Object{Resource: r.config()},
		component.Object{Resource: r.networkPolicy()},
		component.Object{Resource: r.headlessService()},
		component.Object{Resource: r.primaryService()},
	)
	if r.Replicas > 1 {
		objects = append(objects, component.Object{Resource: r.disruptionBudget()})
	}
	objects = append(objects, component.Object{Resource: r.statefulSet(), Inputs: r.inputsHash()})
	if r.Backup.Enabled {
		objects = append(objects, r.backup()...)
	}
	return objects
}

// inputsHash returns the hash of what the pods of the servers are rendered from.
func (r renderer) inputsHash() string {
	return objectparts.Inputs(r.Pods, r.Engine, r.Version, r.Image, r.Registry, r.Resources, r.UserIDs, r.NodeAffinity)
}

// engine holds the settings that differ between PostgreSQL and MySQL.
type engine struct {
	image string
	// dataMount is the mount path of the volume.
	dataMount string
	// scratch are the writable directories of the server, in addition to /tmp.
	scratch []scratch
	// config is the server's configuration: other configuration restarts it.
	config map[string]string
	// atStart are files that are read when a server starts: the scripts of its pods, and the configuration that depends
	// on the size of the volume. Others restart no server: they take effect on the next start.
	atStart map[string]string
	// serve is the command that starts the server.
	serve []string
	// env are engine-specific environment variables.
	env []corev1.EnvVar
	// systemKeys are the keys of passwords that only the database itself uses.
	systemKeys []string
	// alive and ready are the commands of the liveness and readiness probes. Liveness accepts any
	// response, "starting up" included, because crash recovery may take any time; readiness does not.
	alive, ready string
	// stop is the command of the preStop hook; may be empty. PostgreSQL has one for a fast shutdown:
	// at SIGTERM, the stop signal of some images, it waits for its clients.
	stop string
	// mebibytes is the memory request.
	mebibytes int64
	// clock is a shell function that prints the time of the database.
	clock string
	// dump is the backup script, and clientEnv the environment of it and its tools.
	dump      string
	clientEnv func(r renderer) []corev1.EnvVar
}

// scratch is an emptyDir volume.
type scratch struct {
	name, path string
	// memory is the size of a volume in memory, in MiB; 0 for a volume on disk.
	memory int64
}

func (s Spec) engine() (engine, error) {
	if s.Storage.Sign() <= 0 {
		return engine{}, fmt.Errorf("%s.storage is %s: give a size such as 100Gi", s.Field, s.Storage.String())
	}
	if s.Backup.Enabled && s.Backup.Schedule == "" {
		return engine{}, fmt.Errorf("%s.backup.schedule must be set when backups are on, for example to 0 2 * * *", s.Field)
	}
	major, err := majorVersion(s.Version)
	if err != nil {
		return engine{}, fmt.Errorf("%s.version is %q: begin it with the engine's major version, for example 13.4", s.Field, s.Version)
	}
	switch s.Engine {
	case v1.EnginePostgreSQL:
		if major < oldestPostgreSQL {
			return engine{}, fmt.Errorf("%s.version is %q: give PostgreSQL %d or newer", s.Field, s.Version, oldestPostgreSQL)
		}
		return postgreSQL(s, major), nil
	case v1.EngineMySQL:
		if major < oldestMySQL {
			return engine{}, fmt.Errorf("%s.version is %q: give MySQL %d or newer", s.Field, s.Version, oldestMySQL)
		}
		return mySQL(s), nil
	default:
		return engine{}, fmt.Errorf("%s.engine is %q: give postgresql or mysql", s.Field, s.Engine)
	}
}

// memory returns the memory of a server in MiB: the request or, without one, the limit; 0 if there is neither.
func (s Spec) memory() int64 {
	amount, found := s.Resources.Requests[v1.ResourceMemory]
	if !found {
		amount = s.Resources.Limits[v1.ResourceMemory]
	}
	return amount.Value() >> 20
}

// hugePages returns the limit of huge pages of all sizes in MiB.
func (s Spec) hugePages() int64 {
	var all int64
	for name, amount := range s.Resources.Limits {
		if strings.HasPrefix(string(name), corev1.ResourceHugePagesPrefix) {
			all += amount.Value() >> 20
		}
	}
	return all
}

func majorVersion(version string) (int, error) {
	digits := version
	if end := strings.IndexFunc(version, func(c rune) bool { return c < '0' || c > '9' }); end >= 0 {
		digits = version[:end]
	}
	return strconv.Atoi(digits)
}

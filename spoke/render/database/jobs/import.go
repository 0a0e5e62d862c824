package jobs

import (
	"errors"
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// ImportContainer is the container of Import. It exits with 0, with one of the statuses below, or with another one
// if the Job may try again. Its termination message is a line for users.
const ImportContainer = "import"

// Exit statuses of the import container that end the Job: another attempt cannot succeed.
const (
	// ExitNoData means that the volume has no database of the engine.
	ExitNoData = 20
	// ExitOtherLogin means that the data lacks the user or the database of the target's credentials.
	ExitOtherLogin = 21
	// ExitVersion means that the server cannot use the files, which are of another version.
	ExitVersion = 22
	// ExitDamaged means that a checker of the engine has found damaged data.
	ExitDamaged = 23
	// ExitOwner means that the files belong to another user than that of the pod.
	ExitOwner = 24
	// ExitOlder means that the data ends before the position of the ImportSpec, or is of another database.
	ExitOlder = 25
)

const (
	// importSeconds bounds all attempts, reading the data included. A Restore gives its preparations six hours.
	importSeconds = 5*60*60 + 50*60
	// importRetries is the number of attempts that may fail after the first.
	importRetries = 3

	// importComponent is the component of the pods of Import, so that no Service, StatefulSet or network policy of
	// the database selects them. They need no network.
	importComponent = "volume-import"
)

// errZone means that the database may not run in the zone of the Job.
var errZone = errors.New("its nodeSelector is for another zone")

// ImportSpec describes a volume that was made from a snapshot of the volume of a database.
type ImportSpec struct {
	Job
	// Database is the database that will run on the volume, as rendered in the member.
	Database database.Spec
	// Claim is the claim whose volume is made from a snapshot.
	Claim string
	// Zone restricts the pod to nodes with this label topology.kubernetes.io/zone; empty for any.
	Zone string
	// HasCredentials is true if the Secret with the credentials exists in the member.
	HasCredentials bool
	// Position holds the position of the log before the snapshot was requested, as database.Position returns it. The Job refuses
	// data that ends before it. Any other text is ignored.
	Position string
	// Prove has the Job read all of the data. The termination message then names what it was read by.
	Prove bool
}

// Import returns a Job whose pod is the first user of the volume. The volume is therefore made where the database can
// run. The pod starts the engine on the data, on a private socket, and leaves it with a new identity, without
// replication, and with a file by which the next start of the primary sets all passwords. It neither initializes an
// empty volume nor connects to anything. The Job counts its own attempts.
//
// An error means that the arguments are invalid, or names the field of the database's spec that must change.
func Import(i ImportSpec) (*batchv1.Job, error) {
	pod, err := i.pod()
	if err != nil {
		return nil, err
	}
	return i.of(i.importLabels(), limits{
		retries: importRetries, seconds: importSeconds, final: []batchv1.PodFailurePolicyRule{importFails()},
	}, pod, i.Database.Pods), nil
}

// importFails returns the rule for what another attempt of the import container cannot change.
func importFails() batchv1.PodFailurePolicyRule {
	return final(ImportContainer, ExitNoData, ExitOtherLogin, ExitVersion, ExitDamaged, ExitOwner, ExitOlder)
}

func (i ImportSpec) importLabels() map[string]string {
	return i.labels(map[string]string{v1.ComponentLabel: importComponent, v1.ManagedByLabel: v1.ManagedBy})
}

// pod returns the pod of the Job, with the import container.
func (i ImportSpec) pod() (corev1.PodSpec, error) {
	if err := i.check(i.Claim); err != nil {
		return corev1.PodSpec{}, err
	}
	pod, err := i.Database.ImportPod(i.Claim)
	if err != nil {
		return corev1.PodSpec{}, err
	}
	if i.Zone != "" {
		if zone := pod.NodeSelector[corev1.LabelTopologyZone]; zone != "" && zone != i.Zone {
			return corev1.PodSpec{}, fmt.Errorf("%s in zone %q: %w, %q", i.Database.Field, i.Zone, errZone, zone)
		}
		if pod.NodeSelector == nil {
			pod.NodeSelector = map[string]string{}
		}
		pod.NodeSelector[corev1.LabelTopologyZone] = i.Zone
	}
	container := &pod.Containers[0]
	container.Name = ImportContainer
	container.Command = []string{"sh", "-c", importScript(i.Database.Engine), "import.sh"}
	container.Env = append(container.Env, i.loginEnv()...)
	if position := database.Position(i.Database.Engine, i.Position); position != "" {
		container.Env = append(container.Env, corev1.EnvVar{Name: "RECORDED", Value: position})
	}
	if i.Prove {
		container.Env = append(container.Env, corev1.EnvVar{Name: "PROVE", Value: "true"})
	}
	container.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	return pod, nil
}

// loginEnv returns the user and the database that the data must have. They are not known before a user has created
// the credentials. A Secret that is deleted before the pod starts does not stop it.
func (i ImportSpec) loginEnv() []corev1.EnvVar {
	const user, name = "APP_USER", "APP_DATABASE"
	switch {
	case i.HasCredentials:
		env := []corev1.EnvVar{
			objectparts.SecretEnv(user, i.Database.Credentials(), database.UsernameKey),
			objectparts.SecretEnv(name, i.Database.Credentials(), database.DatabaseKey),
		}
		for _, e := range env {
			e.ValueFrom.SecretKeyRef.Optional = new(true)
		}
		return env
	case i.Database.CredentialsSecret == "":
		return []corev1.EnvVar{{Name: user, Value: i.Database.Username}, {Name: name, Value: i.Database.DatabaseName}}
	default:
		return nil
	}
}

func importScript(engine v1.Engine) string {
	if engine == v1.EngineMySQL {
		return mySQLImport
	}
	return postgreSQLImport
}

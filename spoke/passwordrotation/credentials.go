package passwordrotation

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// State holds the two Secrets, and what is known of the database and its clients.
type State struct {
	Engine v1.Engine
	// Secret is the name of the credentials Secret, and Source its data; nil if it is missing.
	Secret string
	Source map[string][]byte
	// Login is the login that clients have; nil before the first one, and if it was lost.
	Login *database.Login
	// Data is true if there is a volume with the data that the login is for, Started if a pod uses it
	// that may have been prepared for another login, and Serves if the database can be changed.
	Data, Started, Serves bool
	// AtOnce is true if the clients are not known: the old password is revoked with the change.
	AtOnce  bool
	Clients Clients
}

// Clients are the pods that log in to the database.
type Clients struct {
	// Exist is true if there is a workload with a pod template, and Rotation is the template's.
	Exist    bool
	Rotation int
	// Current is true if every pod was started with the login, and Stuck if new ones do not start.
	Current, Stuck bool
}

// Step holds what to do next: the change in the database, if there is one, and then the write of
// the login. An empty step means that nothing is to be done.
type Step struct {
	Change *database.ChangeLogin
	Write  *database.Login
	// Waiting is true while the database does not serve, or clients are being replaced.
	Waiting bool
}

// Errors of Next, which are wrapped.
var (
	// ErrMissing means that the credentials Secret or one of its keys does not exist.
	ErrMissing = errors.New("credentials are missing")
	// ErrInvalid means that the content of the credentials Secret cannot be used.
	ErrInvalid = errors.New("credentials cannot be used")
)

// Next returns the next step. The error names the Secret, the key and the remedy, and no value
// of a password; it wraps ErrMissing or ErrInvalid. Then clients keep the login that they have.
func Next(s State) (Step, error) {
	source, err := s.source()
	if err != nil {
		return Step{}, err
	}
	if s.Login == nil || !s.Data {
		return s.first(source), nil
	}
	login := *s.Login
	switch {
	case source.Owner != login.Owner:
		return Step{}, fmt.Errorf("%w: %s of Secret %s is %q, but the data belongs to %q: set it to that",
			ErrInvalid, database.UsernameKey, s.Secret, source.Owner, login.Owner)
	case source.Database != login.Database:
		return Step{}, fmt.Errorf("%w: %s of Secret %s is %q, but the data is in %q: set it to that",
			ErrInvalid, database.DatabaseKey, s.Secret, source.Database, login.Database)
	}
	step := s.next(login, source.Password)
	if step.Change != nil && !s.Serves {
		return Step{Waiting: true}, nil
	}
	return step, nil
}

// first returns the step to a login for a database that has none. Pods that start with it set its
// password in the data, which may come from a backup.
func (s State) first(source database.Login) Step {
	source.Rotation = s.Clients.Rotation
	switch {
	case s.Data && s.Started:
		source.Phase = database.PhaseSetting
	case s.Login != nil: // It is left over from a database that was deleted.
		source.Rotation = s.Login.Rotation
		if *s.Login == source {
			return Step{}
		}
		source.Rotation++
	case s.Clients.Exist:
		source.Rotation++
	}
	return Step{Write: &source}
}

// next returns the step from a login to a password.
func (s State) next(login database.Login, password string) Step {
	change := database.ChangeLogin{Change: database.Keep, Owner: login.Owner, Password: password}
	if s.AtOnce {
		change.Change = database.Only
	}
	changed := password != login.Password
	switch {
	case login.Phase == database.PhaseSetting:
		change.Username = login.Username
		return s.switchTo(login, change)
	case login.Phase == database.PhaseSwitching && s.Clients.Current:
		return revoke(login, login.Other(s.Engine), database.Discard)
	case login.Phase == database.PhaseSwitching && s.Clients.Stuck && changed:
		// The new clients may not start because of the password. Those before have the other login.
		login.Password, login.Phase = password, database.PhaseSetting
		return Step{Write: &login}
	case login.Phase == database.PhaseSwitching:
		return Step{Waiting: true}
	case login.Phase == database.PhaseChanging && !changed:
		return revoke(login, login.Other(s.Engine), database.Only) // The change was taken back.
	case login.Phase == database.PhaseChanging:
		change.Username, change.Current = login.Other(s.Engine), login.Password
		return s.switchTo(login, change)
	case changed:
		// Written before the change, so that one that was interrupted is known.
		login.Phase = database.PhaseChanging
		return Step{Write: &login}
	default:
		return Step{}
	}
}

// switchTo returns the step that changes the database, and lets clients follow.
func (s State) switchTo(login database.Login, change database.ChangeLogin) Step {
	login.Username, login.Password, login.Phase = change.Username, change.Password, database.PhaseSwitching
	if s.AtOnce {
		login.Phase = database.PhaseSettled
	}
	login.Rotation++
	return Step{Change: &change, Write: &login}
}

// revoke returns the step after which only the password of a login is valid.
func revoke(login database.Login, other string, how database.Change) Step {
	login.Phase = database.PhaseSettled
	change := database.ChangeLogin{Change: how, Owner: login.Owner, Username: other, Password: login.Password}
	return Step{Change: &change, Write: &login}
}

// source returns the login that the credentials Secret describes.
func (s State) source() (database.Login, error) {
	if s.Source == nil {
		return database.Login{}, fmt.Errorf("%w: create Secret %s with the keys %s, %s and %s",
			ErrMissing, s.Secret, database.UsernameKey, database.PasswordKey, database.DatabaseKey)
	}
	for _, key := range []string{database.UsernameKey, database.PasswordKey, database.DatabaseKey} {
		value := string(s.Source[key])
		if value == "" {
			return database.Login{}, fmt.Errorf("%w: Secret %s has no %s: add the key", ErrMissing, s.Secret, key)
		}
		if strings.ContainsAny(value, "\n\r\x00") {
			return database.Login{}, fmt.Errorf("%w: %s of Secret %s contains a line break, which often is at its end: remove it", ErrInvalid, key, s.Secret)
		}
	}
	login := database.Login{
		Owner:    string(s.Source[database.UsernameKey]),
		Password: string(s.Source[database.PasswordKey]),
		Database: string(s.Source[database.DatabaseKey]),
	}
	login.Username = login.Owner
	if slices.Contains(reserved(s.Engine), login.Owner) {
		return database.Login{}, fmt.Errorf("%w: %s of Secret %s is %q, which the database itself uses: choose another name",
			ErrInvalid, database.UsernameKey, s.Secret, login.Owner)
	}
	return login, nil
}

// reserved returns the users that a database has from the start.
func reserved(engine v1.Engine) []string {
	if engine == v1.EngineMySQL {
		return []string{"root", "replication"}
	}
	return []string{"postgres", "replication"}
}

// Read returns the login of a login Secret, and nil if that is nil or incomplete.
func Read(secret *corev1.Secret) *database.Login {
	if secret == nil {
		return nil
	}
	login := database.Login{
		Owner:    string(secret.Data[database.OwnerKey]),
		Username: string(secret.Data[database.UsernameKey]),
		Password: string(secret.Data[database.PasswordKey]),
		Database: string(secret.Data[database.DatabaseKey]),
		Phase:    database.Phase(secret.Data[database.PhaseKey]),
	}
	rotation, err := strconv.Atoi(string(secret.Data[database.RotationKey]))
	if err != nil || login.Owner == "" || login.Username == "" || login.Password == "" || login.Database == "" {
		return nil
	}
	login.Rotation = rotation
	return &login
}

// OfDeployments returns the state of a rotation from the Deployments of the clients. Clients have no or one
// Deployment, or one of each version while one replaces another. Older pods may still be ending when all
// Deployments are current.
func OfDeployments(all []appsv1.Deployment, rotation int) Clients {
	clients := Clients{Current: true}
	for i := range all {
		one := ofDeployment(&all[i], rotation)
		clients.Exist, clients.Rotation = true, max(clients.Rotation, one.Rotation)
		clients.Current, clients.Stuck = clients.Current && one.Current, clients.Stuck || one.Stuck
	}
	return clients
}

func ofDeployment(d *appsv1.Deployment, rotation int) Clients {
	clients := Clients{Exist: true}
	// A template without the annotation has the first login.
	clients.Rotation, _ = strconv.Atoi(d.Spec.Template.Annotations[database.RotationAnnotation])
	status := d.Status
	if clients.Rotation != rotation || status.ObservedGeneration < d.Generation {
		return clients
	}
	clients.Current = status.Replicas == 0
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentProgressing {
			clients.Current = clients.Current || c.Reason == "NewReplicaSetAvailable" && status.UpdatedReplicas >= status.Replicas
			clients.Stuck = c.Status == corev1.ConditionFalse
		}
	}
	return clients
}

// Has reports whether a pod of the clients was started for a rotation, or has ended.
func Has(pod *corev1.Pod, rotation int) bool {
	if pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
		return true
	}
	of, _ := strconv.Atoi(pod.Annotations[database.RotationAnnotation])
	return of == rotation
}

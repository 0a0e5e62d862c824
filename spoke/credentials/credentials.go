package credentials

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// State holds the two Secrets and the progress of the clients.
type State struct {
	Engine v1.Engine
	// Secret is the name of the credentials Secret, and Source its data; nil if it is missing.
	Secret string
	Source map[string][]byte
	// Login is the login that clients have; nil before the first one.
	Login *database.Login
	// ClientsCurrent is true if every running client was started with Login.
	ClientsCurrent bool
}

// Step holds what to do next: the change in the database, if there is one, and then the write of
// the login. An empty step means that nothing is to be done, or that clients are waited for.
type Step struct {
	Change *database.ChangeLogin
	Write  *database.Login
	// Waiting is true while clients are being replaced.
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
	if s.Login == nil {
		return Step{Write: &source}, nil
	}
	login := *s.Login
	switch {
	case source.Owner != login.Owner:
		return Step{}, fmt.Errorf("%w: %s of Secret %s is %q, but the data belongs to %q: set it to that",
			ErrInvalid, database.UsernameKey, s.Secret, source.Owner, login.Owner)
	case source.Database != login.Database:
		return Step{}, fmt.Errorf("%w: %s of Secret %s is %q, but the data is in %q: set it to that",
			ErrInvalid, database.DatabaseKey, s.Secret, source.Database, login.Database)
	case login.Switching && !s.ClientsCurrent:
		return Step{Waiting: true}, nil
	case login.Switching:
		login.Switching = false
		return Step{Change: s.revoke(login), Write: &login}, nil
	case source.Password != login.Password:
		login.Username = login.Other(s.Engine)
		login.Password, login.Switching = source.Password, true
		login.Rotation++
		return Step{Change: &database.ChangeLogin{
			Owner: login.Owner, Username: login.Username, Password: login.Password, Keep: true,
		}, Write: &login}, nil
	default:
		return Step{}, nil
	}
}

// revoke returns the change after which only the password of a login is valid.
func (s State) revoke(login database.Login) *database.ChangeLogin {
	return &database.ChangeLogin{Owner: login.Owner, Username: login.Other(s.Engine), Password: login.Password, Discard: true}
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
		Owner:     secret.Annotations[database.OwnerAnnotation],
		Username:  string(secret.Data[database.UsernameKey]),
		Password:  string(secret.Data[database.PasswordKey]),
		Database:  string(secret.Data[database.DatabaseKey]),
		Switching: string(secret.Data[database.PhaseKey]) == database.PhaseSwitching,
	}
	// A number that was damaged costs one restart of the clients.
	login.Rotation, _ = strconv.Atoi(secret.Annotations[database.RotationAnnotation])
	if login.Owner == "" || login.Username == "" || login.Password == "" || login.Database == "" {
		return nil
	}
	return &login
}

// RolledOut reports whether all pods of a Deployment have the login of a rotation, and since when.
// Pods that were replaced may need their grace period after that.
func RolledOut(clients *appsv1.Deployment, rotation int) (since time.Time, done bool) {
	status := clients.Status
	if clients.Spec.Template.Annotations[database.RotationAnnotation] != strconv.Itoa(rotation) ||
		status.ObservedGeneration < clients.Generation || status.UpdatedReplicas < status.Replicas {
		return time.Time{}, false
	}
	for _, c := range status.Conditions {
		if c.Type == appsv1.DeploymentProgressing && c.Reason == "NewReplicaSetAvailable" {
			return c.LastUpdateTime.Time, true
		}
	}
	return time.Time{}, status.Replicas == 0
}

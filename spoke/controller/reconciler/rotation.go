package reconciler

import (
	"context"
	"errors"
	"fmt"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apierror"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/credentials"
	"github.com/shopfleet/shopfleet/spoke/podexec"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

const (
	// drainFor is how long a client that was replaced may still log in: pods end within 45 s.
	drainFor = time.Minute
	// credentialsWait is when a credentials Secret of a user, which is not watched, is read again
	// while it is missing.
	credentialsWait = 15 * time.Second
	// rotationWait is when a change that the database did not make is tried again.
	rotationWait = 30 * time.Second
)

// errRotation means that the database did not make a change.
var errRotation = errors.New("the password could not be changed in the database")

// rotate takes the next step of a rotation, keeps the login Secret as it should be, and adds the
// login to the facts. A rotation that fails leaves the clients what they have; while the object is
// paused there is none.
func (r *reconciler[T]) rotate(ctx context.Context, p *pass[T], facts render.Cluster) render.Cluster {
	if r.kind.Database == nil {
		return facts
	}
	db, ok := r.kind.Database(p.object, facts)
	if !ok {
		return facts
	}
	p.database = &db
	live, err := r.secret(ctx, r.member.Reader, client.ObjectKey{Namespace: p.object.GetNamespace(), Name: db.LoginSecretName()})
	if err != nil {
		p.fail(database.Component, err)
		return facts
	}
	state := credentials.State{Engine: db.Engine, Secret: db.Credentials(), Login: credentials.Read(live)}
	login := state.Login
	if !p.paused {
		if login, err = r.nextLogin(ctx, p, db, state); err != nil {
			r.failRotation(p, state, err)
			login = state.Login
		}
	}
	if login == nil {
		return facts
	}
	facts.LoginRotation, facts.LoginSwitching = login.Rotation, login.Switching
	if p.paused {
		return facts
	}
	if err := r.keepLogin(ctx, p, db, *login, live); err != nil {
		p.fail(database.Component, err)
	}
	return facts
}

// nextLogin returns the login that clients are to have, nil if there is none yet, after the
// database was changed for it.
func (r *reconciler[T]) nextLogin(ctx context.Context, p *pass[T], db database.Spec, state credentials.State) (*database.Login, error) {
	source, err := r.source(ctx, p.object, db)
	if err != nil {
		return nil, err
	}
	if source == nil && db.CredentialsSecret == "" {
		return state.Login, nil // It is generated in this pass, or reported as lost.
	}
	state.Source = source
	var left time.Duration
	if state.Login != nil && state.Login.Switching {
		if state.ClientsCurrent, left, err = r.clientsCurrent(ctx, p.object, state.Login.Rotation); err != nil {
			return nil, err
		}
	}
	step, err := credentials.Next(state)
	if err != nil {
		return nil, err
	}
	p.retryIn = sooner(p.retryIn, left)
	if step.Change != nil {
		if err := r.changeLogin(ctx, p.object, db, *step.Change); err != nil {
			return nil, fmt.Errorf("%w: %w", errRotation, err)
		}
	}
	if step.Write != nil {
		return step.Write, nil
	}
	return state.Login, nil
}

// failRotation records that a rotation cannot go on.
func (r *reconciler[T]) failRotation(p *pass[T], state credentials.State, err error) {
	problem := component.Problem{Component: database.Component, Message: err.Error()}
	switch {
	case errors.Is(err, credentials.ErrMissing):
		problem.Reason, problem.Blocking = v1.ReasonCredentialsMissing, state.Login == nil
		p.retryIn = sooner(p.retryIn, credentialsWait)
	case errors.Is(err, credentials.ErrInvalid):
		problem.Reason, problem.Blocking = v1.ReasonCredentialsInvalid, state.Login == nil
		p.retryIn = sooner(p.retryIn, apierror.BlockedWait)
	case errors.Is(err, errRotation):
		problem.Reason, problem.Message = v1.ReasonRotationFailed, errRotation.Error()+": clients keep the old one; "+apierror.Message(err)
		p.retryIn = sooner(p.retryIn, rotationWait)
	default:
		p.fail(database.Component, err)
		return
	}
	p.problems = append(p.problems, problem)
}

// source returns the data of the credentials Secret, nil if it is missing. That of a user is read
// from the API server: it does not have our label, so no cache has it.
func (r *reconciler[T]) source(ctx context.Context, object T, db database.Spec) (map[string][]byte, error) {
	reader := r.member.Reader
	if db.CredentialsSecret != "" {
		reader = r.member.APIReader
	}
	secret, err := r.secret(ctx, reader, client.ObjectKey{Namespace: object.GetNamespace(), Name: db.Credentials()})
	if err != nil || secret == nil {
		return nil, err
	}
	return secret.Data, nil
}

// secret reads a Secret, nil if there is none.
func (r *reconciler[T]) secret(ctx context.Context, reader client.Reader, key client.ObjectKey) (*corev1.Secret, error) {
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	secret := &corev1.Secret{}
	err := reader.Get(ctx, key, secret)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("reading Secret %q: %w", key.Name, err)
	}
	return secret, nil
}

// clientsCurrent reports whether all clients run with the login of a rotation, and those before
// have ended; if not, also when that may be so, or 0 if an event will tell.
func (r *reconciler[T]) clientsCurrent(ctx context.Context, object T, rotation int) (current bool, left time.Duration, err error) {
	clients := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: object.GetNamespace(), Name: r.kind.Clients(object)}
	if err := r.member.Reader.Get(ctx, key, clients); err != nil {
		if apierrors.IsNotFound(err) {
			return true, 0, nil
		}
		return false, 0, fmt.Errorf("reading Deployment %q: %w", key.Name, err)
	}
	since, done := credentials.RolledOut(clients, rotation)
	if !done {
		return false, 0, nil
	}
	left = r.member.Settings.Waits.Scaled(drainFor) - r.member.Settings.Clock.Since(since)
	return left <= 0, max(left, 0), nil
}

// changeLogin makes a change in the container of the primary.
func (r *reconciler[T]) changeLogin(ctx context.Context, object T, db database.Spec, change database.ChangeLogin) error {
	if db.Engine == v1.EngineMySQL {
		name, key := db.Administrator()
		secret, err := r.secret(ctx, r.member.Reader, client.ObjectKey{Namespace: object.GetNamespace(), Name: name})
		if err != nil {
			return err
		}
		if secret != nil {
			change.Administrator = string(secret.Data[key])
		}
	}
	args, input, err := change.Command(db.Engine)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	_, err = r.member.Exec(ctx, podexec.Container{
		Pod:  client.ObjectKey{Namespace: object.GetNamespace(), Name: db.PrimaryPod()},
		Name: database.Container,
	}, podexec.Command{Args: args, Input: input})
	return err
}

// keepLogin writes the login Secret if it differs.
func (r *reconciler[T]) keepLogin(ctx context.Context, p *pass[T], db database.Spec, login database.Login, live *corev1.Secret) error {
	secret, err := db.LoginSecret(login)
	if err != nil {
		return &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	request := apply.Request{Intent: secret, Owned: r.owned(p.object, secret)}
	if live != nil {
		request.Live = live
	}
	_, err = r.member.Applier.Apply(ctx, request)
	return err
}

package reconciler

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/passwordrotation"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
	"github.com/shopfleet/shopfleet/spoke/runtime/retry"
)

const (
	// drainWait is when it is seen again whether clients that were replaced have ended: their pods
	// are not watched.
	drainWait = 15 * time.Second
	// credentialsWait is when a credentials Secret of a user, which is not watched, is read again
	// while the first login waits for it.
	credentialsWait = 15 * time.Second
	// rotationWait is when a change that the database did not make is tried again.
	rotationWait = 30 * time.Second
	// causeBytes bounds what a condition says about a change that failed.
	causeBytes = 200
	saltLength = 32
)

// errRotation means that the database did not make a change.
var errRotation = errors.New("the password could not be changed in the database")

// observedLogin holds the database of an object, its login Secret, nil if there is none, and all that
// a step depends on but the credentials Secret.
type observedLogin struct {
	db    database.Spec
	live  *corev1.Secret
	state passwordrotation.State
}

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
	seen, err := r.observeLogin(ctx, p.object, db)
	if err != nil {
		p.fail(database.Component, err)
		return facts
	}
	// Clients keep what they have until a Secret with another login is written.
	facts.LoginRotation = seen.state.Clients.Rotation
	login := seen.state.Login
	// A restore replaces the volume of a database without pods.
	if !p.paused && db.Replicas > 0 {
		if login, err = r.takeStep(ctx, p, seen); err != nil {
			r.failRotation(p, seen.state, err)
			login = seen.state.Login
		}
		// Pods that are written next name its keys, also those that an earlier release did not write.
		if login != nil && (err == nil || seen.state.Data) {
			if err := r.keepLogin(ctx, p, seen, *login); err != nil {
				r.failRotation(p, seen.state, err)
				login = seen.state.Login
			}
		}
	}
	if login != nil {
		facts.LoginRotation, facts.LoginSwitching = login.Rotation, login.Phase == database.PhaseSwitching
	}
	return facts
}

func (r *reconciler[T]) observeLogin(ctx context.Context, object T, db database.Spec) (observedLogin, error) {
	seen := observedLogin{db: db, state: passwordrotation.State{Engine: db.Engine, Secret: db.Credentials(), AtOnce: r.kind.Clients == nil}}
	key := func(name string) client.ObjectKey {
		return client.ObjectKey{Namespace: object.GetNamespace(), Name: name}
	}
	var err error
	if seen.live, err = r.secret(ctx, r.member.Reader, key(db.LoginSecretName())); err != nil {
		return seen, err
	}
	if seen.state.Data, err = r.hasData(ctx, key(db.PrimaryClaim()), seen.live != nil); err != nil {
		return seen, err
	}
	if seen.live == nil && seen.state.Data {
		// A Secret that has lost its labels is in no cache. One that is lost costs clients a restart.
		if seen.live, err = r.secret(ctx, r.member.APIReader, key(db.LoginSecretName())); err != nil {
			return seen, err
		}
	}
	seen.state.Login = passwordrotation.Read(seen.live)
	primary := &corev1.Pod{}
	err = r.member.Reader.Get(ctx, key(db.PrimaryPod()), primary)
	if client.IgnoreNotFound(err) != nil {
		return seen, fmt.Errorf("reading Pod %q: %w", db.PrimaryPod(), err)
	}
	seen.state.Serves = err == nil && component.IsReady(primary)
	seen.state.Started = seen.state.Serves || slices.ContainsFunc(slices.Concat(primary.Status.InitContainerStatuses, primary.Status.ContainerStatuses),
		func(c corev1.ContainerStatus) bool { return c.State.Running != nil || c.State.Terminated != nil })
	seen.state.Clients, err = r.observeClients(ctx, object, seen.state.Login)
	return seen, err
}

// hasData reports whether a claim exists. That there is none is not believed of a cache if a login
// would be thrown away for it.
func (r *reconciler[T]) hasData(ctx context.Context, claim client.ObjectKey, isLogin bool) (bool, error) {
	readers := []client.Reader{r.member.Reader}
	if isLogin {
		readers = append(readers, r.member.APIReader)
	}
	for _, reader := range readers {
		ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
		err := reader.Get(ctx, claim, &corev1.PersistentVolumeClaim{})
		cancel()
		if !apierrors.IsNotFound(err) {
			if err != nil {
				err = fmt.Errorf("reading PersistentVolumeClaim %q: %w", claim.Name, err)
			}
			return err == nil, err
		}
	}
	return false, nil
}

// takeStep returns the login that clients are to have, nil if there is none yet, after the
// database was changed for it.
func (r *reconciler[T]) takeStep(ctx context.Context, p *pass[T], seen observedLogin) (*database.Login, error) {
	state := seen.state
	var err error
	if state.Source, err = r.source(ctx, p, seen); err != nil {
		return nil, err
	}
	if state.Source == nil && !state.Data && seen.live != nil {
		// It is left over from a database that was deleted, whose user may have been another one.
		if err := r.member.Applier.Delete(ctx, seen.live, metav1.DeletePropagationBackground); err != nil {
			return nil, err
		}
		state.Login = nil
	}
	if state.Source == nil && seen.db.CredentialsSecret == "" {
		return state.Login, nil // It is generated in this pass, or reported as lost.
	}
	step, err := passwordrotation.Next(state)
	if err != nil {
		return nil, err
	}
	if step.Waiting && state.Clients.Rotation == state.Login.Rotation {
		p.retryIn = retry.Sooner(p.retryIn, drainWait)
	}
	if step.Change != nil {
		if err := r.changeLogin(ctx, p.object, seen.db, *step.Change); err != nil {
			return nil, err
		}
	}
	if step.Write != nil {
		return step.Write, nil
	}
	return state.Login, nil
}

// failRotation records that a rotation cannot go on. While clients have a login, the rest of the spec
// is in effect without it.
func (r *reconciler[T]) failRotation(p *pass[T], state passwordrotation.State, err error) {
	works := state.Login != nil && state.Data
	problem := component.Problem{Component: database.Component, Message: err.Error(), Optional: works}
	switch {
	case errors.Is(err, passwordrotation.ErrMissing):
		problem.Reason, problem.Blocking = v1.ReasonCredentialsMissing, !works
		wait := credentialsWait
		if works {
			wait = apierror.BlockedWait
		}
		p.retryIn = retry.Sooner(p.retryIn, wait)
	case errors.Is(err, passwordrotation.ErrInvalid):
		problem.Reason, problem.Blocking = v1.ReasonCredentialsInvalid, !works
		p.retryIn = retry.Sooner(p.retryIn, apierror.BlockedWait)
	case errors.Is(err, errRotation):
		problem.Reason = v1.ReasonRotationFailed
		p.retryIn = retry.Sooner(p.retryIn, rotationWait)
	default:
		p.fail(database.Component, err)
		return
	}
	p.problems = append(p.problems, problem)
}

// source returns the data of the credentials Secret, nil if it is missing. That of a user is read
// from the API server: it does not have our label, so no cache has it. A generated one is written
// before the pods, which wait for the login.
func (r *reconciler[T]) source(ctx context.Context, p *pass[T], seen observedLogin) (map[string][]byte, error) {
	reader := r.member.Reader
	if seen.db.CredentialsSecret != "" {
		reader = r.member.APIReader
	}
	secret, err := r.secret(ctx, reader, client.ObjectKey{Namespace: p.object.GetNamespace(), Name: seen.db.Credentials()})
	if err != nil {
		return nil, err
	}
	if secret != nil {
		return secret.Data, nil
	}
	if seen.db.CredentialsSecret != "" || seen.state.Data {
		return nil, nil
	}
	generated, err := seen.db.GeneratedCredentials()
	if err != nil {
		return nil, &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	result, err := r.member.Applier.Apply(ctx, apply.Request{
		Intent: generated.Resource, Once: generated.Once, Generate: generated.Generate, Owned: r.owned(p.object, generated.Resource),
	})
	if err != nil || result.Object == nil {
		return nil, err
	}
	secret = &corev1.Secret{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(result.Object.Object, secret); err != nil {
		return nil, fmt.Errorf("reading the answer about Secret %q: %w", result.Object.GetName(), err)
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

// observeClients returns what is known of the clients. Each of them counts until its pod has ended.
func (r *reconciler[T]) observeClients(ctx context.Context, object T, login *database.Login) (passwordrotation.Clients, error) {
	if r.kind.Clients == nil {
		return passwordrotation.Clients{}, nil
	}
	theirs := []client.ListOption{client.InNamespace(object.GetNamespace()), client.MatchingLabels(r.kind.Clients(object))}
	deployments := &appsv1.DeploymentList{}
	if err := r.member.Reader.List(ctx, deployments, theirs...); err != nil {
		return passwordrotation.Clients{}, fmt.Errorf("listing the Deployments of clients: %w", err)
	}
	if login == nil {
		return passwordrotation.OfDeployments(deployments.Items, 0), nil
	}
	clients := passwordrotation.OfDeployments(deployments.Items, login.Rotation)
	if login.Phase != database.PhaseSwitching || !clients.Current {
		return clients, nil
	}
	ctx, cancel := context.WithTimeout(ctx, r.member.Settings.Timeout)
	defer cancel()
	pods := &corev1.PodList{}
	if err := r.member.APIReader.List(ctx, pods, theirs...); err != nil {
		return clients, fmt.Errorf("listing the pods of clients: %w", err)
	}
	clients.Current = !slices.ContainsFunc(pods.Items, func(pod corev1.Pod) bool { return !passwordrotation.Has(&pod, login.Rotation) })
	return clients, nil
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
	if err == nil {
		return nil
	}
	kept := "clients keep the old one"
	if change.Change == database.Discard {
		kept = "the old one is still valid"
	}
	return fmt.Errorf("%w: %s; %s", errRotation, kept, causeOf(err, change.Password, change.Current, change.Administrator))
}

// causeOf returns why a command failed: what it wrote to its standard error, in one line of bounded
// length and without secrets, or else the answer of the API server.
func causeOf(err error, secrets ...string) string {
	failed, ok := errors.AsType[*podexec.FailedError](err)
	if !ok {
		return apierror.Message(err)
	}
	cause := failed.Stderr
	for _, secret := range secrets {
		// As it is, and as it is in SQL.
		for _, text := range []string{strings.ReplaceAll(secret, "'", "''"), secret} {
			if text != "" {
				cause = strings.ReplaceAll(cause, text, "***")
			}
		}
	}
	return v1.Excerpt(cause, causeBytes)
}

// keepLogin writes the login Secret if it differs.
func (r *reconciler[T]) keepLogin(ctx context.Context, p *pass[T], seen observedLogin, login database.Login) error {
	secret, err := seen.db.LoginSecret(login)
	if err != nil {
		return &apierror.SpecError{Reason: v1.ReasonInvalidSpec, Err: err}
	}
	// Of what is no secret: likely passwords could be compared with a hash of it.
	hash, err := apply.Hash(&corev1.Secret{TypeMeta: secret.TypeMeta, ObjectMeta: secret.ObjectMeta})
	if err != nil {
		return fmt.Errorf("hashing Secret %q: %w", secret.Name, err)
	}
	secret.Annotations = map[string]string{v1.SpecHashAnnotation: hash}
	request := apply.Request{
		Intent: secret, Owned: r.owned(p.object, secret),
		Generate: &component.Generate{Random: map[string]int{database.SaltKey: saltLength}},
	}
	if seen.live != nil {
		request.Live = seen.live
	}
	_, err = r.member.Applier.Apply(ctx, request)
	return err
}

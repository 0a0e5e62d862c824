package spoke_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
	"github.com/shopfleet/shopfleet/spoke/runtime/podexec"
)

// commands stands for the containers of databases, which simulated nodes do not run: it notes the
// user and the password of each change, prints what is set for commands without input, and fails
// while broken is set.
type commands struct {
	mu      sync.Mutex
	broken  error
	changes []string
	// prints is the output by namespace and name of the pod, ran the commands without input.
	prints map[string]string
	ran    []string
	// hangs is the pod in which commands do not end.
	hangs string
}

func (c *commands) run(ctx context.Context, _ cluster.Cluster, target podexec.Container, command podexec.Command) (string, error) {
	if c.isHanging(target.Pod.String()) {
		<-ctx.Done()
		return "", ctx.Err()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.broken != nil {
		return "", c.broken
	}
	if command.Input == "" {
		c.ran = append(c.ran, target.Pod.String()+": "+command.Args[len(command.Args)-1])
		return c.prints[target.Pod.String()], nil
	}
	var fields []string
	for line := range strings.Lines(command.Input) {
		field, err := base64.StdEncoding.DecodeString(strings.TrimSpace(line))
		if err != nil {
			return "", err
		}
		fields = append(fields, string(field))
	}
	c.changes = append(c.changes, fmt.Sprintf("%s %s: %s", target.Pod.Name, target.Name, strings.Join(fields, "/")))
	return "", nil
}

// print sets what commands without input print.
func (c *commands) print(prints map[string]string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.prints = prints
}

// hang makes commands in a pod hang.
func (c *commands) hang(pod string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hangs = pod
}

func (c *commands) isHanging(pod string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.hangs == pod
}

// count returns the number of commands without input that ran in a pod.
func (c *commands) count(pod string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, ran := range c.ran {
		if strings.HasPrefix(ran, pod+": ") {
			n++
		}
	}
	return n
}

// has reports whether a command without input ran in a pod.
func (c *commands) has(pod, text string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.ContainsFunc(c.ran, func(ran string) bool { return strings.HasPrefix(ran, pod+": ") && strings.Contains(ran, text) })
}

// fail makes commands fail from now on; nil makes them succeed.
func (c *commands) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.broken = err
}

// made returns the changes since the last call, without repetitions.
func (c *commands) made() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	var all []string
	for _, change := range c.changes {
		if len(all) == 0 || all[len(all)-1] != change {
			all = append(all, change)
		}
	}
	c.changes = nil
	return all
}

// testRotation changes the password of a database: it is first set there, then the clients get it,
// and then the old one is revoked.
func testRotation(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.shop(t)
		app.Spec.Database.CredentialsSecretRef = &v1.LocalSecretReference{Name: "ours"}
		framework.Create(t, w, app)
		w.awaitFailed(t, app, v1.ReasonCredentialsMissing, "create Secret ours with the keys username, password and database")
		secret := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: "ours"},
			StringData: map[string]string{"username": "shop", "password": "first", "database": "orders"},
		}
		framework.Create(t, w, secret)
		w.awaitRunning(t, app)
		w.awaitLogin(t, app, "shop/first/")
		// Simulated pods start without the Secret, so that the login is set in a running database.
		w.commands.made()
		first, salt := w.rotationOfClients(t, app), w.salt(t, app)

		w.failRotation(t, app, secret)
		w.commands.fail(nil)
		w.awaitLogin(t, app, "shop_2/second/")
		second := w.rotationOfClients(t, app)
		if second == first {
			t.Errorf("the pods of the backend still have rotation %q", first)
		}
		w.setCredential(t, secret, "password", "third")
		w.awaitLogin(t, app, "shop/third/")
		third := w.rotationOfClients(t, app)
		pod := app.Name + "-database-0 database: "
		want := []string{pod + "shop/shop_2/second", pod + "shop/shop/second", pod + "shop/shop/third", pod + "shop/shop_2/third"}
		if diff := cmp.Diff(want, w.commands.made()); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}

		w.setCredential(t, secret, "username", "another")
		w.awaitDegraded(t, app, v1.ReasonCredentialsInvalid, `username of Secret ours is "another", but the data belongs to "shop"`)
		// As after an upgrade from a release without it: pods that are written then name it.
		login := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-login"}}
		if err := w.Patch(t.Context(), login, client.RawPatch(types.MergePatchType, []byte(`{"data":{"url":null}}`))); err != nil {
			t.Fatal(err)
		}
		w.awaitLogin(t, app, "shop/third/")
		w.awaitDegraded(t, app, v1.ReasonCredentialsInvalid, "the data belongs to")
		w.setCredential(t, secret, "username", "shop")
		w.awaitLogin(t, app, "shop/third/")
		if changes := w.commands.made(); len(changes) > 0 {
			t.Errorf("changes without another password: %q", changes)
		}
		if kept := w.salt(t, app); len(kept) < 32 || kept != salt {
			t.Errorf("the salt is %q, and was %q: all data would be prepared again", kept, salt)
		}
		w.loseLogin(t, app, second, third)
		if another := w.salt(t, app); len(another) < 32 || another == salt {
			t.Errorf("the salt of another Secret is %q, as of the first", another)
		}
		if diff := cmp.Diff([]string{pod + "shop/shop/third", pod + "shop/shop_2/third"}, w.commands.made()); diff != "" {
			t.Errorf("changes (-want +got):\n%s", diff)
		}
	}
}

// failRotation changes the password while the database does not, and expects what the status says. The
// rest of the spec is in effect all the same.
func (e *environment) failRotation(t *testing.T, app *v1.EcommerceApp, secret *corev1.Secret) {
	t.Helper()
	e.commands.fail(&podexec.FailedError{
		Stderr: `psql:<stdin>:7: ERROR: the password "second" is refused ` + strings.Repeat("x", 300),
		Err:    errors.New("command terminated with exit code 3"),
	})
	e.setCredential(t, secret, "password", "second")
	e.awaitDegraded(t, app, v1.ReasonRotationFailed, `clients keep the old one; psql:<stdin>:7: ERROR: the password "***" is refused xxx`)
	e.awaitLogin(t, app, "shop/first/changing")
	framework.Edit(t, e, app, func(app *v1.EcommerceApp) { app.Spec.Frontend.Port = 8081 })
	framework.Await(t, e, app, "observes the spec while the rotation fails", func(app *v1.EcommerceApp) error {
		c := framework.Condition(app.Status.Conditions, v1.ConditionDegraded)
		if app.Status.ObservedGeneration != app.Generation || c.Reason != v1.ReasonRotationFailed || len(c.Message) > 400 {
			return fmt.Errorf("generation %d of %d, Degraded is %s: %s", app.Status.ObservedGeneration, app.Generation, c.Reason, c.Message)
		}
		return nil
	})
}

// loseLogin deletes the login Secret. It is written again, for clients of a rotation that none had.
func (e *environment) loseLogin(t *testing.T, app *v1.EcommerceApp, before ...string) {
	t.Helper()
	if err := e.Delete(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-login"}}); err != nil {
		t.Fatal(err)
	}
	backend := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-backend"}}
	framework.Await(t, e, backend, "gets the login again", func(backend *appsv1.Deployment) error {
		if got := backend.Spec.Template.Annotations["ecommerce.io/login-rotation"]; slices.Contains(before, got) {
			return fmt.Errorf("the pods have rotation %s", got)
		}
		return nil
	})
	e.awaitLogin(t, app, "shop/third/")
}

// testLeftOverLogin makes applications whose login Secret is left over from a deleted database of
// another user.
func testLeftOverLogin(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		app := w.leaveLogin(t)
		framework.Create(t, w, app)
		w.awaitRunning(t, app)
		credentials := &corev1.Secret{}
		if err := w.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-credentials"}, credentials); err != nil {
			t.Fatal(err)
		}
		w.awaitLogin(t, app, "shop/"+string(credentials.Data["password"])+"/")
		if changes := w.commands.made(); len(changes) > 0 {
			t.Errorf("changes of a new database: %q", changes)
		}

		app = w.leaveLogin(t)
		app.Spec.Database.CredentialsSecretRef = &v1.LocalSecretReference{Name: "ours"}
		left := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: app.Namespace, Name: app.Name + "-database-login"}}
		w.env.ExpectDeletes(invariants.Expected{Resource: "secrets", Namespace: left.Namespace, Name: left.Name})
		framework.Create(t, w, app)
		w.awaitFailed(t, app, v1.ReasonCredentialsMissing, "create Secret ours")
		framework.AwaitGone(t, w, left)
	}
}

// leaveLogin returns an application that does not exist yet, and leaves a login Secret for it.
func (e *environment) leaveLogin(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := e.shop(t)
	framework.Create(t, e, &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: app.Namespace, Name: app.Name + "-database-login",
			Labels: map[string]string{v1.ManagedByLabel: v1.ManagedBy, v1.PartOfLabel: "ecommerceapp", v1.InstanceLabel: app.Name, v1.ComponentLabel: "database"},
		},
		StringData: map[string]string{"owner": "them", "username": "them_2", "password": "x", "database": "theirs", "phase": "switching", "rotation": "4"},
	})
	return app
}

// testMySQLRotation changes the password of a MySQLCluster, whose clients are not known.
func testMySQLRotation(w *environment) func(*testing.T) {
	return func(t *testing.T) {
		db := apitest.SeedMySQLCluster()
		db.Namespace = w.namespace(t)
		framework.Create(t, w, db)
		login := func(want string) {
			t.Helper()
			framework.Eventually(t, "the login is "+want, func(ctx context.Context) error {
				secret := &corev1.Secret{}
				if err := w.Get(ctx, client.ObjectKey{Namespace: db.Namespace, Name: db.Name + "-login"}, secret); err != nil {
					return err
				}
				if got := fmt.Sprintf("%s/%s", secret.Data["password"], secret.Data["phase"]); got != want {
					return errNotYet
				}
				return nil
			})
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: db.Namespace, Name: db.Name + "-credentials"}}
		framework.Eventually(t, "there are credentials", func(ctx context.Context) error {
			return w.Get(ctx, client.ObjectKeyFromObject(secret), secret)
		})
		login(string(secret.Data["password"]) + "/")
		w.setCredential(t, secret, "password", "second")
		login("second/")
		changes := w.commands.made()
		if len(changes) != 1 || !strings.HasPrefix(changes[0], db.Name+"-0 database: app/app/second/") || !strings.Contains(changes[0], "/only/") {
			t.Errorf("the changes are %q, want one that makes the new password the only one", changes)
		}
	}
}

// setCredential changes a key of a credentials Secret.
func (e *environment) setCredential(t *testing.T, secret *corev1.Secret, key, value string) {
	t.Helper()
	patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"stringData":{%q:%q}}`, key, value))
	if err := e.Patch(t.Context(), secret, patch); err != nil {
		t.Fatal(err)
	}
}

// awaitDegraded waits until an application says why it is degraded, while it runs.
func (e *environment) awaitDegraded(t *testing.T, app *v1.EcommerceApp, reason, text string) {
	t.Helper()
	framework.Await(t, e, app, "is degraded by "+reason, func(app *v1.EcommerceApp) error {
		c := framework.Condition(app.Status.Conditions, v1.ConditionDegraded)
		if c.Reason != reason || !strings.Contains(c.Message, text) || app.Status.Phase != v1.PhaseRunning {
			return fmt.Errorf("%s, Degraded is %s: %s", app.Status.Phase, c.Reason, c.Message)
		}
		return nil
	})
}

// awaitLogin waits until clients have a login, given as user, password and phase, and the
// application runs.
func (e *environment) awaitLogin(t *testing.T, app *v1.EcommerceApp, want string) {
	t.Helper()
	framework.Eventually(t, "the login is "+want, func(ctx context.Context) error {
		secret := &corev1.Secret{}
		if err := e.Get(ctx, client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-login"}, secret); err != nil {
			return err
		}
		got := fmt.Sprintf("%s/%s/%s", secret.Data["username"], secret.Data["password"], secret.Data["phase"])
		url := fmt.Sprintf("postgresql://%s:%s@", secret.Data["username"], secret.Data["password"])
		if got != want || !strings.HasPrefix(string(secret.Data["url"]), url) {
			return fmt.Errorf("the login is %s, of %s", got, secret.Data["url"])
		}
		return nil
	})
	e.awaitRunning(t, app)
}

// salt returns the salt of the note that volumes keep of the login.
func (e *environment) salt(t *testing.T, app *v1.EcommerceApp) string {
	t.Helper()
	secret := &corev1.Secret{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-database-login"}, secret); err != nil {
		t.Fatal(err)
	}
	return string(secret.Data["salt"])
}

// rotationOfClients returns the number of the rotation that the backend's pods have.
func (e *environment) rotationOfClients(t *testing.T, app *v1.EcommerceApp) string {
	t.Helper()
	backend := &appsv1.Deployment{}
	if err := e.Get(t.Context(), client.ObjectKey{Namespace: app.Namespace, Name: app.Name + "-backend"}, backend); err != nil {
		t.Fatal(err)
	}
	return backend.Spec.Template.Annotations["ecommerce.io/login-rotation"]
}

package kind

import (
	"context"
	"crypto/rand"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// testPassword rotates the password of a shop's database while customers order all the time: none of
// them sees an error, and the old password is revoked.
func (e *environment) testPassword(t *testing.T) {
	t.Helper()
	r := e.regions[0]
	secret := &corev1.Secret{}
	if err := r.get(t.Context(), shop+"-database-credentials", secret); err != nil {
		t.Fatal(err)
	}
	user, old, name := string(secret.Data["username"]), string(secret.Data["password"]), string(secret.Data["database"])
	password := rand.Text()
	if !r.logsIn(t, user, old, name) {
		t.Error("the password of the Secret is not accepted")
	}

	ordering := r.sendCustomers(t, shop)
	patch := fmt.Appendf(nil, `{"stringData":{"password":%q}}`, password)
	if err := r.Patch(t.Context(), secret, client.RawPatch(types.MergePatchType, patch)); err != nil {
		t.Fatal(err)
	}
	fleettest.Within(t, patience, "the rotation", func(ctx context.Context) error {
		login := &corev1.Secret{}
		if err := r.get(ctx, shop+"-database-login", login); err != nil {
			return err
		}
		if string(login.Data["password"]) != password || string(login.Data["phase"]) != "" {
			return errWaiting
		}
		return nil
	})
	e.running(t, shop)
	placed := ordering.end(t)
	stored := r.inDatabase(t, shop)
	for _, id := range placed {
		if !slices.Contains(stored, id) {
			t.Errorf("order %s is lost", id)
		}
	}
	for login, want := range map[[2]string]bool{{user, old}: false, {user, password}: true, {user + "_2", password}: true} {
		if got := r.logsIn(t, login[0], login[1], name); got != want {
			t.Errorf("%s logs in with %q: %v, want %v", login[0], login[1], got, want)
		}
	}
}

// logsIn reports whether the database of the shop accepts a password, through the network of its pod.
// The password is in the input, since the audit log has the command.
func (r *region) logsIn(t *testing.T, user, password, database string) bool {
	t.Helper()
	accepted := false
	fleettest.Within(t, patience, "the database to answer "+user, func(ctx context.Context) error {
		cmd := r.env.Command(ctx, "kubectl", "--kubeconfig", r.Kubeconfig, "exec", "--stdin", "--namespace", namespace,
			shop+"-database-0", "--container=database", "--", "sh", "-c",
			`read -r PGPASSWORD; export PGPASSWORD; exec psql --no-password --host=127.0.0.1 --username="$0" --dbname="$1" --command="SELECT 1"`, user, database)
		cmd.Stdin = strings.NewReader(password + "\n")
		_, err := testenv.Run(cmd)
		accepted = err == nil
		if err != nil && strings.Contains(err.Error(), "FATAL:") { // The database refuses; all else is no answer of it.
			return nil
		}
		return err
	})
	return accepted
}

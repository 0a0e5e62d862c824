package kind

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// bucketAccount is the name of the CloudAccount with the bucket, and of its Secret.
const bucketAccount = "dumps"

var errNotSo = errors.New("it is not so")

// testDumps dumps databases to a bucket, and loads them from there: in their own cluster, and in the other one. The
// orders are the same afterwards.
func (e *environment) testDumps(t *testing.T) {
	t.Helper()
	e.openBucket(t)
	for _, app := range []string{shop, ledger} {
		e.hub.must(t, "patch", "ecommerceapp", app, "--namespace", namespace, "--type=merge", "--patch",
			`{"spec":{"database":{"backup":{"enabled":true,"schedule":"0 2 1 1 *"}}}}`)
	}
	e.running(t, shop, ledger)
	// One engine from each mode into the other, at the same time.
	t.Run("applications", func(t *testing.T) {
		for i, app := range []string{shop, ledger} {
			t.Run(app, func(t *testing.T) {
				t.Parallel()
				e.dumpAndLoad(t, app, e.regions[i], e.regions[1-i])
			})
		}
	})
	t.Run("a full dump claim recovers by itself", e.testFullClaim)
	t.Run("a primary without its claim", e.testLostData)
	for _, r := range e.regions {
		r.awaitCleanup(t)
	}
	e.hub.must(t, "delete", "restores", "--all", "--namespace", namespace, "--timeout=3m")
	e.running(t, shop, ledger)
}

// openBucket gives the members an account with a bucket.
func (e *environment) openBucket(t *testing.T) {
	t.Helper()
	store, err := e.env.StartObjects(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := store.Stop(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	account := &v1.CloudAccount{
		ObjectMeta: metav1.ObjectMeta{Name: bucketAccount},
		Spec: v1.CloudAccountSpec{
			Provider: v1.ProviderAWS, AWS: &v1.AWSAccount{AccountID: "123456789012"},
			ObjectStorage: &v1.ObjectStorage{Bucket: store.Bucket, Prefix: "shops", Region: store.Region, Endpoint: store.Endpoint, CABundle: store.CA},
		},
	}
	e.openAccount(t, account, v1.ConditionObjectStorageReady, ec2.Key{ID: store.KeyID, Secret: store.Key})
	for _, r := range e.regions {
		e.hub.must(t, "patch", "membercluster", r.name, "--type=merge", "--patch", `{"spec":{"cloudAccountRef":{"name":"`+bucketAccount+`"}}}`)
	}
}

// openAccount creates an account of AWS with its key, and waits until a condition of it is true.
func (e *environment) openAccount(t *testing.T, account *v1.CloudAccount, condition string, key ec2.Key) {
	t.Helper()
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: account.Name, Labels: map[string]string{v1.CloudAccountLabel: "true"}},
		Data:       map[string][]byte{"accessKeyID": []byte(key.ID), "secretAccessKey": []byte(key.Secret)},
	}
	account.Spec.Credentials = v1.CloudCredentials{Type: v1.CredentialsSecret, SecretRef: &v1.LocalSecretReference{Name: account.Name}}
	for _, o := range []client.Object{secret, account} {
		e.hub.recreate(t, o)
	}
	fleettest.Within(t, patience, "the hub to have access to "+account.Name, func(ctx context.Context) error {
		if err := e.hub.Get(ctx, client.ObjectKeyFromObject(account), account); err != nil {
			return err
		}
		if !meta.IsStatusConditionTrue(account.Status.Conditions, condition) {
			return fmt.Errorf("%w: %+v", errNotSo, account.Status.Conditions)
		}
		return nil
	})
}

// recreate replaces an object of an earlier run.
func (v *view) recreate(t *testing.T, o client.Object) {
	t.Helper()
	if err := v.Delete(t.Context(), o); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	if err := v.Create(t.Context(), o); err != nil {
		t.Fatal(err)
	}
}

// dumpAndLoad dumps a database in one region, loads the dump there and in another, and verifies it.
func (e *environment) dumpAndLoad(t *testing.T, app string, from, to *region) {
	t.Helper()
	kept := from.order(t, app)
	before := from.checksums(t, app)
	backup := e.dump(t, app, from)
	object := backup.Status.Dump.Object
	if object == nil || object.State != v1.DumpSent || backup.Status.Account != bucketAccount {
		t.Fatalf("the dump is on its claim alone: %+v", backup.Status.Dump)
	}
	lost := from.order(t, app)

	refused := e.load(t, app+"-refused", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}})
	e.awaitRestore(t, refused, v1.RestoreFailed, v1.ReasonDatabaseNotEmpty)
	if ids := from.inDatabase(t, app); !slices.Contains(ids, lost) || !slices.Contains(ids, kept) {
		t.Errorf("a restore that was refused has changed the orders: %v", ids)
	}

	here := e.load(t, app+"-here", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}, Overwrite: true})
	e.awaitRestore(t, here, v1.RestoreCompleted, v1.ReasonCompleted)
	if here.Status.Dump.From != v1.DumpFromClaim {
		t.Errorf("it was loaded from the %s, and the claim is nearer", here.Status.Dump.From)
	}
	from.same(t, app, before)

	there := e.load(t, app+"-there", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}, ClusterRef: v1.ObjectReference{Name: to.name}, Overwrite: true})
	e.awaitRestore(t, there, v1.RestoreCompleted, v1.ReasonCompleted)
	if there.Status.Dump.From != v1.DumpFromBucket {
		t.Errorf("it was loaded from the %s", there.Status.Dump.From)
	}
	to.same(t, app, before)

	for _, r := range []*region{from, to} {
		r.order(t, app) // Customers are served again, on what was restored.
	}

	proof := e.load(t, app+"-proof", v1.RestoreSpec{BackupRef: v1.ObjectReference{Name: backup.Name}, Verify: true})
	e.awaitRestore(t, proof, v1.RestoreCompleted, v1.ReasonVerified)
	if err := e.hub.get(t.Context(), backup.Name, backup); err != nil {
		t.Fatal(err)
	}
	if v := backup.Status.Verified; v == nil || v.From.Cluster != from.name || !strings.Contains(v.Message, "and all of it was read by ") {
		t.Errorf("the dump was verified as %+v", v)
	}
}

// dump requests a backup with the plugin, and waits until it is complete.
func (e *environment) dump(t *testing.T, app string, r *region) *v1.Backup {
	t.Helper()
	out, err := testenv.Run(e.env.Command(t.Context(), "kubectl", "shopfleet", "backup", "create", app, "--namespace", namespace, "--member", r.name))
	if err != nil {
		t.Fatal(err)
	}
	list := &v1.BackupList{}
	if err := e.hub.List(t.Context(), list, client.InNamespace(namespace)); err != nil {
		t.Fatal(err)
	}
	i := slices.IndexFunc(list.Items, func(b v1.Backup) bool { return b.Spec.AppRef.Name == app && strings.Contains(out, b.Name) })
	if i < 0 {
		t.Fatalf("no Backup is called what was said: %s", out)
	}
	e.awaitBackup(t, &list.Items[i])
	return &list.Items[i]
}

// awaitBackup waits until a Backup is complete.
func (e *environment) awaitBackup(t *testing.T, b *v1.Backup) {
	t.Helper()
	fleettest.Within(t, patience, "the backup "+b.Name, func(ctx context.Context) error {
		if err := e.hub.get(ctx, b.Name, b); err != nil {
			return err
		}
		if b.Status.Phase != v1.BackupCompleted {
			return fmt.Errorf("%w: %s: %s", errNotSo, b.Status.Phase, b.Status.Message)
		}
		return nil
	})
}

// load makes a Restore.
func (e *environment) load(t *testing.T, name string, spec v1.RestoreSpec) *v1.Restore {
	t.Helper()
	r := &v1.Restore{ObjectMeta: objectMeta(name), Spec: spec}
	if err := e.hub.Create(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	return r
}

// awaitRestore waits until a Restore has ended as it should.
func (e *environment) awaitRestore(t *testing.T, r *v1.Restore, phase v1.RestorePhase, reason string) {
	t.Helper()
	fleettest.Within(t, patience, fmt.Sprintf("the restore %s to be %s", r.Name, phase), func(ctx context.Context) error {
		if err := e.hub.get(ctx, r.Name, r); err != nil {
			return err
		}
		ready := meta.FindStatusCondition(r.Status.Conditions, v1.ConditionReady)
		if ready == nil || r.Status.Phase != phase || ready.Reason != reason {
			return fmt.Errorf("%w: %s: %s", errNotSo, r.Status.Phase, r.Status.Message)
		}
		return nil
	})
}

// checksums returns the checksums of the tables of an application's database.
func (r *region) checksums(t *testing.T, app string) string {
	t.Helper()
	ask := `for table in orders order_lines products; do psql --host=/var/run/postgresql --username=postgres --dbname="$APP_DATABASE" --tuples-only ` +
		`--no-align --command="SELECT count(*), md5(string_agg(t::text, '|' ORDER BY t::text)) FROM $table t"; done`
	if app == ledger {
		ask = `MYSQL_PWD="$APP_PASSWORD" mysql --protocol=tcp --host=127.0.0.1 --user="$APP_USER" --database="$APP_DATABASE" ` +
			`--skip-column-names --silent --execute='CHECKSUM TABLE orders, order_lines, products EXTENDED'`
	}
	var out string
	fleettest.Within(t, patience, "the database of "+app+" in "+r.name, func(ctx context.Context) (err error) {
		out, err = r.kubectl(ctx, "exec", "--namespace", namespace, app+"-database-0", "--container=database", "--", "sh", "-euc", ask)
		return err
	})
	return out
}

// same checks that two databases have the same contents.
func (r *region) same(t *testing.T, app, want string) {
	t.Helper()
	if got := r.checksums(t, app); got != want || strings.TrimSpace(got) == "" {
		t.Errorf("the tables of %s in %s are\n%s, want\n%s", app, r.name, got, want)
	}
}

// awaitCleanup waits until the Jobs and Secrets of uploads and downloads are gone.
func (r *region) awaitCleanup(t *testing.T) {
	t.Helper()
	for _, label := range []string{v1.RestoreLabel, v1.BackupLabel} {
		for _, list := range []client.ObjectList{&corev1.SecretList{}, &corev1.PersistentVolumeClaimList{}} {
			fleettest.Within(t, patience, fmt.Sprintf("%T of %s to be gone", list, label), func(ctx context.Context) error {
				if err := r.List(ctx, list, client.InNamespace(namespace), client.HasLabels{label}); err != nil {
					return err
				}
				if n := meta.LenList(list); n > 0 {
					return fmt.Errorf("%w: %d are left", errNotSo, n)
				}
				return nil
			})
		}
	}
}

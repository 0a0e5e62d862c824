package restore

import (
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/database"
)

// TestNeeded checks that other passwords do not keep PostgreSQL from using data, another owner or name does.
func TestNeeded(t *testing.T) {
	t.Parallel()
	of := func(username, password, database string) map[string][]byte {
		return map[string][]byte{"username": []byte(username), "password": []byte(password), "database": []byte(database)}
	}
	for name, tt := range map[string]struct {
		other             map[string][]byte
		postgreSQL, mySQL bool
	}{
		"same":             {of("shop", "secret", "shop"), true, true},
		"another password": {of("shop", "other", "shop"), true, false},
		"another owner":    {of("owner", "secret", "shop"), false, false},
		"another database": {of("shop", "secret", "orders"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for engine, want := range map[v1.Engine]bool{v1.EnginePostgreSQL: tt.postgreSQL, v1.EngineMySQL: tt.mySQL} {
				one, other := neededKeys(engine, of("shop", "secret", "shop")), neededKeys(engine, tt.other)
				if got := equality.Semantic.DeepEqual(one, other); got != want {
					t.Errorf("%s can use the data: %t, want %t", engine, got, want)
				}
			}
		})
	}
}

// otherCredentials checks that data whose passwords its database would not have replaces nothing, in a cluster that
// runs the application as well.
func (c *crashes) otherCredentials(t *testing.T) {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: backupenv.Namespace}}
	if err := c.Other.Create(t.Context(), namespace); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Fatal(err)
	}
	for app, tt := range map[string]struct {
		engine  v1.Engine
		another string
		// lacks names what the data does not have; empty if the Restore goes on.
		lacks string
	}{
		"mysql-password":      {v1.EngineMySQL, database.PasswordKey, "the same passwords"},
		"mysql-same":          {v1.EngineMySQL, "", ""},
		"postgresql-password": {v1.EnginePostgreSQL, database.PasswordKey, ""},
		"postgresql-username": {v1.EnginePostgreSQL, database.UsernameKey, "the same username and database"},
	} {
		t.Run(app, func(t *testing.T) {
			c.createSecrets(t, c, app, "")
			c.createSecrets(t, c.Other, app, tt.another)
			c.createBackup(t, app, app, tt.engine)
			copied := apitest.App(app).Namespace(backupenv.Namespace).Database(tt.engine, versionOf(tt.engine), "1Gi").Obj()
			if err := c.Other.Create(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
			r := apitest.Restore(app).Namespace(backupenv.Namespace).From(app).To(backupenv.Other).Obj()
			c.MustCreate(t, r)
			p := c.NewProcess(t, backupenv.Crash{})
			p.Run(t, c.reconciler(p), client.ObjectKeyFromObject(r), func() bool {
				if err := c.Get(t.Context(), client.ObjectKeyFromObject(r), r); err != nil {
					t.Fatal(err)
				}
				return done(r) || len(r.Status.Volumes) > 0
			})
			if tt.lacks == "" {
				if done(r) {
					t.Errorf("the Restore is %s: %s", r.Status.Phase, r.Status.Message)
				}
				return
			}
			checkRefused(t, r, p, "the data of "+backupenv.Member+" does not have "+tt.lacks+" as the database in "+backupenv.Other+": give both one Secret by spec.database.credentialsSecretRef, "+
				"or make Secret "+render.DatabaseSecrets(app)[0]+" the same")
		})
	}
}

// checkRefused checks that a Restore failed with a message before it changed anything.
func checkRefused(t *testing.T, r *v1.Restore, p *backupenv.Process, want string) {
	t.Helper()
	if r.Status.Phase != v1.RestoreFailed || reasonOf(r) != v1.ReasonCredentialsMissing || r.Status.Message != want {
		t.Errorf("the Restore is %s for %s: %s", r.Status.Phase, reasonOf(r), r.Status.Message)
	}
	if others := slices.DeleteFunc(p.Sent(), func(s string) bool { return strings.Contains(s, "restores.ecommerce.io") }); len(others) > 0 {
		t.Errorf("it has changed something before: %q", others)
	}
}

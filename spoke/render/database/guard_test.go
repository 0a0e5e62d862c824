package database

import (
	"errors"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestPrepareRefusesAnEmptyVolume runs the rendered scripts on a volume that lost its data: the primary of a
// database that was created does not make another one, a replica copies the primary's, and the user's consent
// is that there may be none.
func TestPrepareRefusesAnEmptyVolume(t *testing.T) {
	t.Run("postgresql", func(t *testing.T) {
		usePostgreSQL(t)
		p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), "shop-database-0")
		p.refusesToStartEmpty(t, p.env["PGDATA"])
	})
	t.Run("mysql", func(t *testing.T) {
		p := newMySQLPod(t, "shop-database-0")
		p.refusesToStartEmpty(t, p.dir+"/mysql/data")
		replica := newMySQLPod(t, "shop-database-1")
		replica.env["DATABASE_CREATED"] = "true"
		replica.must(t, "sh "+replica.etc+"/prepare.sh")
	})
}

func (p *pod) refusesToStartEmpty(t *testing.T, data string) {
	t.Helper()
	p.must(t, "sh "+p.etc+"/prepare.sh")
	p.env["DATABASE_CREATED"] = "true"
	p.must(t, "sh "+p.etc+"/prepare.sh") // The data is there.
	p.must(t, "rm -rf "+data+"*")
	for _, created := range []string{"true", "", "unknown"} {
		p.env["DATABASE_CREATED"] = created
		out, err := p.run(t, "sh "+p.etc+"/prepare.sh")
		var exit *exec.ExitError
		if !errors.As(err, &exit) || exit.ExitCode() != ExitLost || !strings.Contains(out, v1.StartEmptyAnnotation) {
			t.Errorf("with DATABASE_CREATED=%q: %v, want exit code %d and what to do:\n%s", created, err, ExitLost, out)
		}
		if left := p.must(t, "ls -A "+data+"* 2>/dev/null || true"); left != "" {
			t.Errorf("the script left %s", left)
		}
	}
	p.env["DATABASE_CREATED"] = "false"
	p.must(t, "sh "+p.etc+"/prepare.sh")
}

// TestPodsNeedTheMark checks that a pod starts only if it knows whether the database was created.
func TestPodsNeedTheMark(t *testing.T) {
	const name = "DATABASE_CREATED"
	fromMark := corev1.EnvVar{Name: name, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
		LocalObjectReference: corev1.LocalObjectReference{Name: "shop-database-created"}, Key: CreatedKey,
	}}}
	for _, engine := range []v1.Engine{v1.EnginePostgreSQL, v1.EngineMySQL} {
		if diff := cmp.Diff([]corev1.EnvVar{fromMark}, prepareEnv(t, testSpec(engine, "15.4"), name)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", engine, diff)
		}
	}
}

// prepareEnv returns a variable of the init container, as often as there is one.
func prepareEnv(t *testing.T, spec Spec, name string) []corev1.EnvVar {
	t.Helper()
	c, err := Render(spec)
	if err != nil {
		t.Fatal(err)
	}
	var found []corev1.EnvVar
	for _, o := range c.Objects {
		if set, ok := o.Resource.(*appsv1.StatefulSet); ok {
			found = append(found, set.Spec.Template.Spec.InitContainers[0].Env...)
		}
	}
	return slices.DeleteFunc(found, func(e corev1.EnvVar) bool { return e.Name != name })
}

// TestMarkSecret reads what was written.
func TestMarkSecret(t *testing.T) {
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	for _, mark := range []Mark{{}, {Created: true}, {Consent: ConsentLoad, Load: "r", StartEmpty: "a"}} {
		secret, err := spec.MarkSecret(mark)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(&mark, ReadMark(secret)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if got := ReadMark(&corev1.Secret{}); got != nil {
		t.Errorf("a Secret without data is the mark %+v", got)
	}
}

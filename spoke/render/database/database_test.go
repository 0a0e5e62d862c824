package database

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

func engines() map[v1.Engine]string {
	return map[v1.Engine]string{v1.EnginePostgreSQL: "13.4", v1.EngineMySQL: "8.4"}
}

// TestScriptsAreShell checks that sh can read every script: those in ConfigMaps, and the commands of probes and
// hooks.
func TestScriptsAreShell(t *testing.T) {
	for engine, version := range engines() {
		t.Run(string(engine), func(t *testing.T) {
			spec := testSpec(engine, version)
			spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
			c := mustRender(t, spec)
			scripts := scriptsOf(c)
			if len(scripts) < 3 {
				t.Fatalf("found %d scripts, want prepare, backup and prune at least", len(scripts))
			}
			db := server(t, c)
			for name, p := range map[string]*corev1.Probe{"startup": db.StartupProbe, "liveness": db.LivenessProbe, "readiness": db.ReadinessProbe} {
				scripts[name] = p.Exec.Command[len(p.Exec.Command)-1]
			}
			for name, script := range scripts {
				cmd := exec.CommandContext(t.Context(), "sh", "-n")
				cmd.Stdin = strings.NewReader(script)
				if out, err := cmd.CombinedOutput(); err != nil {
					t.Errorf("%s: %v: %s", name, err, out)
				}
			}
		})
	}
}

// scriptsOf returns the scripts in a component's ConfigMaps.
func scriptsOf(c component.Component) map[string]string {
	scripts := map[string]string{}
	for _, cm := range objectsOf[*corev1.ConfigMap](c) {
		for name, content := range cm.Data {
			if strings.HasSuffix(name, ".sh") {
				scripts[name] = content
			}
		}
	}
	return scripts
}

// TestNoPasswordInArguments checks that no password is in an argument, where every process of the node could read it.
func TestNoPasswordInArguments(t *testing.T) {
	for engine, version := range engines() {
		c := mustRender(t, testSpec(engine, version))
		set := statefulSetOf(t, c)
		for _, container := range append(set.Spec.Template.Spec.InitContainers, set.Spec.Template.Spec.Containers...) {
			for _, arg := range append(container.Command, container.Args...) {
				if strings.Contains(arg, "--password") || strings.Contains(arg, " -p") {
					t.Errorf("%s: %s: %q", engine, container.Name, arg)
				}
			}
			for _, e := range container.Env {
				if strings.Contains(e.Name, "PASSWORD") && e.ValueFrom == nil {
					t.Errorf("%s: %s: %s does not come from a Secret", engine, container.Name, e.Name)
				}
			}
		}
	}
}

func TestInvalid(t *testing.T) {
	cases := map[string]struct {
		change func(*Spec)
		want   string
	}{
		"engine":           {func(s *Spec) { s.Engine = "oracle" }, "spec.database.engine"},
		"version":          {func(s *Spec) { s.Version = "latest" }, "spec.database.version"},
		"old PostgreSQL":   {func(s *Spec) { s.Version = "9.6" }, "spec.database.version"},
		"old MySQL":        {func(s *Spec) { s.Engine, s.Version = v1.EngineMySQL, "5.7" }, "spec.database.version"},
		"no storage":       {func(s *Spec) { s.Storage = resource.Quantity{} }, "spec.database.storage"},
		"backup, no times": {func(s *Spec) { s.Backup = Backup{Enabled: true} }, "spec.database.backup.schedule"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			spec := testSpec(v1.EnginePostgreSQL, "13.4")
			c.change(&spec)
			if _, err := Render(spec); err == nil || !strings.HasPrefix(err.Error(), c.want) {
				t.Errorf("error = %v, want one that begins with %s", err, c.want)
			}
		})
	}
}

// TestPostgreSQLDataLayout checks the paths: a volume of the image would hide ours if it were mounted elsewhere, and
// all versions must find, and refuse, each other's files.
func TestPostgreSQLDataLayout(t *testing.T) {
	for version, wantMount := range map[string]string{
		"13.4": "/var/lib/postgresql/data", "17": "/var/lib/postgresql/data",
		"18": "/var/lib/postgresql", "18.1-bookworm": "/var/lib/postgresql",
	} {
		c := server(t, mustRender(t, testSpec(v1.EnginePostgreSQL, version)))
		i := slices.IndexFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == DataVolume })
		if got := c.VolumeMounts[i].MountPath; got != wantMount {
			t.Errorf("%s: mounted at %q, want %q", version, got, wantMount)
		}
		i = slices.IndexFunc(c.Env, func(e corev1.EnvVar) bool { return e.Name == "PGDATA" })
		if got := strings.TrimPrefix(c.Env[i].Value, wantMount); got != "/pgdata" {
			t.Errorf("%s: PGDATA is %q below the mount, want /pgdata", version, got)
		}
	}
}

// TestScriptsRestartNothing checks that scripts, which only the next start of a pod needs, restart no pod.
// Configuration does, so its name is given here: pods would be restarted by a release that changes it.
func TestScriptsRestartNothing(t *testing.T) {
	for engine, want := range map[v1.Engine]string{v1.EnginePostgreSQL: "shop-database-config-3eba168c", v1.EngineMySQL: "shop-database-config-6ecfbb9c"} {
		spec := testSpec(engine, engines()[engine])
		e, err := spec.engine()
		if err != nil {
			t.Fatal(err)
		}
		r := spec.renderer(e)
		before, name := r.podTemplate(), r.config().Name
		if name != want {
			t.Errorf("%s: ConfigMap %s, want %s", engine, name, want)
		}
		for script, content := range e.atStart {
			if strings.HasSuffix(script, ".sh") && !strings.HasPrefix(content, endsAtSignal) {
				t.Errorf("%s: %s does not begin with %q", engine, script, endsAtSignal)
			}
		}
		r.engine.atStart = map[string]string{prepareScript: "exit 0"}
		if diff := cmp.Diff(before, r.podTemplate()); diff != "" {
			t.Errorf("%s: other scripts restart pods:\n%s", engine, diff)
		}
		r.engine.config = map[string]string{"server.cnf": "[mysqld]"}
		if cmp.Equal(before, r.podTemplate()) {
			t.Errorf("%s: other configuration restarts no pod", engine)
		}
	}
}

// TestWaitingReplicaEnds checks that a replica that waits for its primary ends when it is told to, although it may be
// the first process of its container, which no signal ends by default.
func TestWaitingReplicaEnds(t *testing.T) {
	for engine, version := range engines() {
		t.Run(string(engine), func(t *testing.T) {
			p := newPod(t, testSpec(engine, version), "shop-database-1")
			bin, asked := filepath.Join(p.dir, "bin"), filepath.Join(p.dir, "asked")
			mustMkdir(t, bin)
			for _, program := range []string{"pg_isready", "mysqladmin"} {
				writeFile(t, filepath.Join(bin, program), "#!/bin/sh\n: >"+asked+"\nexit 1\n", 0o755)
			}
			p.env["PATH"] = bin + ":" + p.env["PATH"]
			cmd := p.command(t, "exec sh "+p.etc+"/prepare.sh")
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			eventually(t, func() bool {
				_, err := os.Stat(asked)
				return err == nil
			})
			if err := cmd.Process.Signal(syscall.SIGTERM); err != nil {
				t.Fatal(err)
			}
			// Ended by itself: a signal that it left to the kernel gives -1.
			if err := cmd.Wait(); cmd.ProcessState.ExitCode() != 128+int(syscall.SIGTERM) {
				t.Errorf("it ended with %v, want exit status 143", err)
			}
		})
	}
}

// TestPodTemplateIsStable checks that backups, replicas and credentials come and go without a restart of the
// database.
func TestPodTemplateIsStable(t *testing.T) {
	for engine, version := range engines() {
		before := testSpec(engine, version)
		before.Rotated = true
		after := before
		after.Replicas, after.CredentialsSecret = 3, "ours"
		after.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", KeepLast: 2, KeepDays: 9}
		after.Owner.UID, after.Owner.Cluster = "another", "eu-2"
		after.Storage = resource.MustParse("200Gi")
		before.Storage = resource.MustParse("100Gi")
		if diff := cmp.Diff(statefulSetOf(t, mustRender(t, before)).Spec.Template, statefulSetOf(t, mustRender(t, after)).Spec.Template); diff != "" {
			t.Errorf("%s: the pods would be restarted:\n%s", engine, diff)
		}
	}
}

// TestBackup checks that the claim of the dumps has no owner, and that the pods that dump do not count as pods of the
// database's.
func TestBackup(t *testing.T) {
	spec := testSpec(v1.EngineMySQL, "8.4")
	if c := mustRender(t, spec); len(objectsOf[*batchv1.CronJob](c)) != 0 {
		t.Error("there is a CronJob without backups")
	}
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
	c := mustRender(t, spec)
	for _, o := range c.Objects {
		if _, ok := o.Resource.(*corev1.PersistentVolumeClaim); ok && !o.Retain {
			t.Error("the claim is not retained")
		}
	}
	pods := objectsOf[*batchv1.CronJob](c)[0].Spec.JobTemplate.Spec.Template.Labels
	selector := statefulSetOf(t, c).Spec.Selector.MatchLabels
	matches := true
	for key, value := range selector {
		matches = matches && pods[key] == value
	}
	if matches {
		t.Errorf("the selector %v of the database selects the pods of backups, too: %v", selector, pods)
	}
}

func TestLongNames(t *testing.T) {
	spec := testSpec(v1.EngineMySQL, "8.4")
	spec.Owner.Name = strings.Repeat("a", 63)
	spec.Replicas = 9
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
	c := mustRender(t, spec)
	set := statefulSetOf(t, c)
	if revision := set.Name + "-" + "5d6f7c8b9d"; len(revision) > objectparts.MaxName {
		t.Errorf("the label with the revision has %d characters", len(revision))
	}
	if job := objectsOf[*batchv1.CronJob](c)[0]; len(job.Name) > objectparts.MaxCronJobName {
		t.Errorf("the name of the CronJob has %d characters", len(job.Name))
	}
	primary := objectsOf[*corev1.Service](c)[1]
	if got, want := primary.Spec.Selector[podNameLabel], set.Name+"-0"; got != want {
		t.Errorf("the primary is %q, want %q", got, want)
	}
}

func mustRender(t *testing.T, s Spec) component.Component {
	t.Helper()
	c, err := Render(s)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func objectsOf[T component.Resource](c component.Component) []T {
	var found []T
	for _, o := range c.Objects {
		if r, ok := o.Resource.(T); ok {
			found = append(found, r)
		}
	}
	return found
}

func statefulSetOf(t *testing.T, c component.Component) *appsv1.StatefulSet {
	t.Helper()
	sets := objectsOf[*appsv1.StatefulSet](c)
	if len(sets) != 1 {
		t.Fatalf("there are %d StatefulSets, want 1", len(sets))
	}
	return sets[0]
}

package database

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	batchv1 "k8s.io/api/batch/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// documentedLoad returns the script of api/README.md that loads a dump of a MySQLCluster.
func documentedLoad(t *testing.T) string {
	t.Helper()
	page := readFile(t, filepath.Join("..", "..", "..", "api", "README.md"))
	found := regexp.MustCompile(`(?s)    cat >load.sh <<'EOF'\n(.*?)\n    EOF\n`).FindStringSubmatch(page)
	if found == nil {
		t.Fatal("api/README.md has no script load.sh")
	}
	return regexp.MustCompile(`(?m)^    `).ReplaceAllString(found[1], "")
}

// TestTheDocumentedLoad runs the script on a dump of the rendered script, with a stand-in of the client that keeps
// what it is told.
func TestTheDocumentedLoad(t *testing.T) {
	spec := testSpec(v1.EngineMySQL, engines()[v1.EngineMySQL])
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", KeepLast: 1, KeepDays: 1}
	p := newPod(t, spec, "shop-database-0")
	bin := filepath.Join(p.dir, "bin")
	mustMkdir(t, bin)
	writeFile(t, filepath.Join(bin, "mysqldump"), "#!/bin/sh\necho 'INSERT INTO orders VALUES (1);'\n", 0o755)
	writeFile(t, filepath.Join(bin, "mysql"), `#!/bin/sh
case $* in
  *UNIX_TIMESTAMP*) date +%s ;;
  *information_schema*) echo 0 ;;
  *--max-allowed-packet=1G*) cat >>"$DIR/sql" ;;
  *) exit 1 ;;
esac
`, 0o755)
	maps.Copy(p.env, map[string]string{
		"PATH": bin + ":" + p.env["PATH"], "DIR": p.dir, "DB_HOST": "db", "DB_PORT": "3306", "DB_USER": "app", "DB_NAME": "app", "DB_VERSION": "8.4.2",
	})
	p.must(t, "sh "+p.etc+"/backup.sh")
	path := p.dumped(t, ".sql.gz", dumpManifest{Engine: "mysql", Version: "8.4.2"})
	p.env["DUMP"] = filepath.Base(path)
	load := filepath.Join(p.dir, "load.sh")
	writeFile(t, load, strings.ReplaceAll(documentedLoad(t), "/backups/", p.env["BACKUPS"]+"/"), 0o644)
	p.must(t, "sh "+load)
	want := "CREATE TABLE IF NOT EXISTS " + LoadingTable + " (id INT);\nINSERT INTO orders VALUES (1);\nDROP TABLE " + LoadingTable + ";\n"
	if got := readFile(t, filepath.Join(p.dir, "sql")); got != want {
		t.Errorf("loaded %q, want %q", got, want)
	}
	if err := os.Remove(filepath.Join(p.dir, "sql")); err != nil {
		t.Fatal(err)
	}
	writeFile(t, path, "damaged", 0o644)
	if out, err := p.run(t, "sh "+load); err == nil {
		t.Errorf("a damaged dump is loaded: %s", out)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "sql")); err == nil {
		t.Error("a damaged dump has reached the database")
	}
}

// TestTheDocumentedJob checks that the patches of api/README.md name what the CronJob has.
func TestTheDocumentedJob(t *testing.T) {
	t.Parallel()
	spec := testSpec(v1.EngineMySQL, engines()[v1.EngineMySQL])
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
	pod := objectsOf[*batchv1.CronJob](mustRender(t, spec))[0].Spec.JobTemplate.Spec.Template.Spec
	claim := pod.Volumes[0].PersistentVolumeClaim
	if len(pod.Containers) != 1 || claim == nil || claim.ClaimName != spec.BackupsClaim() || pod.Containers[0].VolumeMounts[0].MountPath != "/backups" {
		t.Errorf("the Job of a dump is another one than the page patches: %+v", pod)
	}
}

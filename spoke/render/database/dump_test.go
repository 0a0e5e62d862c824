package database

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// dumpManifest represents the manifest of a dump.
type dumpManifest struct {
	File           string    `json:"file"`
	Bytes          int64     `json:"bytes"`
	SHA256         string    `json:"sha256"`
	Engine         string    `json:"engine"`
	Version        string    `json:"version"`
	SnapshotTime   time.Time `json:"snapshotTime"`
	CompletionTime time.Time `json:"completionTime"`
	RemovedEarly   string    `json:"removedEarly"`
	NotPruned      string    `json:"notPruned"`
}

// dumped looks at the only dump that there is and at what is said of it, and returns its path.
func (p *pod) dumped(t *testing.T, suffix string, want dumpManifest) string {
	t.Helper()
	files := glob(t, p.env["BACKUPS"])
	base, _, _ := strings.Cut(strings.Join(files, " "), ".")
	if diff := cmp.Diff([]string{base + suffix, base + ".json"}, files, cmpopts.SortSlices(strings.Compare)); diff != "" {
		t.Fatalf("files (-want +got):\n%s", diff)
	}
	line := readFile(t, filepath.Join(p.env["BACKUPS"], base+".json"))
	if said := readFile(t, filepath.Join(p.dir, "said")); said != line || strings.Count(line, "\n") != 1 {
		t.Errorf("the pod's status says %q, and the manifest %q; want the same line", said, line)
	}
	var got dumpManifest
	decoder := json.NewDecoder(strings.NewReader(line))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&got); err != nil {
		t.Fatalf("%v: %s", err, line)
	}
	path := filepath.Join(p.env["BACKUPS"], base+suffix)
	content := readFile(t, path)
	sum := sha256.Sum256([]byte(content))
	want.File, want.Bytes, want.SHA256 = base+suffix, int64(len(content)), hex.EncodeToString(sum[:])
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(dumpManifest{}, "SnapshotTime", "CompletionTime")); diff != "" {
		t.Errorf("manifest (-want +got):\n%s", diff)
	}
	if begun := got.SnapshotTime.Format("backup-20060102T150405Z"); begun != base || got.CompletionTime.Before(got.SnapshotTime) {
		t.Errorf("cut at %s and complete at %s, in %s", got.SnapshotTime, got.CompletionTime, path)
	}
	return path
}

// TestMySQLDump dumps a real server, by a client that lacks one option of MySQL's.
func TestMySQLDump(t *testing.T) {
	p := newMariaDB(t)
	dump, err := exec.LookPath("mysqldump")
	if err != nil {
		t.Skip("no dump is made: there is no mysqldump; on Debian, apt-get install mariadb-client brings it")
	}
	bin := filepath.Join(p.dir, "bin")
	mustMkdir(t, bin)
	writeFile(t, filepath.Join(bin, "mysqldump"), `#!/bin/sh
for a; do
  shift
  [ "$a" = --set-gtid-purged=OFF ] || set -- "$@" "$a"
done
exec `+dump+` --no-defaults "$@"
`, 0o755)
	p.spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", KeepLast: 1, KeepDays: 1}
	p.render(t)
	maps.Copy(p.env, map[string]string{
		"PATH": bin + ":" + p.env["PATH"], "DB_HOST": "127.0.0.1", "DB_PORT": p.port, "DB_USER": p.env["APP_USER"],
		"MYSQL_PWD": awkward, "DB_NAME": "shop_db", "DB_VERSION": `8.4"\`,
	})
	p.sql(t, "CREATE TABLE orders (id INT PRIMARY KEY)")
	p.must(t, "sh "+p.etc+"/backup.sh")
	file := p.dumped(t, ".sql.gz", dumpManifest{Engine: "mysql", Version: "8.4"})
	if sql := p.must(t, "gzip -dc "+file); !strings.Contains(sql, "CREATE TABLE `orders`") {
		t.Errorf("the dump lacks the table:\n%s", sql)
	}
	// As cloud/README.md has it.
	p.sql(t, "DROP TABLE orders")
	p.must(t, `gzip -dc `+file+` | mysql --protocol=tcp --host="$DB_HOST" --port="$DB_PORT" --user="$DB_USER" "$DB_NAME"`)
	p.sql(t, "INSERT INTO orders VALUES (1)")
	// Half of a database is no dump of it.
	p.sql(t, "CREATE TABLE "+LoadingTable+" (id INT)")
	if out, err := p.run(t, "sh "+p.etc+"/backup.sh"); err == nil || !strings.Contains(out, "the database is incomplete") {
		t.Errorf("a database that is being loaded was dumped: %v, %s", err, out)
	}
	p.sql(t, "DROP TABLE "+LoadingTable)
	p.env["MYSQL_PWD"] = "another"
	if out, err := p.run(t, "sh "+p.etc+"/backup.sh"); err == nil {
		t.Errorf("a dump without access succeeded: %s", out)
	}
	if got := glob(t, p.env["BACKUPS"]); len(got) != 2 {
		t.Errorf("it left %q", got)
	}
	p.env["MYSQL_PWD"] = awkward
	p.sql(t, "CREATE TABLE notes AS SELECT MD5(RAND()) AS note FROM seq_1_to_15000")
	t.Run("a full claim", p.recovers)
}

// TestFailedDumpLeavesWhatIsKept checks that a failed dump leaves the dumps that retention keeps, and no file of its
// own. What a crash left behind goes, and what another run writes stays.
func TestFailedDumpLeavesWhatIsKept(t *testing.T) {
	p := dumpingPod(t, "exit 1")
	old := []string{"backup-20200102T000000Z.dump", "partial-20990101T000000Z"}
	for _, name := range append([]string{"partial-20200103T000000Z", "backup-20200101T000000Z.dump"}, old...) {
		writeFile(t, filepath.Join(p.env["BACKUPS"], name), "x", 0o666)
	}
	dead := filepath.Join(p.env["BACKUPS"], "partial-20200103T000000Z")
	if err := os.Chtimes(dead, time.Time{}, time.Date(2020, 1, 3, 0, 0, 0, 0, time.UTC)); err != nil {
		t.Fatal(err)
	}
	if out, err := p.run(t, "sh "+p.etc+"/backup.sh"); err == nil {
		t.Fatalf("the script succeeded: %s", out)
	}
	if diff := cmp.Diff(old, glob(t, p.env["BACKUPS"])); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
	if _, err := os.Stat(filepath.Join(p.dir, "said")); err == nil {
		t.Error("the pod's status has a manifest of no dump")
	}
}

// TestDumpWithoutManifest checks that a dump without a manifest does not count.
func TestDumpWithoutManifest(t *testing.T) {
	p := dumpingPod(t, `for a; do case $a in --file=*) echo dump >"${a#*=}";; esac; done`)
	writeFile(t, filepath.Join(p.dir, "bin", "mv"), `#!/bin/sh
case $1 in */unfinished-*) exit 1;; esac
exec /bin/mv "$@"
`, 0o755)
	if out, err := p.run(t, "sh "+p.etc+"/backup.sh"); err == nil {
		t.Fatalf("the script succeeded: %s", out)
	}
	files := glob(t, p.env["BACKUPS"])
	if len(files) != 2 || !strings.HasSuffix(files[0], ".dump") || files[1] != "unfinished-"+strings.TrimPrefix(strings.TrimSuffix(files[0], ".dump"), "backup-")+".json" {
		t.Errorf("files %q, want a dump and an unfinished manifest", files)
	}
	if err := os.Remove(filepath.Join(p.dir, "bin", "mv")); err != nil {
		t.Fatal(err)
	}
	// Days later it is removed, although there is nothing else.
	begun, err := time.Parse("backup-20060102T150405Z.dump", files[0])
	if err != nil {
		t.Fatal(err)
	}
	p.env["NOW"] = fmt.Sprint(begun.Add(48 * time.Hour).Unix())
	p.must(t, "sh "+p.etc+"/prune.sh")
	if left := glob(t, p.env["BACKUPS"]); len(left) != 0 {
		t.Errorf("left: %q", left)
	}
}

// dumpingPod returns a pod in which pg_dump is a script.
func dumpingPod(t *testing.T, script string) *pod {
	t.Helper()
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *", KeepLast: 1, KeepDays: 1}
	p := newPod(t, spec, "shop-database-0")
	bin := filepath.Join(p.dir, "bin")
	mustMkdir(t, bin)
	writeFile(t, filepath.Join(bin, "pg_dump"), "#!/bin/sh\n"+script+"\n", 0o755)
	writeFile(t, filepath.Join(bin, "pg_restore"), "#!/bin/sh\n", 0o755)
	writeFile(t, filepath.Join(bin, "psql"), "#!/bin/sh\n"+`echo "$((${NOW:-$(date -u +%s)} + ${SKEW:-0}))"`+"\n", 0o755)
	p.env["PATH"] = bin + ":" + p.env["PATH"]
	return p
}

func TestPrune(t *testing.T) {
	now := time.Date(2026, 3, 31, 2, 0, 0, 0, time.UTC)
	named := func(layout string, days ...int) []string {
		var names []string
		for _, d := range days {
			names = append(names, now.AddDate(0, 0, -d).Format(layout))
		}
		return names
	}
	// Of an earlier release.
	daysAgo := func(days ...int) []string { return named("backup-20060102T150405Z.dump", days...) }
	manifests := func(days ...int) []string { return named("backup-20060102T150405Z.json", days...) }
	complete := func(days ...int) []string { return slices.Concat(daysAgo(days...), manifests(days...)) }
	unfinished := func(days ...int) []string {
		return slices.Concat(daysAgo(days...), named("unfinished-20060102T150405Z.json", days...))
	}
	cases := map[string]struct {
		files              []string
		keepLast, keepDays int
		want               []string
	}{
		"none":                                 {nil, 7, 30, nil},
		"all young":                            {daysAgo(0, 1, 2), 1, 30, daysAgo(0, 1, 2)},
		"old ones beyond the newest go":        {daysAgo(0, 10, 31, 32, 400), 1, 30, daysAgo(0, 10)},
		"exactly keepDays old stays":           {daysAgo(0, 30), 1, 30, daysAgo(0, 30)},
		"the newest stay however old":          {daysAgo(100, 200, 300), 2, 30, daysAgo(100, 200)},
		"one stays with keepLast 0":            {daysAgo(100, 200), 0, 30, daysAgo(100)},
		"young ones do not save the old":       {daysAgo(0, 1, 2, 40), 3, 30, daysAgo(0, 1, 2)},
		"others' files stay, and do not count": {append(daysAgo(50, 60), "backup-notes", "partial-x", "README", "backup-1T2Z.dump"), 1, 30, append(daysAgo(50), "README", "backup-1T2Z.dump", "backup-notes", "partial-x")},
		"manifests go with their dumps":        {complete(0, 10, 31, 400), 1, 30, complete(0, 10)},
		"manifests are no dumps":               {complete(100, 200, 300), 2, 30, complete(100, 200)},
		"those of earlier releases count":      {slices.Concat(complete(0, 40), daysAgo(50, 60)), 3, 30, slices.Concat(complete(0, 40), daysAgo(50))},
		"an unfinished one does not count":     {slices.Concat(unfinished(0), complete(100, 200)), 1, 30, slices.Concat(unfinished(0), complete(100))},
		"an unfinished one goes after a day":   {slices.Concat(unfinished(1, 2), complete(100, 200)), 2, 30, slices.Concat(unfinished(1), complete(100, 200))},
		"what was being pruned goes":           {slices.Concat(complete(0), named("unfinished-20060102T150405Z.json", 40)), 1, 30, complete(0)},
		"gzipped": {slices.Concat(named("backup-20060102T150405Z.sql.gz", 0, 40), manifests(0, 40)), 1, 30,
			slices.Concat(named("backup-20060102T150405Z.sql.gz", 0), manifests(0))},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			backups := filepath.Join(dir, "a folder")
			mustMkdir(t, backups)
			for _, file := range c.files {
				writeFile(t, filepath.Join(backups, file), "x", 0o600)
			}
			spec := testSpec(v1.EnginePostgreSQL, "13.4")
			spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
			cmd := exec.CommandContext(t.Context(), "sh", "-c", backupConfig(t, mustRender(t, spec)).Data["prune.sh"])
			writeFile(t, filepath.Join(dir, "psql"), fmt.Sprintf("#!/bin/sh\necho %d\n", now.Unix()), 0o755)
			cmd.Env = append(cmd.Environ(), "PATH="+dir+":"+os.Getenv("PATH"), "BACKUPS="+backups, fmt.Sprintf("NOW=%d", now.Unix()),
				fmt.Sprintf("KEEP_LAST=%d", c.keepLast), fmt.Sprintf("KEEP_DAYS=%d", c.keepDays))
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
			want := slices.Sorted(slices.Values(c.want))
			if diff := cmp.Diff(want, glob(t, backups), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("left (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPruneTrustsNoSingleClock checks that a node 40 days ahead, and a database 40 days behind, remove no dump.
func TestPruneTrustsNoSingleClock(t *testing.T) {
	const day = 24 * 60 * 60
	for name, tt := range map[string]struct {
		clock  string
		pruned bool
		says   string
	}{
		"agree":              {`echo "$NOW"`, true, "is pruned"},
		"a little apart":     {`echo "$((NOW - 299))"`, true, "is pruned"},
		"the node is ahead":  {fmt.Sprintf(`echo "$((NOW - %d))"`, 40*day), false, "differ by 3456000 seconds"},
		"the node is behind": {`echo "$((NOW + 300))"`, false, "differ by 300 seconds"},
		"no answer":          {"exit 2", false, "the clock of the database is not known"},
		"another answer":     {"echo -1", false, "the clock of the database is not known"},
	} {
		for engine, client := range map[v1.Engine]string{v1.EnginePostgreSQL: "psql", v1.EngineMySQL: "mysql"} {
			t.Run(name+" "+string(engine), func(t *testing.T) {
				dir := t.TempDir()
				now := time.Date(2026, 3, 31, 2, 0, 0, 0, time.UTC)
				for _, days := range []int{0, 10, 20, 35} {
					writeFile(t, filepath.Join(dir, now.AddDate(0, 0, -days).Format("backup-20060102T150405Z.dump")), "x", 0o600)
				}
				bin := filepath.Join(dir, "bin")
				mustMkdir(t, bin)
				writeFile(t, filepath.Join(bin, client), "#!/bin/sh\n"+tt.clock+"\n", 0o755)
				spec := testSpec(engine, engines()[engine])
				spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
				cmd := exec.CommandContext(t.Context(), "sh", "-c", backupConfig(t, mustRender(t, spec)).Data["prune.sh"])
				cmd.Env = append(cmd.Environ(), "PATH="+bin+":"+os.Getenv("PATH"), "BACKUPS="+dir, fmt.Sprintf("NOW=%d", now.Unix()),
					"KEEP_LAST=1", "KEEP_DAYS=30", "DB_HOST=db", "DB_PORT=1", "DB_USER=shop")
				out, err := cmd.CombinedOutput()
				if (err == nil) != tt.pruned || !strings.Contains(string(out), tt.says) {
					t.Errorf("%v: %s", err, out)
				}
				if left := len(glob(t, dir)); (left == 4) != tt.pruned { // With bin.
					t.Errorf("%d dumps are left", left-1)
				}
			})
		}
	}
}

// TestADumpWithoutPruning checks that a dump that cannot prune is made all the same, and says so.
func TestADumpWithoutPruning(t *testing.T) {
	p := dumpingPod(t, `for a; do case $a in --file=*) echo dump >"${a#*=}";; esac; done`)
	old := filepath.Join(p.env["BACKUPS"], "backup-20200101T000000Z.dump")
	writeFile(t, old, "x", 0o666)
	p.env["SKEW"] = "-3456500"
	// The clocks are read one after the other.
	if out := p.must(t, "sh "+p.etc+"/backup.sh"); strings.Count(out, "differ by 3456") != 2 {
		t.Errorf("the log does not say why nothing is pruned: %s", out)
	}
	if _, err := os.Stat(old); err != nil {
		t.Error("a dump was pruned by a clock that is not trusted")
	}
	delete(p.env, "SKEW")
	if err := os.Remove(old); err != nil {
		t.Fatal(err)
	}
	for _, file := range glob(t, p.env["BACKUPS"]) {
		if strings.HasSuffix(file, ".json") && !strings.Contains(readFile(t, filepath.Join(p.env["BACKUPS"], file)), `"notPruned":"ClockSkew"`) {
			t.Errorf("the manifest does not say that nothing was pruned")
		}
	}
}

// TestRowsOfAnySize checks that every client that carries rows has the largest packet, beside which a row of 24 MiB
// ends a dump.
func TestRowsOfAnySize(t *testing.T) {
	t.Parallel()
	spec := testSpec(v1.EngineMySQL, engines()[v1.EngineMySQL])
	spec.Backup = Backup{Enabled: true, Schedule: "0 2 * * *"}
	script := strings.ReplaceAll(backupConfig(t, mustRender(t, spec)).Data["backup.sh"], "\\\n", "")
	var dumps []string
	for line := range strings.SplitSeq(script, "\n") {
		if strings.Contains(line, "mysqldump --") {
			dumps = append(dumps, line)
		}
	}
	if len(dumps) != 1 || !strings.Contains(dumps[0], "--max-allowed-packet=1G") {
		t.Errorf("dumps by %q", dumps)
	}
}

func backupConfig(t *testing.T, c component.Component) *corev1.ConfigMap {
	t.Helper()
	for _, cm := range objectsOf[*corev1.ConfigMap](c) {
		if _, ok := cm.Data["prune.sh"]; ok {
			return cm
		}
	}
	t.Fatal("there is no ConfigMap with prune.sh")
	return nil
}

func readFile(t *testing.T, path string) string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

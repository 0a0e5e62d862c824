package database

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// controlFile holds the output of pg_controldata for a replica that was stopped.
	controlFile = `Database system identifier:           7449110000000000001
Database cluster state:               shut down in recovery
Latest checkpoint's TimeLineID:       1
Minimum recovery ending location:     0/4FFFFD8
Min recovery ending loc's timeline:   1
`
	identified = "7449110000000000001 1 1/50 "
	askedAt    = "0/4FFFFFF"
)

// TestRebuildKeeps starts the pod of a replica that was asked to copy the primary's data again, once for
// each reason not to. In the first case nothing speaks against it.
func TestRebuildKeeps(t *testing.T) {
	change := func(old, replacement string) func(*rebuild) {
		return func(r *rebuild) { r.control = strings.Replace(r.control, old, replacement, 1) }
	}
	answer := func(line string) func(*rebuild) { return func(r *rebuild) { r.primary = line } }
	for name, tt := range map[string]struct {
		change func(*rebuild)
		// keeps is why the data stays; empty if it does not.
		keeps string
	}{
		"lost":                 {func(*rebuild) {}, ""},
		"crashed":              {change("shut down in recovery", "in archive recovery"), ""},
		"a former version":     {func(r *rebuild) { r.signal = "recovery.conf" }, ""},
		"at the position":      {change("0/4FFFFD8", askedAt), ""},
		"not asked":            {func(r *rebuild) { r.asked = "" }, "nothing"},
		"asked without check":  {func(r *rebuild) { r.asked, r.former = "", true }, "nothing"},
		"primary":              {func(r *rebuild) { r.pod = "shop-database-0" }, "nothing"},
		"promoted":             {func(r *rebuild) { r.signal = "" }, "not that of a standby"},
		"promoted and back":    {change("shut down in recovery", "shut down"), "not recovering"},
		"a copy, not started":  {change("shut down in recovery", "in production"), "not recovering"},
		"other database":       {answer("7449110000000000002 1 1/50 "), "another database"},
		"later timeline":       {change("TimeLineID:       1", "TimeLineID:       2"), "another timeline"},
		"recovers to timeline": {change("timeline:   1", "timeline:   2"), "another timeline"},
		"primary's is later":   {answer("7449110000000000001 2 1/50 "), "another timeline"},
		"primary lacks it":     {answer("7449110000000000001 1 0/4FFFFFE "), "does not have"},
		"followed since":       {change("0/4FFFFD8", "0/5000000"), "has followed"},
		"no primary":           {answer(""), "does not answer"},
		"primary says nothing": {answer("\n"), "stays"},
		"strange position":     {answer("7449110000000000001 1 here "), "does not have"},
		"no position":          {func(r *rebuild) { r.asked = "x" }, "stays"},
		"no control file":      {func(r *rebuild) { r.control = "" }, "cannot be read"},
		"other control file":   {func(r *rebuild) { r.control = "?\n" }, "not recovering"},
	} {
		t.Run(name, func(t *testing.T) {
			r := &rebuild{pod: "shop-database-1", signal: "standby.signal", control: controlFile, primary: identified, asked: askedAt}
			tt.change(r)
			p := r.prepare(t)
			out := p.must(t, "sh "+p.etc+"/prepare.sh")
			removed := !exists(t, p.env["PGDATA"], "precious")
			if removed != (tt.keeps == "") || tt.keeps != "" && tt.keeps != "nothing" && !strings.Contains(out, tt.keeps) {
				t.Errorf("removed: %t, want %q; the script said %s", removed, tt.keeps, out)
			}
			if r.pod == "shop-database-1" && linked(t, p.env["PGDATA"]) {
				t.Error("the request is valid for another start")
			}
			if kept := exists(t, p.env["PGDATA"]+keptSuffix); kept != (tt.keeps != "" && tt.keeps != "nothing") {
				t.Errorf("it was noted that the data stays: %t", kept)
			}
		})
	}
}

// TestRebuildOnce makes the copy fail after the data was removed, and copies it again: a request that is
// there for whatever reason removes no data that is complete.
func TestRebuildOnce(t *testing.T) {
	r := &rebuild{pod: "shop-database-1", signal: "standby.signal", control: controlFile, primary: identified, asked: askedAt}
	p := r.prepare(t)
	copies := filepath.Join(p.dir, "bin", "pg_basebackup")
	complete, err := os.ReadFile(copies)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, copies, "#!/bin/sh\nexit 1\n", 0o755)
	if out, err := p.run(t, "sh "+p.etc+"/prepare.sh"); err == nil || exists(t, p.env["PGDATA"]) || linked(t, p.env["PGDATA"]) {
		t.Fatalf("%v: %s", err, out)
	}
	writeFile(t, copies, string(complete), 0o755)
	p.must(t, "sh "+p.etc+"/prepare.sh")
	copied := filepath.Join(p.env["PGDATA"], "copied")
	writeFile(t, copied, "", 0o644)
	p.must(t, "sh "+p.etc+"/prepare.sh")
	if !exists(t, copied) {
		t.Error("the data was removed twice for one request")
	}
}

// TestRebuildRefusedAsksAgainLater checks that a start that refuses is not repeated for an hour.
func TestRebuildRefusedAsksAgainLater(t *testing.T) {
	r := &rebuild{pod: "shop-database-1", signal: "standby.signal", control: controlFile, primary: identified}
	p := r.prepare(t)
	writeFile(t, filepath.Join(p.dir, "bin", "psql"), "#!/bin/sh\necho "+askedAt+"\n", 0o755)
	kept := p.env["PGDATA"] + keptSuffix
	writeFile(t, kept, "it is not that of a standby\n", 0o666)
	if out, err := p.run(t, RebuildCommand()[2]); err == nil || !strings.Contains(out, "standby") || linked(t, p.env["PGDATA"]) {
		t.Errorf("%v: %s", err, out)
	}
	info, err := os.Stat(kept)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(kept, time.Time{}, info.ModTime().Add(-2*time.Hour)); err != nil {
		t.Fatal(err)
	}
	p.must(t, RebuildCommand()[2])
	if to, err := os.Readlink(p.env["PGDATA"] + rebuildSuffix); err != nil || to != askedAt {
		t.Errorf("asked at %q: %v", to, err)
	}
}

// TestRebuildReal asks real servers: one that was promoted, and the replica of another primary, keep
// their data, whatever asks for its removal.
func TestRebuildReal(t *testing.T) {
	usePostgreSQL(t)
	spec := testSpec(v1.EnginePostgreSQL, "15.4")
	spec.Replicas = 2
	primary, other := newPod(t, spec, "shop-database-0"), newPod(t, spec, "shop-database-0")
	for _, p := range []*pod{primary, other} {
		p.must(t, "sh "+p.etc+"/prepare.sh")
		p.serve(t)
	}
	for name, tt := range map[string]struct {
		promote bool
		from    *pod
		keeps   string
	}{
		"promoted":         {true, primary, "not that of a standby"},
		"another database": {false, other, "another database"},
	} {
		t.Run(name, func(t *testing.T) {
			replica := newPod(t, spec, "shop-database-1")
			replica.primaryPort = tt.from.port
			replica.must(t, "sh "+replica.etc+"/prepare.sh")
			replica.serve(t)
			if tt.promote {
				replica.must(t, replica.local(askServer)+` --command="SELECT pg_promote()"`)
			}
			if out, err := replica.run(t, replica.local(RebuildCommand()[2])); err == nil {
				t.Errorf("it can be asked: %s", out)
			}
			replica.stop(t)
			replica.primaryPort = primary.port
			replica.must(t, "ln -s 0/7000000 $PGDATA"+rebuildSuffix)
			replica.render(t)
			if out := replica.must(t, "sh "+replica.etc+"/prepare.sh"); !strings.Contains(out, tt.keeps) {
				t.Errorf("the script said %s", out)
			}
			if !exists(t, replica.env["PGDATA"], "PG_VERSION") {
				t.Error("the data was removed")
			}
		})
	}
}

// rebuild describes the pod of a replica and what the programs of PostgreSQL say there.
type rebuild struct {
	pod, signal, control, primary string
	// asked is the position in the request, former is true for one of an earlier release.
	asked  string
	former bool
}

// prepare returns the pod. Its data has the file precious.
func (r *rebuild) prepare(t *testing.T) *pod {
	t.Helper()
	p := newPod(t, testSpec(v1.EnginePostgreSQL, "15.4"), r.pod)
	data, bin := p.env["PGDATA"], filepath.Join(p.dir, "bin")
	mustMkdir(t, data)
	mustMkdir(t, bin)
	for _, name := range []string{"PG_VERSION", "precious", r.signal} {
		if name != "" {
			writeFile(t, filepath.Join(data, name), "15\n", 0o644)
		}
	}
	writeFile(t, filepath.Join(p.dir, "control"), r.control, 0o644)
	writeFile(t, filepath.Join(p.dir, "primary"), r.primary, 0o644)
	for name, script := range map[string]string{
		"pg_controldata": `[ -s "${0%/*}/../control" ] && cat "${0%/*}/../control"`,
		"psql":           `[ -s "${0%/*}/../primary" ] && cat "${0%/*}/../primary"`,
		"pg_basebackup":  `for a; do case $a in --pgdata=*) mkdir "${a#*=}" && echo 15 >"${a#*=}/PG_VERSION" ;; esac; done`,
		"pg_isready":     "exit 0",
		"sleep":          "exit 0",
	} {
		writeFile(t, filepath.Join(bin, name), "#!/bin/sh\n"+script+"\n", 0o755)
	}
	p.env["PATH"] = bin + ":" + p.env["PATH"]
	if r.asked != "" {
		if err := os.Symlink(r.asked, data+rebuildSuffix); err != nil {
			t.Fatal(err)
		}
	}
	if r.former {
		writeFile(t, data+".rebuild", "", 0o666)
	}
	return p
}

func exists(t *testing.T, path ...string) bool {
	t.Helper()
	_, err := os.Stat(filepath.Join(path...))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return err == nil
}

// linked reports whether a request to copy the data again is there.
func linked(t *testing.T, data string) bool {
	t.Helper()
	_, err := os.Lstat(data + rebuildSuffix)
	return err == nil
}

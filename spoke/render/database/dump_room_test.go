package database

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const (
	mebibyte = 1 << 20
	early    = "early-20260102T000000Z"
)

// TestFullClaim runs the script with dumps of a size on a volume of a size.
func TestFullClaim(t *testing.T) {
	const small = "The claim shop-database-backup is too small: it needs %d bytes for the newest dump and the next. Expand it, for example by spec.database.storage\n"
	for name, tt := range map[string]struct {
		// size is that of the volume, kept that of each of three dumps on it, and next that of
		// the dump that is made, in MiB.
		size, kept, next int
		mysql, fails     bool
		// gone are dumps that are removed early.
		gone int
		// needs is the size in the message of a pod that fails, in quarters of a MiB.
		needs int
	}{
		"space":                                 {size: 8, kept: 1, next: 1},
		"as large as the newest":                {size: 8, kept: 2, next: 2, gone: 1},
		"smaller than the newest":               {size: 8, kept: 2, next: 1},
		"larger than the newest":                {size: 6, kept: 1, next: 4, gone: 2},
		"larger, of MySQL":                      {size: 6, kept: 1, next: 4, mysql: true, gone: 2},
		"larger than the claim":                 {size: 6, kept: 1, next: 9, needs: 4 + 9*5},
		"larger than the claim, with few bytes": {size: 7, kept: 2, next: 9, needs: 8 + 9*5},
		"larger than all but the newest":        {size: 6, kept: 1, next: 5, needs: 4 + 5*5},
		"fails for something else":              {size: 8, kept: 1, fails: true},
		"fails, with few bytes":                 {size: 8, kept: 2, fails: true},
	} {
		t.Run(name, func(t *testing.T) {
			p := dumpingPod(t, fmt.Sprintf(`file=/dev/stdout
for a; do case $a in --file=*) file=${a#*=};; esac; done
head -c %d /dev/zero >"$file"`, tt.next*mebibyte))
			if tt.mysql {
				p = mysqlPod(t, tt.next*mebibyte)
			}
			if tt.fails {
				writeFile(t, filepath.Join(p.dir, "bin", "pg_dump"), "#!/bin/sh\nexit 1\n", 0o755)
			}
			p.mountClaim(t, tt.size*mebibyte)
			for _, name := range days(1, 2, 3) {
				p.fill(t, name, tt.kept*mebibyte)
			}
			p.env["KEEP_LAST"] = "7"
			out, err := p.run(t, "sh "+p.etc+"/backup.sh")
			if failed := tt.fails || tt.needs > 0; failed != (err != nil) {
				t.Fatalf("%v: %s", err, out)
			}
			want, removed, said := days(1, 2, 3)[tt.gone:], "", ""
			if tt.gone > 0 {
				removed = fmt.Sprintf("202601%02dT000000Z", tt.gone)
				want = append(want, "early-"+removed)
			}
			if tt.needs > 0 {
				said = fmt.Sprintf(small, tt.needs*mebibyte/4)
			}
			p.left(t, want, err == nil)
			p.reported(t, removed, said)
		})
	}
}

// TestInterruptedRemoval checks that a crash between the mark and the removal of a dump is finished by the next run,
// and is not forgotten, whatever becomes of that one.
func TestInterruptedRemoval(t *testing.T) {
	p := dumpingPod(t, "exit 1")
	for _, name := range append(days(2, 3), "early-20260101T000000Z", early) {
		p.fill(t, name, 1)
	}
	out, err := p.run(t, "sh "+p.etc+"/backup.sh")
	if err == nil || RemovedEarly(out) != "20260102T000000Z" {
		t.Errorf("the script said %q, %v", out, err)
	}
	p.left(t, append(days(3), early), false)
}

// recovers makes the script dump a real database to a claim that two dumps fill.
func (p *pod) recovers(t *testing.T) {
	t.Helper()
	p.mountClaim(t, mebibyte)
	for _, name := range days(1, 2) {
		p.fill(t, name, 400<<10)
	}
	p.env["KEEP_LAST"] = "7"
	out := p.must(t, "sh "+p.etc+"/backup.sh")
	if !strings.Contains(out, "backup-20260101T000000Z.dump is removed before its retention ended, to free space\n") {
		t.Errorf("the script said %q", out)
	}
	p.left(t, append(days(2), "early-20260101T000000Z"), true)
}

// mountClaim puts a file system of a size in place of the claim.
func (p *pod) mountClaim(t *testing.T, size int) {
	t.Helper()
	claim := p.env["BACKUPS"]
	if err := syscall.Mount("tmpfs", claim, "tmpfs", 0, fmt.Sprintf("size=%d,mode=777", size)); err != nil {
		t.Skipf("the scripts are not run on a full volume: mounting a tmpfs: %v; root in its own mount namespace may", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(claim, syscall.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
}

// fill writes a file of a size to the claim, as the user of the pod.
func (p *pod) fill(t *testing.T, name string, size int) {
	t.Helper()
	path := filepath.Join(p.env["BACKUPS"], name)
	writeFile(t, path, strings.Repeat("x", size), 0o600)
	if err := os.Chown(path, p.uid, p.uid); err != nil {
		t.Fatal(err)
	}
}

// left compares what is on the claim. If one was made, its two files are not among the wanted.
func (p *pod) left(t *testing.T, want []string, made bool) {
	t.Helper()
	got := glob(t, p.env["BACKUPS"])
	files := len(got)
	got = slices.DeleteFunc(got, func(name string) bool {
		return strings.HasPrefix(name, "backup-") && !strings.HasPrefix(name, "backup-2026010")
	})
	if diff := cmp.Diff(want, got); diff != "" || files-len(got) == 2 != made {
		t.Errorf("%d files of the new dump, others (-want +got):\n%s", files-len(got), diff)
	}
}

// reported compares what the pod's status says: the manifest, or why it failed.
func (p *pod) reported(t *testing.T, removed, failure string) {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(p.dir, "said"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	var m dumpManifest
	if failure == "" && err == nil {
		if err := json.Unmarshal(content, &m); err != nil {
			t.Fatalf("%v: %s", err, content)
		}
		content = nil
	}
	if m.RemovedEarly != removed || string(content) != failure {
		t.Errorf("the pod says %q, and that dumps up to %q were removed; want %q and %q", content, m.RemovedEarly, failure, removed)
	}
}

// mysqlPod returns a pod in which mysqldump prints so many bytes that do not compress.
func mysqlPod(t *testing.T, size int) *pod {
	t.Helper()
	p := dumpingPod(t, "")
	p.spec.Engine = "mysql"
	p.render(t)
	for name, script := range map[string]string{"mysql": "echo 0", "mysqldump": fmt.Sprintf("head -c %d /dev/urandom", size)} {
		writeFile(t, filepath.Join(p.dir, "bin", name), "#!/bin/sh\n"+script+"\n", 0o755)
	}
	maps.Copy(p.env, map[string]string{"DB_HOST": "127.0.0.1", "DB_PORT": p.port, "DB_USER": "shop", "DB_NAME": "shop_db"})
	return p
}

// days returns the names of dumps of earlier releases.
func days(numbers ...int) []string {
	var names []string
	for _, n := range numbers {
		names = append(names, fmt.Sprintf("backup-202601%02dT000000Z.dump", n))
	}
	return names
}

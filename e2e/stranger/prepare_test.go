package stranger

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/e2e/kind/testenv"
)

// plugin is the program that the archives have.
const plugin = "kubectl-shopfleet"

// options returns the options of the clusters.
func options() testenv.Options {
	root, err := filepath.Abs("../..")
	if err != nil {
		panic(err)
	}
	return testenv.Options{Root: root, Dir: filepath.Join(root, ".kind", "stranger"), Prefix: "shopfleet-stranger-", Progress: os.Stderr}
}

// prepare makes the clusters, a registry that their nodes pull from, and both releases in it.
func prepare(t *testing.T) *stranger {
	t.Helper()
	begin, o := time.Now(), options()
	if err := checkSources(t.Context(), o.Root); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if os.Getenv(keep) != "" {
			return
		}
		if err := testenv.Down(context.WithoutCancel(t.Context()), o); err != nil {
			t.Errorf("deleting the clusters: %v", err)
		}
	})
	env, err := testenv.Up(t.Context(), o)
	if err != nil {
		t.Fatalf("bringing the clusters up: %v", err)
	}
	s := &stranger{env: env, plugins: map[string]string{}}
	s.helm = s.tool(t, "helm")
	s.note("clusters and the images of a shop (prepared)", begin)
	release := filepath.Join(t.TempDir(), "release")
	s.run(t, "go", "-C", filepath.Join(o.Root, "e2e", "release"), "build", "-o", release, ".")
	s.registry = s.serve(t, release) + "/shopfleet"
	earlier := filepath.Join(t.TempDir(), "before")
	s.run(t, "git", "-C", o.Root, "worktree", "add", "--detach", earlier, framework.BeforeCommit)
	t.Cleanup(func() {
		cmd := exec.CommandContext(context.WithoutCancel(t.Context()), "git", "-C", o.Root, "worktree", "remove", "--force", earlier)
		if _, err := testenv.Run(cmd); err != nil {
			t.Error(err)
		}
	})
	modules, key := s.tool(t, "cyclonedx-gomod"), filepath.Join(t.TempDir(), "release.key")
	s.run(t, "openssl", "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-out", key)
	for version, root := range map[string]string{before: earlier, now: o.Root} {
		begin := time.Now()
		folder := filepath.Join(t.TempDir(), version)
		cmd := exec.CommandContext(t.Context(), release, "build", "--version", version, "--registry", s.registry,
			"--platforms", "linux/"+runtime.GOARCH, "--output", folder, "--helm", s.helm, "--cyclonedx-gomod", modules, "--key", key)
		cmd.Dir = root
		if _, err := testenv.Run(cmd); err != nil {
			t.Fatal(err)
		}
		s.run(t, release, "push", "--from", folder, "--to", s.registry, "--helm", s.helm, "--key", key)
		s.verify(t, folder)
		unpacked := t.TempDir()
		s.run(t, "tar", "--extract", "--file", filepath.Join(folder, fmt.Sprintf("%s_%s_linux_%s.tar.gz", plugin, version, runtime.GOARCH)), "--directory", unpacked)
		s.plugins[version] = filepath.Join(unpacked, plugin)
		s.note("release "+version+" (prepared)", begin)
	}
	return s
}

var errUncommitted = errors.New("no release is made of sources that are not committed: commit or remove what git status lists")

// checkSources returns an error if the release would refuse the sources, which it does only after the clusters are up.
func checkSources(ctx context.Context, root string) error {
	changes, err := testenv.Run(exec.CommandContext(ctx, "git", "-C", root, "status", "--porcelain"))
	if err == nil && strings.TrimSpace(changes) != "" {
		err = fmt.Errorf("%w:\n%s", errUncommitted, changes)
	}
	return err
}

// verify checks the files of a release by the commands of SECURITY.md that need no cosign.
func (s *stranger) verify(t *testing.T, folder string) {
	t.Helper()
	s.run(t, "sh", "-ec", `cd "$0"
		base64 --decode checksums.txt.sig > checksums.sig
		openssl dgst -sha256 -verify cosign.pub -signature checksums.sig checksums.txt
		sha256sum --check --strict --ignore-missing checksums.txt`, folder)
}

// tool returns the path of a pinned program.
func (s *stranger) tool(t *testing.T, target string) string {
	t.Helper()
	path, err := s.env.Tool(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// serve starts a registry at the address by which nodes reach this machine, and has them pull from it without TLS.
func (s *stranger) serve(t *testing.T, release string) string {
	t.Helper()
	gateways := s.run(t, "docker", "network", "inspect", "kind", "--format", "{{range .IPAM.Config}}{{.Gateway}} {{end}}")
	var gateway net.IP
	for field := range strings.FieldsSeq(gateways) {
		if ip := net.ParseIP(field); ip.To4() != nil {
			gateway = ip
		}
	}
	if gateway == nil {
		t.Fatalf("the network of kind has the gateways %q, want one with an IPv4 address", gateways)
	}
	cmd := exec.CommandContext(t.Context(), release, "serve", "--address", net.JoinHostPort(gateway.String(), "0"))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Wait() }) // The test's context ends it.
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("waiting for the address of the registry: %v", err)
	}
	address := strings.TrimSpace(line)
	hosts := fmt.Sprintf("server = %q\n\n[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n", "http://"+address, "http://"+address)
	folder := "/etc/containerd/certs.d/" + address
	nodes := []string{s.env.Hub.Node()}
	for _, m := range s.env.Members {
		nodes = append(nodes, m.Node())
	}
	for _, node := range nodes {
		cmd := exec.CommandContext(t.Context(), "docker", "exec", "--interactive", node, "sh", "-c", "mkdir -p "+folder+" && cat > "+folder+"/hosts.toml")
		cmd.Stdin = strings.NewReader(hosts)
		if _, err := testenv.Run(cmd); err != nil {
			t.Fatal(err)
		}
	}
	return address
}

package binaries_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

const (
	// released is the content of downloaded programs.
	released = "#!/bin/sh\necho released\n"
	// brief is how long a server may be silent in a test that waits for it.
	brief = 2 * time.Second
)

// pin returns the pinned version of a module.
func pin(t *testing.T, module string) string {
	t.Helper()
	for line := range strings.Lines(read(t, filepath.Join("..", "controlplane", "go.mod"))) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == module {
			return fields[1]
		}
	}
	t.Fatalf("%s is not pinned", module)
	return ""
}

// releases is a server with the paths of all three release servers.
type releases struct {
	files map[string][]byte
	// answer replaces the response to requests whose path contains path.
	at     string
	answer http.HandlerFunc
}

func sha256Of(raw []byte) string {
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:])
}

func newReleases(t *testing.T) *releases {
	t.Helper()
	platform := "linux-" + runtime.GOARCH
	r := &releases{files: map[string][]byte{}}

	kubernetes := "/release/" + pin(t, "k8s.io/kubernetes") + "/bin/linux/" + runtime.GOARCH + "/"
	for _, name := range []string{binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.Kubectl} {
		r.files[kubernetes+name] = []byte(released)
		r.files[kubernetes+name+".sha256"] = []byte(sha256Of([]byte(released)))
	}

	version := pin(t, "go.etcd.io/etcd/server/v3")
	folder, name := "/etcd-io/etcd/releases/download/"+version+"/", "etcd-"+version+"-"+platform
	archive := archived(t, map[string]string{name + "/etcdctl": "another program", name + "/etcd": released})
	r.files[folder+name+".tar.gz"] = archive
	r.files[folder+"SHA256SUMS"] = []byte(strings.Repeat("0", 64) + "  etcd-of-another-platform.tar.gz\n" + sha256Of(archive) + "  " + name + ".tar.gz\n")

	r.addKwok(t, platform)
	return r
}

func archived(t *testing.T, files map[string]string) []byte {
	t.Helper()
	var buffer bytes.Buffer
	compressed := gzip.NewWriter(&buffer)
	archive := tar.NewWriter(compressed)
	for name, text := range files {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o755, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if err := errors.Join(archive.Close(), compressed.Close()); err != nil {
		t.Fatal(err)
	}
	return buffer.Bytes()
}

func (r *releases) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	file, found := r.files[request.URL.Path]
	switch {
	case r.answer != nil && strings.HasSuffix(request.URL.Path, r.at):
		r.answer(w, request)
	case !found:
		http.NotFound(w, request)
	default:
		_, _ = w.Write(file)
	}
}

// at returns the release servers at an address.
func at(address string, maxSilence time.Duration) *binaries.Releases {
	return &binaries.Releases{
		Kubernetes: address, GitHub: address, GitHubAPI: address, Platform: "linux/" + runtime.GOARCH, MaxSilence: maxSilence,
	}
}

func (r *releases) serve(t *testing.T) string {
	t.Helper()
	server := httptest.NewServer(r)
	t.Cleanup(server.Close)
	return server.URL
}

// half announces a program, sends a part of it, and then does what comes next.
func half(next func(*http.Request)) http.HandlerFunc {
	return func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Length", "1000000")
		_, _ = w.Write(make([]byte, 1000))
		_ = http.NewResponseController(w).Flush()
		next(request)
		panic(http.ErrAbortHandler)
	}
}

func silent(request *http.Request) { <-request.Context().Done() }

// downloadTest is a server's response to one request, and the expected builds.
type downloadTest struct {
	name, at   string
	answer     http.HandlerFunc
	built      []string
	progress   string
	maxSilence time.Duration
}

func TestDownload(t *testing.T) {
	for _, test := range []downloadTest{
		{name: "everything", progress: "downloading etcd, kube-apiserver, kube-controller-manager, kube-scheduler, kubectl, kwok\n"},
		{
			name: "not found", at: "/kube-scheduler", answer: http.NotFound, built: []string{binaries.Scheduler},
			progress: "the server answered 404 Not Found",
		},
		{
			name: "no checksums", at: "/SHA256SUMS", answer: http.NotFound, built: []string{binaries.Etcd},
			progress: "cannot download etcd, building it instead: ",
		},
		{
			name: "not among the checksums", at: "/SHA256SUMS", built: []string{binaries.Etcd}, progress: "no checksum is published",
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("0000  another.tar.gz\n")) },
		},
		{
			name: "no description", at: "/tags/" + pin(t, "sigs.k8s.io/kwok"), built: []string{binaries.Kwok}, progress: "no checksum is published",
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("not JSON")) },
		},
		{
			name: "wrong program", at: "/kube-apiserver", built: []string{binaries.APIServer}, progress: "its checksum is not the published one",
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("#!/bin/sh\necho evil\n")) },
		},
		{
			name: "wrong archive", at: ".tar.gz", built: []string{binaries.Etcd}, progress: "its checksum is not the published one",
			answer: func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("#!/bin/sh\necho evil\n")) },
		},
		{
			name: "cut off", at: "/kubectl", built: []string{binaries.Kubectl}, progress: "unexpected EOF",
			answer: half(func(*http.Request) {}),
		},
		{
			name: "silent from the middle", at: "/kubectl", built: []string{binaries.Kubectl}, progress: "the server is silent for 2s",
			answer: half(silent), maxSilence: brief,
		},
	} {
		t.Run(test.name, test.run)
	}
}

func (d downloadTest) run(t *testing.T) {
	built := fakeGo(t, succeed)
	server := newReleases(t)
	server.at, server.answer = d.at, d.answer
	if d.maxSilence == 0 {
		d.maxSilence = time.Minute
	}
	var progress strings.Builder
	dir, err := binaries.Provider{Releases: at(server.serve(t), d.maxSilence), Progress: &progress}.Ensure(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var sources []string
	for source := range strings.FieldsSeq(read(t, built)) {
		sources = append(sources, path.Base(strings.TrimSuffix(source, "/server/v3")))
	}
	if diff := cmp.Diff(d.built, sources); diff != "" {
		t.Errorf("built (-want +got):\n%s\nprogress:\n%s", diff, progress.String())
	}
	d.check(t, dir)
	if !strings.Contains(progress.String(), d.progress) {
		t.Errorf("progress %q does not contain %q", progress.String(), d.progress)
	}
	if left := leftBehind(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

// check expects all programs, released or built.
func (d downloadTest) check(t *testing.T, dir binaries.Dir) {
	t.Helper()
	for _, name := range all() {
		if own := read(t, dir.Path(name)) != released; own != slices.Contains(d.built, name) {
			t.Errorf("%s is %q", name, read(t, dir.Path(name)))
		}
		if info, err := os.Stat(dir.Path(name)); err != nil || info.Mode()&0o100 == 0 {
			t.Errorf("%s is not executable: %v", name, err)
		}
	}
}

func TestDownloadWithoutNetwork(t *testing.T) {
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	for name, address := range map[string]string{
		// Nothing listens on port 1; the listener never answers.
		"refused": "http://127.0.0.1:1", "silent": "http://" + listener.Addr().String(),
	} {
		t.Run(name, func(t *testing.T) {
			built := fakeGo(t, succeed)
			var progress strings.Builder
			begin := time.Now()
			if _, err := (binaries.Provider{Releases: at(address, brief), Progress: &progress}).Ensure(t.Context()); err != nil {
				t.Fatal(err)
			}
			// The programs do not wait for each other: that would take six times as long.
			if took := time.Since(begin); took >= 6*brief {
				t.Errorf("it took %s", took)
			}
			if got := len(strings.Fields(read(t, built))); got != len(all()) {
				t.Errorf("built %d programs\n%s", got, progress.String())
			}
			if !strings.Contains(progress.String(), "cannot download kwok, building it instead: getting "+address) {
				t.Errorf("progress %q does not say why", progress.String())
			}
		})
	}
}

func TestDownloadIsCancelled(t *testing.T) {
	built := fakeGo(t, succeed)
	ctx, cancel := context.WithCancel(t.Context())
	server := newReleases(t)
	server.at, server.answer = "/kubectl", half(func(request *http.Request) {
		cancel()
		silent(request)
	})
	var progress strings.Builder
	_, err := binaries.Provider{Releases: at(server.serve(t), time.Minute), Progress: &progress}.Ensure(ctx)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want the cancellation", err)
	}
	if got := read(t, built); got != "" || strings.Contains(progress.String(), "building") {
		t.Errorf("it went on to build %q\n%s", got, progress.String())
	}
	if left := leftBehind(t); len(left) > 0 {
		t.Errorf("left behind: %q", left)
	}
}

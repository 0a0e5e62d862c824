package binaries_test

import (
	"crypto/sha512"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/binaries"
)

// TestDownloadOnMacOS expects the programs of envtest's archive and KWOK, and builds of the others;
// of what has another checksum, nothing is used.
func TestDownloadOnMacOS(t *testing.T) {
	files := map[string]string{"controller-tools/envtest/": ""}
	for _, name := range []string{binaries.Etcd, binaries.APIServer, binaries.Kubectl} {
		files["controller-tools/envtest/"+name] = released
	}
	archive := archived(t, files)
	sum := sha512.Sum512(archive)
	for name, test := range map[string]struct {
		platform, sum string
		built         []string
		progress      string
	}{
		"the published archive": {
			platform: "darwin/arm64", sum: hex.EncodeToString(sum[:]), built: []string{binaries.ControllerManager, binaries.Scheduler},
			progress: "downloading etcd, kube-apiserver, kubectl, kwok\n",
		},
		"another archive": {
			platform: "darwin/arm64", sum: strings.Repeat("0", 2*sha512.Size), progress: "its checksum is not the published one",
			built: []string{binaries.Etcd, binaries.APIServer, binaries.ControllerManager, binaries.Scheduler, binaries.Kubectl},
		},
		"another system": {platform: "freebsd/amd64", built: all()},
	} {
		t.Run(name, func(t *testing.T) {
			built := fakeGo(t, succeed)
			server := newReleases(t)
			server.at, server.answer = ".tar.gz", func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(archive) }
			server.addKwok(t, "darwin-arm64")
			from := at(server.serve(t), time.Minute)
			from.Platform, from.Envtest = test.platform, map[string]string{test.platform: test.sum}
			var progress strings.Builder
			dir, err := binaries.Provider{Releases: from, Progress: &progress}.Ensure(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			var sources []string
			for source := range strings.FieldsSeq(read(t, built)) {
				sources = append(sources, path.Base(strings.TrimSuffix(source, "/server/v3")))
			}
			slices.Sort(sources)
			slices.Sort(test.built)
			if diff := cmp.Diff(test.built, sources); diff != "" || !strings.Contains(progress.String(), test.progress) {
				t.Errorf("built (-want +got):\n%s\nprogress, in which %q is wanted:\n%s", diff, test.progress, progress.String())
			}
			downloadTest{built: test.built}.check(t, dir)
			if left := leftBehind(t); len(left) > 0 {
				t.Errorf("left behind: %q", left)
			}
		})
	}
}

// TestEnvtestAgreesWithThePins expects archives of the pinned minor version for both architectures: an
// API server of another one does not run with the other components.
func TestEnvtestAgreesWithThePins(t *testing.T) {
	minor := regexp.MustCompile(`v\d+\.\d+`)
	text := read(t, "releases.go")
	version := regexp.MustCompile(`envtestVersion = "(v[\d.]+)"`).FindStringSubmatch(text)
	if want := minor.FindString(pin(t, "k8s.io/kubernetes")); len(version) != 2 || minor.FindString(version[1]) != want {
		t.Errorf("envtest is of %q, and Kubernetes of %s: take the newest of that minor version from controller-tools' envtest-releases.yaml", version, want)
	}
	for _, platform := range []string{"darwin/amd64", "darwin/arm64"} {
		if sum, err := hex.DecodeString(binaries.PublicReleases().Envtest[platform]); err != nil || len(sum) != sha512.Size {
			t.Errorf("the checksum for %s is no SHA-512", platform)
		}
	}
}

// addKwok serves KWOK for a platform, with its checksum.
func (r *releases) addKwok(t *testing.T, platform string) {
	t.Helper()
	version := pin(t, "sigs.k8s.io/kwok")
	r.files["/kubernetes-sigs/kwok/releases/download/"+version+"/kwok-"+platform] = []byte(released)
	description, err := json.Marshal(map[string]any{"assets": []map[string]string{
		{"name": "kwokctl-" + platform, "digest": "sha256:" + strings.Repeat("0", 64)},
		{"name": "kwok-" + platform, "digest": "sha256:" + sha256Of([]byte(released))},
	}})
	if err != nil {
		t.Fatal(err)
	}
	r.files["/repos/kubernetes-sigs/kwok/releases/tags/"+version] = description
}

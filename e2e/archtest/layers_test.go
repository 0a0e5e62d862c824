package archtest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// pkg holds the output of go list for a package of this module.
type pkg struct {
	ImportPath   string
	Imports      []string
	TestImports  []string
	XTestImports []string
	Deps         []string
}

func TestLayers(t *testing.T) {
	pkgs := listPackages(t)
	t.Run("imports", func(t *testing.T) {
		for _, p := range pkgs {
			for _, problem := range checkLayers(p) {
				t.Error(problem)
			}
		}
	})
	// The table stands in the linter's configuration too: hold them together.
	t.Run("linter", func(t *testing.T) {
		config := readFile(t, ".golangci.yml")
		for _, p := range pkgs {
			r, ok := packageOf(p.ImportPath)
			path := strings.TrimPrefix(p.ImportPath, module+"/")
			if ok && r.layer != layerTests && !r.free && !linterNames(config, path) {
				t.Errorf("no depguard rule in .golangci.yml is for %s", path)
			}
		}
	})
}

// linterNames reports whether the files of a rule of depguard cover a package.
func linterNames(config, path string) bool {
	if strings.Contains(config, "${base-path}/"+path+"/*.go\n") {
		return true
	}
	for dir := path; dir != ""; {
		if strings.Contains(config, "- ${base-path}/"+dir+"/**\n") {
			return true
		}
		dir = dir[:max(0, strings.LastIndex(dir, "/"))]
	}
	return false
}

// checkLayers lists what is wrong with the imports of one package.
func checkLayers(p pkg) []string {
	r, ok := packageOf(p.ImportPath)
	if !ok {
		return []string{fmt.Sprintf("%s has no rule: add it to packages_test.go", p.ImportPath)}
	}
	problems := append(checkOurs(p, r), checkSpoke(p)...)
	problems = append(problems, checkSDKs(p, r)...)
	if r.layer <= layerDecisions {
		problems = append(problems, checkPure(p, r)...)
	}
	return problems
}

// checkOurs compares the imports of our own packages with the plan. Tests may
// import what they like: only product code has a layer.
func checkOurs(p pkg, from archPackage) []string {
	var problems []string
	for _, path := range p.Imports {
		if !strings.HasPrefix(path, module+"/") {
			continue
		}
		to, ok := packageOf(path)
		switch {
		case !ok: // Reported for that package itself.
		case from.mayImport(to):
		case to.layer == layerTests:
			problems = append(problems, fmt.Sprintf("%s imports %s, which is for tests only", p.ImportPath, path))
		default:
			problems = append(problems, fmt.Sprintf("%s (layer %d) must not import %s (layer %d)",
				p.ImportPath, from.layer, path, to.layer))
		}
	}
	return problems
}

// checkSpoke keeps the hub out of the spoke, in tests too: the hub imports the spoke as a library.
func checkSpoke(p pkg) []string {
	var problems []string
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		if strings.HasPrefix(p.ImportPath, module+"/spoke/") && strings.HasPrefix(path, module+"/hub/") {
			problems = append(problems, fmt.Sprintf("%s imports %s: nothing below spoke knows the hub", p.ImportPath, path))
		}
	}
	return problems
}

// checkSDKs keeps each cloud's SDK in that cloud's adapter, in tests too.
func checkSDKs(p pkg, from archPackage) []string {
	var problems []string
	for _, path := range slices.Concat(p.Imports, p.TestImports, p.XTestImports) {
		for _, owner := range archPackages() {
			if owner.sdk != "" && owner.path != from.path && strings.HasPrefix(path, owner.sdk) {
				problems = append(problems, fmt.Sprintf("%s imports %s: only %s may", p.ImportPath, path, owner.path))
			}
		}
	}
	return problems
}

// checkPure holds contract and decisions to values: the standard library without contexts,
// apimachinery and, above the contract, k8s.io/api, and no client even indirectly.
func checkPure(p pkg, from archPackage) []string {
	var problems []string
	for _, path := range p.Imports {
		if !allowedInPure(path, from.layer) {
			problems = append(problems, fmt.Sprintf("%s imports %s: layer %d holds only values and functions", p.ImportPath, path, from.layer))
		}
	}
	for _, path := range p.Deps {
		if isClient(path) && !slices.Contains(p.Imports, path) {
			problems = append(problems, fmt.Sprintf("%s depends on %s through another package", p.ImportPath, path))
		}
	}
	return problems
}

// allowedInPure reports whether a package of the two lowest layers may import a path directly.
func allowedInPure(path string, layer int) bool {
	switch {
	case path == "context":
		return layer == layerAPI
	case isStandard(path):
		return true
	case path == "github.com/robfig/cron/v3": // Its parser is a function of a text; schedules of Kubernetes are read by it.
		return layer == layerDecisions
	case path == "github.com/evanphx/json-patch/v5", path == "sigs.k8s.io/json": // Functions of texts.
		return layer == layerDecisions
	case strings.HasPrefix(path, "k8s.io/api/"): // Programs that import our types choose their own version of it.
		return layer == layerDecisions
	default:
		return strings.HasPrefix(path, module+"/") || // Checked by its layer.
			strings.HasPrefix(path, "k8s.io/apimachinery/")
	}
}

// isClient recognises the libraries that talk to an API server.
func isClient(path string) bool {
	return strings.HasPrefix(path, "k8s.io/client-go/") ||
		strings.HasPrefix(path, "sigs.k8s.io/controller-runtime") ||
		strings.HasPrefix(path, "sigs.k8s.io/multicluster-runtime")
}

// isStandard recognises the standard library: no dot in the first element.
func isStandard(path string) bool {
	first, _, _ := strings.Cut(path, "/")
	return !strings.Contains(first, ".")
}

// listPackages asks the go command for every package of the root module, with
// all packages that each depends on. With the flag -test, tests are packages too.
func listPackages(t *testing.T, flags ...string) []pkg {
	t.Helper()
	arguments := append([]string{"list", "-json=ImportPath,Imports,TestImports,XTestImports,Deps"}, flags...)
	cmd := exec.CommandContext(t.Context(), "go", append(arguments, "./...")...)
	cmd.Dir = root
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v\n%s", err, stderr.String())
	}
	var pkgs []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("reading the list of packages: %v", err)
		}
		pkgs = append(pkgs, p)
	}
	if len(pkgs) == 0 {
		t.Fatal("the go command lists no package of this module")
	}
	return pkgs
}

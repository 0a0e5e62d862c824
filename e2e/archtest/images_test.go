package archtest

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/version"
)

// floors returns the oldest release that an image may be pinned to, by the image's name without registry.
// A floor is raised when an advisory names an older release. What is in no registry, because tests
// build it, has none.
func floors() map[string]string {
	return map[string]string{
		// GHSA-c5c4-8r6x-56w3, CVE-2026-40574: addresses with several @ passed an allowed domain until v7.15.2.
		// GHSA-wr5q-7wxw-x568: forwarded addresses passed as those of the client until v7.15.5.
		"oauth2-proxy/oauth2-proxy": "v7.15.5",
		// What tests run stands for what users run, who choose the versions of their databases.
		"postgres": "v13.4",
		"mysql":    "v8.4",
		// Those of examples and tests, which no registry has.
		"ecommerce-frontend": "", "ecommerce-backend": "", "shopfleet-customer": "", "shop": "", "frontend": "",
	}
}

// pinned is a literal with an image and a tag that begins with a number.
var pinned = regexp.MustCompile(`^(?:[a-z0-9-]+(?:\.[a-z0-9-]+)+/)?([a-z][a-z0-9/_-]*):(v?[0-9][a-zA-Z0-9._-]*)(@sha256:[0-9a-f]{64})?$`)

// checkImages finds the images in a file that are pinned without a floor, or below it.
func checkImages(f file) ([]string, error) {
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, f.path, f.text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("parsing %s: %w", f.path, err)
	}
	var problems []string
	ast.Inspect(tree, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		if problem := belowFloor(text); problem != "" {
			problems = append(problems, fmt.Sprintf("%s: %s", set.Position(literal.Pos()), problem))
		}
		return true
	})
	return problems, nil
}

// belowFloor says what is wrong with a reference to an image; empty if nothing is, or if it is none.
func belowFloor(reference string) string {
	parts := pinned.FindStringSubmatch(reference)
	if parts == nil {
		return ""
	}
	name := parts[1]
	floor, known := floors()[name]
	switch {
	case !known:
		return fmt.Sprintf("the image %q has no floor: add the oldest release that may be pinned to the test's table", name)
	case floor == "":
		return ""
	}
	release, err := version.ParseGeneric(parts[2])
	if err != nil || release.LessThan(version.MustParseGeneric(floor)) {
		return fmt.Sprintf("the image %q is pinned to %s, want %s or newer", name, parts[2], floor)
	}
	return ""
}

// TestImages checks that no image is pinned to a release with a known hole, in the product or in the
// environments of tests.
func TestImages(t *testing.T) {
	found := 0
	for _, f := range listFiles(t) {
		if !f.isGo() || f.isTest() {
			continue
		}
		found += strings.Count(f.text, "oauth2-proxy:v")
		problems, err := checkImages(f)
		if err != nil {
			t.Error(err)
		}
		for _, problem := range problems {
			t.Error(problem)
		}
	}
	if found < 2 {
		t.Errorf("the login's image is pinned %d times, want by the product and by the tests on kind", found)
	}
}

func TestBelowFloor(t *testing.T) {
	for reference, wrong := range map[string]bool{
		"quay.io/oauth2-proxy/oauth2-proxy:v7.15.6": false, "oauth2-proxy/oauth2-proxy:v7.16.0": false,
		"quay.io/oauth2-proxy/oauth2-proxy:v7.12.0": true, "quay.io/oauth2-proxy/oauth2-proxy:v7.15.4": true,
		"quay.io/oauth2-proxy/oauth2-proxy:v7.9.0@sha256:" + strings.Repeat("0", 64): true,
		"docker.io/others/exporter:v1.0.0":                                           true,
		"postgres:12.9":                                                              true,
		"a sentence: 1":                                                              false,
	} {
		if got := belowFloor(reference); (got != "") != wrong {
			t.Errorf("%s: %q", reference, got)
		}
	}
}

// TestLoginProgram checks that the program that stands in for the login's image on kind is the one
// that the image has.
func TestLoginProgram(t *testing.T) {
	const program = "github.com/oauth2-proxy/oauth2-proxy/v7"
	files := listFiles(t)
	at := slices.IndexFunc(files, func(f file) bool { return f.path == "e2e/kind/oauth2proxy/go.mod" })
	if at < 0 {
		t.Fatal("e2e/kind/oauth2proxy/go.mod is missing")
	}
	required := regexp.MustCompile(regexp.QuoteMeta(program) + ` (v[0-9.]+)`).FindStringSubmatch(files[at].text)
	if required == nil {
		t.Fatalf("%s is not required", program)
	}
	if image := "quay.io/oauth2-proxy/oauth2-proxy:" + required[1]; belowFloor(image) != "" || !pinnedBy(files, image) {
		t.Errorf("the program is %s, and no image of it is rendered, or it is too old", required[1])
	}
}

// pinnedBy reports whether the spoke renders an image.
func pinnedBy(files []file, image string) bool {
	return slices.ContainsFunc(files, func(f file) bool {
		return f.path == "spoke/render/login.go" && strings.Contains(f.text, strconv.Quote(image))
	})
}

package archtest

import (
	"strings"
	"testing"
)

// The tests below show that each check can fail.

func TestCheckLayers(t *testing.T) {
	cases := map[string]struct {
		pkg  pkg
		want string // Part of the only problem; empty: none.
	}{
		"down is fine":         {pkg{ImportPath: "hub/app", Imports: []string{module + "/hub/members", "k8s.io/client-go/rest"}}, ""},
		"inside is fine":       {pkg{ImportPath: "spoke/render", Imports: []string{module + "/spoke/render/database"}}, ""},
		"up":                   {pkg{ImportPath: "hub/members", Imports: []string{module + "/hub/setup"}}, "must not import"},
		"same layer":           {pkg{ImportPath: "hub/app/placement", Imports: []string{module + "/hub/app/aggregate"}}, "must not import"},
		"shared value types":   {pkg{ImportPath: "api/mysql/v1", Imports: []string{module + "/api/v1"}}, ""},
		"not the other way":    {pkg{ImportPath: "api/v1", Imports: []string{module + "/api/mysql/v1"}}, "must not import"},
		"config from above":    {pkg{ImportPath: "hub/members", Imports: []string{module + "/config"}}, ""},
		"config from below":    {pkg{ImportPath: "hub/app/aggregate", Imports: []string{module + "/config"}}, "must not import"},
		"a main":               {pkg{ImportPath: "cmd/hub", Imports: []string{module + "/hub/setup"}}, ""},
		"a main that decides":  {pkg{ImportPath: "cmd/hub", Imports: []string{module + "/hub/app/placement"}}, "must not import"},
		"test support":         {pkg{ImportPath: "hub/setup", Imports: []string{module + "/e2e/fleet"}}, "for tests only"},
		"test support, tested": {pkg{ImportPath: "hub/setup", XTestImports: []string{module + "/e2e/fleet"}}, ""},
		"spoke to hub":         {pkg{ImportPath: "spoke/setup", Imports: []string{module + "/hub/data/steps"}}, "knows the hub"},
		"spoke to hub, tested": {pkg{ImportPath: "spoke/apply", TestImports: []string{module + "/hub/app"}}, "knows the hub"},
		"hub to spoke":         {pkg{ImportPath: "hub/app", Imports: []string{module + "/spoke/component"}}, ""},
		"e2e":                  {pkg{ImportPath: "e2e/demo", Imports: []string{module + "/hub/setup", module + "/api/apitest"}}, ""},
		"no rule":              {pkg{ImportPath: "hub/unknown"}, "has no rule"},
		"top":                  {pkg{ImportPath: ""}, "has no rule"},
		"SDK in its adapter":   {pkg{ImportPath: "cloud/aws", Imports: []string{"github.com/aws/aws-sdk-go-v2/aws"}}, ""},
		"SDK in a neighbour":   {pkg{ImportPath: "cloud/gcp", Imports: []string{"github.com/aws/aws-sdk-go-v2/aws"}}, "only cloud/aws may"},
		"SDK in a test":        {pkg{ImportPath: "hub/setup", TestImports: []string{"github.com/Azure/azure-sdk-for-go/sdk"}}, "only cloud/azure may"},
		"SDK in the port":      {pkg{ImportPath: "cloud", Imports: []string{"cloud.google.com/go/compute"}}, "only cloud/gcp may"},
		"context":              {pkg{ImportPath: "spoke/component", Imports: []string{"context"}}, "values and functions"},
		"context above":        {pkg{ImportPath: "spoke/apply", Imports: []string{"context"}}, ""},
		"client":               {pkg{ImportPath: "hub/app/placement", Imports: []string{"k8s.io/client-go/rest"}}, "values and functions"},
		"client in contract":   {pkg{ImportPath: "api/v1", Imports: []string{"sigs.k8s.io/controller-runtime/pkg/scheme"}}, "values and functions"},
		"client, indirectly":   {pkg{ImportPath: "hub/app/aggregate", Imports: []string{"fmt"}, Deps: []string{"k8s.io/client-go/rest"}}, "through another package"},
		"values":               {pkg{ImportPath: "spoke/render", Imports: []string{"time", "k8s.io/api/core/v1", "k8s.io/apimachinery/pkg/types"}}, ""},
		"types of the API":     {pkg{ImportPath: "api/v1", Imports: []string{"time", "k8s.io/apimachinery/pkg/types"}}, ""},
		"more in the API":      {pkg{ImportPath: "api/v1", Imports: []string{"k8s.io/api/core/v1"}}, "imports k8s.io/api/core/v1"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.pkg.ImportPath = module + "/" + c.pkg.ImportPath
			expectProblem(t, checkLayers(c.pkg), c.want)
		})
	}
}

func TestCheckLinked(t *testing.T) {
	const ec2, compute, azcore = "github.com/aws/aws-sdk-go-v2/service/ec2", "cloud.google.com/go/compute/apiv1", "github.com/Azure/azure-sdk-for-go/sdk/azcore"
	cases := map[string]struct {
		pkg  pkg
		want string
	}{
		"the hub":               {pkg{ImportPath: "cmd/hub", Deps: []string{ec2, compute, azcore}}, ""},
		"the spoke":             {pkg{ImportPath: "cmd/spoke", Deps: []string{"fmt", azcore}}, "links " + azcore},
		"the plugin":            {pkg{ImportPath: "cmd/kubectl-shopfleet", Deps: []string{compute}}, "links " + compute},
		"a fake":                {pkg{ImportPath: "cloud/fake/ec2", Deps: []string{ec2}}, "links " + ec2},
		"an adapter":            {pkg{ImportPath: "cloud/aws", Deps: []string{ec2}}, ""},
		"an adapter's tests":    {pkg{ImportPath: "cloud/aws.test", Deps: []string{ec2}}, ""},
		"part of an adapter":    {pkg{ImportPath: "cloud/gcp/identity", Deps: []string{compute}}, ""},
		"a neighbour":           {pkg{ImportPath: "cloud/azure", Deps: []string{compute}}, "links " + compute},
		"an adapter in a test":  {pkg{ImportPath: "hub/setup_test [" + module + "/hub/setup.test]", Deps: []string{ec2}}, "links " + ec2},
		"an adapter end to end": {pkg{ImportPath: "e2e/cloud.test", Deps: []string{ec2}}, ""},
		"another of that owner": {pkg{ImportPath: "cmd/spoke", Deps: []string{"github.com/awslabs/a"}}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			c.pkg.ImportPath = module + "/" + c.pkg.ImportPath
			expectProblem(t, checkLinked(c.pkg), c.want)
		})
	}
}

func TestLinterNames(t *testing.T) {
	config := "- ${base-path}/spoke/render/**\n- ${base-path}/hub/data/restore/**\n- ${base-path}/cloud/*.go\n"
	for path, want := range map[string]bool{
		"spoke/render":           true,
		"hub/data/restore/steps": true,
		"hub/data":               false,
		"cloud":                  true,
		"cloud/aws":              false,
		"spoke":                  false,
		"hub/members":            false,
	} {
		if got := linterNames(config, path); got != want {
			t.Errorf("linterNames(%q) = %v, want %v", path, got, want)
		}
	}
}

func TestChecksOfFiles(t *testing.T) {
	long := func(lines int) string { return "package a\n" + strings.Repeat("\n", lines-1) }
	sections := "// Package a is a.\n//\n// # Purpose\n//\n// # Non-goals\n//\n// # Trade-offs\npackage a\n"
	generated := "//go:build x\n\n// Code generated by controller-gen. DO NOT EDIT.\n\n"
	cases := map[string]struct {
		check func([]file) []string
		files []file
		want  string
	}{
		"file at the limit": {checkFileSizes, []file{{"hub/a/a.go", long(400)}}, ""},
		"file too long":     {checkFileSizes, []file{{"hub/a/a.go", long(401)}}, "401 lines"},
		"test too long":     {checkFileSizes, []file{{"hub/a/a_test.go", long(401)}}, "401 lines"},
		"generated by name": {checkFileSizes, []file{{"api/v1/zz_generated.deepcopy.go", long(900)}}, ""},
		"generated":         {checkFileSizes, []file{{"api/v1/a.go", generated + long(900)}}, ""},
		"not generated":     {checkFileSizes, []file{{"api/v1/a.go", long(900) + generated}}, "904 lines"},
		"not Go":            {checkFileSizes, []file{{"config/crd/a.yaml", long(900)}}, ""},

		"doc":           {checkDocs, []file{{"hub/a/a.go", ""}, {"hub/a/doc.go", sections}}, ""},
		"no doc":        {checkDocs, []file{{"hub/a/a.go", ""}, {"hub/doc.go", sections}}, "hub/a/ has no doc.go"},
		"no section":    {checkDocs, []file{{"hub/doc.go", strings.Replace(sections, "Non-goals", "Aims", 1)}}, `no section "Non-goals"`},
		"no doc needed": {checkDocs, []file{{"hub/a/testdata/a.go", ""}, {"config/a.yaml", ""}}, ""},

		"plain name":    {checkNames, []file{{"hub/app/placement/a.go", "package placement\n"}}, ""},
		"vague folder":  {checkNames, []file{{"hub/utils/a.yaml", ""}}, `"utils"`},
		"vague parent":  {checkNames, []file{{"hub/common/a/a.go", "package a\n"}}, `"common"`},
		"vague package": {checkNames, []file{{"hub/a/a.go", "package helpers\n"}}, `"helpers"`},
		"vague test":    {checkNames, []file{{"hub/a/a_test.go", "package util_test\n"}}, `"util_test"`},

		"known tops":   {checkTop, []file{{"cmd/a.go", ""}, {"go.mod", ""}, {".ci/run", ""}, {"SECURITY.md", ""}}, ""},
		"another page": {checkTop, []file{{"HACKING.md", ""}}, "HACKING.md does not belong"},
		"unknown top":  {checkTop, []file{{"pkg/a.go", ""}, {"pkg/b.go", ""}}, "pkg does not belong"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) { expectProblem(t, c.check(c.files), c.want) })
	}
}

func TestCheckMachinePaths(t *testing.T) {
	path := func(elements ...string) string { return "/" + strings.Join(elements, "/") + "/" }
	cases := map[string]struct{ text, want string }{
		"clean":            {"cd config", ""},
		"checkout":         {"first\ncd " + path("work") + "main", "a.md:2 mentions"},
		"home":             {`"` + path("root") + `.cache"`, "a.md:1 mentions"},
		"at the start":     {path("root"), "a.md:1 mentions"},
		"part of a URL":    {"https://example.com" + path("work") + "a", ""},
		"part of a path":   {"import k8s.io/api" + path("work", "v1"), ""},
		"part of a word":   {path("workers"), ""},
		"picture, no line": {"\x00 " + path("root"), ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, checkMachinePaths(file{"a.md", c.text}), c.want)
		})
	}
}

func TestCheckLinks(t *testing.T) {
	cases := map[string]struct {
		file file
		want string
	}{
		"there":        {file{"hub/README.md", "see [it](../api)"}, ""},
		"not there":    {file{"hub/README.md", "see [it](../gone/a.go)"}, "links to ../gone/a.go"},
		"section":      {file{"README.md", "[a](#a), [b](api#b), [c](gone.md#c)"}, "links to gone.md"},
		"another site": {file{"README.md", "[a](https://example.com/gone)"}, ""},
		"not Markdown": {file{"a.go", "// [it](gone)"}, ""},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			expectProblem(t, checkLinks(c.file, func(name string) bool { return name == "api" }), c.want)
		})
	}
}

func TestCheckTestNames(t *testing.T) {
	cases := map[string]struct {
		file file
		want string
	}{
		"there":        {file{"a.md", "| `TestA` | `TestA/case` |"}, ""},
		"not there":    {file{"a.md", "| `TestB/case` |"}, "names TestB"},
		"not a test":   {file{"a.md", "`Testing`"}, ""},
		"not Markdown": {file{"a.go", "// `TestB`"}, ""},
		"command":      {file{"Makefile", "go test -run TestB -bench '^BenchmarkA$$'"}, "names TestB"},
		"benchmark":    {file{".ci/run", "go test -bench BenchmarkB"}, "names BenchmarkB"},
		"skips":        {file{".ci/skips", "# TestB\ncloud/*  TestA/*  reason\ncloud/*  Test*/*  reason"}, ""},
		"skips a test": {file{".ci/skips", "cloud/*  TestB  reason"}, "no test is cloud/* TestB"},
		"in a package": {file{".ci/skips", "hub/*  TestA  reason"}, "no test is hub/* TestA"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			exist := map[string][]string{"TestA": {"cloud/aws"}, "BenchmarkA": {"e2e/bench"}}
			expectProblem(t, append(checkTestNames(c.file, exist), checkSkips(c.file, exist)...), c.want)
		})
	}
}

func TestCheckSource(t *testing.T) {
	cases := map[string]struct {
		layer      int
		expression string
		want       string
	}{
		"clock in a decision":    {layerDecisions, `time.Now()`, "reads the clock"},
		"timer in a decision":    {layerDecisions, `time.After(1)`, "reads the clock"},
		"API clock":              {layerDecisions, `metav1.Now()`, "reads the clock"},
		"duration in a decision": {layerDecisions, `5 * time.Second`, ""},
		"clock in an adapter":    {layerAdapters, `time.NewTimer(1)`, ""}, // What is wrong there, forbidigo says.
		"text of an error":       {layerControllers, `strings.Contains(err.Error(), "not found")`, "text of an error"},
		"prefix of an error":     {layerControllers, `strings.HasPrefix(errors.Unwrap(err).Error(), "x")`, "text of an error"},
		"equal text":             {layerControllers, `err.Error() == "x"`, "text of an error"},
		"text shown":             {layerControllers, `fmt.Sprint(err.Error())`, ""},
		"other text":             {layerControllers, `strings.Contains(name, "x")`, ""},
		"docstring":              {layerControllers, "1\n\n// a does it.\nfunc a() {}", ""},
		"former name":            {layerControllers, "1\n\n// b does it.\nfunc a() {}", "names another"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			problems, err := checkSource(file{"a.go", "package a\n\nvar x = " + c.expression + "\n"}, c.layer)
			if err != nil {
				t.Fatal(err)
			}
			expectProblem(t, problems, c.want)
		})
	}
}

// expectProblem wants exactly one problem, or none if the wanted text is empty.
func expectProblem(t *testing.T, problems []string, want string) {
	t.Helper()
	switch {
	case want == "" && len(problems) == 0:
	case want != "" && len(problems) == 1 && strings.Contains(problems[0], want):
	default:
		t.Errorf("got problems %q, want one with %q", problems, want)
	}
}

package install

import (
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/hub/app"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
	"github.com/shopfleet/shopfleet/hub/data/backup/scheduler"
	"github.com/shopfleet/shopfleet/hub/metrics"
	"github.com/shopfleet/shopfleet/spoke/controller"
)

// rules writes the PrometheusRules as rule files of Prometheus.
func rules(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for _, process := range processes() {
		var rule struct {
			Spec map[string]any `json:"spec"`
		}
		source := filepath.Join(root, "config/monitoring", string(process), "prometheusrule.yaml")
		raw, err := os.ReadFile(source)
		if err != nil {
			t.Fatal(err)
		}
		if err := yaml.Unmarshal(raw, &rule); err != nil {
			t.Fatal(err)
		}
		if raw, err = yaml.Marshal(rule.Spec); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, string(process)+".yaml"), raw, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(filepath.Join(root, "config/monitoring/rules_test.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(folder, "rules_test.yaml"), raw, 0o600); err != nil {
		t.Fatal(err)
	}
	return folder
}

// TestRules makes promtool check the rules and run their tests.
func TestRules(t *testing.T) {
	folder := rules(t)
	for _, arguments := range [][]string{
		{"check", "rules", "--lint-fatal", filepath.Join(folder, "hub.yaml"), filepath.Join(folder, "spoke.yaml")},
		{"test", "rules", filepath.Join(folder, "rules_test.yaml")},
	} {
		cmd := exec.CommandContext(t.Context(), built(t, "promtool"), arguments...)
		if said, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(arguments[:2], " "), err, said)
		}
	}
}

// TestDashboardQueriesParse makes promtool parse the queries, with a value for each variable.
func TestDashboardQueriesParse(t *testing.T) {
	variable := regexp.MustCompile(`\$[a-z_]+`)
	var recorded []map[string]any
	for i, expression := range expressionsOf(dashboard(t)) {
		recorded = append(recorded, map[string]any{"record": "panel:query:" + strconv.Itoa(i), "expr": variable.ReplaceAllString(expression, "value")})
	}
	raw, err := yaml.Marshal(map[string]any{"groups": []any{map[string]any{"name": "dashboard", "rules": recorded}}})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "dashboard.yaml")
	if err := os.WriteFile(path, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	if said, err := exec.CommandContext(t.Context(), built(t, "promtool"), "check", "rules", path).CombinedOutput(); err != nil {
		t.Errorf("promtool check rules: %v\n%s", err, said)
	}
}

// TestDashboardDataSource checks that the data source is a variable, in each place that names one.
func TestDashboardDataSource(t *testing.T) {
	found := dashboard(t)
	text, err := json.Marshal(found)
	if err != nil {
		t.Fatal(err)
	}
	uids := regexp.MustCompile(`"uid":"([^"]*)"`).FindAllStringSubmatch(string(text), -1)
	for _, uid := range uids {
		if uid[1] != "${datasource}" && uid[1] != found["uid"] {
			t.Errorf("the data source %q is not a variable", uid[1])
		}
	}
	if queries := len(expressionsOf(found)); len(uids) < queries {
		t.Errorf("%d data sources for %d queries", len(uids), queries)
	}
}

// TestDashboardSumsOverMembers checks that sums are by controller: per-cluster controllers and their queues are named
// "controller/cluster", so a sum by that name has one line for each member.
func TestDashboardSumsOverMembers(t *testing.T) {
	perMember := regexp.MustCompile(`by \([^)]*\b(controller|name)\b[^)]*\)`)
	for _, expression := range expressionsOf(dashboard(t)) {
		if perMember.MatchString(expression) {
			t.Errorf("one line for each member: %s", expression)
		}
	}
}

// names collects the metrics that are registered: their labels, with commas, by name.
type names map[string]string

func (n names) Register(c prometheus.Collector) error {
	descriptions := make(chan *prometheus.Desc)
	go func() {
		defer close(descriptions)
		c.Describe(descriptions)
	}()
	described := regexp.MustCompile(`fqName: "([a-z_]+)".*variableLabels: {([a-z,]*)}`)
	for d := range descriptions {
		found := described.FindStringSubmatch(d.String())
		n[found[1]] = found[2]
	}
	return nil
}

func (n names) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = n.Register(c)
	}
}

func (names) Unregister(prometheus.Collector) bool { return false }

// ours returns the metrics of the hub and of the spoke.
func ours(t *testing.T) names {
	t.Helper()
	found := names{}
	if _, err := app.NewMetrics(found); err != nil {
		t.Fatal(err)
	}
	if _, err := metrics.NewMetrics(found); err != nil {
		t.Fatal(err)
	}
	if _, err := controller.NewMetrics(found); err != nil {
		t.Fatal(err)
	}
	if _, err := scheduler.NewMetrics(found, testingclock.NewFakePassiveClock(time.Time{})); err != nil {
		t.Fatal(err)
	}
	found.MustRegister(accounts.NewRequests())
	if len(found) < 20 {
		t.Fatalf("%d metrics of ours: %v", len(found), found)
	}
	return found
}

// TestOnlyMetricsThatExist checks that rules and dashboard use existing metrics only: an alert on another one would
// never fire.
func TestOnlyMetricsThatExist(t *testing.T) {
	exists, used := ours(t), map[string]bool{}
	metric := regexp.MustCompile(`\b(shopfleet_[a-z_]+)\b[{\[]`)
	for _, expression := range expressions(t) {
		for _, found := range metric.FindAllStringSubmatch(expression, -1) {
			used[found[1]] = true
			if _, ok := exists[strings.TrimSuffix(found[1], "_bucket")]; !ok {
				t.Errorf("metric %s does not exist, in %s", found[1], expression)
			}
		}
	}
	for name := range exists {
		if !used[name] && !used[name+"_bucket"] {
			t.Errorf("metric %s is neither in a rule nor in the dashboard", name)
		}
	}
}

// TestMetricsAreDocumented checks that the reference of the hub has each metric with its labels.
func TestMetricsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "hub/REFERENCE.md"))
	if err != nil {
		t.Fatal(err)
	}
	exists := ours(t)
	for name, labels := range exists {
		if documented := "`" + name + "{" + labels + "}`"; !strings.Contains(string(page), documented) {
			t.Errorf("hub/REFERENCE.md lacks %s", documented)
		}
	}
	for _, found := range regexp.MustCompile("`(shopfleet_[a-z_]+){").FindAllStringSubmatch(string(page), -1) {
		if _, ok := exists[found[1]]; !ok {
			t.Errorf("hub/REFERENCE.md has the metric %s, which does not exist", found[1])
		}
	}
}

// TestAlertsAreDocumented checks that config/README.md lists each alert with its severities.
func TestAlertsAreDocumented(t *testing.T) {
	page, err := os.ReadFile(filepath.Join(root, "config/README.md"))
	if err != nil {
		t.Fatal(err)
	}
	documented := map[string]string{}
	for _, row := range regexp.MustCompile("(?m)^\\| (`Shopfleet[^|]*) \\| ([^|]*) \\|").FindAllStringSubmatch(string(page), -1) {
		for _, name := range regexp.MustCompile("Shopfleet[A-Za-z]+").FindAllString(row[1], -1) {
			documented[name] = row[2]
			if strings.HasSuffix(row[2], "; slow also critical") && !strings.HasSuffix(name, "Slow") {
				documented[name] = strings.TrimSuffix(row[2], "; slow also critical")
			}
		}
	}
	exists := map[string]string{}
	for _, process := range processes() {
		for _, object := range kustomize(t, "monitoring/"+string(process)) {
			maps.Copy(exists, alertsOf(object.Object))
		}
	}
	if diff := cmp.Diff(exists, documented); diff != "" {
		t.Errorf("alerts (-config/monitoring +config/README.md):\n%s", diff)
	}
}

// alertsOf returns the severities of alerts at any depth, as the page has them.
func alertsOf(value any) map[string]string {
	all := map[string]string{}
	switch v := value.(type) {
	case map[string]any:
		if name, ok := v["alert"].(string); ok {
			labels, _ := v["labels"].(map[string]any)
			all[name], _ = labels["severity"].(string)
			if strings.HasSuffix(name, "Slow") {
				all[name] = "warning; slow also critical"
			}
			return all
		}
		for _, child := range v {
			maps.Copy(all, alertsOf(child))
		}
	case []any:
		for _, child := range v {
			maps.Copy(all, alertsOf(child))
		}
	}
	return all
}

// expressions returns those of the rules and of the dashboard.
func expressions(t *testing.T) []string {
	t.Helper()
	all := expressionsOf(dashboard(t))
	for _, process := range processes() {
		for _, object := range kustomize(t, "monitoring/"+string(process)) {
			all = append(all, expressionsOf(object.Object)...)
		}
	}
	if len(all) < 40 {
		t.Fatalf("%d expressions, want those of rules and dashboard", len(all))
	}
	return all
}

// expressionsOf returns the strings in fields named expr at any depth.
func expressionsOf(value any) []string {
	var all []string
	switch v := value.(type) {
	case map[string]any:
		if text, ok := v["expr"].(string); ok {
			all = append(all, text)
		}
		for _, inner := range v {
			all = append(all, expressionsOf(inner)...)
		}
	case []any:
		for _, inner := range v {
			all = append(all, expressionsOf(inner)...)
		}
	}
	return all
}

func dashboard(t *testing.T) map[string]any {
	t.Helper()
	text, _, err := unstructured.NestedString(kustomize(t, "monitoring")["ConfigMap/shopfleet-dashboard"].Object, "data", "shopfleet.json")
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]any{}
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		t.Fatal(err)
	}
	return found
}

func TestDashboardHasItsRows(t *testing.T) {
	panels, _, err := unstructured.NestedSlice(dashboard(t), "panels")
	if err != nil {
		t.Fatal(err)
	}
	var rows []string
	seen := map[any]bool{}
	for _, item := range panels {
		panel, ok := item.(map[string]any)
		if !ok || seen[panel["id"]] {
			t.Fatalf("panel %v", item)
		}
		seen[panel["id"]] = true
		if panel["type"] == "row" {
			rows = append(rows, panel["title"].(string))
		}
	}
	for _, want := range []string{"Fleet", "Region $region", "Controller health", "Success rates", "Resource use", "Errors", "Backups"} {
		if !slices.Contains(rows, want) {
			t.Errorf("rows %v, want %q among them", rows, want)
		}
	}
}

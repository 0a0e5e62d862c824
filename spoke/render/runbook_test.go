package render

import (
	"encoding/json"
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestRunbookURL checks which tree of the repository has the runbook of a version: only releases have their own.
func TestRunbookURL(t *testing.T) {
	t.Parallel()
	for version, tree := range map[string]string{
		"v0.1.0": "v0.1.0", "v1.20.3": "v1.20.3", "v1.0.0-rc.1": "v1.0.0-rc.1", "v1.0.0-beta": "v1.0.0-beta",
		"": "main", "v0.0.0-dev": "main", "v0.1.0-3-g174eed76": "main", "v0.1.0-dirty": "main", "174eed76": "main",
	} {
		if got, want := RunbookURL(version), "https://github.com/shopfleet/shopfleet/blob/"+tree+"/hub/RUNBOOK.md"; got != want {
			t.Errorf("version %q: %s, want %s", version, got, want)
		}
	}
}

// TestAlertsLinkToTheRunbook checks that all alerts of a shop link to the page that its cluster has.
func TestAlertsLinkToTheRunbook(t *testing.T) {
	t.Parallel()
	app := &v1.EcommerceApp{}
	app.Spec.Image, app.Spec.Monitoring = "shop:v1", v1.Monitoring{Enabled: true, Prometheus: true}
	components, err := EcommerceApp(app, Cluster{PrometheusRules: true, RunbookURL: "https://wiki/alerts"})
	if err != nil {
		t.Fatal(err)
	}
	alerts, links := 0, 0
	for _, c := range components {
		for _, o := range c.Rendered() {
			raw, err := json.Marshal(o.Resource)
			if err != nil {
				t.Fatal(err)
			}
			alerts += strings.Count(string(raw), `"alert":`)
			links += strings.Count(string(raw), `"runbook_url":"https://wiki/alerts#shop`)
		}
	}
	if alerts == 0 || links != alerts {
		t.Errorf("%d of %d alerts link to the page", links, alerts)
	}
}

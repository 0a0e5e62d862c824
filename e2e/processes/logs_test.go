package processes_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

// secretsOf returns the confidential values of the Secrets in a cluster, which logs must
// not contain, by the name of the Secret and the key.
func secretsOf(t *testing.T, c client.Client) map[string][]string {
	t.Helper()
	list := &corev1.SecretList{}
	if err := c.List(t.Context(), list); err != nil {
		t.Fatal(err)
	}
	return invariants.Confidential(list.Items)
}

// checkSecrecy looks for secrets in the logs of processes.
func checkSecrecy(t *testing.T, programs []*program, secrets map[string][]string) {
	t.Helper()
	var kinds int
	for name, values := range secrets {
		for _, value := range values {
			if len(value) < 8 {
				t.Errorf("%s: %d bytes are too few to look for", name, len(value))
				continue
			}
			kinds++
			for _, p := range programs {
				if strings.Contains(p.log(t, 0), value) {
					t.Errorf("the log of a process contains %s", name)
				}
			}
		}
	}
	t.Logf("looked for %d values in %d logs", kinds, len(programs))
}

// line is a line of a log, as far as it is used.
type line struct {
	Level, Msg                  string
	Controller, Namespace, Name string
	ReconcileID, Cluster        *string
}

// lines parses a log, whose last line may be unfinished.
func lines(t *testing.T, log string) []line {
	t.Helper()
	var parsed []line
	for text := range strings.Lines(log) {
		if !strings.HasSuffix(text, "\n") || strings.HasPrefix(text, "hub: running the hub: leader election lost") {
			break // Unfinished, or how a command ends.
		}
		var l line
		if err := json.Unmarshal([]byte(text), &l); err != nil {
			t.Errorf("a line of the log is not structured: %s", text)
			continue
		}
		parsed = append(parsed, l)
	}
	return parsed
}

// checkKeys checks that each line about a reconciliation has the keys of controller-runtime.
// It returns the clusters in the lines, by controller.
func checkKeys(t *testing.T, log string) map[string][]string {
	t.Helper()
	clusters := map[string][]string{}
	for _, l := range lines(t, log) {
		if l.Msg != "Reconciling" && l.Msg != "Reconciler error" {
			continue
		}
		if l.Controller == "" || l.ReconcileID == nil || *l.ReconcileID == "" || l.Name == "" {
			t.Errorf("a reconciliation without its keys: %+v", l)
			continue
		}
		named := clusters[l.Controller]
		if l.Cluster != nil && !slices.Contains(named, *l.Cluster) {
			named = append(named, *l.Cluster)
		}
		slices.Sort(named)
		clusters[l.Controller] = named
	}
	return clusters
}

func readFile(t *testing.T, path string) []byte {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

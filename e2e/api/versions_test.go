package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// testVersionUpdates tests which versions of a database may follow which.
func (s *server) testVersionUpdates(t *testing.T) {
	const lowered, before, skips = "version cannot be lowered", "version must be 8.4 before it can be 9", "version must not skip a major version"
	mysql := map[string][]transition{
		"8.0.36": {
			{to: "8.0.36"}, {to: "8.0.37"}, {to: "8.0.100"}, {to: "8.4.0"}, {to: "8.4"}, {to: "8.3"}, {to: "8.0.36-debian"},
			{"8.0.33", lowered}, {"8.0.4", lowered}, {"7.9", lowered}, {"7", lowered}, {"8.0", lowered}, {"8", lowered}, {"8-debian", lowered},
			{"9.0", before}, {"9", before}, {"9-oracle", before},
		},
		"8.0.36-debian": {{to: "8.0.36-oraclelinux9"}, {to: "8.4-oracle"}, {"8.0.35-debian", lowered}, {"9.1-oracle", before}},
		"8.0":           {{to: "8.0.33"}, {to: "8.4.3"}, {"9.1.0", before}, {"8", lowered}},
		"8":             {{to: "8.4"}, {to: "8.0.1"}, {"9", before}, {"7", lowered}},
		"8.3.0":         {{to: "8.4.0"}, {"9.0.1", before}, {"8.2.9", lowered}},
		"8.4.2":         {{to: "9.1.0"}, {to: "9"}, {to: "8.4.10"}, {"8.4.1", lowered}, {"8.4", lowered}, {"8", lowered}, {"8.0.40", lowered}, {"10.0", skips}},
		"8.40.1":        {{"9.0", before}},
		"9.1.0":         {{to: "9.7"}, {to: "10.0"}, {"8.4.9", lowered}, {"11", skips}},
	}
	s.checkVersions(t, "mysql", mysql)
	s.checkVersions(t, "postgresql", map[string][]transition{
		"13.4": {
			{to: "13.4-alpine"}, {to: "13.11"},
			{"13.3", lowered}, {"13", lowered}, {"13-alpine", lowered}, {"13.3-alpine", lowered}, {"14.0", "version must keep its major version"}, {"12", "version must keep its major version"},
		},
		"16-alpine": {{to: "16.1"}, {"15", "version must keep its major version"}},
	})
	s.checkVersions(t, "", mysql)
	t.Run("a major version needs consent", s.testMajorUpgrade)
	t.Run("a major version waits for a rollout", s.testUpgradeInRollout)
}

// testMajorUpgrade raises the major version of MySQL without and with the user's consent.
func (s *server) testMajorUpgrade(t *testing.T) {
	const field = "spec.database.version"
	k := ecommerceApps()
	stored := s.create(t.Context(), t, k, edits{
		"metadata.namespace": "updates", "metadata.name": "consent", "spec.database.engine": "mysql", field: "8.4.2",
	})
	s.checkUpdates(t, k, stored, []testCase{
		{name: "without", edits: edits{field: "9.1.0"}, field: field, says: "version must keep its major version unless allowMajorUpgrade is true"},
		{name: "with", edits: edits{field: "9.1.0", "spec.database.allowMajorUpgrade": true}},
		{name: "not needed", edits: edits{field: "8.4.3"}},
	})
}

// testUpgradeInRollout raises the major version of MySQL while clusters may have an earlier one.
func (s *server) testUpgradeInRollout(t *testing.T) {
	const field = "spec.database.version"
	k := ecommerceApps()
	stored := s.create(t.Context(), t, k, edits{
		"metadata.namespace": "updates", "metadata.name": "chain", "spec.database.engine": "mysql", field: "8.4.2", "spec.database.allowMajorUpgrade": true,
	})
	roll := func(state v1.RolloutState, cases ...testCase) {
		t.Helper()
		rollout := map[string]any{"revision": int64(2), "specHash": "x", "state": string(state)}
		if err := unstructured.SetNestedMap(stored.Object, rollout, "status", "rollout"); err != nil {
			t.Fatal(err)
		}
		var err error
		if stored, err = s.resource(k, stored.GetNamespace()).UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.checkUpdates(t, k, stored, cases)
	}
	roll(v1.RolloutProgressing,
		testCase{name: "in a rollout", edits: edits{field: "9.1.0"}, field: field, says: "version must keep its major version until the rollout is complete"},
		testCase{name: "of the same major version", edits: edits{field: "8.4.3"}})
	roll(v1.RolloutComplete, testCase{name: "after it", edits: edits{field: "9.1.0"}})
}

// transition is a change of a version, and what rejects it; nothing does if that is empty.
type transition struct{ to, says string }

// checkVersions checks the versions of an EcommerceApp's database of an engine, or of a
// MySQLCluster.
func (s *server) checkVersions(t *testing.T, engine string, all map[string][]transition) {
	t.Helper()
	k, field := ecommerceApps(), "spec.database.version"
	at := edits{"metadata.namespace": "updates", "spec.database.engine": engine}
	switch engine {
	case "":
		k, field = mySQLClusters(), "spec.version"
		delete(at, "spec.database.engine")
	case "mysql":
		at["spec.database.allowMajorUpgrade"] = true
	}
	for from, transitions := range all {
		t.Run(k.name+" "+engine+" "+from, func(t *testing.T) {
			name := "v" + strings.ReplaceAll(from, ".", "-") + engine
			stored := s.create(t.Context(), t, k, at, edits{"metadata.name": name, field: from})
			var cases []testCase
			for _, c := range transitions {
				tc := testCase{name: c.to, edits: edits{field: c.to}, says: c.says}
				if c.says != "" {
					tc.field = field
				}
				cases = append(cases, tc)
			}
			s.checkUpdates(t, k, stored, cases)
		})
	}
}

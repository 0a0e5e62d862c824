package api_test

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// What refuses a change of a server.
const (
	versionLowered  = "version cannot be lowered"
	versionBefore   = "version must be 8.4 before it can be 9"
	versionSkips    = "version must not skip a major version"
	versionFloats   = "version must have three numbers"
	versionFamily   = "keep its distribution"
	versionAlpine   = "version must not be of Alpine"
	versionMajor    = "version must keep its major version"
	imageUnnamed    = "image must have the version as its tag"
	imageAlpine     = "image must not be of Alpine"
	consentRequired = "version must keep its major version unless allowUpgradeTo is"
)

// mySQLVersions returns versions with those that may follow them.
func mySQLVersions() map[string][]transition {
	return map[string][]transition{
		"8.0.36": {
			{to: "8.0.36"}, {to: "8.0.37"}, {to: "8.0.100"}, {to: "8.4.0"}, {to: "8.3.0"}, {to: "8.0.36-1"},
			{"8.0.33", versionLowered}, {"8.0.4", versionLowered}, {"7.9.0", versionLowered}, {"7", versionLowered}, {"8.0", versionLowered}, {"8", versionLowered}, {"8-debian", versionLowered},
			{"9.0.0", versionBefore}, {"9.0.0-oracle", versionBefore},
			{"8.4", versionFloats}, {"9", versionFloats}, {"8.0.36-debian", versionFamily}, {"8.0.37-alpine", versionAlpine},
		},
		"8.0.36-debian": {
			{to: "8.0.37-debian"}, {"8.0.35-debian", versionLowered}, {"9.1.0-debian", versionBefore},
			{"8.0.36-oraclelinux9", versionFamily}, {"8.4.0-oracle", versionFamily}, {"8.0.37", versionFamily},
		},
		"8.0.36-oraclelinux8": {{to: "8.4.0-oraclelinux8"}, {"8.4.0-oraclelinux9", versionFamily}},
		"8.3.0":               {{to: "8.4.0"}, {"9.0.1", versionBefore}, {"8.2.9", versionLowered}},
		"8.4.2": {
			{to: "9.1.0"}, {to: "9.1.7"}, {to: "8.4.10"}, {"9.2.0", consentRequired},
			{"8.4.1", versionLowered}, {"8.4", versionLowered}, {"8", versionLowered}, {"8.0.40", versionLowered}, {"10.0.0", versionSkips}, {"9", versionFloats},
		},
		"8.40.1": {{"9.0.0", versionBefore}},
		"9.1.0":  {{to: "9.7.0"}, {"10.0.0", consentRequired}, {"8.4.9", versionLowered}, {"11.0.0", versionSkips}},
	}
}

// postgreSQLVersions returns versions with those that may follow them.
func postgreSQLVersions() map[string][]transition {
	return map[string][]transition{
		"13.4": {
			{to: "13.11"}, {to: "13.4.1"}, {"13.4-alpine", versionAlpine}, {"13.4-bookworm", versionFamily},
			{"13.3", versionLowered}, {"13", versionLowered}, {"13-alpine", versionLowered}, {"13.3-alpine", versionLowered}, {"14.0", versionMajor}, {"12", versionMajor},
		},
		"16": {{to: "16.1"}, {"15", versionMajor}},
		"17.2-bookworm": {
			{to: "17.2-bookworm"}, {to: "17.4-bookworm"}, {"17.4-trixie", versionFamily}, {"17.4", versionFamily}, {"17.4-alpine3.20", versionAlpine},
		},
	}
}

// testVersionUpdates tests which versions of a database may follow which.
func (s *server) testVersionUpdates(t *testing.T) {
	s.checkVersions(t, "mysql", mySQLVersions())
	s.checkVersions(t, "postgresql", postgreSQLVersions())
	s.checkVersions(t, "", mySQLVersions())
	t.Run("a major version needs consent", s.testMajorUpgrade)
	t.Run("a major version during a rollout", s.testUpgradeInRollout)
	t.Run("by image", s.testImageUpdates)
}

// testMajorUpgrade raises the major version of MySQL without and with the user's consent, in both kinds.
func (s *server) testMajorUpgrade(t *testing.T) {
	for path, k := range map[string]kind{"spec.database": ecommerceApps(), "spec": mySQLClusters()} {
		at := edits{"metadata.namespace": "updates", "metadata.name": "consent", path + ".version": "8.4.2"}
		if k.name == ecommerceApps().name {
			at["spec.database.engine"] = "mysql"
		}
		field, consent := path+".version", path+".allowUpgradeTo"
		stored := s.create(t.Context(), t, k, at)
		s.checkUpdates(t, k, stored, []testCase{
			{name: k.name + " without", edits: edits{field: "9.1.0"}, field: field, says: consentRequired},
			{name: k.name + " of the version", edits: edits{field: "9.1.0", consent: "9.1.0"}},
			{name: k.name + " of its numbers", edits: edits{field: "9.1.0", consent: "9"}},
			{name: k.name + " of a later one", edits: edits{field: "9.1.0", consent: "10.0"}},
			{name: k.name + " of an earlier one", edits: edits{field: "9.1.0", consent: "9.0"}, field: field, says: consentRequired},
			{name: k.name + " by number, not by text", edits: edits{field: "9.10.0", consent: "9.9"}, field: field, says: consentRequired},
			{name: k.name + " of the version before", edits: edits{field: "9.1.0", consent: "8.4"}, field: field, says: consentRequired},
			{name: k.name + " not needed", edits: edits{field: "8.4.3"}},
			{name: k.name + " of a word", edits: edits{consent: "nine"}, field: consent, says: "allowUpgradeTo must have one to three numbers"},
		})
	}
}

// testUpgradeInRollout raises the major version of MySQL while clusters may have an earlier one: what the API accepts
// does not depend on the status. The hub holds the version.
func (s *server) testUpgradeInRollout(t *testing.T) {
	const field = "spec.database.version"
	k := ecommerceApps()
	stored := s.create(t.Context(), t, k, edits{
		"metadata.namespace": "updates", "metadata.name": "chain", "spec.database.engine": "mysql", field: "8.4.2", "spec.database.allowUpgradeTo": "9",
	})
	for _, state := range []v1.RolloutState{v1.RolloutProgressing, v1.RolloutRolledBack, v1.RolloutComplete} {
		rollout := map[string]any{"revision": int64(2), "specHash": "x", "state": string(state)}
		if err := unstructured.SetNestedMap(stored.Object, rollout, "status", "rollout"); err != nil {
			t.Fatal(err)
		}
		var err error
		if stored, err = s.resource(k, stored.GetNamespace()).UpdateStatus(t.Context(), stored, metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		s.checkUpdates(t, k, stored, []testCase{
			{name: "the next one, " + string(state), edits: edits{field: "9.1.0"}},
			{name: "the same one, " + string(state), edits: edits{field: "8.4.3"}},
			{name: "an earlier one, " + string(state), edits: edits{field: "8.4.1"}, field: field, says: versionLowered, among: true},
		})
	}
}

// consented is the consent of the databases in the tables.
const consented = "9.1"

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
		at["spec.allowUpgradeTo"] = consented
	case "mysql":
		at["spec.database.allowUpgradeTo"] = consented
	}
	for from, transitions := range all {
		t.Run(k.name+" "+engine+" "+from, func(t *testing.T) {
			name := "v" + strings.ReplaceAll(from, ".", "-") + engine
			stored := s.create(t.Context(), t, k, at, edits{"metadata.name": name, field: from})
			var cases []testCase
			for _, c := range transitions {
				tc := testCase{name: c.to, edits: edits{field: c.to}, says: c.says, among: true}
				if c.says != "" {
					tc.field = field
				}
				cases = append(cases, tc)
			}
			s.checkUpdates(t, k, stored, cases)
		})
	}
}

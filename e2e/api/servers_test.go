package api_test

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/cel"
	"k8s.io/apimachinery/pkg/util/validation/field"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// rulesOf returns the rules of a part of a kind's spec as the API server evaluates them.
func rulesOf(t *testing.T, kind string, path ...string) *cel.Validator {
	t.Helper()
	props := schemas(t)[kind].Properties["spec"]
	for _, name := range path {
		props = props.Properties[name]
	}
	internal := &apiextensions.JSONSchemaProps{}
	if err := apiextensionsv1.Convert_v1_JSONSchemaProps_To_apiextensions_JSONSchemaProps(&props, internal, nil); err != nil {
		t.Fatal(err)
	}
	structural, err := schema.NewStructural(internal)
	if err != nil {
		t.Fatal(err)
	}
	return cel.NewValidator(structural, false, math.MaxInt64)
}

// imageChange is a change of the server of a database by version and image, as "version image".
type imageChange struct {
	from, to string
	// says has a part of the refusal; empty if nothing refuses it. Hub is true if only the hub knows.
	says string
	hub  bool
}

const digestA, digestB = "@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "@sha256:bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

func mySQLImages() []imageChange {
	return []imageChange{
		{from: "", to: "8.4.2"},
		{from: "", to: "8.4", says: versionFloats},
		{from: "", to: "8.4.2 mirror:5000/mysql:8.4", says: versionFloats},
		{from: "", to: "8.4.2 mirror:5000/mysql", says: versionFloats},
		{from: "", to: "8.4.2 mysql:latest", says: versionFloats},
		{from: "", to: "8.4 mirror:5000/mysql:8.4.2"},
		{from: "", to: "8.4 mysql" + digestA},
		{from: "", to: "8.4.2 mysql:8.4.2-alpine", says: imageAlpine},
		{from: "", to: "8.4.2 mysql:alpine" + digestA, says: imageAlpine},
		{from: "", to: "8.0.36-alpine", says: versionAlpine},
		{from: "8.4.2", to: "8.4.2 mirror:5000/mysql:8.4.2"},
		{from: "8.4.2 a/mysql:8.4.2", to: "8.4.2 b/mysql:8.4.2"},
		{from: "8.4.2 a/mysql:8.4.2", to: "8.4.2"},
		{from: "8.4 a/mysql:8.4.2", to: "8.4 a/mysql:8.4.3"},
		{from: "8.4 a/mysql:8.4.3", to: "8.4 a/mysql:8.4.2", says: "cannot be lowered", hub: true},
		{from: "8.4 a/mysql:8.4.2" + digestA, to: "8.4 a/mysql:8.4.2" + digestB},
		{from: "8.4 a/mysql:8.4.2", to: "8.4 a/mysql" + digestB, says: imageUnnamed},
		{from: "8.4 a/mysql" + digestA, to: "8.4 a/mysql" + digestB, says: imageUnnamed},
		{from: "8.4 a/mysql" + digestA, to: "8.4.3 a/mysql" + digestB},
		{from: "8.4 a/mysql" + digestA, to: "8.4 a/mysql:8.4.2" + digestA},
		{from: "8.4 a/mysql:8.4.2", to: "8.4 a/mysql:9.1.0", says: imageUnnamed},
		{from: "8.4 a/mysql:8.4.2", to: "9.1 a/mysql:9.1.0"},
		{from: "8.4 a/mysql:8.4.2", to: "9.1 a/mysql:9.2.0", says: imageUnnamed},
		{from: "8.4 a/mysql:8.4.2", to: "9.2 a/mysql:9.2.0", says: consentRequired},
		{from: "8.4 a/mysql:8.4.2", to: "9 a/mysql:9.1.0", says: consentRequired},
		{from: "8 a/mysql:8.0.40", to: "9.1 a/mysql:9.1.0", says: versionBefore},
		{from: "8 a/mysql:8.4.2", to: "9.1 a/mysql:9.1.0"},
		{from: "8.4.2 a/mysql:8.4.2", to: "8.4.2 a/mysql:8.4.3", says: imageUnnamed},
		{from: "8.4.2 a/mysql:8.4" + digestA, to: "8.4.2 a/mysql:8.4" + digestB},
		{from: "8.4.2 a/mysql:8.4.2", to: "9.1.0 a/mysql" + digestA},
		{from: "8.4.2 a/mysql:8.4.2", to: "9.2.0 a/mysql" + digestA, says: consentRequired},
		{from: "8.4.2 a/mysql:8.4.2-oraclelinux9", to: "8.4.2 a/mysql:8.4.2-debian", says: versionFamily},
		{from: "8.4.2 a/mysql:8.4.2-abc1234", to: "8.4.3 a/mysql:8.4.3-9f8e7d6"},
	}
}

func postgreSQLImages() []imageChange {
	return []imageChange{
		{from: "", to: "17 postgres:latest"},
		{from: "", to: "17.2 mine/pg:2.1"},
		{from: "", to: "17.2 postgres:17.2-alpine3.20", says: imageAlpine},
		{from: "17.2", to: "17.2 mirror:5000/postgres:17.2"},
		{from: "17.2 a/pg:17.4", to: "17.2 a/pg:17.2"},
		{from: "17.2 a/pg:good", to: "17.2 a/pg:bad"},
		{from: "17.2 a/pg" + digestA, to: "17.2 a/pg" + digestB},
		{from: "17.2 mine/pg:2.1", to: "17.2 mine/pg:3.0"},
		{from: "17 a/pg:17.2", to: "17 a/pg:18.1", says: "image must have the major version"},
		{from: "17 a/pg:17.2", to: "18 a/pg:18.1", says: versionMajor},
		{from: "17.2-bookworm", to: "17.2 a/pg:17.2-trixie", says: versionFamily},
		{from: "17.2 a/pg:17.2-bookworm", to: "17.2 a/pg:17.2-alpine", says: imageAlpine},
		{from: "17.2 a/pg:17.2-standard-bookworm", to: "17.2 a/pg:17.4-minimal-bookworm"},
		{from: "17.2 a/pg:17.2-ubi8", to: "17.2 a/pg:17.2-ubi9", says: versionFamily},
		{from: "17.4", to: "17.2 a/pg:17.4", says: versionLowered},
	}
}

// databaseOf returns a database with a version and an image, as "version image"; nil for "".
func databaseOf(engine v1.Engine, text string) *v1.Database {
	if text == "" {
		return nil
	}
	version, image, _ := strings.Cut(text, " ")
	db := &v1.Database{Engine: engine, Version: version, Image: image, Storage: "1Gi"}
	if engine == v1.EngineMySQL {
		db.AllowUpgradeTo = consented
	}
	return db
}

// TestServersAreCheckedAlike checks that the hub refuses the servers that the schema refuses, for specs with
// overrides and for those of earlier revisions, which the schema does not see.
func TestServersAreCheckedAlike(t *testing.T) {
	t.Parallel()
	rules := rulesOf(t, "EcommerceApp", "database")
	check := func(engine v1.Engine, c imageChange) {
		t.Helper()
		from, to := databaseOf(engine, c.from), databaseOf(engine, c.to)
		err := v1.CheckServer(from, to)
		if (err != nil) != (c.says != "") {
			t.Errorf("%s from %q to %q: the hub says %v, want %q", engine, c.from, c.to, err, c.says)
		}
		want := c.says
		if c.hub {
			want = ""
		}
		if got := refusals(t, rules, from, to); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%s from %q to %q: the schema says %q, want %q", engine, c.from, c.to, got, want)
		}
	}
	for engine, all := range map[v1.Engine][]imageChange{v1.EngineMySQL: mySQLImages(), v1.EnginePostgreSQL: postgreSQLImages()} {
		for _, c := range all {
			check(engine, c)
		}
	}
	for engine, all := range map[v1.Engine]map[string][]transition{v1.EngineMySQL: mySQLVersions(), v1.EnginePostgreSQL: postgreSQLVersions()} {
		for from, transitions := range all {
			for _, c := range transitions {
				check(engine, imageChange{from: from, to: c.to, says: c.says})
			}
		}
	}
}

// testImageUpdates changes the image of a database on the API server, as TestServersAreCheckedAlike does
// without one.
func (s *server) testImageUpdates(t *testing.T) {
	k := ecommerceApps()
	edit := func(db *v1.Database) edits {
		e := edits{"spec.database.engine": string(db.Engine), "spec.database.version": db.Version}
		if db.Image != "" {
			e["spec.database.image"] = db.Image
		}
		if db.AllowUpgradeTo != "" {
			e["spec.database.allowUpgradeTo"] = db.AllowUpgradeTo
		}
		return e
	}
	for engine, all := range map[v1.Engine][]imageChange{v1.EngineMySQL: mySQLImages(), v1.EnginePostgreSQL: postgreSQLImages()} {
		for i, c := range all {
			if c.from == "" || c.hub || v1.CheckServer(nil, databaseOf(engine, c.from)) != nil {
				continue
			}
			stored := s.create(t.Context(), t, k, edit(databaseOf(engine, c.from)),
				edits{"metadata.namespace": "updates", "metadata.name": fmt.Sprintf("image-%s-%d", engine, i)})
			tc := testCase{name: string(engine) + " " + c.from + " to " + c.to, edits: edit(databaseOf(engine, c.to)), says: c.says, among: true}
			if !strings.Contains(c.to, " ") {
				tc.edits["spec.database.image"] = absent()
			}
			switch {
			case strings.HasPrefix(c.says, "image"):
				tc.field = "spec.database.image"
			case c.says != "":
				tc.field = "spec.database.version"
			}
			s.checkUpdates(t, k, stored, []testCase{tc})
		}
	}
}

// refusals returns what the rules of the schema say about a database.
func refusals(t *testing.T, rules *cel.Validator, from, to *v1.Database) string {
	t.Helper()
	encode := func(db *v1.Database) any {
		if db == nil {
			return nil
		}
		raw, err := json.Marshal(db)
		if err != nil {
			t.Fatal(err)
		}
		var value map[string]any
		if err := json.Unmarshal(raw, &value); err != nil {
			t.Fatal(err)
		}
		return value
	}
	errs, _ := rules.Validate(t.Context(), field.NewPath("spec", "database"), nil, encode(to), encode(from), math.MaxInt64)
	texts := make([]string, 0, len(errs))
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "; ")
}

package v1_test

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestServer: a database has the server that it was given, and no image where the official one is meant.
func TestServer(t *testing.T) {
	t.Parallel()
	mysql, own := v1.DatabaseServer{Version: "8.4.2", Image: "mysql:8.4.2"}, v1.DatabaseServer{Version: "8.4.2", Image: "mine:8.4.2"}
	for name, tt := range map[string]struct {
		db    v1.Database
		given v1.DatabaseServer
		want  v1.DatabaseServer
		image string
	}{
		"official":              {v1.Database{Image: "mine:9.1.0"}, mysql, mysql, ""},
		"of the user":           {v1.Database{}, own, own, "mine:8.4.2"},
		"only a version":        {v1.Database{Image: "mine:8.4.2"}, v1.DatabaseServer{Version: "8.4.2"}, own, "mine:8.4.2"},
		"only a version, again": {v1.Database{}, v1.DatabaseServer{Version: "8.4.2"}, mysql, ""},
	} {
		tt.db.Engine, tt.db.Version = v1.EngineMySQL, "9.1.0"
		tt.db.SetServer(tt.given)
		if got := tt.db.Server(); got != tt.want || tt.db.Image != tt.image {
			t.Errorf("%s: %+v with image %q, want %+v with %q", name, got, tt.db.Image, tt.want, tt.image)
		}
	}
	if got := (*v1.Database)(nil).Server(); got != (v1.DatabaseServer{}) {
		t.Errorf("no database has %+v", got)
	}
	if got := v1.EnginePostgreSQL.OfficialImage("17.2"); got != "postgres:17.2" {
		t.Errorf("the image of PostgreSQL is %s", got)
	}
}

// TestAnyServer: no version and no image ends the process, whatever they are.
func TestAnyServer(t *testing.T) {
	t.Parallel()
	texts := []string{"", "x", "8", "8.4", "8.4.2", "9999999999", "mysql", "mysql:", "mysql:8.4.2", "a:5000/mysql", "@", ":", "mysql@sha256:8", "pg:17-alpine"}
	for _, engine := range []v1.Engine{v1.EngineMySQL, v1.EnginePostgreSQL, ""} {
		for _, from := range texts {
			for _, image := range texts {
				for _, to := range texts {
					a, b := &v1.Database{Engine: engine, Version: from, Image: to}, &v1.Database{Engine: engine, Version: to, Image: image, AllowUpgradeTo: from}
					if v1.CheckServer(a, a) != nil {
						t.Fatalf("%+v cannot stay", a)
					}
					_, _ = v1.CheckServer(a, b), v1.CheckServer(nil, b)
					_ = b.ExactVersion()
				}
			}
		}
	}
}

// TestServersThatStay are not checked: one that is stored since before a rule goes on.
func TestServersThatStay(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"8.0", "8.0.36-alpine"} {
		db := &v1.Database{Engine: v1.EngineMySQL, Version: version}
		grown := db.DeepCopy()
		grown.Storage = "2Gi"
		if err := v1.CheckServer(db, grown); err != nil {
			t.Errorf("%s stays: %v", version, err)
		}
		if v1.CheckServer(nil, db) == nil {
			t.Errorf("%s is new, and accepted", version)
		}
	}
}

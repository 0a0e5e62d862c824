package copies

import (
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
)

// TestRefusals checks what is observed of a database that may not get the server of the spec.
func TestRefusals(t *testing.T) {
	t.Parallel()
	never := mySQL("8.4.2")
	never.Status.StartedServer = &v1.DatabaseServer{Version: "8.0.36", Image: "mysql:8.0.36"}
	for name, tt := range map[string]struct {
		wanted            *v1.Database
		live              *v1.EcommerceApp
		refused, starting bool
	}{
		"it follows":                         {wanted: mySQL("9.1.0").Spec.Database, live: mySQL("8.4.2")},
		"it missed the version between":      {wanted: mySQL("9.1.0").Spec.Database, live: mySQL("8.0.36"), refused: true},
		"which has yet to start":             {wanted: mySQL("9.1.0").Spec.Database, live: never, starting: true},
		"the spec is not known":              {live: mySQL("8.0.36")},
		"the copy is without a database":     {wanted: mySQL("9.1.0").Spec.Database, live: &v1.EcommerceApp{}},
		"a server that no copy may run":      {wanted: mySQL("9").Spec.Database, live: &v1.EcommerceApp{}, refused: true},
		"one that started with what it gets": {wanted: mySQL("8.4.2").Spec.Database, live: never},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := aggregate.Cluster{Database: tt.wanted, Copy: &aggregate.Copy{}}
			addRefusal(&c, tt.live)
			if (c.Copy.UpgradeRefused != "") != tt.refused || c.Copy.Starting != tt.starting {
				t.Errorf("refused %q, starting %t; want %t and %t", c.Copy.UpgradeRefused, c.Copy.Starting, tt.refused, tt.starting)
			}
		})
	}
}

// mySQL returns an application with MySQL of a version, which may become 9.
func mySQL(version string) *v1.EcommerceApp {
	return stored(func(s *v1.EcommerceAppSpec) {
		s.Database.Engine, s.Database.Version, s.Database.AllowUpgradeTo = v1.EngineMySQL, version, "9"
	})
}

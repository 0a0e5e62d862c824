package restore

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestNeeded: other passwords do not keep PostgreSQL from using data, another owner or name does.
func TestNeeded(t *testing.T) {
	t.Parallel()
	of := func(username, password, database string) map[string][]byte {
		return map[string][]byte{"username": []byte(username), "password": []byte(password), "database": []byte(database)}
	}
	for name, tt := range map[string]struct {
		other             map[string][]byte
		postgreSQL, mySQL bool
	}{
		"same":             {of("shop", "secret", "shop"), true, true},
		"another password": {of("shop", "other", "shop"), true, false},
		"another owner":    {of("owner", "secret", "shop"), false, false},
		"another database": {of("shop", "secret", "orders"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for engine, want := range map[v1.Engine]bool{v1.EnginePostgreSQL: tt.postgreSQL, v1.EngineMySQL: tt.mySQL} {
				one, other := needed(engine, of("shop", "secret", "shop")), needed(engine, tt.other)
				if got := equality.Semantic.DeepEqual(one, other); got != want {
					t.Errorf("%s can use the data: %t, want %t", engine, got, want)
				}
			}
		})
	}
}

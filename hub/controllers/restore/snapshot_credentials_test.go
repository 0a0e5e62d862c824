package restore

import (
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
)

// TestSameNames: other passwords do not keep PostgreSQL from using data, another owner or name does.
func TestSameNames(t *testing.T) {
	t.Parallel()
	of := func(username, password, database string) map[string][]byte {
		return map[string][]byte{"username": []byte(username), "password": []byte(password), "database": []byte(database)}
	}
	for name, tt := range map[string]struct {
		other         map[string][]byte
		names, wholly bool
	}{
		"same":             {of("shop", "secret", "shop"), true, true},
		"another password": {of("shop", "other", "shop"), true, false},
		"another owner":    {of("owner", "secret", "shop"), false, false},
		"another database": {of("shop", "secret", "orders"), false, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			one := of("shop", "secret", "shop")
			if got := equality.Semantic.DeepEqual(names(one), names(tt.other)); got != tt.names {
				t.Errorf("the names are the same: %t, want %t", got, tt.names)
			}
			if got := equality.Semantic.DeepEqual(all(one), all(tt.other)); got != tt.wholly {
				t.Errorf("all is the same: %t, want %t", got, tt.wholly)
			}
		})
	}
}

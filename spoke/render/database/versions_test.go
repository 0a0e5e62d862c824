package database

import "testing"

func TestSameFiles(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, b string
		want bool
	}{
		{"13.4", "13.11", true},
		{"13.4", "14.1", false},
		{"13", "13.4-bookworm", true},
		{"8.4.1", "8.4", true},
		{"8.0.36", "8.4", false},
		{"9.4", "9.7.0", false},
	} {
		if got := SameFiles(tt.a, tt.b); got != tt.want {
			t.Errorf("%s and %s: %t, want %t", tt.a, tt.b, got, tt.want)
		}
	}
}

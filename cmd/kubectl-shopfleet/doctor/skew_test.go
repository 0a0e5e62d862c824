package doctor

import "testing"

func TestSkew(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct{ a, b, want string }{
		{"v1.2.3", "v1.2.3", SkewSupported},
		{"v1.2.3", "v1.2.9-4-g1234567", SkewSupported},
		{"1.2.3", "v1.2.0", SkewSupported},
		{"v1.2.3", "v1.3.0", SkewSupported},
		{"v1.3.0", "v1.2.3", SkewSupported},
		{"v1.2.3", "v1.4.0", SkewUnsupported},
		{"v1.4.0", "v1.2.3", SkewUnsupported},
		{"v1.2.3", "v2.2.3", SkewUnsupported},
		{"main", "main", SkewSupported},
		{"main", "v1.2.3", SkewUnknown},
		{"v1.2.3", "main", SkewUnknown},
		{"", "v1.2.3", SkewUnknown},
		{"", "", SkewUnknown},
	} {
		if got := Skew(tt.a, tt.b); got != tt.want {
			t.Errorf("skew of %q and %q is %s, want %s", tt.a, tt.b, got, tt.want)
		}
	}
}

func TestIsOlder(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		a, than string
		want    bool
	}{
		{"v1.2.3", "v1.2.3", false},
		{"v1.2.3", "v1.2.4", true},
		{"v1.2.9", "v1.10.0", true},
		{"v1.3.0", "v1.2.3", false},
		{"v1.2.3-4-g1234567", "v1.2.3", false},
		{"v0.0.0-dev", "v1.2.3", false},
		{"v1.2.3", "v0.0.0-dev", false},
		{"main", "v1.2.3", false},
		{"v1.2.3", "96b7859", false},
		{"v1.2.3", "", false},
	} {
		if got := IsOlder(tt.a, tt.than); got != tt.want {
			t.Errorf("%q is older than %q: %t, want %t", tt.a, tt.than, got, tt.want)
		}
	}
}

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

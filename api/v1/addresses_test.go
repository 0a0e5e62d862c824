package v1

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestValidAddresses(t *testing.T) {
	t.Parallel()
	var many []string
	for i := range 12 {
		many = append(many, fmt.Sprintf("192.0.2.%d", 100+i))
	}
	reversed := slices.Clone(many)
	slices.Reverse(reversed)
	longest := strings.Repeat(strings.Repeat("a", 49)+".", 5) + "abc"
	for name, tt := range map[string]struct{ reported, want []string }{
		"none":                   {nil, nil},
		"sorted":                 {[]string{"lb.example.test", "192.0.2.2", "192.0.2.1"}, []string{"192.0.2.1", "192.0.2.2", "lb.example.test"}},
		"duplicates":             {[]string{"192.0.2.1", "192.0.2.1", "LB.example.test", "lb.example.test"}, []string{"192.0.2.1", "lb.example.test"}},
		"IPv6 in its short form": {[]string{"2001:DB8:0:0:0:0:0:1", "2001:db8::1"}, []string{"2001:db8::1"}},
		"with a zone":            {[]string{"fe80::1%eth0"}, nil},
		"neither":                {[]string{"", "a b", "<script>", "https://shop.example.test", "192.0.2.1:80", "*.example.test", "ä.test"}, nil},
		"too many":               {reversed, many[:8]},
		"the longest name":       {[]string{longest, longest + "d"}, []string{longest}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, ValidAddresses(tt.reported)); diff != "" {
				t.Errorf("addresses (-want +got):\n%s", diff)
			}
		})
	}
}

package apierror

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestStable(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ message, want string }{
		"webhook that refuses connections": {
			`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: Post "https://policy.team.svc:443/validate?timeout=10s": dial tcp 10.96.1.2:443: connect: connection refused`,
			`Internal error occurred: failed calling webhook "policy.example.com": failed to call webhook: dial tcp (address): connect: connection refused`,
		},
		"webhook without a name in DNS": {
			`Post "https://policy.example.com/?token=s3cret": dial tcp: lookup policy.example.com on 10.96.0.10:53: no such host`,
			`dial tcp: lookup policy.example.com on (address): no such host`,
		},
		"webhook without endpoints": {`no endpoints available for service "policy"`, `no endpoints available for service "policy"`},
		"connection that is lost":   {`read tcp 10.1.2.3:34567->10.96.1.2:443: read: connection reset by peer`, `read tcp (address): read: connection reset by peer`},
		"IPv6":                      {`dial tcp [fd00::1:2]:8443: i/o timeout; from fe80::1 and 2001:db8:0:0:0:0:0:1`, `dial tcp (address): i/o timeout; from (address) and (address)`},
		"URL in a sentence":         {`see https://user:pass@example.com/policies?id=7.`, `see (address).`},
		"field":                     {`failed to create typed patch object: .spec.endpoints[0].interval: field not declared in schema`, `failed to create typed patch object: .spec.endpoints[0].interval: field not declared in schema`},
		"ID":                        {`volume pvc-0f7a1b2c-1111-2222-3333-444455556666 (RequestID: 0F7A1B2C-1111-2222-3333-444455556666)`, `volume pvc-(ID) (RequestID: (ID))`},
		"times and pointers":        {"at 2026-11-28T03:00:01.5Z after 1.503s, 0xc000123456", "at (time) after (time), (pointer)"},
		"several lines":             {"a\n\tb \x00c\xff", "a b c"},
		"versions stay":             {"image postgres:17.2, quota 10Gi, cpu=500m, v1.36.3", "image postgres:17.2, quota 10Gi, cpu=500m, v1.36.3"},
		"nothing":                   {"", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Stable(tt.message); got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if again := Stable(tt.want); again != tt.want {
				t.Errorf("a stable message changes to %q", again)
			}
		})
	}
	long := Stable(strings.Repeat("größer ", 200))
	if len(long) > maxStable || !strings.HasSuffix(long, "größer...") || !utf8.ValidString(long) {
		t.Errorf("a long message is cut to %q", long)
	}
	if whole := Stable(strings.Repeat("ö", 500)); len(whole) > maxStable || !utf8.ValidString(whole) {
		t.Errorf("a long word is cut to %d bytes", len(whole))
	}
}

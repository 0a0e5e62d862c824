package kubeconfig

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

func TestExpiry(t *testing.T) {
	certificate, key := pair(t, expiry())
	earlier, later := expiry().Add(-time.Hour), expiry().Add(time.Hour)
	tests := map[string]struct {
		token       string
		certificate bool
		want        time.Time
	}{
		"opaque token":               {token: secret},
		"token":                      {token: token(fmt.Sprintf(`{"exp": %d}`, later.Unix())), want: later},
		"token with a fraction":      {token: token(fmt.Sprintf(`{"exp": %d.9}`, later.Unix())), want: later},
		"token without expiry":       {token: token(`{"sub": "x"}`)},
		"token with a text":          {token: token(`{"exp": "soon"}`)},
		"token of the far future":    {token: token(`{"exp": 1e300}`)},
		"token of the past, negated": {token: token(`{"exp": -5}`)},
		"token that is no JSON":      {token: token("x")},
		"token that is no base64":    {token: "a.%.c"},
		"certificate":                {certificate: true, want: expiry()},
		"token first":                {token: token(fmt.Sprintf(`{"exp": %d}`, earlier.Unix())), certificate: true, want: earlier},
		"certificate first":          {token: token(fmt.Sprintf(`{"exp": %d}`, later.Unix())), certificate: true, want: expiry()},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			access, err := Parse(file(t, func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
				u.Token = test.token
				if test.certificate {
					u.ClientCertificateData, u.ClientKeyData = certificate, key
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			if !access.ExpiresAt.Equal(test.want) {
				t.Errorf("expires %s, want %s", access.ExpiresAt, test.want)
			}
		})
	}
}

func TestTokenClaims(t *testing.T) {
	certificate, key := pair(t, expiry())
	const account = `"sub": "system:serviceaccount:shopfleet-system:shopfleet-hub"`
	for name, tt := range map[string]struct {
		token       string
		certificate bool
		account     string
		issued      time.Time
	}{
		"token of an account": {token: token(`{"exp": 2000, "iat": 1000, ` + account + `}`), account: "shopfleet-system/shopfleet-hub", issued: time.Unix(1000, 0)},
		"without expiry":      {token: token(`{"iat": 1000, ` + account + `}`), account: "shopfleet-system/shopfleet-hub"},
		"of a user":           {token: token(`{"exp": 2000, "iat": 1000, "sub": "jane"}`), issued: time.Unix(1000, 0)},
		"of a strange user":   {token: token(`{"exp": 2000, "sub": "system:serviceaccount:a:b:c"}`)},
		"opaque":              {token: secret},
		"with a certificate":  {token: token(`{"exp": 2000, "iat": 1000, ` + account + `}`), certificate: true, issued: time.Unix(1000, 0)},
	} {
		t.Run(name, func(t *testing.T) {
			access, err := Parse(file(t, func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
				u.Token = tt.token
				if tt.certificate {
					u.ClientCertificateData, u.ClientKeyData = certificate, key
				}
			}))
			if err != nil {
				t.Fatal(err)
			}
			if access.Account != tt.account || !access.IssuedAt.Equal(tt.issued) {
				t.Errorf("account %q, issued %s, want %q, %s", access.Account, access.IssuedAt, tt.account, tt.issued)
			}
		})
	}
}

func TestWithToken(t *testing.T) {
	base := file(t, func(f *api.Config, c *api.Cluster, _ *api.AuthInfo) {
		c.TLSServerName = "eu.example.com"
		f.AuthInfos["other"] = &api.AuthInfo{Token: "untouched"}
	})
	renewed, err := WithToken(base, "next")
	if err != nil {
		t.Fatal(err)
	}
	before, after := mustLoad(t, base), mustLoad(t, renewed)
	before.AuthInfos["u"].Token = "next"
	if diff := cmp.Diff(before, after); diff != "" {
		t.Errorf("kubeconfig (-want +got):\n%s", diff)
	}
	certificate, key := pair(t, expiry())
	for name, bad := range map[string]struct {
		raw   []byte
		token string
	}{
		"no kubeconfig": {[]byte("no"), "next"},
		"no token": {file(t, func(_ *api.Config, _ *api.Cluster, u *api.AuthInfo) {
			u.Token, u.ClientCertificateData, u.ClientKeyData = "", certificate, key
		}), "next"},
		"a bad token": {base, "a b"},
	} {
		var refused *Error
		if _, err := WithToken(bad.raw, bad.token); !errors.As(err, &refused) {
			t.Errorf("%s: %v, want an *Error", name, err)
		}
	}
}

func mustLoad(t *testing.T, raw []byte) *api.Config {
	t.Helper()
	file, err := clientcmd.Load(raw)
	if err != nil {
		t.Fatal(err)
	}
	return file
}

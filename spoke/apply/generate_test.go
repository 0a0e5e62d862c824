package apply

import (
	"bytes"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"maps"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/spoke/component"
)

func noon() time.Time { return time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC) }

func TestRandomKeepsWhatIsThere(t *testing.T) {
	g := component.Generate{Random: map[string]int{"password": 32, "replication": 24}}
	first, err := generate(g, nil, source{random: rand.Reader, now: noon()})
	if err != nil {
		t.Fatal(err)
	}
	if len(first["password"]) != 32 || len(first["replication"]) != 24 {
		t.Errorf("lengths are %d and %d, want 32 and 24", len(first["password"]), len(first["replication"]))
	}
	if strings.Trim(string(first["password"]), "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789") != "" {
		t.Error("password has characters other than letters and digits")
	}
	kept := map[string][]byte{"password": first["password"], "other": []byte("theirs")}
	second, err := generate(g, kept, source{random: rand.Reader, now: noon()})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(second["password"], first["password"]) {
		t.Error("an existing password was replaced")
	}
	if bytes.Equal(second["replication"], first["replication"]) || len(second["replication"]) != 24 {
		t.Error("a missing value was not drawn anew")
	}
	if _, ok := second["other"]; ok {
		t.Error("a key that is not generated was returned")
	}
}

func TestRandomIsUniform(t *testing.T) {
	// Each byte once: those above the bound, which come first, must be skipped, the rest spread evenly.
	all := make([]byte, 256)
	for i := range all {
		all[i] = byte(248 + i)
	}
	data, err := generate(component.Generate{Random: map[string]int{"k": 248}}, nil,
		source{random: io.MultiReader(bytes.NewReader(all), rand.Reader), now: noon()})
	if err != nil {
		t.Fatal(err)
	}
	counts := make(map[byte]int)
	for _, b := range data["k"] {
		counts[b]++
	}
	for b, n := range counts {
		if n != 4 {
			t.Errorf("%q was drawn %d times, want 4", b, n)
		}
	}
}

func TestLengths(t *testing.T) {
	for _, n := range []int{1, maxLength} {
		data, err := generate(component.Generate{Random: map[string]int{"k": n}}, nil, source{random: rand.Reader, now: noon()})
		if err != nil || len(data["k"]) != n {
			t.Errorf("%d characters, want %d: %v", len(data["k"]), n, err)
		}
	}
}

func TestErrors(t *testing.T) {
	broken := errors.New("no entropy")
	tests := map[string]struct {
		g    component.Generate
		from io.Reader
	}{
		"length zero":    {component.Generate{Random: map[string]int{"k": 0}}, rand.Reader},
		"length endless": {component.Generate{Random: map[string]int{"k": 1 << 20}}, rand.Reader},
		"no randomness":  {component.Generate{Random: map[string]int{"k": 8}}, iotest.ErrReader(broken)},
		"no serial":      {component.Generate{TLS: &component.SelfSigned{CommonName: "shop"}}, iotest.ErrReader(broken)},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if data, err := generate(tt.g, nil, source{random: tt.from, now: noon()}); err == nil {
				t.Errorf("no error, but %d keys", len(data))
			}
		})
	}
}

func TestCertificateIsRenewed(t *testing.T) {
	want := component.SelfSigned{CommonName: "shop.example.com", DNSNames: []string{"www.example.com", "shop.example.com"}}
	made := pair(t, want, nil, noon())
	without := func(key string) map[string][]byte {
		less := make(map[string][]byte)
		for k, v := range made {
			if k != key {
				less[k] = v
			}
		}
		return less
	}
	tests := map[string]struct {
		want     component.SelfSigned
		existing map[string][]byte
		after    time.Duration
		renewed  bool
	}{
		"as it is":           {want: want, existing: made},
		"names in any order": {want: component.SelfSigned{CommonName: want.CommonName, DNSNames: []string{"shop.example.com", "www.example.com"}}, existing: made},
		"half its life":      {want: want, existing: made, after: certificateLife / 2},
		"a third is left":    {want: want, existing: made, after: certificateLife*2/3 + time.Minute, renewed: true},
		"exactly a third":    {want: want, existing: made, after: certificateLife - (certificateLife+clockSkew)/3, renewed: true},
		"expired":            {want: want, existing: made, after: 2 * certificateLife, renewed: true},
		"not valid yet":      {want: want, existing: made, after: -time.Hour, renewed: true},
		"another name":       {want: component.SelfSigned{CommonName: want.CommonName, DNSNames: []string{"shop.example.com"}}, existing: made, renewed: true},
		"another subject":    {want: component.SelfSigned{CommonName: "other", DNSNames: want.DNSNames}, existing: made, renewed: true},
		"no key":             {want: want, existing: without("tls.key"), renewed: true},
		"no authority":       {want: want, existing: without("ca.crt"), renewed: true},
		"garbage":            {want: want, existing: map[string][]byte{"tls.crt": []byte("x"), "tls.key": []byte("y"), "ca.crt": []byte("z")}, renewed: true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got := pair(t, tt.want, tt.existing, noon().Add(tt.after))
			if renewed := !bytes.Equal(got["tls.crt"], made["tls.crt"]); renewed != tt.renewed {
				t.Errorf("renewed is %v, want %v", renewed, tt.renewed)
			}
		})
	}
}

func TestCertificateIsTrustedByItself(t *testing.T) {
	want := component.SelfSigned{CommonName: strings.Repeat("long", 30), DNSNames: []string{"shop.example.com"}}
	made := pair(t, want, nil, noon())
	crt, roots := parsed(t, made)
	options := x509.VerifyOptions{DNSName: "shop.example.com", Roots: roots, CurrentTime: noon()}
	if _, err := crt.Verify(options); err != nil {
		t.Errorf("the pair does not verify: %v", err)
	}
	options.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if _, err := crt.Verify(options); err == nil {
		t.Error("the certificate is valid for clients, too")
	}
	if diff := cmp.Diff(want.DNSNames, crt.DNSNames); diff != "" {
		t.Errorf("names (-want +got):\n%s", diff)
	}
}

// TestCertificateSignsNothing checks that clients that trust ca.crt trust no other certificate that
// its key signs, and that one that was made as an authority is replaced.
func TestCertificateSignsNothing(t *testing.T) {
	want := component.SelfSigned{CommonName: "shop", DNSNames: []string{"shop.example.com"}}
	made := pair(t, want, nil, noon())
	crt, roots := parsed(t, made)
	loaded, err := tls.X509KeyPair(made["tls.crt"], made["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	if crt.IsCA || crt.KeyUsage != x509.KeyUsageDigitalSignature {
		t.Errorf("authority %t, key usage %b", crt.IsCA, crt.KeyUsage)
	}
	other := &x509.Certificate{SerialNumber: crt.SerialNumber, DNSNames: []string{"bank.example.com"}, NotBefore: crt.NotBefore, NotAfter: crt.NotAfter}
	der, err := x509.CreateCertificate(rand.Reader, other, crt, crt.PublicKey, loaded.PrivateKey)
	if err != nil {
		t.Fatal(err)
	}
	if other, err = x509.ParseCertificate(der); err != nil {
		t.Fatal(err)
	}
	if _, err := other.Verify(x509.VerifyOptions{DNSName: "bank.example.com", Roots: roots, CurrentTime: noon()}); err == nil {
		t.Error("a certificate that its key signed is trusted")
	}

	former := *crt
	former.IsCA, former.KeyUsage = true, x509.KeyUsageDigitalSignature|x509.KeyUsageCertSign
	if der, err = x509.CreateCertificate(rand.Reader, &former, &former, crt.PublicKey, loaded.PrivateKey); err != nil {
		t.Fatal(err)
	}
	authority := maps.Clone(made)
	authority["tls.crt"] = pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	authority["ca.crt"] = authority["tls.crt"]
	if again := pair(t, want, authority, noon()); bytes.Equal(again["tls.crt"], authority["tls.crt"]) {
		t.Error("an authority was kept")
	}
}

// parsed returns the certificate of a pair, and the certificates that its clients trust.
func parsed(t *testing.T, data map[string][]byte) (*x509.Certificate, *x509.CertPool) {
	t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(data["ca.crt"]) {
		t.Fatal("ca.crt holds no certificate")
	}
	block, _ := pem.Decode(data["tls.crt"])
	crt, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return crt, roots
}

func pair(t *testing.T, want component.SelfSigned, existing map[string][]byte, now time.Time) map[string][]byte {
	t.Helper()
	data, err := generate(component.Generate{TLS: &want}, existing, source{random: rand.Reader, now: now})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

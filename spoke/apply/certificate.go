package apply

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
)

// certificateLife is for how long a self-signed certificate is valid.
const certificateLife = 365 * 24 * time.Hour

// clockSkew is how far a certificate reaches into the past, for clocks that lag.
const clockSkew = 5 * time.Minute

// caKey is the key of a TLS Secret that holds the authority.
const caKey = "ca.crt"

// maxCommonName is the bound of X.509 for a common name, in characters.
const maxCommonName = 64

// certificate returns the keys of a TLS Secret: the existing pair while it is
// good, else a new one.
func certificate(want component.SelfSigned, existing map[string][]byte, from source) (map[string][]byte, error) {
	if good(want, existing, from.now) {
		return map[string][]byte{
			corev1.TLSCertKey:       existing[corev1.TLSCertKey],
			corev1.TLSPrivateKeyKey: existing[corev1.TLSPrivateKeyKey],
			caKey:                   existing[caKey],
		}, nil
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), from.random)
	if err != nil {
		return nil, fmt.Errorf("generating a key: %w", err)
	}
	serial := make([]byte, 16)
	if _, err := io.ReadFull(from.random, serial); err != nil {
		return nil, fmt.Errorf("generating a serial number: %w", err)
	}
	template := &x509.Certificate{
		SerialNumber:          new(big.Int).SetBytes(serial),
		Subject:               pkix.Name{CommonName: commonName(want)},
		DNSNames:              names(want),
		NotBefore:             from.now.Add(-clockSkew),
		NotAfter:              from.now.Add(certificateLife),
		KeyUsage:              x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
		IsCA:                  true,
	}
	der, err := x509.CreateCertificate(from.random, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	crt := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	return map[string][]byte{
		corev1.TLSCertKey:       crt,
		corev1.TLSPrivateKeyKey: pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}),
		caKey:                   crt,
	}, nil
}

// good tells whether an existing pair fits together, has the wanted names and
// more than a third of its life left.
func good(want component.SelfSigned, existing map[string][]byte, now time.Time) bool {
	if len(existing[caKey]) == 0 {
		return false
	}
	pair, err := tls.X509KeyPair(existing[corev1.TLSCertKey], existing[corev1.TLSPrivateKeyKey])
	if err != nil {
		return false
	}
	crt, err := x509.ParseCertificate(pair.Certificate[0])
	if err != nil {
		return false
	}
	life := crt.NotAfter.Sub(crt.NotBefore)
	return crt.Subject.CommonName == commonName(want) &&
		slices.Equal(crt.DNSNames, names(want)) &&
		!now.Before(crt.NotBefore) &&
		crt.NotAfter.Sub(now) > life/3
}

// names are in order, so that the order in a spec makes no new certificate.
func names(want component.SelfSigned) []string {
	sorted := slices.Clone(want.DNSNames)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func commonName(want component.SelfSigned) string {
	return want.CommonName[:min(len(want.CommonName), maxCommonName)]
}

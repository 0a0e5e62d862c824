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

// certificateLife is the validity of a self-signed certificate.
const certificateLife = 365 * 24 * time.Hour

// clockSkew is how far NotBefore lies in the past, for clocks that lag.
const clockSkew = 5 * time.Minute

// caKey is the key of a TLS Secret that contains what clients must trust: of a self-signed
// certificate, the certificate itself.
const caKey = "ca.crt"

// maxCommonName is the maximum length of a common name in X.509, in characters.
const maxCommonName = 64

// certificate returns the data of a TLS Secret: the existing key pair if it is valid,
// otherwise a new one.
func certificate(want component.SelfSigned, existing map[string][]byte, from source) (map[string][]byte, error) {
	if isValid(want, existing, from.now) {
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
		SerialNumber: new(big.Int).SetBytes(serial),
		Subject:      pkix.Name{CommonName: commonName(want)},
		DNSNames:     names(want),
		NotBefore:    from.now.Add(-clockSkew),
		NotAfter:     from.now.Add(certificateLife),
		// A client that trusts it must trust nothing that its key signs.
		KeyUsage:              x509.KeyUsageDigitalSignature,
		ExtKeyUsage:           []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true,
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

// isValid reports whether the existing certificate matches its key, has the requested
// names, signs no others, and has more than a third of its validity left.
func isValid(want component.SelfSigned, existing map[string][]byte, now time.Time) bool {
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
	return !crt.IsCA && crt.Subject.CommonName == commonName(want) &&
		slices.Equal(crt.DNSNames, names(want)) &&
		!now.Before(crt.NotBefore) &&
		crt.NotAfter.Sub(now) > life/3
}

// names returns the DNS names in sorted order, so that their order in the spec does not
// matter.
func names(want component.SelfSigned) []string {
	sorted := slices.Clone(want.DNSNames)
	slices.Sort(sorted)
	return slices.Compact(sorted)
}

func commonName(want component.SelfSigned) string {
	return want.CommonName[:min(len(want.CommonName), maxCommonName)]
}

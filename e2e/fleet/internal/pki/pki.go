package pki

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

const (
	validity = 365 * 24 * time.Hour
	// Clocks of containers on the same machine may differ a little.
	skew       = 5 * time.Minute
	serialBits = 127
)

// Authority signs the certificates of one control plane.
type Authority struct {
	certificate *x509.Certificate
	key         *ecdsa.PrivateKey
}

// Pair is a certificate and its key, both PEM encoded.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Subject is the subject of the certificate.
type Subject struct {
	// User is the common name, Groups the organisations: for Kubernetes the
	// user's name and groups.
	User   string
	Groups []string
	// Hosts are the addresses a server answers on. A client has none.
	Hosts []string
}

// NewAuthority makes an authority with a new key.
func NewAuthority(name string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the key of authority %q: %w", name, err)
	}
	template, err := newTemplate(pkix.Name{CommonName: name})
	if err != nil {
		return nil, err
	}
	template.IsCA = true
	template.BasicConstraintsValid = true
	template.KeyUsage = x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature
	raw, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, fmt.Errorf("signing authority %q: %w", name, err)
	}
	certificate, err := x509.ParseCertificate(raw)
	if err != nil {
		return nil, fmt.Errorf("parsing authority %q: %w", name, err)
	}
	return &Authority{certificate: certificate, key: key}, nil
}

// Certificate returns the authority's certificate, PEM encoded.
func (a *Authority) Certificate() []byte {
	return encode("CERTIFICATE", a.certificate.Raw)
}

// Issue signs a certificate for the subject.
func (a *Authority) Issue(subject Subject) (Pair, error) {
	template, err := newTemplate(pkix.Name{CommonName: subject.User, Organization: subject.Groups})
	if err != nil {
		return Pair{}, err
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	if len(subject.Hosts) > 0 {
		template.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	}
	for _, host := range subject.Hosts {
		if ip := net.ParseIP(host); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else {
			template.DNSNames = append(template.DNSNames, host)
		}
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return Pair{}, fmt.Errorf("generating the key of %q: %w", subject.User, err)
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, a.certificate, key.Public(), a.key)
	if err != nil {
		return Pair{}, fmt.Errorf("signing the certificate of %q: %w", subject.User, err)
	}
	private, err := encodeKey(key)
	if err != nil {
		return Pair{}, err
	}
	return Pair{Certificate: encode("CERTIFICATE", raw), Key: private}, nil
}

// SigningKey returns a new private key for ServiceAccount tokens, PEM encoded. It
// serves for checking them as well.
func SigningKey() ([]byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generating the signing key: %w", err)
	}
	return encodeKey(key)
}

func newTemplate(name pkix.Name) (*x509.Certificate, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), serialBits))
	if err != nil {
		return nil, fmt.Errorf("drawing a serial number: %w", err)
	}
	now := time.Now()
	return &x509.Certificate{SerialNumber: serial, Subject: name, NotBefore: now.Add(-skew), NotAfter: now.Add(validity)}, nil
}

// encodeKey writes the form that names the curve: Kubernetes reads ServiceAccount
// keys in it.
func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	raw, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, fmt.Errorf("encoding a key: %w", err)
	}
	return encode("EC PRIVATE KEY", raw), nil
}

func encode(kind string, raw []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: raw})
}

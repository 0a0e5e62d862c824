package testenv

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/e2e/kind/images"
)

const (
	// network is the one that kind's nodes are in, and objectsPort where the store is.
	network     = "kind"
	objectsPort = "8443"
	// certificateLife is for how long a store can be used.
	certificateLife = 24 * time.Hour
)

// Objects is an object store that all clusters reach.
type Objects struct {
	// Endpoint is the URL, and CA the certificate authority in PEM.
	Endpoint string
	CA       []byte
	// Bucket names its only bucket, in Region; KeyID and Key are its credentials.
	Bucket, Region, KeyID, Key string

	name string
}

// StartObjects starts an empty object store in the containers' network, in place of one
// that runs.
func (e *Environment) StartObjects(ctx context.Context) (*Objects, error) {
	image, err := e.builder.Objects(ctx)
	if err != nil {
		return nil, err
	}
	o := &Objects{
		Bucket: "dumps", Region: "eu-west-1", KeyID: "shopfleet-e2e", Key: rand.Text(), name: e.storeName(),
	}
	o.Endpoint = "https://" + o.name + ":" + objectsPort
	certificate, key, err := certify(o.name)
	if err != nil {
		return nil, err
	}
	o.CA = certificate
	if err := removeContainer(ctx, o.name); err != nil {
		return nil, err
	}
	cmd := exec.CommandContext(ctx, "docker", "run", "--detach", "--name", o.name, "--network", network,
		"--env", "OBJECTS_CERT", "--env", "OBJECTS_CERT_KEY", "--env", "OBJECTS_KEY_ID", "--env", "OBJECTS_KEY", "--env", "OBJECTS_BUCKET",
		"--env", "OBJECTS_REGION", image, "-listen", ":"+objectsPort)
	cmd.Env = append(os.Environ(), "OBJECTS_CERT="+string(certificate), "OBJECTS_CERT_KEY="+string(key),
		"OBJECTS_KEY_ID="+o.KeyID, "OBJECTS_KEY="+o.Key, "OBJECTS_BUCKET="+o.Bucket, "OBJECTS_REGION="+o.Region)
	if _, err := Run(cmd); err != nil {
		return nil, fmt.Errorf("starting the object store: %w", err)
	}
	return o, nil
}

// Stop stops a store: all that is in it is lost.
func (o *Objects) Stop(ctx context.Context) error { return removeContainer(ctx, o.name) }

// storeName returns the name of the store's container, and so of its host.
func (o Options) storeName() string { return o.Prefix + images.Objects }

// removeContainer removes a container, if there is one of that name.
func removeContainer(ctx context.Context, name string) error {
	out, err := Run(exec.CommandContext(ctx, "docker", "ps", "--all", "--quiet", "--filter", "name=^"+name+"$"))
	if err == nil && strings.TrimSpace(out) != "" {
		_, err = Run(exec.CommandContext(ctx, "docker", "rm", "--force", "--volumes", name))
	}
	if err != nil {
		return fmt.Errorf("removing the container %q: %w", name, err)
	}
	return nil
}

// certify creates a self-signed certificate for a host or an address, and its key.
func certify(host string) (certificate, key []byte, err error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("making a key: %w", err)
	}
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: host},
		NotBefore: now.Add(-time.Hour), NotAfter: now.Add(certificateLife),
		KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		BasicConstraintsValid: true, IsCA: true,
	}
	if ip := net.ParseIP(host); ip != nil {
		template.IPAddresses = []net.IP{ip}
	} else {
		template.DNSNames = []string{host}
	}
	raw, err := x509.CreateCertificate(rand.Reader, template, template, private.Public(), private)
	if err != nil {
		return nil, nil, fmt.Errorf("making a certificate: %w", err)
	}
	encoded, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, nil, fmt.Errorf("encoding a key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: raw}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: encoded}), nil
}

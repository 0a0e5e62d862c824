package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
)

func newKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

// encoded returns a private key in PKCS #8.
func encoded(t *testing.T, key any) []byte {
	t.Helper()
	der, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	return der
}

func inPEM(kind string, der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der})
}

// writeKey writes a new private key into a file.
func writeKey(t *testing.T, path string) {
	t.Helper()
	if err := os.WriteFile(path, inPEM("PRIVATE KEY", encoded(t, newKey(t, elliptic.P256()))), 0o600); err != nil {
		t.Fatal(err)
	}
}

// encrypt returns a key as cosign writes it, but with the least work for the password.
func encrypt(t *testing.T, der []byte, password string) []byte {
	t.Helper()
	var e encrypted
	e.KDF.Name, e.KDF.Params.N, e.KDF.Params.R, e.KDF.Params.P, e.KDF.Salt = "scrypt", 2, 8, 1, []byte("salt")
	e.Cipher.Name, e.Cipher.Nonce = "nacl/secretbox", make([]byte, 24)
	derived, err := scrypt.Key([]byte(password), e.KDF.Salt, 2, 8, 1, 32)
	if err != nil {
		t.Fatal(err)
	}
	e.Ciphertext = secretbox.Seal(nil, der, (*[24]byte)(e.Cipher.Nonce), (*[32]byte)(derived))
	raw, err := json.Marshal(e)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestKeys: the keys of openssl and cosign are read, and what signs otherwise is refused.
func TestKeys(t *testing.T) {
	t.Parallel()
	key := newKey(t, elliptic.P256())
	der := encoded(t, key)
	sec1, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	other, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct {
		raw []byte
		err error
	}{
		"of openssl":           {inPEM("PRIVATE KEY", der), nil},
		"of openssl ecparam":   {inPEM("EC PRIVATE KEY", sec1), nil},
		"of cosign":            {inPEM("ENCRYPTED SIGSTORE PRIVATE KEY", encrypt(t, der, "secret")), nil},
		"of an earlier cosign": {inPEM("ENCRYPTED COSIGN PRIVATE KEY", encrypt(t, der, "secret")), nil},
		"another password":     {inPEM("ENCRYPTED SIGSTORE PRIVATE KEY", encrypt(t, der, "")), errPassword},
		"no JSON":              {inPEM("ENCRYPTED SIGSTORE PRIVATE KEY", der), errKey},
		"another curve":        {inPEM("PRIVATE KEY", encoded(t, newKey(t, elliptic.P384()))), errKey},
		"RSA":                  {inPEM("PRIVATE KEY", encoded(t, other)), errKey},
		"a public key":         {inPEM("PUBLIC KEY", der), errKey},
		"no PEM":               {der, errKey},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseKey(tt.raw, "secret")
			if !errors.Is(err, tt.err) || err == nil && !got.Equal(key) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
		})
	}
}

// public returns the public key that the release has.
func (m made) public(t *testing.T) *ecdsa.PublicKey {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(m.folder, "cosign.pub"))
	if err != nil {
		t.Fatal(err)
	}
	block, _ := pem.Decode(raw)
	parsed, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	key, is := parsed.(*ecdsa.PublicKey)
	if !is {
		t.Fatalf("the public key is %T", parsed)
	}
	return key
}

// isSigned reports whether a signature in base64 is that of a content.
func isSigned(key *ecdsa.PublicKey, content []byte, signature string) bool {
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signature))
	hash := sha256.Sum256(content)
	return err == nil && ecdsa.VerifyASN1(key, hash[:], raw)
}

// testSignatures verifies the signatures of the checksums, of the images and of the charts; that of the checksums also by
// openssl.
func (m made) testSignatures(t *testing.T) {
	key := m.public(t)
	checksums, err := os.ReadFile(filepath.Join(m.folder, "checksums.txt"))
	if err != nil {
		t.Fatal(err)
	}
	signature, err := os.ReadFile(filepath.Join(m.folder, "checksums.txt.sig"))
	if err != nil {
		t.Fatal(err)
	}
	if !isSigned(key, checksums, string(signature)) || isSigned(key, append(checksums, 'x'), string(signature)) {
		t.Errorf("%s does not sign the checksums", signature)
	}
	m.verifyByOpenSSL(t, string(signature))
	for _, process := range processes() {
		m.verifyPushed(t, key, m.registry+"/shopfleet-"+process+":"+version)
		m.verifyPushed(t, key, m.registry+"/charts/shopfleet-"+process+":"+strings.TrimPrefix(version, "v"))
	}
}

func (m made) verifyByOpenSSL(t *testing.T, signature string) {
	t.Helper()
	openssl, err := exec.LookPath("openssl")
	if err != nil {
		t.Fatal("openssl is missing, with which SECURITY.md verifies the checksums without cosign: install the package openssl of the system")
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(signature))
	if err != nil {
		t.Fatal(err)
	}
	decoded := filepath.Join(t.TempDir(), "signature")
	if err := os.WriteFile(decoded, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), openssl, "dgst", "-sha256", "-verify", "cosign.pub", "-signature", decoded, "checksums.txt")
	cmd.Dir = m.folder
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("openssl: %v: %s", err, out)
	}
}

// verifyPushed verifies what the registry has beside an image or a chart: a payload with its digest, and the signature of it.
func (m made) verifyPushed(t *testing.T, key *ecdsa.PublicKey, pushed string) {
	t.Helper()
	reference, err := name.ParseReference(pushed)
	if err != nil {
		t.Fatal(err)
	}
	found, err := remote.Head(reference)
	if err != nil {
		t.Fatal(err)
	}
	digest := reference.Context().Digest(found.Digest.String())
	image, err := remote.Image(signatureTag(digest))
	if err != nil {
		t.Fatalf("the signature of %s: %v", pushed, err)
	}
	manifest, err := image.Manifest()
	if err != nil {
		t.Fatal(err)
	}
	layers, err := image.Layers()
	if err != nil || len(layers) != 1 || string(manifest.Layers[0].MediaType) != payloadType {
		t.Fatalf("the signature of %s has %d layers in %+v, %v", pushed, len(layers), manifest, err)
	}
	content, err := layers[0].Compressed()
	if err != nil {
		t.Fatal(err)
	}
	raw, err := io.ReadAll(content)
	if err != nil {
		t.Fatal(err)
	}
	want := `{"critical":{"identity":{"docker-reference":"` + reference.Context().Name() + `"},"image":{"docker-manifest-digest":"` +
		found.Digest.String() + `"},"type":"cosign container image signature"},"optional":null}`
	if diff := cmp.Diff(want, string(raw)); diff != "" {
		t.Errorf("what is signed of %s (-want +got):\n%s", pushed, diff)
	}
	if !isSigned(key, raw, manifest.Layers[0].Annotations["dev.cosignproject.cosign/signature"]) {
		t.Errorf("%s has another signature: %v", pushed, manifest.Layers[0].Annotations)
	}
}

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/google/go-containerregistry/pkg/authn"
	"github.com/google/go-containerregistry/pkg/name"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/remote"
	"github.com/google/go-containerregistry/pkg/v1/static"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// What cosign looks for beside an image.
const (
	payloadType         = "application/vnd.dev.cosign.simplesigning.v1+json"
	signatureAnnotation = "dev.cosignproject.cosign/signature"
	payloadKind         = "cosign container image signature"
)

// sign returns the signature of a content as cosign and openssl verify it: of its SHA-256, in base64.
func sign(key *ecdsa.PrivateKey, content []byte) (string, error) {
	hash := sha256.Sum256(content)
	signature, err := ecdsa.SignASN1(rand.Reader, key, hash[:])
	if err != nil {
		return "", fmt.Errorf("signing: %w", err)
	}
	return base64.StdEncoding.EncodeToString(signature), nil
}

// signChecksums signs the checksums, and with them all files of the release, and writes the public key beside them.
func (r release) signChecksums() error {
	if r.key == "" {
		fmt.Println("NOT SIGNED: no --key was given")
		return nil
	}
	key, err := readKey(r.key, os.Getenv("COSIGN_PASSWORD"))
	if err != nil {
		return err
	}
	checksums, err := os.ReadFile(filepath.Join(r.output, "checksums.txt"))
	if err != nil {
		return err
	}
	signature, err := sign(key, checksums)
	if err != nil {
		return err
	}
	der, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return fmt.Errorf("encoding the public key: %w", err)
	}
	public := pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der})
	if err := os.WriteFile(filepath.Join(r.output, "cosign.pub"), public, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.output, "checksums.txt.sig"), []byte(signature+"\n"), 0o644)
}

// payload represents the claim about an image that is signed, https://github.com/containers/image/blob/main/docs/containers-signature.5.md.
type payload struct {
	Critical critical `json:"critical"`
	Optional any      `json:"optional"`
}

type critical struct {
	Identity identity `json:"identity"`
	Image    digested `json:"image"`
	Type     string   `json:"type"`
}

type identity struct {
	Reference string `json:"docker-reference"`
}

type digested struct {
	Digest string `json:"docker-manifest-digest"`
}

// signatureOf returns the signature of an image or chart as an image with one layer, which is stored under signatureTag.
func signatureOf(key *ecdsa.PrivateKey, signed name.Digest) (v1.Image, error) {
	content, err := json.Marshal(payload{Critical: critical{
		Identity: identity{signed.Context().Name()}, Image: digested{signed.DigestStr()}, Type: payloadKind,
	}})
	if err != nil {
		return nil, err
	}
	signature, err := sign(key, content)
	if err != nil {
		return nil, err
	}
	image := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	return mutate.Append(image, mutate.Addendum{
		Layer: static.NewLayer(content, payloadType), Annotations: map[string]string{signatureAnnotation: signature},
	})
}

// signatureTag returns where cosign looks for the signature of a digest.
func signatureTag(signed name.Digest) name.Tag {
	return signed.Context().Tag(strings.ReplaceAll(signed.DigestStr(), ":", "-") + ".sig")
}

// signPushed signs an image or a chart of a registry; without a key it does nothing.
func signPushed(ctx context.Context, key *ecdsa.PrivateKey, signed name.Digest) error {
	if key == nil {
		return nil
	}
	image, err := signatureOf(key, signed)
	if err != nil {
		return fmt.Errorf("signing %s: %w", signed, err)
	}
	if err := remote.Write(signatureTag(signed), image, remote.WithContext(ctx), remote.WithAuthFromKeychain(authn.DefaultKeychain)); err != nil {
		return fmt.Errorf("pushing the signature of %s: %w", signed, err)
	}
	fmt.Printf("%s is signed\n", signed)
	return nil
}

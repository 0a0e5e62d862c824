package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"os"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"
)

var (
	errKey      = errors.New("want a PEM file with a private key of ECDSA on P-256, of openssl or of cosign generate-key-pair")
	errPassword = errors.New("COSIGN_PASSWORD is not its password")
)

// readKey reads a private key from a PEM file. One of cosign is encrypted with a password, which may be empty.
func readKey(path, password string) (*ecdsa.PrivateKey, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the key: %w", err)
	}
	key, err := parseKey(raw, password)
	if err != nil {
		return nil, fmt.Errorf("reading the key %s: %w", path, err)
	}
	return key, nil
}

func parseKey(raw []byte, password string) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(raw)
	if block == nil {
		return nil, errKey
	}
	der := block.Bytes
	switch block.Type {
	case "EC PRIVATE KEY":
		key, err := x509.ParseECPrivateKey(der)
		if err != nil {
			return nil, errors.Join(errKey, err)
		}
		return onP256(key)
	case "ENCRYPTED SIGSTORE PRIVATE KEY", "ENCRYPTED COSIGN PRIVATE KEY":
		var err error
		if der, err = decrypt(der, password); err != nil {
			return nil, err
		}
	case "PRIVATE KEY":
	default:
		return nil, errKey
	}
	parsed, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.Join(errKey, err)
	}
	return onP256(parsed)
}

func onP256(parsed any) (*ecdsa.PrivateKey, error) {
	key, is := parsed.(*ecdsa.PrivateKey)
	if !is || key.Curve != elliptic.P256() {
		return nil, errKey
	}
	return key, nil
}

// encrypted is a key as cosign writes it: the key of the box is derived from the password.
type encrypted struct {
	KDF struct {
		Name   string `json:"name"`
		Params struct {
			N int `json:"N"`
			R int `json:"r"`
			P int `json:"p"`
		} `json:"params"`
		Salt []byte `json:"salt"`
	} `json:"kdf"`
	Cipher struct {
		Name  string `json:"name"`
		Nonce []byte `json:"nonce"`
	} `json:"cipher"`
	Ciphertext []byte `json:"ciphertext"`
}

// decrypt returns the DER of a key of cosign.
func decrypt(raw []byte, password string) ([]byte, error) {
	var e encrypted
	if err := json.Unmarshal(raw, &e); err != nil {
		return nil, errors.Join(errKey, err)
	}
	var nonce [24]byte
	if e.KDF.Name != "scrypt" || e.Cipher.Name != "nacl/secretbox" || copy(nonce[:], e.Cipher.Nonce) != len(nonce) {
		return nil, errKey
	}
	derived, err := scrypt.Key([]byte(password), e.KDF.Salt, e.KDF.Params.N, e.KDF.Params.R, e.KDF.Params.P, 32)
	if err != nil {
		return nil, errors.Join(errKey, err)
	}
	der, ok := secretbox.Open(nil, e.Ciphertext, &nonce, (*[32]byte)(derived))
	if !ok {
		return nil, errPassword
	}
	return der, nil
}

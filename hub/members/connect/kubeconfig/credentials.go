package kubeconfig

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"strconv"
	"strings"
	"time"

	"k8s.io/client-go/rest"
)

// fingerprint hashes all connection data. Each value is preceded by its length, so that
// different configurations never produce the same input.
func fingerprint(config *rest.Config) string {
	hash := sha256.New()
	for _, value := range []string{
		config.Host,
		config.ServerName,
		string(config.CAData),
		string(config.CertData),
		string(config.KeyData),
		config.BearerToken,
		strconv.FormatBool(config.DisableCompression),
	} {
		hash.Write(binary.BigEndian.AppendUint64(nil, uint64(len(value))))
		hash.Write([]byte(value))
	}
	return hex.EncodeToString(hash.Sum(nil))
}

// The bounds of the times in a token, in seconds since the epoch: other times cannot be
// written in RFC 3339.
const (
	minExpiry = 0
	maxExpiry = 253402300799 // The last second of the year 9999.
)

// tokenClaims are the claims of a token that the hub uses. They are not verified.
type tokenClaims struct {
	Expiry   *float64 `json:"exp"`
	IssuedAt *float64 `json:"iat"`
	Subject  string   `json:"sub"`
}

// claimsOf returns the claims of a token that is a JSON Web Token, and of any other none.
func claimsOf(token string) tokenClaims {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return tokenClaims{}
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return tokenClaims{}
	}
	var claims tokenClaims
	if err := json.Unmarshal(raw, &claims); err != nil {
		return tokenClaims{}
	}
	return claims
}

// account returns the ServiceAccount that a token was issued for, as namespace/name, or
// an empty string.
func (c tokenClaims) account() string {
	name, ok := strings.CutPrefix(c.Subject, "system:serviceaccount:")
	if !ok || strings.Count(name, ":") != 1 {
		return ""
	}
	return strings.Replace(name, ":", "/", 1)
}

// timeOf returns the time of a claim, and false if it has none that can be represented.
func timeOf(claim *float64) (time.Time, bool) {
	if claim == nil || !(*claim > minExpiry && *claim <= maxExpiry) {
		return time.Time{}, false
	}
	return time.Unix(int64(*claim), 0).UTC(), true
}

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

// The bounds of a token's expiry, in seconds since the epoch: other times cannot be
// written in RFC 3339.
const (
	minExpiry = 0
	maxExpiry = 253402300799 // The last second of the year 9999.
)

// tokenExpiry returns the exp claim of a token that is a JSON Web Token.
func tokenExpiry(token string) (time.Time, bool) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return time.Time{}, false
	}
	raw, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return time.Time{}, false
	}
	var claims struct {
		Expiry *float64 `json:"exp"`
	}
	if err := json.Unmarshal(raw, &claims); err != nil || claims.Expiry == nil {
		return time.Time{}, false
	}
	seconds := *claims.Expiry
	if !(seconds > minExpiry && seconds <= maxExpiry) {
		return time.Time{}, false
	}
	return time.Unix(int64(seconds), 0).UTC(), true
}

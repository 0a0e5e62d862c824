package objectstore

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

const (
	// version is the version of the service that signatures name. It also governs the
	// requests that use them. It takes blobs of 5000 MiB in one request.
	version = "2022-11-02"
	// timeFormat is the format of times in signatures.
	timeFormat = "2006-01-02T15:04:05Z"
)

// SignRequests signs each request for one blob. It sends a request only if no key is valid long
// enough.
func (b *box) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	q := question("SignRequests", "read")
	q.Permission = delegate
	if err := cloud.CheckRequests(wanted, life); err != nil {
		out := q.Refuse(cloud.ClassInvalid, "", err.Error())
		out.Err = err
		return nil, out
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	k, err := b.keys.get(ctx, life)
	if err != nil {
		return nil, b.fail(q, err)
	}
	expires := b.config.Clock.Now().Add(life).UTC().Truncate(time.Second)
	out := make([]cloud.SignedRequest, 0, len(wanted))
	for _, w := range wanted {
		signed := cloud.SignedRequest{Method: w.Method, ExpiresAt: expires}
		permission := "r"
		if w.Method == http.MethodPut {
			permission = "c" // Not w, which would overwrite an existing blob.
			signed.Header = map[string]string{"x-ms-blob-type": "BlockBlob", "If-None-Match": "*"}
		}
		blob := b.prefix + w.Key
		// Keys, prefixes and containers have no characters that a URL must escape.
		signed.URL = b.url + "/" + blob + "?" + b.signature(k, grant{blob, permission, expires}).Encode()
		out = append(out, signed)
	}
	return out, nil
}

// grant represents the permissions of a signature and when they expire.
type grant struct {
	blob, permission string
	expires          time.Time
}

// signature returns the query of a shared access signature with a user delegation key.
func (b *box) signature(k key, g grant) url.Values {
	protocol := "https"
	if strings.HasPrefix(b.url, "http://") {
		protocol = "https,http" // On a loopback address; identity.Place.Blobs sees to that.
	}
	expires := g.expires.Format(timeFormat)
	const resource = "b"
	text := strings.Join([]string{
		g.permission, "", expires, "/blob/" + b.account + "/" + b.name + "/" + g.blob,
		k.SignedOid, k.SignedTid, k.SignedStart, k.SignedExpiry, k.SignedService, k.SignedVersion,
		"", "", "", // Users of a hierarchy, and a correlation.
		"", protocol, version, resource,
		"", "", // A snapshot, and an encryption scope.
		"", "", "", "", "", // Headers that answers would get.
	}, "\n")
	mac := hmac.New(sha256.New, k.secret)
	_, _ = mac.Write([]byte(text)) // A hash takes everything.
	return url.Values{
		"sv": {version}, "sr": {resource}, "sp": {g.permission}, "se": {expires}, "spr": {protocol},
		"skoid": {k.SignedOid}, "sktid": {k.SignedTid}, "skt": {k.SignedStart}, "ske": {k.SignedExpiry}, "sks": {k.SignedService}, "skv": {k.SignedVersion},
		"sig": {base64.StdEncoding.EncodeToString(mac.Sum(nil))},
	}
}

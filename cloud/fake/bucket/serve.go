package bucket

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

// The header with which nothing is written over.
const (
	headerCondition = "If-None-Match"
	conditionAbsent = "*"
)

// sign makes a request that ServeHTTP carries out until it expires. Its time is whole
// seconds, so that it expires early rather than late.
func (s *Store) sign(base, method, key string, life time.Duration) cloud.SignedRequest {
	expires := s.clock.Now().Add(life).Truncate(time.Second)
	query := url.Values{"expires": {strconv.FormatInt(expires.Unix(), 10)}, "signature": {s.signature(method, key, expires)}}
	signed := cloud.SignedRequest{Method: method, URL: base + "/" + key + "?" + query.Encode(), ExpiresAt: expires}
	if method == http.MethodPut {
		signed.Header = map[string]string{headerCondition: conditionAbsent}
	}
	return signed
}

// signature returns a signature that only this store can create.
func (s *Store) signature(method, key string, expires time.Time) string {
	mac := hmac.New(sha256.New, s.secret)
	_, _ = fmt.Fprintf(mac, "%s\n%s\n%d", method, key, expires.Unix()) // A hash takes everything.
	return hex.EncodeToString(mac.Sum(nil))
}

// ServeHTTP carries out requests that Objects of this store have signed, and no others.
func (s *Store) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	key := strings.TrimPrefix(r.URL.Path, "/")
	seconds, err := strconv.ParseInt(r.URL.Query().Get("expires"), 10, 64)
	expires := time.Unix(seconds, 0)
	if err != nil || !s.clock.Now().Before(expires) || !hmac.Equal([]byte(r.URL.Query().Get("signature")), []byte(s.signature(r.Method, key, expires))) {
		http.Error(w, "the request is not signed, or has expired", http.StatusForbidden)
		return
	}
	switch r.Method {
	case http.MethodGet:
		s.serveContent(w, r, key)
	case http.MethodPut:
		s.takeContent(w, r, key)
	default:
		http.Error(w, "neither PUT nor GET", http.StatusMethodNotAllowed)
	}
}

func (s *Store) serveContent(w http.ResponseWriter, r *http.Request, key string) {
	object, content, err := s.Open(key)
	if err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
		return
	}
	defer func() { _ = content.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	http.ServeContent(w, r, "", object.ModifiedAt, content)
}

func (s *Store) takeContent(w http.ResponseWriter, r *http.Request, key string) {
	if r.Header.Get(headerCondition) != conditionAbsent {
		http.Error(w, headerCondition+" is signed, and is not there", http.StatusForbidden)
		return
	}
	switch _, err := s.Create(key, http.MaxBytesReader(w, r.Body, cloud.MaxObject)); {
	case errors.Is(err, ErrExists):
		http.Error(w, err.Error(), http.StatusPreconditionFailed)
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadRequest)
	default:
		w.WriteHeader(http.StatusCreated)
	}
}

package cloud

import (
	"context"
	"fmt"
	"iter"
	"net/http"
	"regexp"
	"strings"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

const (
	// MaxObject is the maximum size of an object in bytes. Every provider accepts it in a
	// single request.
	MaxObject = 1 << 30
	// MaxKey is the maximum length of a key, without the prefix of the account.
	MaxKey = 512
	// MaxLife is the maximum lifetime of a signed request.
	MaxLife = time.Hour
)

// ObjectStore gives access to the bucket of one account, below the account's prefix, which keys do
// not include. Errors wrap *Error. Implementations are safe for concurrent use.
//
// Objects are never overwritten: an object does not change until it is deleted, even by holders
// of a signed request.
type ObjectStore interface {
	// SignRequests returns signed requests in the order of wanted. Their holder may send them
	// without credentials until they expire; they allow nothing else. Signing sends at most
	// one request for each. The life is between 1 minute and MaxLife; the signed requests
	// may expire earlier, never later.
	SignRequests(ctx context.Context, wanted []ObjectRequest, life time.Duration) ([]SignedRequest, error)
	// PutObject creates an object of at most 1 MiB. It succeeds if the object exists with
	// the same content, and fails with Conflict if it exists with another one.
	PutObject(ctx context.Context, key string, content []byte) error
	// GetObject reads an object of at most limit bytes, which is at most 1 MiB. A larger
	// object is an error of class Invalid.
	GetObject(ctx context.Context, key string, limit int64) ([]byte, error)
	// ListObjects iterates over the objects whose keys begin with a prefix, in the order of
	// their keys. An error ends the iteration; the list is incomplete then.
	ListObjects(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// DeleteObject deletes an object. It succeeds if the object does not exist, and fails
	// with Locked if a policy of the bucket retains it.
	DeleteObject(ctx context.Context, key string) error
}

// Object describes an object in a list.
type Object struct {
	Key   string
	Bytes int64
	// ModifiedAt is the time of its creation by the provider's clock.
	ModifiedAt time.Time
}

// ObjectRequest is a request to sign: the upload of a new object, or a download.
type ObjectRequest struct {
	// Method is PUT, which never overwrites an object, or GET.
	Method string
	Key    string
	// CRC32C is the checksum of the content to upload, its 4 bytes in base64. Empty if it is not
	// known: buckets with a default retention refuse the upload then. Only S3 verifies it.
	CRC32C string
}

// SignedRequest is a request that its holder may send without credentials. It is a secret.
type SignedRequest struct {
	Method string
	URL    string
	// Header must be sent with the request. It may contain a token.
	Header map[string]string
	// ExpiresAt is the time from which the provider refuses the request.
	ExpiresAt time.Time
}

// OpenBucket creates an ObjectStore for the bucket in spec.objectStorage of config.Spec without sending
// a request. It ignores config.Region.
type OpenBucket func(ctx context.Context, config Config) (ObjectStore, error)

// errKey means that a provider might not accept a key, or might encode it in a URL.
var errKey = fmt.Errorf("keys are 1 to %d letters, digits and . _ - /, without empty parts or parts of dots", MaxKey)

// CheckKey returns an error if a key is invalid.
func CheckKey(key string) error {
	if len(key) > MaxKey || !regexp.MustCompile(`^[A-Za-z0-9._-]+(/[A-Za-z0-9._-]+)*$`).MatchString(key) {
		return fmt.Errorf("key %q: %w", key, errKey)
	}
	for part := range strings.SplitSeq(key, "/") {
		if strings.Trim(part, ".") == "" {
			return fmt.Errorf("key %q: %w", key, errKey)
		}
	}
	return nil
}

// CheckRequests returns an error if a request to sign, or the life, is invalid.
func CheckRequests(wanted []ObjectRequest, life time.Duration) error {
	if life < time.Minute || life > MaxLife {
		return fmt.Errorf("lifetime %s is not between 1m and %s", life, MaxLife)
	}
	for _, w := range wanted {
		if w.Method != http.MethodPut && w.Method != http.MethodGet {
			return fmt.Errorf("method %q is neither PUT nor GET", w.Method)
		}
		if err := CheckKey(w.Key); err != nil {
			return err
		}
	}
	return nil
}

// Buckets maps each provider to its OpenBucket function.
type Buckets map[v1.Provider]OpenBucket

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
	// MaxObject is the most that one object may hold, in bytes: every provider takes that
	// in a single request.
	MaxObject = 1 << 30
	// MaxKey is the longest key, in characters; the prefix of the account comes on top.
	MaxKey = 512
	// MaxLife is the longest life of a signed request.
	MaxLife = time.Hour
)

// Objects are the files in the bucket of one account, below the account's prefix, which
// is in no key here. Errors wrap *Error.
//
// Nothing is ever written over: what there is under a key stays as it is until it is
// deleted, whoever holds a signed request or a key of the account.
type Objects interface {
	// SignRequests returns requests, in the order asked for, that whoever holds them may
	// send without credentials of their own, for exactly what they say and until they
	// expire. Signing may cost a request for a token, and never more than one for each.
	// Life is 1 minute to MaxLife; the requests may expire earlier, never later.
	SignRequests(ctx context.Context, wanted []ObjectRequest, life time.Duration) ([]SignedRequest, error)
	// PutObject makes an object of at most 1 MiB. It is nil when one of the very same
	// content is there already, and Conflict when another one is.
	PutObject(ctx context.Context, key string, content []byte) error
	// GetObject reads an object of at most limit bytes, 1 MiB at most; one that is larger
	// is Invalid.
	GetObject(ctx context.Context, key string, limit int64) ([]byte, error)
	// ListObjects reads all whose keys begin with a prefix, in the order of their keys.
	// After an error nothing more comes, and what came is not complete.
	ListObjects(ctx context.Context, prefix string) iter.Seq2[Object, error]
	// DeleteObject deletes one. It is nil when it is gone already, Locked when a policy
	// of the bucket holds it.
	DeleteObject(ctx context.Context, key string) error
}

// Object is what a list says of an object.
type Object struct {
	Key   string
	Bytes int64
	// ModifiedAt is when it was made, by the provider's clock.
	ModifiedAt time.Time
}

// ObjectRequest is a request to sign: the upload of a new object, or the download of one.
type ObjectRequest struct {
	// Method is PUT, which never writes over what is there, or GET.
	Method string
	Key    string
}

// SignedRequest may be sent by whoever holds it. It is a secret.
type SignedRequest struct {
	Method string
	URL    string
	// Header must be sent with it, one value each; it may hold a token.
	Header map[string]string
	// ExpiresAt is when it stops working.
	ExpiresAt time.Time
}

// OpenBucket connects to the bucket of an account: spec.objectStorage of config.Spec. As
// Connect it sends nothing; config.Region does not matter.
type OpenBucket func(ctx context.Context, config Config) (Objects, error)

// errKey means that not every provider would take a key as it is, in a URL too.
var errKey = fmt.Errorf("keys are 1 to %d letters, digits and . _ - /, without empty parts or parts of dots", MaxKey)

// CheckKey tells what is wrong with a key.
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

// CheckRequests tells what is wrong with requests to sign, and with their life.
func CheckRequests(wanted []ObjectRequest, life time.Duration) error {
	if life < time.Minute || life > MaxLife {
		return fmt.Errorf("a life of %s is not 1m to %s", life, MaxLife)
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

// Buckets says how to connect to the buckets of each provider.
type Buckets map[v1.Provider]OpenBucket

package v1

import (
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// RestartNow is the value of ImageUpdatedAnnotation that requests a restart now and is removed
// when it begins. Every other value is a token.
const RestartNow = "true"

// maxRestartToken is the length of the longest token that pod templates carry as it is, in
// bytes.
const maxRestartToken = 63

// RequestedRestart returns the value of RestartedAtAnnotation that an object must get, which is
// empty if no restart is requested that was not handled. The last handled token is in its status.
// The value for a token is derived from the token: a controller that ends before it writes the
// status finds that the object has the value already, and restarts nothing again.
func RequestedRestart(annotations map[string]string, handled string, now time.Time) string {
	request, restarted := annotations[ImageUpdatedAnnotation], annotations[RestartedAtAnnotation]
	switch {
	case request == "":
		return ""
	case request == RestartNow:
		return now.UTC().Format(time.RFC3339)
	case request == handled && restarted != "", shortToken(request) == restarted:
		return ""
	default:
		return shortToken(request)
	}
}

func shortToken(token string) string {
	if len(token) <= maxRestartToken {
		return token
	}
	sum := sha256.Sum256([]byte(token))
	return hex.EncodeToString(sum[:16])
}

// HandledImageUpdate returns the last handled token: the requested one once the object has the
// value for it, and the previous one until then.
func HandledImageUpdate(annotations map[string]string, previous string) string {
	request := annotations[ImageUpdatedAnnotation]
	if request != "" && request != RestartNow && shortToken(request) == annotations[RestartedAtAnnotation] {
		return request
	}
	return previous
}

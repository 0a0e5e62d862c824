package arm

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// answer represents the response to a request.
type answer struct {
	status int
	header http.Header
	// body is sent as JSON; nil for none.
	body any
}

type failure struct {
	Error failureBody `json:"error"`
}

type failureBody struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

func refuse(status int, code, format string, args ...any) answer {
	return answer{status: status, body: failure{failureBody{Code: code, Message: fmt.Sprintf(format, args...)}}}
}

// ErrorBody returns the body of an error response.
func ErrorBody(code, message string) string {
	body, err := json.Marshal(failure{failureBody{Code: code, Message: message}})
	if err != nil {
		return "" // Two strings always marshal.
	}
	return string(body)
}

// guid makes a UUID of parts, the same for the same ones.
func guid(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	sum[6], sum[8] = sum[6]&0x0f|0x80, sum[8]&0x3f|0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", sum[0:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
}

// The kinds of targets of a path.
const (
	kindGroup       = "resourceGroups"
	kindPermissions = "permissions"
	kindDisks       = "disks"
	kindSnapshots   = "snapshots"
	kindSets        = "diskEncryptionSets"
)

// target represents the resource that a path names.
type target struct {
	subscription, group, kind, name string
}

// parse reads a path, whose fixed parts are compared as the service does: in any case.
func parse(path string) (target, bool) {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	if len(parts) < 4 || !strings.EqualFold(parts[0], "subscriptions") {
		return target{}, false
	}
	to := target{subscription: parts[1]}
	parts = parts[2:]
	if strings.EqualFold(parts[0], kindGroup) {
		to.group, parts = parts[1], parts[2:]
		if len(parts) == 0 {
			to.kind = kindGroup
			return to, true
		}
	}
	if len(parts) < 3 || !strings.EqualFold(parts[0], "providers") {
		return target{}, false
	}
	namespace, parts := parts[1], parts[2:]
	switch {
	case strings.EqualFold(namespace, "Microsoft.Authorization") && len(parts) == 1 && strings.EqualFold(parts[0], kindPermissions):
		to.kind = kindPermissions
	case !strings.EqualFold(namespace, "Microsoft.Compute"):
		return target{}, false
	case len(parts) <= 2 && strings.EqualFold(parts[0], kindDisks):
		to.kind, to.name = kindDisks, strings.Join(parts[1:], "")
	case len(parts) <= 2 && strings.EqualFold(parts[0], kindSnapshots):
		to.kind, to.name = kindSnapshots, strings.Join(parts[1:], "")
	case len(parts) == 2 && strings.EqualFold(parts[0], kindSets):
		to.kind, to.name = kindSets, parts[1]
	default:
		return target{}, false
	}
	return to, true
}

// id returns the ID of a disk or snapshot.
func (t target) id() string {
	return "/subscriptions/" + t.subscription + "/resourceGroups/" + t.group + "/providers/Microsoft.Compute/" + t.kind + "/" + t.name
}

// action returns the permission that a request needs.
func (t target) action(method string) string {
	verb := map[string]string{http.MethodGet: "read", http.MethodPut: "write", http.MethodDelete: "delete"}[method]
	switch t.kind {
	case kindGroup:
		return "Microsoft.Resources/subscriptions/resourceGroups/" + verb
	case kindPermissions:
		return "Microsoft.Authorization/permissions/" + verb
	default:
		return "Microsoft.Compute/" + t.kind + "/" + verb
	}
}

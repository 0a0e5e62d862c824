package objectstore

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"cloud.google.com/go/auth"
	"cloud.google.com/go/auth/credentials/downscope"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/gcp/apierror"
	"github.com/shopfleet/shopfleet/cloud/gcp/identity"
)

// conditionHeader makes an upload fail if the object exists.
const conditionHeader = "x-goog-if-generation-match"

// SignRequests returns requests with a token that is valid for their objects only.
func (o *objects) SignRequests(ctx context.Context, wanted []cloud.ObjectRequest, life time.Duration) ([]cloud.SignedRequest, error) {
	const op = "SignRequests"
	if err := cloud.CheckRequests(wanted, life); err != nil {
		return nil, apierror.Refuse(op, cloud.ClassInvalid, "%v", err)
	}
	latest := o.clock.Now().Add(life)
	tokens := map[string]*auth.Token{}
	for method, role := range map[string]string{http.MethodPut: "roles/storage.objectCreator", http.MethodGet: "roles/storage.objectViewer"} {
		condition := o.condition(wanted, method)
		if condition == "" {
			continue
		}
		token, err := o.narrow(ctx, downscope.AccessBoundaryRule{
			AvailableResource: "//storage.googleapis.com/projects/_/buckets/" + o.bucket, AvailablePermissions: []string{"inRole:" + role},
			Condition: &downscope.AvailabilityCondition{Expression: condition},
		}, life)
		if err != nil {
			return nil, apierror.Classify(apierror.Failure{Op: op, Cause: err})
		}
		if token.Expiry.After(latest) {
			token.Expiry = latest
		}
		tokens[method] = token
	}
	out := make([]cloud.SignedRequest, 0, len(wanted))
	for _, w := range wanted {
		signed := cloud.SignedRequest{
			Method: w.Method, URL: o.endpoint + "/" + o.bucket + "/" + o.prefix + w.Key, ExpiresAt: tokens[w.Method].Expiry,
			Header: map[string]string{"Authorization": "Bearer " + tokens[w.Method].Value},
		}
		if w.Method == http.MethodPut {
			signed.Header[conditionHeader] = "0"
		}
		out = append(out, signed)
	}
	return out, nil
}

// narrow requests a downscoped token within the timeout of a request.
func (o *objects) narrow(ctx context.Context, rule downscope.AccessBoundaryRule, life time.Duration) (*auth.Token, error) {
	ctx, cancel := context.WithTimeout(ctx, identity.RequestTimeout)
	defer cancel()
	return o.credentials.Narrow(ctx, rule, life)
}

// condition returns an expression that is true for the wanted objects of a method, and
// for as few others as possible; empty if there are none. Keys have no quotes.
func (o *objects) condition(wanted []cloud.ObjectRequest, method string) string {
	first, shared := "", ""
	one := true
	for _, w := range wanted {
		switch {
		case w.Method != method:
		case first == "":
			first, shared = w.Key, w.Key
		default:
			one = one && w.Key == first
			shared = common(shared, w.Key)
		}
	}
	name := "projects/_/buckets/" + o.bucket + "/objects/" + o.prefix
	switch {
	case first == "":
		return ""
	case one:
		return fmt.Sprintf("resource.name == '%s'", name+first)
	default:
		return fmt.Sprintf("resource.name.startsWith('%s')", name+shared)
	}
}

// common returns the longest common prefix of two keys.
func common(a, b string) string {
	n := 0
	for n < len(a) && n < len(b) && a[n] == b[n] {
		n++
	}
	return a[:n]
}

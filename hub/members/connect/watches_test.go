package connect

import (
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	clocktesting "k8s.io/utils/clock/testing"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

const (
	apps       = "/apis/ecommerce.io/v1/ecommerceapps?labelSelector=a"
	list       = apps + "&resourceVersion=7"
	page       = list + "&limit=500"
	watch      = list + "&watch=true"
	streamList = watch + "&sendInitialEvents=true"
)

// observed is the response to one request, some time after the one before.
type observed struct {
	after time.Duration
	uri   string
	// code is 0 without a response.
	code int
}

// TestWatches makes an API server refuse lists and watches.
func TestWatches(t *testing.T) {
	t.Parallel()
	const limit, half = 90 * time.Second, 45 * time.Second
	long := []observed{{half, list, 500}, {half, list, 500}, {half, list, 500}}
	after := func(more ...observed) []observed { return append(slices.Clip(long), more...) }
	broken := []string{"ecommerceapps.ecommerce.io (500 Internal Server Error)"}
	for name, tt := range map[string]struct {
		observed []observed
		want     []string
	}{
		"nothing":                       {},
		"one error":                     {observed: long[:1]},
		"one error, long ago":           {observed: []observed{{0, list, 500}, {limit, "/api/v1/nodes", 200}}},
		"not for long enough":           {observed: long[:2]},
		"errors":                        {long, broken},
		"throttled watches":             {[]observed{{0, list, 200}, {0, watch, 429}, {limit, watch, 429}}, []string{"ecommerceapps.ecommerce.io (429 Too Many Requests)"}},
		"throttled lists by watch":      {[]observed{{0, streamList, 429}, {limit, streamList, 429}}, []string{"ecommerceapps.ecommerce.io (429 Too Many Requests)"}},
		"denials":                       {[]observed{{0, list, 403}, {limit, list, 403}}, []string{"ecommerceapps.ecommerce.io (403 Forbidden)"}},
		"two kinds":                     {after(observed{0, "/api/v1/nodes", 503}, observed{limit, "/api/v1/nodes", 503}), append(broken, "nodes (503 Service Unavailable)")},
		"another kind is listed":        {after(observed{0, "/apis/ecommerce.io/v1/webapps?labelSelector=a", 200}), broken},
		"another selection is listed":   {after(observed{0, "/apis/ecommerce.io/v1/ecommerceapps?labelSelector=b", 200}), broken},
		"listed in between":             {observed: []observed{{0, list, 500}, {half, list, 200}, {half, list, 500}, {half, list, 500}}},
		"listed at last":                {observed: after(observed{0, list, 200})},
		"watched at last":               {observed: after(observed{0, watch, 200})},
		"watched for long":              {observed: after(observed{0, watch, 200}, observed{minStream, list, 500})},
		"watched again and again":       {observed: []observed{{0, list, 500}, {0, watch, 200}, {limit, watch, 200}, {0, watch, 503}}},
		"watched for a moment":          {after(observed{0, streamList, 200}, observed{0, list, 500}), broken},
		"first page only":               {[]observed{{0, page, 200}, {0, page + "&continue=x", 500}, {limit, page, 200}, {0, page + "&continue=x", 500}}, broken},
		"all pages":                     {observed: after(observed{0, page, 200}, observed{0, watch, 200})},
		"expired versions":              {observed: []observed{{0, list, 410}, {limit, list, 410}}},
		"no lists by watch":             {observed: []observed{{0, streamList, 422}, {0, list, 200}, {limit, streamList, 422}, {0, list, 200}}},
		"no lists by watch, and errors": {[]observed{{0, streamList, 422}, {0, list, 500}, {limit, streamList, 422}, {0, list, 500}}, broken},
		"no responses":                  {observed: []observed{{0, list, 0}, {limit, list, 0}}},
		"no responses after an error":   {observed: []observed{{0, list, 500}, {limit, list, 0}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
			code := 0
			w := newWatches(answers(func() int { return code }), now)
			for _, each := range tt.observed {
				now.SetTime(now.Now().Add(each.after))
				code = each.code
				response, err := w.RoundTrip(httptest.NewRequestWithContext(t.Context(), http.MethodGet, "https://eu-1"+each.uri, nil))
				if err == nil {
					_ = response.Body.Close()
				}
			}
			if diff := cmp.Diff(tt.want, w.failing(limit)); diff != "" {
				t.Errorf("failing (-want +got):\n%s", diff)
			}
		})
	}
}

// answers responds with a status code, or with an error for 0.
type answers func() int

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	code := a()
	if code == 0 {
		return nil, apierror.ErrNotConnected
	}
	return &http.Response{StatusCode: code, Body: http.NoBody}, nil
}

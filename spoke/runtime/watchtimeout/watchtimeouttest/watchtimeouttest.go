package watchtimeouttest

import (
	"context"
	"io"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/rest"
)

// noticed is how soon a silent watch must have ended.
const noticed = 90 * time.Second

// SilentWatchEnds fails the test if a watch through the transport of the configuration does not
// end within 90 s without any data.
func SilentWatchEnds(t *testing.T, config *rest.Config) {
	t.Helper()
	if config.WrapTransport == nil {
		t.Fatal("the transport is not wrapped")
	}
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), noticed)
		defer cancel()
		watch, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://127.0.0.1:1/api/v1/pods?watch=true&allowWatchBookmarks=true", nil)
		if err != nil {
			t.Fatal(err)
		}
		response, err := config.WrapTransport(silent{}).RoundTrip(watch)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = response.Body.Close() }()
		if _, err := io.ReadAll(response.Body); err == nil || ctx.Err() != nil {
			t.Errorf("the watch does not end: %v, %v", err, ctx.Err())
		}
	})
}

// silent is a transport whose responses never have any data.
type silent struct{}

func (silent) RoundTrip(request *http.Request) (*http.Response, error) {
	reader, writer := io.Pipe()
	context.AfterFunc(request.Context(), func() { _ = writer.CloseWithError(context.Canceled) })
	return &http.Response{StatusCode: http.StatusOK, Body: reader}, nil
}

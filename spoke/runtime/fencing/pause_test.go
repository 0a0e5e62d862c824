package fencing

import (
	"errors"
	"net/http"
	"testing"

	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

// TestPause sends each kind of request to a cluster that is paused.
func TestPause(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		method, path string
		sent         bool
	}{
		"read":                     {http.MethodGet, write, true},
		"patch":                    {http.MethodPatch, write, false},
		"create":                   {http.MethodPost, "/api/v1/namespaces", false},
		"deletion":                 {http.MethodDelete, write, false},
		"status":                   {http.MethodPatch, write + "/status", false},
		"Lease":                    {http.MethodPut, lease, false},
		"event":                    {http.MethodPost, "/apis/events.k8s.io/v1/namespaces/n/events", false},
		"dry run":                  {http.MethodPatch, write + "?dryRun=All", true},
		"no dry run":               {http.MethodPatch, write + "?dryRun=", false},
		"command in a pod":         {http.MethodPost, pod + "/exec", false},
		"command over WebSocket":   {http.MethodGet, pod + "/exec", false},
		"review of access":         {http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		"review below a path":      {http.MethodPost, "/clusters/c" + "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", true},
		"token":                    {http.MethodPost, "/api/v1/namespaces/n/serviceaccounts/a/token", true},
		"ServiceAccount":           {http.MethodPost, "/api/v1/namespaces/n/serviceaccounts", false},
		"ServiceAccount of a name": {http.MethodPatch, "/api/v1/namespaces/n/serviceaccounts/token", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			network, pause := &recorder{code: http.StatusOK}, &Pause{}
			client := pause.Wrap(network)
			for _, on := range []bool{false, true, false} {
				pause.Set(on)
				network.sent = nil
				err := send(t.Context(), t, client, tt.method, tt.path)
				sent := len(network.sent) == 1
				if want := tt.sent || !on; sent != want || sent == errors.Is(err, apierror.ErrPaused) {
					t.Errorf("paused %t: sent %t, want %t: %v", on, sent, want, err)
				}
			}
		})
	}
}

// TestPauseBeginsWhileABodyIsSent makes a request wait for its connection.
func TestPauseBeginsWhileABodyIsSent(t *testing.T) {
	t.Parallel()
	pause := &Pause{}
	network := &recorder{code: http.StatusOK, before: func() { pause.Set(true) }}
	err := send(t.Context(), t, pause.Wrap(network), http.MethodPatch, write)
	if !errors.Is(err, apierror.ErrPaused) || len(network.sent) > 0 {
		t.Errorf("sent %v: %v", network.sent, err)
	}
}

package setup

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"k8s.io/client-go/rest"
)

// TestReportVersion checks that the log says that a cluster is too old, and nothing of others.
func TestReportVersion(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body string
		says string
	}{
		"too old":    {`{"gitVersion": "v1.29.3"}`, "Kubernetes is too old"},
		"supported":  {`{"gitVersion": "v1.30.0"}`, ""},
		"no version": {`no`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				_, _ = w.Write([]byte(tt.body))
			}))
			defer server.Close()
			var said strings.Builder
			reportVersion(t.Context(), &rest.Config{Host: server.URL}, funcr.New(func(_, args string) { said.WriteString(args) }, funcr.Options{}))
			if got := said.String(); (got != "") != (tt.says != "") || !strings.Contains(got, tt.says) {
				t.Errorf("log %q, want %q in it", got, tt.says)
			}
		})
	}
}

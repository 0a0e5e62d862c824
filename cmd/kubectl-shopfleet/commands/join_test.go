package commands

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/config"
)

// TestJoinOntoANewerRelease: a member of a hub of a newer release gets no earlier permissions, and the error names both
// releases and the fix. Who may not read the release of the hub can join.
func TestJoinOntoANewerRelease(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		plugin    string
		objects   []client.Object
		forbidden bool
		newer     string
	}{
		"nothing there":             {"v1.2.0", nil, false, ""},
		"an older release":          {"v1.2.0", processOf("shopfleet-hub:v1.1.0", "v1.1.0"), false, ""},
		"the same release":          {"v1.2.0", processOf("shopfleet-hub:v1.2.0", "v1.2.0"), false, ""},
		"a newer release":           {"v1.2.0", processOf("shopfleet-hub:v1.3.0", "v1.3.0"), false, "v1.3.0"},
		"newer, without Deployment": {"v1.2.0", leading("v1.3.0", now()), false, "v1.3.0"},
		"newer, and forbidden":      {"v1.2.0", processOf("shopfleet-hub:v1.3.0", "v1.3.0"), true, ""},
		"a build without a version": {config.DevelopmentVersion, processOf("shopfleet-hub:v1.3.0", "v1.3.0"), false, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			hub := readOnly(t, tt.objects...)
			if withWatch, ok := hub.client.(client.WithWatch); ok && tt.forbidden {
				hub.client = interceptor.NewClient(withWatch, interceptor.Funcs{
					Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, _ client.Object, _ ...client.GetOption) error {
						return apierrors.NewForbidden(schema.GroupResource{Resource: "leases"}, key.Name, nil)
					},
				})
			}
			c := &joinCluster{Program: &Program{version: tt.plugin, namespace: config.Namespace, clock: testclock.NewFakeClock(now())}}
			err := c.checkRelease(t.Context(), hub)
			if errors.Is(err, errNewer) != (tt.newer != "") || tt.newer == "" && err != nil {
				t.Fatalf("it says %v, want a newer release %q", err, tt.newer)
			}
			if tt.newer == "" {
				return
			}
			if text := err.Error(); !strings.Contains(text, tt.plugin) || !strings.Contains(text, tt.newer) {
				t.Errorf("error %q, want both versions in it", text)
			}
			if got := hint.For(err); !strings.Contains(got, "Use kubectl-shopfleet of "+tt.newer) {
				t.Errorf("hint %q, want the program to use", got)
			}
		})
	}
}

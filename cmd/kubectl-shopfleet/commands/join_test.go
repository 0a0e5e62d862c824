package commands

import (
	"context"
	"errors"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
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

// TestWithoutRestores: a member with snapshots that cannot be restored there is said to need more, and no other.
func TestWithoutRestores(t *testing.T) {
	t.Parallel()
	account := &v1.ObjectReference{Name: "prod"}
	for name, tt := range map[string]struct {
		account *v1.ObjectReference
		status  v1.MemberClusterStatus
		want    string
	}{
		"no kinds":      {account, v1.MemberClusterStatus{Provider: v1.ProviderAWS}, "snapshots cannot be restored in eu-1: " + csi.InstallSnapshots},
		"the kinds":     {account, v1.MemberClusterStatus{Provider: v1.ProviderAWS, Capabilities: []string{csi.CapabilitySnapshots}}, ""},
		"no account":    {nil, v1.MemberClusterStatus{Provider: v1.ProviderAWS}, ""},
		"dumps":         {account, v1.MemberClusterStatus{Provider: v1.ProviderOther}, ""},
		"not inspected": {account, v1.MemberClusterStatus{}, ""},
	} {
		m := &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: "eu-1"}, Spec: v1.MemberClusterSpec{CloudAccountRef: tt.account}, Status: tt.status}
		if got := withoutRestores(m); got != tt.want {
			t.Errorf("%s: %q, want %q", name, got, tt.want)
		}
	}
}

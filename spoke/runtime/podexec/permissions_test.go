package podexec

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// TestPermissions checks that the roles of those that run commands allow both protocols. The pod does not exist,
// which a real API server says only to a user who may run commands in it: others are refused.
func TestPermissions(t *testing.T) {
	t.Parallel()
	cluster := fleettest.Start(t, fleet.Options{Members: []fleet.ClusterSpec{{Name: "a", APIServerOnly: true}}}).Member("a")
	ofSet := func(set config.Set) []rbacv1.PolicyRule {
		rules, err := set.Rules()
		if err != nil {
			t.Fatal(err)
		}
		return rules
	}
	exec := func(verbs ...string) []rbacv1.PolicyRule {
		return []rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods/exec"}, Verbs: verbs}}
	}
	// A WebSocket is opened with GET, and SPDY with POST.
	answers := func(webSocket, spdy int) map[string]int {
		return map[string]int{http.MethodGet: webSocket, http.MethodPost: spdy}
	}
	both := answers(http.StatusNotFound, http.StatusNotFound)
	for name, tt := range map[string]struct {
		rules []rbacv1.PolicyRule
		want  map[string]int
	}{
		"member":            {ofSet(config.Member), both},
		"agent":             {ofSet(config.Agent), both},
		"spoke":             {ofSet(config.Spoke), both},
		"of an older role":  {exec("create"), answers(http.StatusForbidden, http.StatusNotFound)},
		"other subresource": {[]rbacv1.PolicyRule{{APIGroups: []string{""}, Resources: []string{"pods"}, Verbs: []string{"*"}}}, answers(http.StatusForbidden, http.StatusForbidden)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			as := userWith(t, cluster.AdminConfig(), tt.rules)
			fleettest.Eventually(t, "the permissions are in effect", func(ctx context.Context) error {
				got, err := answersTo(ctx, t, as)
				if diff := cmp.Diff(tt.want, got); diff != "" {
					return fmt.Errorf("status codes (-want +got):\n%s", diff)
				}
				if forbidden := tt.want[http.MethodPost] == http.StatusForbidden; apierrors.IsForbidden(err) != forbidden || apierrors.IsNotFound(err) == forbidden {
					return fmt.Errorf("error %w, want one that is Forbidden: %t", err, forbidden)
				}
				return nil
			})
		})
	}
}

// userWith returns the access of a user of its own, who has some permissions in all namespaces.
func userWith(t *testing.T, admin *rest.Config, rules []rbacv1.PolicyRule) *rest.Config {
	t.Helper()
	client, err := kubernetes.NewForConfig(admin)
	if err != nil {
		t.Fatal(err)
	}
	role, err := client.RbacV1().ClusterRoles().Create(t.Context(), &rbacv1.ClusterRole{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "exec-"}, Rules: rules,
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.RbacV1().ClusterRoleBindings().Create(t.Context(), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: role.Name},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role.Name},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: role.Name}},
	}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	as := rest.CopyConfig(admin)
	as.Impersonate = rest.ImpersonationConfig{UserName: role.Name}
	return as
}

// answersTo runs a command, and returns the status code by method of each request, and the error.
func answersTo(ctx context.Context, t *testing.T, as *rest.Config) (map[string]int, error) {
	t.Helper()
	client, err := rest.HTTPClientFor(as)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]int{}
	as = rest.CopyConfig(as)
	as.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return roundTripper(func(request *http.Request) (*http.Response, error) {
			response, err := next.RoundTrip(request)
			got[request.Method] = codeOf(response, err)
			return response, err
		})
	})
	return got, run(ctx, member{client: client, config: as})
}

// codeOf returns the status code of a response, which client-go turns into an error for a WebSocket.
func codeOf(response *http.Response, err error) int {
	if failure, ok := errors.AsType[*httpstream.UpgradeFailureError](err); ok {
		err = failure.Cause // It is not unwrapped.
	}
	if status, ok := errors.AsType[*apierrors.StatusError](err); ok {
		return int(status.ErrStatus.Code)
	}
	if response == nil {
		return 0
	}
	return response.StatusCode
}

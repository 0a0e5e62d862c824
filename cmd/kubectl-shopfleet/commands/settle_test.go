package commands

import (
	"context"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
)

// TestApprovals: an approval names all clusters that it concerns, and drops what no cluster needs.
func TestApprovals(t *testing.T) {
	t.Parallel()
	const recent, old = "u/deleted/2026-11-01T08:00:00Z", "u/deleted/2026-10-01T08:00:00Z"
	for name, tt := range map[string]struct {
		former   string
		clusters []string
		want     []string
		accepted string
		err      error
	}{
		"all":                      {"", nil, []string{"a", "b", "c", "f"}, "u/8,u/9,u/left/9", nil},
		"one":                      {"", []string{"c"}, []string{"c"}, "u/9", nil},
		"one with the same":        {"", []string{"a"}, []string{"a", "b"}, "u/8", nil},
		"one that has nothing":     {"", []string{"d"}, nil, "", errNothingWaits},
		"one that is unknown":      {"", []string{"c", "e"}, nil, "", errNotFound},
		"over a former one":        {"u/3", []string{"c"}, []string{"c"}, "u/9", nil},
		"beside one in use":        {"u/8", []string{"c"}, []string{"c"}, "u/8,u/9", nil},
		"beside a deletion":        {recent, []string{"c"}, []string{"c"}, recent + ",u/9", nil},
		"over an old deletion":     {old, []string{"c"}, []string{"c"}, "u/9", nil},
		"one that it left":         {"", []string{"f"}, []string{"f"}, "u/left/9", nil},
		"over what is no approval": {"u/deleted,x", []string{"c"}, []string{"c"}, "u/9", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := waitingApp(tt.former)
			c := approver(t, tt.clusters...)
			clusters, origins, err := c.found(app)
			if !errors.Is(err, tt.err) || errors.Is(tt.err, errNotFound) && !strings.Contains(err.Error(), `"e"`) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if diff := cmp.Diff(tt.want, clusters); diff != "" {
				t.Errorf("clusters (-want +got):\n%s", diff)
			}
			if accepted := c.approvals(app, origins); err == nil && accepted != tt.accepted {
				t.Errorf("%q, want %q", accepted, tt.accepted)
			}
		})
	}
}

// waitingApp returns an application that waits in four of five clusters.
func waitingApp(approved string) *v1.EcommerceApp {
	app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{
		Name: "shop", UID: "u", ResourceVersion: "1", Annotations: map[string]string{v1.RecoverAnnotation: approved},
	}}
	app.Status.Clusters = []v1.ClusterStatus{{Name: "a", UnknownOrigin: "u/8"}, {Name: "b", UnknownOrigin: "u/8"}, {Name: "c", UnknownOrigin: "u/9"}, {Name: "d"}, {Name: "f", UnknownOrigin: "u/left/9"}}
	return app
}

// approver returns a command with the flag --member.
func approver(t *testing.T, clusters ...string) *overwrite {
	t.Helper()
	p := New(Invocation{Args: []string{program}})
	p.clock = testclock.NewFakeClock(time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC))
	kubeconfig := nowhere(t)
	p.flags.KubeConfig = &kubeconfig
	return &overwrite{settlement: settlement{Program: p}, members: clusters}
}

// TestConcurrentApprovals: two users approve at the same time what they found.
func TestConcurrentApprovals(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		// between does what another user does before each of our patches.
		between func(stored *v1.EcommerceApp, patches int)
		want    string
		err     string
	}{
		"alone": {func(*v1.EcommerceApp, int) {}, "u/9", ""},
		"another approval": {func(stored *v1.EcommerceApp, patches int) {
			if patches == 1 {
				stored.Annotations[v1.RecoverAnnotation], stored.ResourceVersion = "u/8", "2"
			}
		}, "u/8,u/9", ""},
		"changed again and again": {func(stored *v1.EcommerceApp, patches int) {
			stored.ResourceVersion = strconv.Itoa(patches + 1)
		}, "", "Run the command again."},
		"created again": {func(stored *v1.EcommerceApp, _ int) { stored.UID, stored.ResourceVersion = "v", "2" }, "", errCreatedAgain.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stored := waitingApp("")
			hub := &cluster{client: storing(stored, tt.between)}
			app, err := approver(t).approve(t.Context(), hub, stored.DeepCopy(), []string{"u/9"})
			if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error()+hint.For(err), tt.err) {
				t.Errorf("error %v, want %q", err, tt.err)
			}
			if got := stored.Annotations[v1.RecoverAnnotation]; got != tt.want || err == nil && app.Annotations[v1.RecoverAnnotation] != tt.want {
				t.Errorf("approved %q, want %q", got, tt.want)
			}
		})
	}
}

// TestImportFromUnknown: a cluster that does not exist is not one without a copy.
func TestImportFromUnknown(t *testing.T) {
	t.Parallel()
	for cluster, want := range map[string]string{"none": `getting MemberCluster "none"`, "eu-1": "a copy that the hub does not know"} {
		c := &recoverImport{settlement: approver(t).settlement, member: cluster}
		if _, err := c.find(t.Context(), listingNothing("eu-1"), waitingApp("")); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: error %v, want %q", cluster, err, want)
		}
	}
}

// listingNothing returns a hub with one member, and lists no copies of it.
func listingNothing(member string) *cluster {
	return &cluster{client: interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, key client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			if _, is := into.(*v1.MemberCluster); is && key.Name == member {
				return nil
			}
			return apierrors.NewNotFound(v1.GroupVersion.WithResource("any").GroupResource(), key.Name)
		},
	})}
}

// storing returns a client of an API server with one application.
func storing(stored *v1.EcommerceApp, between func(*v1.EcommerceApp, int)) client.Client {
	patches := 0
	return interceptor.NewClient(nil, interceptor.Funcs{
		Get: func(_ context.Context, _ client.WithWatch, _ client.ObjectKey, into client.Object, _ ...client.GetOption) error {
			stored.DeepCopyInto(into.(*v1.EcommerceApp))
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, patch client.Patch, _ ...client.PatchOption) error {
			patches++
			between(stored, patches)
			sent := &v1.EcommerceApp{}
			if body, err := patch.Data(o); err != nil || json.Unmarshal(body, sent) != nil {
				return errors.New("malformed")
			}
			if sent.UID != stored.UID || sent.ResourceVersion != "" && sent.ResourceVersion != stored.ResourceVersion {
				return apierrors.NewConflict(v1.GroupVersion.WithResource("ecommerceapps").GroupResource(), stored.Name, errors.New("changed"))
			}
			stored.Annotations[v1.RecoverAnnotation] = sent.Annotations[v1.RecoverAnnotation]
			stored.DeepCopyInto(o.(*v1.EcommerceApp))
			return nil
		},
	})
}

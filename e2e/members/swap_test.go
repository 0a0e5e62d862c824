package members_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework"
	"github.com/shopfleet/shopfleet/hub/members"
)

// testEngageFails rotates a kubeconfig while the reconcilers cannot be started on the new
// connection: the old one stays in use until they can.
func (e *environment) testEngageFails(t *testing.T) {
	const name, failures = "eu-1", 3
	fleet, engaged := e.newFleet(t), newEngagements()
	var mu sync.Mutex
	attempts, lost := 0, []string(nil)
	engaged.fail = func() error {
		mu.Lock()
		defer mu.Unlock()
		if attempts++; attempts > 1 {
			if _, err := fleet.Get(t.Context(), name); err != nil {
				lost = append(lost, err.Error())
			}
		}
		if 1 < attempts && attempts <= 1+failures {
			return errors.New("no")
		}
		return nil
	}
	fleet.OnChange(func(string) {
		if state, _ := fleet.State(name); state.LastProbe.IsZero() {
			return // Not connected yet.
		} else if !state.Engaged || state.Ready.Status != metav1.ConditionTrue {
			mu.Lock()
			defer mu.Unlock()
			lost = append(lost, fmt.Sprintf("%+v", state.Ready))
		}
	})
	fleet.Set(name, members.Target{Kubeconfig: e.kubeconfig(t, e.Member(name))})
	stop := e.env.Run("a fleet", func(ctx context.Context) error { return fleet.Start(ctx, engaged) })
	t.Cleanup(stop)
	connected := func(times int) {
		t.Helper()
		framework.Eventually(t, fmt.Sprintf("engagement %d", times), func(context.Context) error {
			state, _ := fleet.State(name)
			if n := engaged.times(name); n != times || state.CredentialsValid.Status != metav1.ConditionTrue {
				return fmt.Errorf("engaged %d times, %+v: %w", n, state.CredentialsValid, errUnexpected)
			}
			return nil
		})
	}
	connected(1)
	former, err := fleet.Get(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	fleet.Set(name, members.Target{Kubeconfig: e.kubeconfig(t, e.Member(name))})
	connected(1 + failures + 1)
	if now, err := fleet.Get(t.Context(), name); err != nil || now == former {
		t.Errorf("the new kubeconfig is not in use: %v", err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(lost) > 0 {
		t.Errorf("the member was lost:\n%s", strings.Join(lost, "\n"))
	}
}

// testRivalsAtOnce connects two hubs to a member without a record at the same time: one
// claims it, and the other one writes nothing.
func (e *environment) testRivalsAtOnce(t *testing.T) {
	admin := framework.Admin(t, e.Member("eu-1"))
	if _, err := e.fleetOptions(t).Prepare.Install(t.Context(), admin); err != nil {
		t.Fatal(err)
	}
	other := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+v1.SpecHashAnnotation+`":"other"}}}`))
	if err := admin.Patch(t.Context(), definition(), other); err != nil {
		t.Fatal(err)
	}
	// The record has the name that the policies for the hub's account let it write.
	record := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.HubRecord}}
	forget := func() {
		if err := client.IgnoreNotFound(admin.Delete(context.WithoutCancel(t.Context()), record)); err != nil {
			t.Error(err)
		}
	}
	forget()
	t.Cleanup(forget)
	// Rivals read the record both, before one of them writes anything.
	var read sync.WaitGroup
	read.Add(2)
	rivals := map[string]*rivalWrites{}
	fleets := map[string]*members.Fleet{}
	for _, uid := range []string{"one", "two"} {
		w := &rivalWrites{both: &read}
		options := e.fleetOptions(t)
		options.HubUID, options.Wrap = uid, w.wrap
		options.Record = client.ObjectKeyFromObject(record)
		rivals[uid], fleets[uid] = w, members.New(options)
		fleets[uid].Set("eu-1", members.Target{Kubeconfig: e.kubeconfig(t, e.Member("eu-1"))})
	}
	for uid, fleet := range fleets {
		t.Cleanup(e.env.Run(uid, func(ctx context.Context) error { return fleet.Start(ctx, newEngagements()) }))
	}
	reasons := map[string]string{}
	framework.Eventually(t, "one hub to manage the member", func(context.Context) error {
		for uid, fleet := range fleets {
			state, _ := fleet.State("eu-1")
			reasons[state.Ready.Reason] = uid
		}
		if reasons[v1.ReasonConnected] == "" || reasons[v1.ReasonManagedByAnotherHub] == "" {
			return fmt.Errorf("%v: %w", reasons, errUnexpected)
		}
		return nil
	})
	another := func(write string) bool { return !strings.Contains(write, "/configmaps") }
	if sent, _ := rivals[reasons[v1.ReasonManagedByAnotherHub]].list(); slices.ContainsFunc(sent, another) {
		t.Errorf("the hub that does not manage the member sent %s, want the record at most", sent)
	}
	if _, done := rivals[reasons[v1.ReasonConnected]].list(); len(done) != 2 {
		t.Errorf("the hub that manages the member wrote %s, want the record and the definition", done)
	}
}

// rivalWrites lists the writes that one hub sent, and those of them that succeeded. It holds back
// the first one until both hubs have read the record.
type rivalWrites struct {
	both *sync.WaitGroup
	read sync.Once

	mu         sync.Mutex
	sent, done []string
}

func (w *rivalWrites) list() (sent, done []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.sent, w.done
}

func (w *rivalWrites) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(request *http.Request) (*http.Response, error) {
		path := request.URL.Path
		isRead := request.Method == http.MethodGet || strings.HasPrefix(path, "/apis/authorization.k8s.io/") || request.URL.Query().Has("dryRun")
		if isRead {
			response, err := next.RoundTrip(request)
			if strings.HasSuffix(path, "/configmaps/"+config.HubRecord) {
				w.read.Do(w.both.Done)
			}
			return response, err
		}
		w.both.Wait()
		response, err := next.RoundTrip(request)
		w.mu.Lock()
		defer w.mu.Unlock()
		w.sent = append(w.sent, request.Method+" "+path)
		if err == nil && response.StatusCode < http.StatusMultipleChoices {
			w.done = append(w.done, request.Method+" "+path)
		}
		return response, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

// RoundTrip implements http.RoundTripper.
func (r roundTripper) RoundTrip(request *http.Request) (*http.Response, error) { return r(request) }

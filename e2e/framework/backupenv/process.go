package backupenv

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// maxPasses bounds the passes over one object.
const maxPasses = 200

// errEnded is the error of all that a process does after its end.
var errEnded = errors.New("the process has ended")

// Process is one run of the hub. Nothing that it does after its end has an effect. Its
// methods may be called concurrently.
type Process struct {
	// Client is for the hub and the first member.
	Client   client.Client
	Accounts *accounts.Accounts

	env   *Env
	crash Crash
	other client.Client

	mu   sync.Mutex
	sent []string
	// passes is how many requests had been sent before each pass of Run.
	passes  []int
	ended   bool
	refused map[string]error
}

// NewProcess returns a run of the hub that ends as told.
func (e *Env) NewProcess(crash Crash) *Process {
	p := &Process{env: e, crash: crash}
	script := &faults.Script{}
	script.Chance(func(op faults.Op) (faults.Fault, bool) {
		arrives, answered := p.send(string(op), op.Mutates())
		switch {
		case !arrives:
			return faults.Fault{Kind: faults.DropBefore}, true
		case !answered:
			return faults.Fault{Kind: faults.DropAfter}, true
		default:
			return faults.Fault{}, false
		}
	})
	p.Accounts = e.Accounts(script)
	p.Client = interceptor.NewClient(e.WithWatch, p.intercept())
	if e.Other != nil {
		p.other = interceptor.NewClient(e.Other, p.intercept())
	}
	return p
}

// Sent returns the requests that changed something, or were to.
func (p *Process) Sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// Ended reports whether the process has ended.
func (p *Process) Ended() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.ended
}

// Refuse answers requests of the API server with an error: "get", or those that change
// something, by the beginning of what Sent returns of them. A nil error ends that. Refused
// requests are not sent.
func (p *Process) Refuse(request string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.refused == nil {
		p.refused = map[string]error{}
	}
	p.refused[request] = err
}

// refusal returns the error that answers a request, if any.
func (p *Process) refusal(what string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for request, err := range p.refused {
		if err != nil && strings.HasPrefix(what, request) {
			return err
		}
	}
	return nil
}

// Member returns a member as the hub has it.
func (p *Process) Member(_ context.Context, name multicluster.ClusterName) (cluster.Cluster, error) {
	switch {
	case name == Member:
		return member{client: p.Client}, nil
	case name == Other && p.other != nil:
		return member{client: p.other}, nil
	default:
		return nil, multicluster.ErrClusterNotFound
	}
}

// member is a cluster without a cache.
type member struct {
	cluster.Cluster
	client client.Client
}

func (m member) GetAPIReader() client.Reader { return m.client }
func (m member) GetClient() client.Client    { return m.client }

// Run reconciles an object until it is done, and reports whether it is: the process may
// end before. The member and the clock go on between the passes.
func (p *Process) Run(t *testing.T, r reconcile.Reconciler, key client.ObjectKey, done func() bool) bool {
	t.Helper()
	// What each pass waits for is shown when the test fails.
	ctx := log.IntoContext(t.Context(), testr.NewWithOptions(t, testr.Options{Verbosity: 1}))
	for range maxPasses {
		p.begin()
		result, err := r.Reconcile(ctx, reconcile.Request{NamespacedName: key})
		switch {
		case p.Ended():
			return false
		case err != nil:
			t.Fatal(err)
		case done():
			return true
		case result.RequeueAfter == 0:
			t.Fatalf("%s is not done, and nothing wakes it up", key)
		}
		p.env.RunMember(t)
		p.env.Clock.Step(result.RequeueAfter)
	}
	t.Fatalf("%s is not done after %d passes", key, maxPasses)
	return false
}

// begin takes note of the begin of a pass.
func (p *Process) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.passes = append(p.passes, len(p.sent))
}

// send takes note of a request, and reports whether it arrives and whether its answer does.
func (p *Process) send(what string, mutates bool) (arrives, answered bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || !mutates {
		return !p.ended, !p.ended
	}
	p.sent = append(p.sent, what)
	if len(p.sent) != p.crash.At {
		return true, true
	}
	p.ended = true
	return p.crash.Arrives, false
}

func (p *Process) do(what string, mutates bool, request func() error) error {
	if err := p.refusal(what); err != nil {
		return err
	}
	arrives, answered := p.send(what, mutates)
	if !arrives {
		return errEnded
	}
	if err := request(); answered {
		return err
	}
	return errEnded
}

func (p *Process) intercept() interceptor.Funcs {
	return interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			return p.do("get", false, func() error { return c.Get(ctx, key, o, opts...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, opts ...client.ListOption) error {
			return p.do("list", false, func() error { return c.List(ctx, list, opts...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			creation := (&client.CreateOptions{}).ApplyOptions(opts)
			return p.do(fmt.Sprintf("create %T", o), len(creation.DryRun) == 0, func() error { return c.Create(ctx, o, opts...) })
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			return p.do(fmt.Sprintf("delete %T", o), true, func() error { return c.Delete(ctx, o, opts...) })
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.UpdateOption) error {
			return p.do(fmt.Sprintf("update %T", o), true, func() error { return c.Update(ctx, o, opts...) })
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, opts ...client.PatchOption) error {
			return p.do(fmt.Sprintf("patch %T", o), true, func() error { return c.Patch(ctx, o, patch, opts...) })
		},
		Apply: func(ctx context.Context, c client.WithWatch, o runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
			return p.do("apply", true, func() error { return c.Apply(ctx, o, opts...) })
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, name string, o client.Object, patch client.Patch, opts ...client.SubResourcePatchOption) error {
			return p.do(fmt.Sprintf("patch %s of %T", name, o), true, func() error { return c.SubResource(name).Patch(ctx, o, patch, opts...) })
		},
	}
}

package backupenv

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/testr"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/pkg/multicluster"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/e2e/framework/crash"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// maxPasses bounds the passes over one object.
const maxPasses = 200

// Process represents one run of the hub. Nothing that it does after its end has an effect. Its
// methods may be called concurrently.
type Process struct {
	// Client is for the hub and the first member.
	Client   client.Client
	Accounts *accounts.Accounts

	env   *Env
	crash Crash
	other client.Client
	run   *crash.Process

	mu   sync.Mutex
	sent []string
	// passes is how many requests had been sent before each pass of Run.
	passes  []int
	refused map[string]error
}

// NewProcess returns a run of the hub that ends as told.
func (e *Env) NewProcess(t *testing.T, at Crash) *Process {
	t.Helper()
	p := &Process{env: e, crash: at}
	_, p.run = crash.NewProcess(t.Context(), func(r crash.Request) crash.Hit {
		return crash.Hit{At: p.hit(r.Verb + " " + r.Resource)}
	})
	p.Accounts = e.Accounts(p.script())
	p.Client = p.client(t, e.Config, e.WithWatch)
	if e.Other != nil {
		p.other = p.client(t, e.otherConfig, e.Other)
	}
	return p
}

// client returns a client of the process for an API server, with what another one knows of its kinds.
func (p *Process) client(t *testing.T, config *rest.Config, like client.Client) client.Client {
	t.Helper()
	config = rest.CopyConfig(config)
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return p.refuse(p.run.Wrap(next, func(request *http.Request) (crash.Request, bool) {
			return crash.Parse(Member, request)
		}))
	})
	c, err := client.New(config, client.Options{Scheme: like.Scheme(), Mapper: like.RESTMapper()})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// script returns the answers of the cloud, which end with the process.
func (p *Process) script() *faults.Script {
	script := &faults.Script{}
	script.Chance(func(op faults.Op) (faults.Fault, bool) {
		if p.run.Ended() {
			return faults.Fault{Kind: faults.DropBefore}, true
		}
		if !op.Mutates() {
			return faults.Fault{}, false
		}
		switch p.hit(string(op)) {
		case crash.BeforeSend:
			p.run.End()
			return faults.Fault{Kind: faults.DropBefore}, true
		case crash.AfterCommit:
			p.run.End()
			return faults.Fault{Kind: faults.DropAfter}, true
		default:
			return faults.Fault{}, false
		}
	})
	return script
}

// hit takes note of a request that changes something, and returns when the process ends there.
func (p *Process) hit(what string) crash.Moment {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sent = append(p.sent, what)
	switch {
	case len(p.sent) != p.crash.At:
		return ""
	case p.crash.Arrives:
		return crash.AfterCommit
	default:
		return crash.BeforeSend
	}
}

// Sent returns the requests that changed something, or were to.
func (p *Process) Sent() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string(nil), p.sent...)
}

// Refuse answers requests of the API server with an error: "get" or "list", or those that change
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

// refuse returns a transport that gives the answers of Refuse.
func (p *Process) refuse(next http.RoundTripper) http.RoundTripper {
	return crash.RoundTripper(func(request *http.Request) (*http.Response, error) {
		r, _ := crash.Parse(Member, request)
		if err := p.refusal(r.Verb + " " + r.Resource); err != nil {
			return nil, err
		}
		return next.RoundTrip(request)
	})
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
		case p.run.Ended():
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

package connect

import (
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/go-logr/logr"
	"github.com/google/go-cmp/cmp"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/members/connect/kubeconfig"
	"github.com/shopfleet/shopfleet/hub/members/crds"
	"github.com/shopfleet/shopfleet/hub/members/health"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
	"github.com/shopfleet/shopfleet/hub/members/permissions"
)

// attempt returns an attempt to connect the member.
func (m *member) attempt(t *testing.T) *Attempt {
	t.Helper()
	listener := httptest.NewServer(m)
	t.Cleanup(listener.Close)
	required := []authorizationv1.ResourceAttributes{{Verb: "list", Resource: "pods"}, {Verb: "create", Resource: "pods"}, {Group: "monitoring.coreos.com", Verb: "create", Resource: "servicemonitors"}}
	profile := Profile{
		CacheOptions: func() cache.Options { return cache.Options{} }, Watched: func() []client.Object { return nil }, Permissions: required,
	}
	settings := &Settings{
		Scheme: scheme.Scheme, Clock: clock.RealClock{}, Logger: logr.Discard(), Timeouts: Timeouts{}.WithDefaults(), Slots: NewSlots(1, clock.RealClock{}),
		Agentless: profile, Agent: profile, HubUID: "hub",
		Record: client.ObjectKey{Namespace: "n", Name: "record"}, Lease: client.ObjectKey{Namespace: "n", Name: "agent"},
	}
	return &Attempt{
		Settings: settings, Name: "eu-1", Access: &kubeconfig.Access{Config: &rest.Config{Host: listener.URL}}, Mode: v1.ModeAgentless, Known: NewKnown(),
		Probes: 1, Period: time.Millisecond, Admit: func(string) *health.Failure { return nil }, NodesChanged: func() {}, Unserved: func() {},
	}
}

// requires makes an attempt require a definition.
func requires(a *Attempt) {
	d := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "shops.example.com"},
	}}
	a.Settings.Agent.Prepare, a.Settings.Agentless.Prepare = crds.Definitions{d}, crds.Definitions{d}
}

// connectTest is an attempt and the reason for which it fails, with a part of the message; empty for none.
type connectTest struct {
	change       func(*member, *Attempt)
	reason, says string
	// check checks what a connection reports.
	check func(*testing.T, *member, *Connected)
}

func (c connectTest) run(t *testing.T) {
	t.Helper()
	t.Parallel()
	m := &member{version: "v1.36.3", codes: map[string]int32{crdRequest: 404, agentLease: 404}}
	a := m.attempt(t)
	if c.change != nil {
		c.change(m, a)
	}
	if m.lease {
		delete(m.codes, agentLease)
	}
	connected, failure := a.Connect(t.Context(), t.Context())
	if rejected := m.codes[kubeSystem] != 0; a.Answered == rejected {
		t.Errorf("answered: %t", a.Answered)
	}
	if connected != nil {
		select {
		case <-connected.Connection.Ended():
			t.Fatal("the connection has ended")
		default:
		}
		defer func() {
			connected.Connection.Close()
			<-connected.Connection.Ended()
		}()
	}
	switch {
	case (failure == nil) == (connected == nil), failure == nil && c.reason != "", failure != nil && (failure.Reason != c.reason || !strings.Contains(failure.Message, c.says)):
		t.Fatalf("failure %+v, want %q", failure, c.reason)
	case c.check != nil:
		c.check(t, m, connected)
	}
}

func code(request string, code int32) func(*member, *Attempt) {
	return func(m *member, _ *Attempt) { m.codes[request] = code }
}

func both(all ...func(*member, *Attempt)) func(*member, *Attempt) {
	return func(m *member, a *Attempt) {
		for _, change := range all {
			change(m, a)
		}
	}
}

func agent(_ *member, a *Attempt)  { a.Mode = v1.ModeAgent }
func paused(_ *member, a *Attempt) { a.Paused = true }
func lacks(denied ...string) func(*member, *Attempt) {
	return func(m *member, _ *Attempt) { m.denied = denied }
}
func capabilities(want ...string) func(*testing.T, *member, *Connected) {
	return func(t *testing.T, _ *member, c *Connected) {
		t.Helper()
		if diff := cmp.Diff(want, c.Server.Capabilities); diff != "" {
			t.Errorf("capabilities (-want +got):\n%s", diff)
		}
	}
}

// TestConnect checks that each step of an attempt ends it with a reason of its own, or adds to what a connection
// reports.
func TestConnect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]connectTest{
		"connected": {check: func(t *testing.T, m *member, c *Connected) {
			t.Helper()
			if c.UID != "u" || c.Server.Version != "v1.36.3" || len(c.Missing) > 0 || c.RenewalDenied || c.Restricted == nil || *c.Restricted || c.Nodes.Nodes != 1 {
				t.Errorf("%+v", c)
			}
			capabilities(CapabilityCertManager, csi.CapabilityDriver+"disk", CapabilityIngress)(t, m, c)
			if m.record.data["hub"] != "hub" || m.count(kubeSystem) != 1 {
				t.Errorf("record %v, %d probes", m.record.data, m.count(kubeSystem))
			}
		}},
		"not admitted": {change: func(_ *member, a *Attempt) {
			a.Admit = func(uid string) *health.Failure { return &health.Failure{Reason: "Duplicate" + uid} }
		}, reason: "Duplicateu"},
		"unauthorized":       {change: code(kubeSystem, 401), reason: v1.ReasonUnauthorized},
		"expired":            {change: both(code(kubeSystem, 401), func(_ *member, a *Attempt) { a.Access.ExpiresAt = time.Unix(1, 0) }), reason: v1.ReasonExpired},
		"not expired":        {change: both(code(kubeSystem, 403), func(_ *member, a *Attempt) { a.Access.ExpiresAt = time.Unix(1, 0) }), reason: v1.ReasonPermissionsMissing},
		"probed twice":       {change: func(_ *member, a *Attempt) { a.Probes = 2 }, check: func(t *testing.T, m *member, _ *Connected) { t.Helper(); checkCount(t, m, kubeSystem, 2) }},
		"too old":            {change: func(m *member, _ *Attempt) { m.version = "v1.20.0" }, reason: v1.ReasonKubernetesTooOld},
		"no version":         {change: code("GET /version", 500), reason: v1.ReasonSetupFailed},
		"no groups":          {change: code("GET /apis", 500), reason: v1.ReasonSetupFailed},
		"no classes":         {change: code(classes, 403), check: capabilities(CapabilityCertManager, csi.CapabilityDriver+"disk")},
		"no such classes":    {change: code(classes, 404), check: capabilities(CapabilityCertManager, csi.CapabilityDriver+"disk")},
		"unreadable classes": {change: code(classes, 500), reason: v1.ReasonSetupFailed},
		"no drivers":         {change: code(drivers, 403), check: capabilities(CapabilityCertManager, CapabilityIngress)},
		"no such drivers":    {change: code(drivers, 404), check: capabilities(CapabilityCertManager, CapabilityIngress)},
		"unreadable drivers": {change: code(drivers, 500), reason: v1.ReasonSetupFailed},
		"no reviews":         {change: code("POST /apis/authorization.k8s.io/v1/selfsubjectrulesreviews", 500), reason: v1.ReasonSetupFailed},
		"may not list":       {change: lacks("list pods"), reason: v1.ReasonPermissionsMissing},
		"restricted":         {change: code("POST /api/v1/namespaces/kube-system/persistentvolumeclaims", 403), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkTrue(t, c.Restricted) }},
		"an API it lacks":    {change: lacks("create servicemonitors"), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkMissing(t, c, "") }},
		"may not create":     {change: lacks("create pods"), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkMissing(t, c, "create pods") }},
		"may not renew":      {change: both(lacks("create serviceaccounts"), expires), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkRenewal(t, c, true) }},
		"no ingress classes": {change: func(m *member, _ *Attempt) { m.classless = true }, check: capabilities(CapabilityCertManager, csi.CapabilityDriver+"disk")},
		"a token for ever":   {change: both(lacks("create serviceaccounts"), func(_ *member, a *Attempt) { a.Access.Account = "n/hub" }), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkRenewal(t, c, false) }},
		"may renew":          {change: expires, check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkRenewal(t, c, false) }},
		"no nodes":           {change: both(code(nodes, 500), func(_ *member, a *Attempt) { a.Settings.Timeouts.Sync = 50 * time.Millisecond }), reason: v1.ReasonSetupFailed},
	} {
		t.Run(name, tt.run)
	}
}

// TestConnectMode checks that an agent installs the definitions and renews its Lease, and that the hub installs them
// without an agent.
func TestConnectMode(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]connectTest{
		"definition, denied":             {change: both(code(crdRequest, 403), func(_ *member, a *Attempt) { requires(a) }), reason: v1.ReasonPermissionsMissing},
		"definition":                     {change: both(agent, func(_ *member, a *Attempt) { requires(a) }), reason: v1.ReasonAgentMissing},
		"definition, paused":             {change: both(paused, func(_ *member, a *Attempt) { requires(a) }), reason: v1.ReasonSetupFailed},
		"agent":                          {change: agent, check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkLease(t, c, health.LeaseMissing) }},
		"agent with its own permissions": {change: both(agent, lacks("list pods"), func(_ *member, a *Attempt) { a.Settings.Agent.Permissions = nil }), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkMissing(t, c, "") }},
		"agent that must be":             {change: both(agent, awaits), reason: v1.ReasonAgentMissing},
		"agent that renews":              {change: both(agent, awaits, func(m *member, _ *Attempt) { m.lease, m.renews = true, true }), check: func(t *testing.T, _ *member, c *Connected) { t.Helper(); checkLease(t, c, health.LeaseRenewed) }},
		"agent that does not":            {change: both(agent, awaits, func(m *member, _ *Attempt) { m.lease = true }), reason: v1.ReasonAgentSilent},
		"no lease":                       {change: both(agent, code(agentLease, 500)), reason: v1.ReasonSetupFailed},
	} {
		t.Run(name, tt.run)
	}
}

// TestConnectRecord checks that the record decides who manages a member, before anything else is written.
func TestConnectRecord(t *testing.T) {
	t.Parallel()
	foreign := func(m *member, _ *Attempt) { m.record.data = ownership.Record{Hub: "other", Epoch: 1}.Data() }
	replaces := func(_ *member, a *Attempt) { a.Replaces = ownership.Record{Hub: "other", Epoch: 1}.ID() }
	for name, tt := range map[string]connectTest{
		"none is kept": {change: func(_ *member, a *Attempt) { a.Settings.Record.Name = "" }, check: func(t *testing.T, m *member, c *Connected) {
			t.Helper()
			if c.Connection.Record != nil {
				t.Error("there is a record")
			}
			checkCount(t, m, configMap, 0)
		}},
		"not written while paused":         {change: paused, check: func(t *testing.T, m *member, _ *Connected) { t.Helper(); checkCount(t, m, creation, 0) }},
		"another hub":                      {change: foreign, reason: v1.ReasonManagedByAnotherHub},
		"replaced":                         {change: both(foreign, replaces), check: func(t *testing.T, m *member, _ *Connected) { t.Helper(); checkHub(t, m, "hub") }},
		"replaced without the means":       {change: both(foreign, replaces, lacks("create pods")), reason: v1.ReasonPermissionsMissing},
		"not read":                         {change: code(configMap, 500), reason: v1.ReasonSetupFailed},
		"not allowed":                      {change: code(creation, 403), reason: v1.ReasonPermissionsMissing, says: "to review permissions"},
		"not allowed, and it lacks others": {change: both(code(creation, 403), lacks("create pods")), reason: v1.ReasonPermissionsMissing, says: "create pods"},
		"another error, and it lacks some": {change: both(code(creation, 500), lacks("create pods")), reason: v1.ReasonSetupFailed},
	} {
		t.Run(name, tt.run)
	}
}

// TestInspect checks that a later inspection reports the same as an attempt, and nothing else if another hub manages
// the member.
func TestInspect(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		connect, later func(*member, *Attempt)
		check          func(*testing.T, *member, *Inspection, error)
	}{
		"as before": {check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err != nil || i.Refused != nil || i.Unreadable() || len(i.Missing) > 0 || i.Server.Version == "" {
				t.Errorf("%+v, %v", i, err)
			}
		}},
		"another hub": {later: func(m *member, _ *Attempt) { m.record.data = ownership.Record{Hub: "other", Epoch: 9}.Data() }, check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err != nil || i.Refused == nil || i.Refused.Reason != v1.ReasonManagedByAnotherHub || i.Unreadable() || i.Server.Version != "" {
				t.Errorf("%+v, %v", i, err)
			}
		}},
		"not a record": {later: func(m *member, _ *Attempt) { m.record.data = map[string]string{"epoch": "x"} }, check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err != nil || !i.Unreadable() {
				t.Errorf("%+v, %v", i, err)
			}
		}},
		"not read": {later: code(configMap, 500), check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err == nil {
				t.Errorf("%+v", i)
			}
		}},
		"may not list": {later: both(lacks("list pods"), code(configMap, 500)), check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err != nil || permissions.Describe(i.Missing) != "list pods" {
				t.Errorf("%+v, %v", i, err)
			}
		}},
		"the permissions explain it": {later: both(lacks("create pods"), code(configMap, 403)), check: func(t *testing.T, _ *member, i *Inspection, err error) {
			t.Helper()
			if err != nil || len(i.Missing) != 1 {
				t.Errorf("%+v, %v", i, err)
			}
		}},
		"the record is written again": {later: func(m *member, _ *Attempt) { m.record.data = nil }, check: func(t *testing.T, m *member, _ *Inspection, _ error) { t.Helper(); checkHub(t, m, "hub") }},
		"not while paused":            {connect: paused, later: func(m *member, _ *Attempt) { m.record.data = nil }, check: func(t *testing.T, m *member, _ *Inspection, _ error) { t.Helper(); checkCount(t, m, creation, 0) }},
	} {
		t.Run(name, func(t *testing.T) {
			connectTest{change: tt.connect, check: func(t *testing.T, m *member, c *Connected) {
				t.Helper()
				m.alter(tt.later)
				found, err := c.Connection.Inspect(t.Context())
				tt.check(t, m, found, err)
			}}.run(t)
		})
	}
}

// alter changes a member that has answered already; nil changes nothing.
func (m *member) alter(change func(*member, *Attempt)) {
	if change == nil {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.record.mu.Lock()
	defer m.record.mu.Unlock()
	change(m, nil)
}

func expires(_ *member, a *Attempt) {
	a.Access.Account, a.Access.ExpiresAt = "n/hub", clock.RealClock{}.Now().Add(time.Hour)
}
func awaits(_ *member, a *Attempt) {
	a.RequireAgent, a.Settings.Timeouts.AgentTakeover = true, 3*time.Second
}

func checkCount(t *testing.T, m *member, request string, want int) {
	t.Helper()
	if got := m.count(request); got != want {
		t.Errorf("%d of %s, want %d", got, request, want)
	}
}

func checkHub(t *testing.T, m *member, want string) {
	t.Helper()
	m.record.mu.Lock()
	defer m.record.mu.Unlock()
	if got := m.record.data["hub"]; got != want {
		t.Errorf("the hub of the record is %q, want %q", got, want)
	}
}

func checkTrue(t *testing.T, restricted *bool) {
	t.Helper()
	if restricted == nil || !*restricted {
		t.Error("the cluster is not restricted")
	}
}

func checkMissing(t *testing.T, c *Connected, want string) {
	t.Helper()
	if got := permissions.Describe(c.Missing); got != want {
		t.Errorf("permissions %q are missing, want %q", got, want)
	}
}

func checkRenewal(t *testing.T, c *Connected, denied bool) {
	t.Helper()
	if c.RenewalDenied != denied || len(c.Missing) > 0 {
		t.Errorf("renewal denied: %t; missing %v", c.RenewalDenied, c.Missing)
	}
}

func checkLease(t *testing.T, c *Connected, want health.LeaseState) {
	t.Helper()
	if c.Lease.State != want {
		t.Errorf("the lease is %v, want %v", c.Lease.State, want)
	}
}

package render

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// policies returns the network policies by name.
func policies(objects []component.Object) map[string]*networkingv1.NetworkPolicy {
	found := map[string]*networkingv1.NetworkPolicy{}
	for _, o := range objects {
		if policy, is := o.Resource.(*networkingv1.NetworkPolicy); is {
			found[policy.Name] = policy
		}
	}
	return found
}

// components returns what selects peers: the components of the application, other pods as they are
// selected, with their namespaces, or "all".
func components(peers []networkingv1.NetworkPolicyPeer) []string {
	if len(peers) == 0 {
		return []string{"all"}
	}
	var names []string
	for _, peer := range peers {
		name := "pods of other namespaces"
		if peer.PodSelector != nil {
			if name = peer.PodSelector.MatchLabels[v1.ComponentLabel]; name == "" {
				name = metav1.FormatLabelSelector(peer.PodSelector)
			}
			if peer.NamespaceSelector != nil {
				name += " in " + metav1.FormatLabelSelector(peer.NamespaceSelector)
			}
		}
		names = append(names, name)
	}
	return names
}

// TestEgress checks where the pods of each component may connect to: by default anywhere, and with
// Restricted to DNS, to what they depend on, and the login to its provider.
func TestEgress(t *testing.T) {
	t.Parallel()
	app := everythingShop(t)
	app.Spec.NetworkPolicy = v1.NetworkPolicy{Egress: v1.EgressOpen}
	for name, policy := range policies(mustShop(t, app)) {
		if slices.Contains(policy.Spec.PolicyTypes, networkingv1.PolicyTypeEgress) || policy.Spec.Egress != nil {
			t.Errorf("%s restricts egress with Open", name)
		}
	}
	app.Spec.NetworkPolicy.Egress = v1.EgressRestricted
	restricted := policies(mustShop(t, app))
	want := map[string][]string{
		"everything-frontend": {"backend"}, "everything-backend": {"database"}, "everything-database": {"database"},
		"everything-oauth2-proxy": {"frontend", "443"},
	}
	if diff := cmp.Diff(want, destinations(t, restricted)); diff != "" {
		t.Errorf("destinations (-want +got):\n%s", diff)
	}
	app.Spec.Backend, app.Spec.Database = v1.Workload{}, nil
	if alone := policies(mustShop(t, app))["everything-frontend"]; len(alone.Spec.Egress) != 1 {
		t.Errorf("a frontend without a backend may connect to more than DNS: %v", alone.Spec.Egress)
	}
}

// destinations returns where the pods of each restricted policy may connect to, besides DNS.
func destinations(t *testing.T, restricted map[string]*networkingv1.NetworkPolicy) map[string][]string {
	t.Helper()
	got := map[string][]string{}
	for name, policy := range restricted {
		if !slices.Equal(policy.Spec.PolicyTypes, []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}) {
			t.Errorf("%s: types %v", name, policy.Spec.PolicyTypes)
		}
		dns := policy.Spec.Egress[0]
		if len(dns.To) != 0 || len(dns.Ports) != 4 || dns.Ports[0].Port.IntValue() != 53 {
			t.Errorf("%s does not begin with DNS: %v", name, dns)
		}
		for _, rule := range policy.Spec.Egress[1:] {
			for _, port := range rule.Ports {
				got[name] = append(got[name], port.Port.String())
			}
			if len(rule.To) > 0 {
				got[name] = append(got[name], components(rule.To)...)
			} else if len(rule.Ports) == 0 {
				t.Errorf("%s may connect anywhere", name)
			}
		}
	}
	return got
}

// TestClients checks who may connect to database and backend, in addition to the components.
func TestClients(t *testing.T) {
	t.Parallel()
	reports := v1.ClientPods{PodSelector: &v1.PodSelector{MatchLabels: map[string]string{"app": "reports"}}}
	erp := v1.ClientPods{PodSelector: &v1.PodSelector{}, Namespaces: []string{"erp", "back-office"}}
	const inERP = "<none> in kubernetes.io/metadata.name in (back-office,erp)"
	for name, tt := range map[string]struct {
		policy            v1.NetworkPolicy
		database, backend []string
	}{
		"none":     {v1.NetworkPolicy{}, nil, nil},
		"database": {v1.NetworkPolicy{DatabaseClients: []v1.ClientPods{reports, erp}}, []string{"app=reports", inERP}, nil},
		"backend":  {v1.NetworkPolicy{BackendClients: []v1.ClientPods{erp}}, nil, []string{inERP}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := everythingShop(t)
			app.Spec.NetworkPolicy = tt.policy
			app.Spec.Monitoring = v1.Monitoring{}
			found := policies(mustShop(t, app))
			for name, want := range map[string][]string{
				"everything-database": append([]string{"backend", "database-backup", "database"}, tt.database...),
				"everything-backend":  append([]string{"frontend"}, tt.backend...),
				"everything-frontend": {"ingress"},
			} {
				if diff := cmp.Diff(want, components(found[name].Spec.Ingress[0].From)); diff != "" {
					t.Errorf("clients of %s (-want +got):\n%s", name, diff)
				}
			}
		})
	}
}

// TestMySQLClients checks that a MySQLCluster admits its own pods, and the clients in its spec.
func TestMySQLClients(t *testing.T) {
	t.Parallel()
	own := []string{"database-backup", "database"}
	for name, tt := range map[string]struct {
		clients []v1.ClientPods
		want    []string
	}{
		"nobody":        {nil, own},
		"the namespace": {[]v1.ClientPods{{PodSelector: &v1.PodSelector{}}}, append(own[:2:2], "<none>")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := sampleMySQL(t)
			db.Spec.Clients = tt.clients
			found := policies(rendered(t, db))
			if len(found) != 1 {
				t.Fatalf("%d network policies, want 1", len(found))
			}
			for _, policy := range found {
				if diff := cmp.Diff(tt.want, components(policy.Spec.Ingress[0].From)); diff != "" {
					t.Errorf("clients (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func rendered(t *testing.T, db *mysqlv1.MySQLCluster) []component.Object {
	t.Helper()
	components, err := MySQLCluster(db, Cluster{})
	if err != nil {
		t.Fatal(err)
	}
	return components[0].Objects
}

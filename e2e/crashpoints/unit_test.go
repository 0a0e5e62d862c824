package crashpoints_test

import (
	"errors"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/e2e/framework/crash"
)

// TestSites names requests, and leaves out those that are not part of a workload.
func TestSites(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		method, path, content string
		want                  string
	}{
		{http.MethodPatch, "/apis/apps/v1/namespaces/crash-1/deployments/web?fieldManager=hub", "application/apply-patch+yaml", "c/apply/deployments.apps:web"},
		{http.MethodPatch, "/apis/ecommerce.io/v1/namespaces/crash-1/ecommerceapps/shop/status", "application/merge-patch+json", "c/patch/ecommerceapps.ecommerce.io/status:shop"},
		{http.MethodDelete, "/api/v1/namespaces/crash-1/services/web", "", "c/delete/services:web"},
		{http.MethodPost, "/api/v1/namespaces", "application/json", "c/create/namespaces"},
		{http.MethodPatch, "/apis/ecommerce.io/v1/memberclusters/us-1", "application/apply-patch+yaml", "c/apply/memberclusters.ecommerce.io:us-1"},
		{http.MethodGet, "/api/v1/namespaces/crash-1/services/web", "", ""},
		{http.MethodPatch, "/apis/apps/v1/namespaces/crash-1/deployments/web?dryRun=All", "application/apply-patch+yaml", ""},
		{http.MethodPost, "/api/v1/namespaces/crash-1/events", "application/json", ""},
		{http.MethodPost, "/apis/events.k8s.io/v1/namespaces/crash-1/events", "application/json", ""},
		{http.MethodPut, "/apis/coordination.k8s.io/v1/namespaces/shopfleet-system/leases/shopfleet-hub", "application/json", ""},
		{http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "application/json", ""},
		{http.MethodPost, "/api/v1/namespaces/shopfleet-system/serviceaccounts/shopfleet-hub/token", "application/json", ""},
	} {
		request, err := http.NewRequestWithContext(t.Context(), test.method, "https://127.0.0.1"+test.path, strings.NewReader(`{"name": "crash-1"}`))
		if err != nil {
			t.Fatal(err)
		}
		request.Header.Set("Content-Type", test.content)
		r, ok := parse("c", request)
		w := write{r}
		if ok != (test.want != "") || ok && w.site() != test.want {
			t.Errorf("%s %s is %q, want %q", test.method, test.path, w.site(), test.want)
		}
		one, other := subject{namespace: "crash-1"}, subject{namespace: "crash-2"}
		if ok && !w.fleetwide() && (!one.has(w) || other.has(w)) {
			t.Errorf("%s %s: it is about crash-1 and no other namespace", test.method, test.path)
		}
	}
}

// TestSubjects checks which writes without a namespace of their own are about a run.
func TestSubjects(t *testing.T) {
	t.Parallel()
	const app, namespace, volume = "11111111-2222-3333-4444-555555555555", "crash-1", "pvc-66666666-7777-8888-9999-000000000000"
	const contents = "volumesnapshotcontents.snapshot.storage.k8s.io"
	record := write{crash.Request{Namespace: config.Namespace, Resource: "configmaps", Name: config.HubRecord, Body: []byte("deleted: " + app)}}
	s := subject{namespace: namespace, app: app, owner: func(w write) string {
		return map[string]string{volume: namespace}[w.Name]
	}}
	for name, test := range map[string]struct {
		write     write
		has, once bool
	}{
		"record of the deletion":    {record, true, true},
		"record of another":         {write{crash.Request{Namespace: record.Namespace, Resource: record.Resource, Name: record.Name}}, false, true},
		"volume":                    {write{crash.Request{Resource: "persistentvolumes", Name: volume}}, true, false},
		"volume of another":         {write{crash.Request{Resource: "persistentvolumes", Name: "pvc-1"}}, false, false},
		"content with its snapshot": {write{crash.Request{Resource: contents, Body: []byte(`"volumeSnapshotRef":{"namespace":"crash-1"}`)}}, true, false},
		"snapshot with its tags":    {write{crash.Request{Cluster: accountName, Resource: "snapshots", Body: []byte("Tag.Value=" + namespace)}}, true, false},
		"registration of a cluster": {write{crash.Request{Namespace: config.Namespace, Resource: "secrets", Name: usMember}}, false, false},
	} {
		if s.has(test.write) != test.has || s.once(test.write) != test.once {
			t.Errorf("%s: has is %t, once is %t", name, s.has(test.write), s.once(test.write))
		}
	}
	if all := (subject{namespace: namespace, fleetwide: true}); !all.has(record) || all.once(record) {
		t.Error("the record is not about a workload of members")
	}
	for want, w := range map[string]crash.Request{
		"eu-1/patch/persistentvolumes:pvc-UID":         {Cluster: euMember, Verb: "patch", Resource: "persistentvolumes", Name: volume},
		"eu-1/delete/" + contents + ":shop-import-UID": {Cluster: euMember, Verb: "delete", Resource: contents, Name: "shop-import-0123abcd"},
	} {
		if got := (write{w}).site(); got != want {
			t.Errorf("the site is %q, want %q", got, want)
		}
	}
}

// TestActions finds the writes among requests to EC2, and leaves their bodies as they were.
func TestActions(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]string{
		"Action=CreateSnapshot&Tag.1.Value=crash-1": "aws/create/snapshots",
		"Action=CopySnapshot":                       "aws/copy/snapshots",
		"Action=CreateSnapshot&DryRun=true":         "",
		"Action=DescribeSnapshots":                  "",
	} {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "https://127.0.0.1/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r, ok := parseEC2(request)
		w := write{r}
		if ok != (want != "") || ok && w.site() != want {
			t.Errorf("%s is %q, want %q", body, w.site(), want)
		}
		if left, err := io.ReadAll(request.Body); err != nil || string(left) != body {
			t.Errorf("%s: what is sent is %q, error %v", body, left, err)
		}
	}
}

// TestLoss compares executions that differ from the reference in one way each.
func TestLoss(t *testing.T) {
	t.Parallel()
	reference := state{"a": "1", "b": "1"}
	past := history{created: map[string]int{"a": 1}, deleted: map[string]bool{"c": true}, uncertain: map[string]bool{"b": true}}
	for name, test := range map[string]struct {
		state   state
		history history
		want    loss
	}{
		"equal":      {reference, past, loss{}},
		"missing":    {state{"a": "1"}, past, loss{lost: []string{"b"}}},
		"different":  {state{"a": "2", "b": "1"}, past, loss{lost: []string{"a"}}},
		"orphaned":   {state{"a": "1", "b": "1", "d": "1"}, past, loss{orphaned: []string{"d"}}},
		"uncertain":  {reference, history{created: map[string]int{"b": 1}, deleted: map[string]bool{"b": true}}, loss{}},
		"duplicated": {reference, history{created: map[string]int{"a": 2}, deleted: past.deleted}, loss{duplicated: []string{"a"}}},
		"destroyed":  {reference, history{created: past.created, deleted: map[string]bool{"a": true}}, loss{destroyed: []string{"a"}}},
	} {
		var got loss
		got.compareStates(reference, test.state)
		got.compareHistories(past, test.history)
		if diff := cmp.Diff(test.want, got, cmp.AllowUnexported(loss{})); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if got.none() != cmp.Equal(test.want, loss{}, cmp.AllowUnexported(loss{})) {
			t.Errorf("%s: none is %t", name, got.none())
		}
	}
}

// TestSample checks that a seed repeats its sample, whatever the order of concurrent requests
// was, and that no workload is left out.
func TestSample(t *testing.T) {
	t.Parallel()
	refs := map[string]*reference{}
	for _, w := range workloads() {
		ref := &reference{workload: w}
		for _, site := range []string{"a", "b", "c"} {
			ref.sites = append(ref.sites, point{workload: w.name, site: site, nth: 1})
		}
		refs[w.name] = ref
	}
	points := func(c choice) []point {
		chosen, err := c.points(refs)
		if err != nil {
			t.Errorf("%s: %v", c, err)
		}
		return chosen
	}
	first := points(choice{seed: 7})
	for _, ref := range refs {
		slices.Reverse(ref.sites)
	}
	if diff := cmp.Diff(keys(first), keys(points(choice{seed: 7}))); diff != "" {
		t.Errorf("one seed, two samples (-first +second):\n%s", diff)
	}
	if keys(first) == keys(points(choice{seed: 8})) {
		t.Error("two seeds have one sample")
	}
	chosen := map[string]bool{}
	for _, p := range first {
		chosen[p.workload] = true
		if one := points(choice{variable: p.String()}); len(one) != 1 || one[0] != p {
			t.Errorf("the key %s is that of %s", p, keys(one))
		}
	}
	if len(first) != sampleSize || len(chosen) != len(refs) {
		t.Errorf("%d points of the workloads %q", len(first), slices.Sorted(maps.Keys(chosen)))
	}
	for _, key := range []string{"create/d#1@before-send", "create/a#2@before-send"} {
		if chosen, err := (choice{variable: key}).points(refs); !errors.Is(err, errUnwritten) {
			t.Errorf("%s selects %q, error %v", key, keys(chosen), err)
		}
	}
	if all := points(choice{variable: everything}); len(all) != len(refs)*len(crash.Moments())*3 {
		t.Errorf("%d points in all", len(all))
	}
}

// TestGroups selects workloads.
func TestGroups(t *testing.T) {
	t.Parallel()
	for variable, want := range map[string]int{
		"": len(workloads()), everything: len(workloads()), "create": 1, "backup,restore": 2,
		"create/c/apply/a#1@before-send": 1, "create/c/apply/a#1": 0, "created": 0, "create/c/apply/a@before-send": 0,
	} {
		groups, err := choice{variable: variable}.groups()
		found := 0
		for _, g := range groups {
			found += len(g.workloads)
		}
		if found != want || (want == 0) != errors.Is(err, errKey) {
			t.Errorf("%q selects %d workloads, error %v, want %d", variable, found, err, want)
		}
	}
}

package framework

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	mysqlv1 "github.com/shopfleet/shopfleet/api/mysql/v1"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

const (
	// collectTimeout bounds how long it takes to delete the children of what tests deleted last,
	// collectPoll is the time between two looks at them.
	collectTimeout = 2 * time.Minute
	collectPoll    = 200 * time.Millisecond
)

// verify searches the audit logs of the whole fleet, and what its clusters have when
// all tests and the hub have ended, for what must never happen.
func (e *Environment) verify() {
	ctx := context.WithoutCancel(e.t.Context())
	logs, hub := invariants.Logs{}, ""
	for _, c := range e.Fleet.Clusters() {
		if c == e.Fleet.Hub() {
			hub = c.Name()
		}
		log, err := c.Audit(ctx)
		if err != nil {
			e.t.Errorf("reading the audit log of %s: %v", c.Name(), err)
		}
		logs[c.Name()] = log
	}
	end, texts, secrets := e.collect(ctx)
	maps.Copy(texts, invariants.Reports(logs))
	for what, found := range map[string][]string{
		"no user asked for deletions":              invariants.UnexpectedDeletes(logs, hub, e.expected...),
		"objects were created twice":               invariants.Duplicates(logs),
		"requests failed too often":                invariants.HotLoops(logs),
		"statuses went backwards":                  invariants.Statuses(e.apart(logs)),
		"reasons have no entry in the runbook":     invariants.UnknownReasons(logs),
		"two processes wrote at the same time":     invariants.Overlaps(logs),
		"generations have no effect and no report": invariants.LostIntents(logs, end),
		"clusters are not as ready as reported":    invariants.FalseReady(logs, end),
		"children outlive their owners":            e.leftovers(ctx, end),
		"credentials are not kept secret":          invariants.Leaks(secrets, texts),
	} {
		if len(found) > 0 {
			e.t.Errorf("%s:\n%s", what, strings.Join(found, "\n"))
		}
	}
}

// apart returns the logs, in which the logs of restored clusters are cut where these were restored.
func (e *Environment) apart(logs invariants.Logs) invariants.Logs {
	cut := maps.Clone(logs)
	for name, times := range e.restored {
		part := name
		for i, at := range times {
			rest := cut[part]
			cut[part] = rest.Where(func(r audit.Event) bool { return r.Received.Before(at) })
			part = fmt.Sprintf("%s, restored %d", name, i+1)
			cut[part] = rest.Since(at)
		}
	}
	return cut
}

// leftovers returns the children whose owners are gone, when the garbage collectors of the members
// have had time to delete them.
func (e *Environment) leftovers(ctx context.Context, end *invariants.End) []string {
	found := invariants.Leftovers(end)
	for until := time.Now().Add(collectTimeout); len(found) > 0 && time.Now().Before(until); found = invariants.Leftovers(end) {
		<-time.After(collectPoll)
		end, _, _ = e.collect(ctx)
	}
	return found
}

// collect reads the clusters that respond: their state, texts that must not have credentials in
// them, and the credentials.
func (e *Environment) collect(ctx context.Context) (end *invariants.End, texts map[string]string, secrets map[string][]string) {
	end = &invariants.End{Since: e.started, Until: time.Now(), Members: map[string]invariants.Member{}}
	texts, secrets = map[string]string{"the metrics": e.gather()}, map[string][]string{}
	var group sync.WaitGroup
	var mu sync.Mutex
	for _, c := range e.Fleet.Clusters() {
		if c.Health() != fleet.Running {
			continue
		}
		group.Go(func() {
			found, err := look(ctx, e.clientOf(c), c == e.Fleet.Hub() || c.Spec().APIServerOnly)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				e.t.Errorf("reading the objects of %s: %v", c.Name(), err)
				return
			}
			texts["an object of "+c.Name()] = found.text
			for name, values := range invariants.Confidential(found.secrets) {
				secrets[c.Name()+" "+name] = values
			}
			if c == e.Fleet.Hub() {
				end.Hub, end.Apps = c.Name(), found.member.Copies
			} else {
				end.Members[c.Name()] = found.member
			}
		})
	}
	group.Wait()
	return end, texts, secrets
}

func (e *Environment) clientOf(c *fleet.Cluster) client.Client {
	if c == e.Fleet.Hub() {
		return e.Hub
	}
	if known, ok := e.Members[c.Name()]; ok {
		return known
	}
	return Admin(e.t, c) // It was added by a test.
}

// view holds what one cluster has.
type view struct {
	member  invariants.Member
	secrets []corev1.Secret
	// text has the objects that clients read that may not read Secrets, as JSON.
	text string
}

// look reads a cluster. Children are left out where no garbage collector deletes them.
func look(ctx context.Context, c client.Client, childless bool) (*view, error) {
	found := &view{}
	var text strings.Builder
	for _, list := range readable() {
		if err := c.List(ctx, list); ignoreMissing(err) != nil {
			return nil, fmt.Errorf("listing %T: %w", list, err)
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, fmt.Errorf("encoding %T: %w", list, err)
		}
		text.Write(raw)
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			object, err := meta.Accessor(item)
			if err == nil {
				found.member.Owners = append(found.member.Owners, object.GetUID())
			}
			return err
		}); err != nil {
			return nil, fmt.Errorf("reading %T: %w", list, err)
		}
		if apps, ok := list.(*v1.EcommerceAppList); ok {
			found.member.Copies = apps.Items
		}
	}
	found.text = text.String()
	secrets := &corev1.SecretList{}
	if err := c.List(ctx, secrets); err != nil {
		return nil, fmt.Errorf("listing Secrets: %w", err)
	}
	found.secrets = secrets.Items
	if childless {
		return found, nil
	}
	for _, kind := range children() {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(kind)
		if err := c.List(ctx, list, client.HasLabels{v1.OwnerUIDLabel}); err != nil {
			return nil, fmt.Errorf("listing children: %w", err)
		}
		for i := range list.Items {
			list.Items[i].SetGroupVersionKind(kind)
		}
		found.member.Children = append(found.member.Children, list.Items...)
	}
	return found, nil
}

// readable returns lists of what clients read that may not read Secrets.
func readable() []client.ObjectList {
	return []client.ObjectList{
		&v1.EcommerceAppList{}, &webappv1.WebAppList{}, &mysqlv1.MySQLClusterList{}, &v1.BackupList{}, &v1.RestoreList{},
		&v1.MemberClusterList{}, &v1.CloudAccountList{}, &corev1.ConfigMapList{}, &corev1.EventList{},
	}
}

// ignoreMissing returns an error unless it says that the cluster does not serve a kind.
func ignoreMissing(err error) error {
	if apierrors.IsNotFound(err) || meta.IsNoMatchError(err) {
		return nil
	}
	return err
}

// children returns the kinds of the objects that deletions of their owners take with them.
func children() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Version: "v1", Kind: "ConfigMap"}, {Version: "v1", Kind: "Service"}, {Version: "v1", Kind: "ServiceAccount"},
		{Group: "apps", Version: "v1", Kind: "Deployment"}, {Group: "apps", Version: "v1", Kind: "StatefulSet"},
		{Group: "batch", Version: "v1", Kind: "CronJob"}, {Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
		{Group: "networking.k8s.io", Version: "v1", Kind: "NetworkPolicy"}, {Group: "policy", Version: "v1", Kind: "PodDisruptionBudget"},
		{Group: "autoscaling", Version: "v2", Kind: "HorizontalPodAutoscaler"},
	}
}

// Metrics returns the metrics of the hub and of this process.
func (e *Environment) Metrics() ([]*dto.MetricFamily, error) {
	families, err := prometheus.Gatherers{metrics.Registry, e.metrics}.Gather()
	if err != nil {
		return families, fmt.Errorf("gathering metrics: %w", err)
	}
	return families, nil
}

func (e *Environment) gather() string {
	var text strings.Builder
	// What is gathered in spite of an error is searched as well.
	families, _ := e.Metrics()
	for _, f := range families {
		text.WriteString(f.String() + "\n")
	}
	return text.String()
}

package metrics

import (
	"cmp"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// Metrics is the collector of these gauges. It is safe for concurrent use.
//
//	shopfleet_member_ready{member}
//	shopfleet_member_info{member,provider,region}
//	shopfleet_member_orphans{member}
//	shopfleet_member_residue{member}
//	shopfleet_member_credentials_expiry_timestamp_seconds{member}
//	shopfleet_member_credentials_expiring{member}
//	shopfleet_member_definitions_outdated{member}
//	shopfleet_app_phase{namespace,app,phase}
//	shopfleet_app_rollout_state{namespace,app,state}
//	shopfleet_app_status_rejected{namespace,app}
//	shopfleet_app_ready{namespace,app,cluster}
//	shopfleet_app_available{namespace,app,cluster}
//	shopfleet_app_degraded{namespace,app,cluster}
//	shopfleet_app_replication_lag_seconds{namespace,app,cluster}
//	shopfleet_app_stale{namespace,app,cluster}
//	shopfleet_app_database_lost{namespace,app,cluster}
type Metrics struct {
	ready, info, orphans, residue, expiry, expiring *prometheus.Desc
	outdated                                        *prometheus.Desc
	phase, rolloutState, appReady, appAvailable     *prometheus.Desc
	appDegraded, appLag, appStale                   *prometheus.Desc
	appLost, appRejected                            *prometheus.Desc

	// list fills a list from a cache; nil before Watch.
	list atomic.Pointer[func(client.ObjectList) bool]
}

// NewMetrics creates the metrics and registers them. They have no series before Watch.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	member := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("shopfleet_member_"+name, help, append([]string{"member"}, more...), nil)
	}
	app := func(name, help string, more ...string) *prometheus.Desc {
		return prometheus.NewDesc("shopfleet_app_"+name, help, append([]string{"namespace", "app"}, more...), nil)
	}
	m := &Metrics{
		ready:   member("ready", "1 if the condition Ready of a member cluster is True, else 0."),
		info:    member("info", "Always 1; provider and region of a member cluster, empty if unknown.", "provider", "region"),
		orphans: member("orphans", "Number of copies in a member cluster that no application on the hub owns; absent if it is detached."),
		residue: member("residue", "Number of copies that deleted applications left behind in a member cluster that did not respond."),
		expiry: member("credentials_expiry_timestamp_seconds",
			"Time at which the hub's credentials of a member cluster expire; absent if they do not."),
		expiring: member("credentials_expiring",
			"1 if the hub's credentials of a member cluster expire soon, have expired or cannot be renewed, else 0; absent if they do not expire."),
		outdated: member("definitions_outdated",
			"1 if definitions in a member cluster with an agent lack fields that the hub's have, else 0; absent without an agent."),
		phase: app("phase", "Always 1; the current phase of an application.", "phase"),
		rolloutState: app("rollout_state",
			"Always 1; the state of the rollout of an application, as in status.rollout.state; absent without spec.rollout.", "state"),
		appReady: app("ready", "1 if an application is ready in a cluster, else 0.", "cluster"),
		appAvailable: app("available",
			"1 if customers of an application can be served in a cluster, else 0; 0 if the cluster does not answer.", "cluster"),
		appDegraded: app("degraded", "1 if an application has failed in a cluster, waits for a user there, or has a problem there, else 0.", "cluster"),
		appLag: app("replication_lag_seconds",
			"Longest time that a replica of the database is behind the primary, as in status.clusters; absent while none is observed.", "cluster"),
		appRejected: app("status_rejected", "Always 1; the API server refuses what members report about an application. Absent otherwise."),
		appStale:    app("stale", "1 if the status of an application in a cluster is outdated because the cluster does not answer, else 0.", "cluster"),
		appLost:     app("database_lost", "Always 1; the data of the database of an application is lost in a cluster, as last observed.", "cluster"),
	}
	if err := registry.Register(m); err != nil {
		return nil, fmt.Errorf("registering the metrics of members and applications: %w", err)
	}
	return m, nil
}

// Watch makes the metrics report what a cache holds, and begins to fill it with MemberClusters and
// EcommerceApps. The API server must serve these kinds. It does not block.
func (m *Metrics) Watch(ctx context.Context, from cache.Cache) error {
	var informers []cache.Informer
	for _, kind := range []client.Object{&v1.MemberCluster{}, &v1.EcommerceApp{}} {
		informer, err := from.GetInformer(ctx, kind, cache.BlockUntilSynced(false))
		if err != nil {
			return fmt.Errorf("watching %T for metrics: %w", kind, err)
		}
		informers = append(informers, informer)
	}
	m.list.Store(new(func(list client.ObjectList) bool {
		for _, informer := range informers {
			if !informer.HasSynced() {
				return false // A list would wait for that.
			}
		}
		return from.List(ctx, list, client.UnsafeDisableDeepCopy) == nil
	}))
	return nil
}

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(descriptions chan<- *prometheus.Desc) {
	for _, d := range []*prometheus.Desc{
		m.ready, m.info, m.orphans, m.residue, m.expiry, m.expiring, m.outdated, m.phase, m.rolloutState,
		m.appReady, m.appAvailable, m.appDegraded, m.appLag, m.appStale, m.appLost, m.appRejected,
	} {
		descriptions <- d
	}
}

// Collect implements prometheus.Collector. It changes nothing of the objects, which belong to the
// cache.
func (m *Metrics) Collect(out chan<- prometheus.Metric) {
	list := m.list.Load()
	if list == nil {
		return
	}
	fleet, apps := &v1.MemberClusterList{}, &v1.EcommerceAppList{}
	if !(*list)(fleet) || !(*list)(apps) {
		return
	}
	for i := range fleet.Items {
		m.collectMember(out, &fleet.Items[i])
	}
	for i := range apps.Items {
		m.collectApp(out, &apps.Items[i])
	}
}

// collectMember reports a member that is not about to leave.
func (m *Metrics) collectMember(out chan<- prometheus.Metric, member *v1.MemberCluster) {
	if member.DeletionTimestamp != nil {
		return
	}
	status := &member.Status
	ready := meta.FindStatusCondition(status.Conditions, v1.ConditionReady)
	out <- gauge(m.ready, number(ready != nil && ready.Status == metav1.ConditionTrue), member.Name)
	out <- gauge(m.info, 1, member.Name, string(status.Provider), status.Region)
	out <- gauge(m.residue, float64(status.ResidueCount), member.Name)
	if ready != nil && ready.Reason == v1.ReasonSecretNotFound {
		return // Detached: the hub has no credentials, and lists no copies.
	}
	out <- gauge(m.orphans, float64(status.OrphanCount), member.Name)
	if member.Spec.Mode == v1.ModeAgent {
		outdated := meta.IsStatusConditionFalse(status.Conditions, v1.ConditionDefinitionsCurrent)
		out <- gauge(m.outdated, number(outdated), member.Name)
	}
	if expiry := status.CredentialsExpirationTime; expiry != nil {
		expiring := meta.IsStatusConditionFalse(status.Conditions, v1.ConditionCredentialsRenewed)
		out <- gauge(m.expiry, float64(expiry.Unix()), member.Name)
		out <- gauge(m.expiring, number(expiring), member.Name)
	}
}

// collectApp reports an application, and the clusters that are to run it.
func (m *Metrics) collectApp(out chan<- prometheus.Metric, app *v1.EcommerceApp) {
	phase := cmp.Or(app.Status.Phase, v1.PhasePending)
	if app.Ending() {
		phase = v1.PhaseDeleting
	}
	out <- gauge(m.phase, 1, app.Namespace, app.Name, string(phase))
	if meta.IsStatusConditionTrue(app.Status.Conditions, v1.ConditionStatusRejected) {
		out <- gauge(m.appRejected, 1, app.Namespace, app.Name)
	}
	if app.Spec.Rollout != nil && app.Status.Rollout != nil {
		out <- gauge(m.rolloutState, 1, app.Namespace, app.Name, string(app.Status.Rollout.State))
	}
	for i := range app.Status.Clusters {
		c := &app.Status.Clusters[i]
		if c.Phase == v1.PhaseDeleting {
			continue
		}
		m.collectCluster(out, app, c)
	}
}

// collectCluster reports an application in a cluster. What is not observed now has no lag, and is
// not known to serve customers. Where it is created it has served none yet.
func (m *Metrics) collectCluster(out chan<- prometheus.Metric, app *v1.EcommerceApp, c *v1.ClusterStatus) {
	out <- gauge(m.appReady, number(c.Ready), app.Namespace, app.Name, c.Name)
	if c.Phase != v1.PhasePending && c.Phase != v1.PhaseCreating {
		out <- gauge(m.appAvailable, number(c.Available), app.Namespace, app.Name, c.Name)
	}
	out <- gauge(m.appDegraded, number(isDegraded(c)), app.Namespace, app.Name, c.Name)
	out <- gauge(m.appStale, number(c.Stale), app.Namespace, app.Name, c.Name)
	if c.DatabaseLost {
		out <- gauge(m.appLost, 1, app.Namespace, app.Name, c.Name)
	}
	if lag := c.ReplicationLagSeconds; lag != nil && !c.Stale {
		out <- gauge(m.appLag, float64(*lag), app.Namespace, app.Name, c.Name)
	}
}

// isDegraded reports whether an application is known to have a problem in a cluster. An entry of an earlier hub
// that is ready has a reason only for that, or for a pause; one of a cluster that does not answer is not ready.
func isDegraded(c *v1.ClusterStatus) bool {
	return c.Phase == v1.PhaseFailed || c.Stalled || c.DegradedReason != "" || c.Ready && c.Reason != "" && c.Reason != v1.ReasonPaused
}

func gauge(d *prometheus.Desc, value float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
}

func number(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"strconv"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	metricsPath = "/metrics"

	// monitoringNamespaceLabel, with the value true on a namespace, allows its pods to
	// read the application's metrics; namespaces with common names of monitoring are
	// allowed too.
	monitoringNamespaceLabel = "ecommerce.io/monitoring"
)

// RunbookURL returns the page that the alerts of shops link to by default: hub/RUNBOOK.md of a release, or of the main
// branch if the version is that of another build.
func RunbookURL(version string) string {
	tree := "main"
	if regexp.MustCompile(`^v\d+\.\d+\.\d+(-(alpha|beta|rc)[.\d]*)?$`).MatchString(version) {
		tree = version
	}
	return "https://github.com/shopfleet/shopfleet/blob/" + tree + "/hub/RUNBOOK.md"
}

// monitoring renders the objects for Prometheus and Grafana.
func (s *shop) monitoring() (component.Component, error) {
	spec := s.app.Spec.Monitoring
	c := component.Component{Name: Monitoring, DependsOn: []string{Backend, Frontend}, Disabled: !spec.Enabled}
	if !spec.Enabled {
		return c, nil
	}
	if spec.Prometheus {
		if s.cluster.ServiceMonitors {
			c.Objects = append(c.Objects, component.Object{Resource: s.serviceMonitor()})
		}
		rules, err := s.alertRules()
		if err != nil {
			return component.Component{}, err
		}
		c.Objects = append(c.Objects, component.Object{Resource: rules})
	}
	if spec.Grafana {
		dashboard, err := s.dashboard()
		if err != nil {
			return component.Component{}, err
		}
		c.Objects = append(c.Objects, component.Object{Resource: dashboard})
	}
	return c, nil
}

func (s *shop) scraped() bool {
	return s.app.Spec.Monitoring.Enabled && s.app.Spec.Monitoring.Prometheus
}

// scrapeAnnotations returns the annotations of a Service for a Prometheus without operator. Pods have none: they would be
// replaced where the operator is installed or removed.
func (s *shop) scrapeAnnotations(port int32) map[string]string {
	if !s.scraped() || s.cluster.ServiceMonitors {
		return nil
	}
	return map[string]string{
		"prometheus.io/scrape": "true",
		"prometheus.io/port":   strconv.Itoa(int(port)),
		"prometheus.io/path":   metricsPath,
	}
}

// scrapers returns the peers that may read metrics.
func (s *shop) scrapers() []networkingv1.NetworkPolicyPeer {
	if !s.scraped() {
		return nil
	}
	return []networkingv1.NetworkPolicyPeer{
		{NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{monitoringNamespaceLabel: "true"}}},
		{NamespaceSelector: &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key:      "kubernetes.io/metadata.name",
			Operator: metav1.LabelSelectorOpIn,
			Values:   []string{"monitoring", "observability", "prometheus"},
		}}}},
	}
}

func (s *shop) monitoringPart() objectparts.Part {
	p := s.part(Monitoring)
	p.App = Monitoring
	return p
}

// selectable adds the labels by which a Prometheus selects objects.
func (s *shop) selectable(meta metav1.ObjectMeta) metav1.ObjectMeta {
	maps.Copy(meta.Labels, s.app.Spec.Monitoring.Labels)
	return meta
}

func (s *shop) serviceMonitor() *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{
			"selector": map[string]any{
				"matchLabels": map[string]any{
					v1.InstanceLabel: objectparts.LabelValue(s.owner.Name),
					v1.PartOfLabel:   s.owner.Kind,
				},
				"matchExpressions": []any{map[string]any{
					"key":      v1.ComponentLabel,
					"operator": "In",
					"values":   []any{Backend, Frontend},
				}},
			},
			"endpoints": []any{map[string]any{"port": httpPort, "path": metricsPath, "interval": "30s"}},
		},
	}}
	identify(u, objectparts.Type("monitoring.coreos.com/v1", "ServiceMonitor"),
		s.selectable(s.monitoringPart().Meta(s.owner.ChildName("-monitoring", objectparts.MaxName))))
	return u
}

// alertRules returns a PrometheusRule, or a ConfigMap with a rule file if the cluster
// does not serve that kind.
func (s *shop) alertRules() (component.Resource, error) {
	groups := []any{map[string]any{"name": s.owner.Namespace + "/" + s.owner.Name, "rules": s.alerts()}}
	meta := s.monitoringPart().Meta(s.owner.ChildName("-alerts", objectparts.MaxName))
	if s.cluster.PrometheusRules {
		u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"groups": groups}}}
		identify(u, objectparts.Type("monitoring.coreos.com/v1", "PrometheusRule"), s.selectable(meta))
		return u, nil
	}
	file, err := encodeJSON(map[string]any{"groups": groups})
	if err != nil {
		return nil, fmt.Errorf("encoding alert rules: %w", err)
	}
	return objectparts.ConfigMap(s.monitoringPart(), meta.Name, map[string]string{"alerts.yaml": file}), nil
}

// metric returns a metric of the Deployment of a workload, or the sum over the templates of its pods.
func (w workload) metric(name string) string {
	if w.spec.Strategy == v1.StrategyBlueGreen {
		return fmt.Sprintf("sum(%s{namespace=%q,deployment=~%q})", name, w.part.Owner.Namespace, w.name+"-[0-9a-f]+")
	}
	return fmt.Sprintf("%s{namespace=%q,deployment=%q}", name, w.part.Owner.Namespace, w.name)
}

// alerts returns the alerts, which use the metrics of kube-state-metrics and the kubelet.
func (s *shop) alerts() []any {
	runbook := cmp.Or(s.cluster.RunbookURL, RunbookURL("")) + "#"
	alert := func(name, expr, wait, severity, summary string) any {
		return map[string]any{
			"alert":       name,
			"expr":        expr,
			"for":         wait,
			"labels":      map[string]any{"severity": severity, "shop": s.owner.Name},
			"annotations": map[string]any{"summary": summary, "runbook_url": runbook + strings.ToLower(name)},
		}
	}
	of := func(label, value string) string {
		return fmt.Sprintf("{namespace=%q,%s=%q}", s.owner.Namespace, label, value)
	}
	var alerts []any
	for _, w := range s.workloads() {
		available, wanted := w.metric("kube_deployment_status_replicas_available"), w.metric("kube_deployment_spec_replicas")
		alerts = append(alerts,
			alert("ShopWorkloadDown", available+" == 0 and "+wanted+" > 0", "2m", "critical", "No pod of "+w.name+" is available"),
			alert("ShopWorkloadDegraded", available+" < "+wanted, "15m", "warning", "Pods of "+w.name+" are not available"))
	}
	if s.database == nil {
		return alerts
	}
	name := s.database.StatefulSetName()
	alerts = append(alerts,
		// Customers are served while the primary is ready.
		alert("ShopDatabaseDown",
			"kube_statefulset_status_replicas_ready"+of("statefulset", name)+" == 0 and kube_statefulset_replicas"+of("statefulset", name)+" > 0"+
				fmt.Sprintf(" or kube_pod_status_ready{namespace=%q,pod=%q,condition=\"true\"} == 0", s.owner.Namespace, name+"-0"),
			"5m", "critical", "The primary of "+name+" is not ready"),
		alert("ShopDatabaseDegraded",
			"kube_statefulset_status_replicas_ready"+of("statefulset", name)+" < kube_statefulset_replicas"+of("statefulset", name),
			"15m", "warning", "Pods of "+name+" are not ready"),
		alert("ShopDatabaseVolumeFull",
			fmt.Sprintf("kubelet_volume_stats_available_bytes{namespace=%[1]q,persistentvolumeclaim=~%[2]q} / "+
				"kubelet_volume_stats_capacity_bytes{namespace=%[1]q,persistentvolumeclaim=~%[2]q} < 0.1", s.owner.Namespace, "data-"+name+"-[0-9]+"),
			"10m", "critical", "A volume of "+name+" has less than a tenth left"),
	)
	if s.database.Backup.Enabled {
		job := s.database.CronJobName()
		alerts = append(alerts,
			alert("ShopBackupFailed",
				// kube_job_status_failed counts pods: another pod of the Job may have succeeded.
				fmt.Sprintf("kube_job_failed{condition=\"true\",namespace=%q,job_name=~%q} > 0", s.owner.Namespace, job+"-[0-9]+"),
				"1m", "warning", "A backup of "+name+" failed"),
			alert("ShopBackupOverdue",
				"time() - kube_cronjob_next_schedule_time"+of("cronjob", job)+" > 3600",
				"5m", "warning", "A backup of "+name+" did not begin on time"),
			// The claim has figures only while the Job uses it.
			alert("ShopBackupVolumeFull",
				fmt.Sprintf("last_over_time(kubelet_volume_stats_available_bytes{namespace=%[1]q,persistentvolumeclaim=%[2]q}[25h]) / "+
					"last_over_time(kubelet_volume_stats_capacity_bytes{namespace=%[1]q,persistentvolumeclaim=%[2]q}[25h]) < 0.1",
					s.owner.Namespace, s.database.BackupsClaim()),
				"1m", "warning", "The claim "+s.database.BackupsClaim()+" has less than a tenth left: dumps may be removed before their retention ends"),
		)
	}
	return alerts
}

// workloads returns the Deployments that serve customers.
func (s *shop) workloads() []workload {
	if s.backend == nil {
		return []workload{s.frontend}
	}
	return []workload{*s.backend, s.frontend}
}

// encodeJSON encodes a value with indentation, without escaping < and >.
func encodeJSON(value any) (string, error) {
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(value); err != nil {
		return "", err
	}
	return b.String(), nil
}

// identify sets type and metadata of an unstructured object.
func identify(u *unstructured.Unstructured, t metav1.TypeMeta, meta metav1.ObjectMeta) {
	u.SetAPIVersion(t.APIVersion)
	u.SetKind(t.Kind)
	u.SetNamespace(meta.Namespace)
	u.SetName(meta.Name)
	u.SetLabels(maps.Clone(meta.Labels))
}

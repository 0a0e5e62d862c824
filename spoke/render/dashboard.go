package render

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	panelWidth, panelHeight = 12, 8
	panelsInRow             = 2
)

// dashboard returns a ConfigMap that Grafana's sidecar selects by its label.
func (s *shop) dashboard() (*corev1.ConfigMap, error) {
	name := s.owner.ChildName("-dashboard", objectparts.MaxName)
	file, err := encodeJSON(map[string]any{
		"uid":           objectparts.Hash(s.owner.Namespace, s.owner.Name),
		"title":         "Shop " + s.owner.Namespace + "/" + s.owner.Name,
		"tags":          []any{"shopfleet"},
		"schemaVersion": 39,
		"refresh":       "30s",
		"time":          map[string]any{"from": "now-6h", "to": "now"},
		"templating": map[string]any{"list": []any{map[string]any{
			"name": "datasource", "type": "datasource", "query": "prometheus",
		}}},
		"panels": s.panels(),
	})
	if err != nil {
		return nil, fmt.Errorf("encoding dashboard: %w", err)
	}
	cm := objectparts.ConfigMap(s.monitoringPart(), name, map[string]string{name + ".json": file})
	cm.Labels["grafana_dashboard"] = "1"
	return cm, nil
}

func (s *shop) panels() []any {
	type query struct{ title, unit, expr, legend string }
	ns := fmt.Sprintf("namespace=%q", s.owner.Namespace)
	var queries []query
	for _, w := range s.workloads() {
		pods := ns + fmt.Sprintf(",pod=~%q", w.name+"-.*")
		queries = append(queries,
			query{w.name + ": available pods", "short", w.metric("kube_deployment_status_replicas_available"), "available"},
			query{w.name + ": CPU", "short", "sum by (pod) (rate(container_cpu_usage_seconds_total{" + pods + `,container!=""}[5m]))`, "{{pod}}"},
			query{w.name + ": memory", "bytes", "sum by (pod) (container_memory_working_set_bytes{" + pods + `,container!=""})`, "{{pod}}"},
			query{w.name + ": restarts", "short", "sum by (pod) (increase(kube_pod_container_status_restarts_total{" + pods + "}[1h]))", "{{pod}}"},
		)
	}
	if s.database != nil {
		name := s.database.StatefulSetName()
		queries = append(queries,
			query{name + ": ready pods", "short", "kube_statefulset_status_replicas_ready{" + ns + fmt.Sprintf(",statefulset=%q}", name), "ready"},
			query{
				name + ": volume used", "bytes",
				"kubelet_volume_stats_used_bytes{" + ns + fmt.Sprintf(",persistentvolumeclaim=~%q}", "data-"+name+"-[0-9]+"), "{{persistentvolumeclaim}}",
			},
		)
		if s.database.Backup.Enabled {
			queries = append(queries, query{
				name + ": age of the last backup", "s",
				"time() - kube_cronjob_status_last_successful_time{" + ns + fmt.Sprintf(",cronjob=%q}", s.database.CronJobName()), "age",
			})
		}
	}
	panels := make([]any, 0, len(queries))
	for i, q := range queries {
		panels = append(panels, map[string]any{
			"id":          i + 1,
			"type":        "timeseries",
			"title":       q.title,
			"datasource":  map[string]any{"type": "prometheus", "uid": "${datasource}"},
			"fieldConfig": map[string]any{"defaults": map[string]any{"unit": q.unit, "min": 0}, "overrides": []any{}},
			"gridPos": map[string]any{
				"h": panelHeight, "w": panelWidth, "x": i % panelsInRow * panelWidth, "y": i / panelsInRow * panelHeight,
			},
			"targets": []any{map[string]any{"refId": "A", "expr": q.expr, "legendFormat": q.legend}},
		})
	}
	return panels
}

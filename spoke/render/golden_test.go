package render

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
	webappv1 "github.com/shopfleet/shopfleet/api/webapp/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
)

// TestGolden compares all that is rendered with files that people have read.
func TestGolden(t *testing.T) {
	served := Cluster{
		Name: "eu-1", Region: "eu-west-1", Provider: v1.ProviderAWS,
		ServiceMonitors: true, PrometheusRules: true, Certificates: true,
	}
	db, app := sampleMySQL(t), &webappv1.WebApp{}
	sample(t, "webapp", app)
	shop, everything := sampleShop(t), everythingShop(t)
	routed, unserved := everythingShop(t), everythingShop(t)
	routed.Spec.Ingress.GatewayRef = &v1.GatewayReference{Name: "public", Namespace: "gateways", SectionName: "https"}
	unserved.Spec.Ingress.GatewayRef, unserved.Spec.Ingress.ClassName = routed.Spec.Ingress.GatewayRef, nil
	gateways := served
	gateways.HTTPRoutes = true
	ingressOf := func(app *v1.EcommerceApp, c Cluster) func() ([]component.Component, error) {
		return func() ([]component.Component, error) {
			components, err := EcommerceApp(app, c)
			return components[3:4], err
		}
	}
	for name, render := range map[string]func() ([]component.Component, error){
		"ecommerceapp":        func() ([]component.Component, error) { return EcommerceApp(shop, Cluster{}) },
		"ecommerceapp-served": func() ([]component.Component, error) { return EcommerceApp(shop, served) },
		"ecommerceapp-mysql":  func() ([]component.Component, error) { return EcommerceApp(everything, served) },
		"ingress-route":       ingressOf(routed, gateways),
		"ingress-unserved":    ingressOf(unserved, served),
		"mysqlcluster":        func() ([]component.Component, error) { return MySQLCluster(db, Cluster{}) },
		"webapp":              func() ([]component.Component, error) { return WebApp(app, Cluster{}) },
	} {
		t.Run(name, func(t *testing.T) {
			components, err := render()
			if err != nil {
				t.Fatal(err)
			}
			apitest.Golden(t, name+".golden.yaml", encode(t, components))
		})
	}
}

// encode writes components as a stream of YAML documents, in which comments carry
// what is no part of an object.
func encode(t *testing.T, components []component.Component) string {
	t.Helper()
	var b bytes.Buffer
	for _, c := range components {
		fmt.Fprintf(&b, "# component %s: dependsOn %v, disabled %t, note %q\n", c.Name, c.DependsOn, c.Disabled, c.Note)
		if c.Unserved != "" {
			fmt.Fprintf(&b, "# unserved: %s\n", c.Unserved)
		}
		if c.Impaired != "" {
			fmt.Fprintf(&b, "# impaired %s: %s\n", c.Impaired, c.Impairment)
		}
		for i, o := range c.Rendered() {
			if f, begins := fallbackAt(c, i); begins {
				fmt.Fprintf(&b, "---\n# until %v is ready:\n", f.Until)
			}
			b.WriteString("---\n")
			if o.Once || o.Retain {
				fmt.Fprintf(&b, "# once %t, retain %t\n", o.Once, o.Retain)
			}
			if g := o.Generate; g != nil {
				fmt.Fprintf(&b, "# generate random %v, tls %+v\n", g.Random, g.TLS)
			}
			document, err := yaml.Marshal(o.Resource)
			if err != nil {
				t.Fatal(err)
			}
			b.Write(document)
		}
	}
	return b.String()
}

// fallbackAt returns the fallback whose objects begin at an index of the rendered ones.
func fallbackAt(c component.Component, index int) (component.Fallback, bool) {
	at := len(c.Objects)
	for _, f := range c.Fallbacks {
		if at == index {
			return f, true
		}
		at += len(f.Objects)
	}
	return component.Fallback{}, false
}

// sample reads a sample that ships.
func sample(t *testing.T, name string, into any) {
	t.Helper()
	file, err := os.ReadFile(filepath.Join("..", "..", "config", "samples", name+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(file, into); err != nil {
		t.Fatal(err)
	}
}

func sampleShop(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	sample(t, "ecommerceapp", app)
	app.UID = "11111111-2222-3333-4444-555555555555"
	return app
}

// everythingShop gives every field that the seed's object leaves out.
func everythingShop(t *testing.T) *v1.EcommerceApp {
	t.Helper()
	app := &v1.EcommerceApp{}
	if err := yaml.UnmarshalStrict([]byte(strings.TrimSpace(everything)), app); err != nil {
		t.Fatal(err)
	}
	return app
}

const everything = `
apiVersion: ecommerce.io/v1
kind: EcommerceApp
metadata:
  name: everything
  namespace: production
  uid: 99999999-2222-3333-4444-555555555555
  annotations: {ecommerce.io/restarted-at: "2026-01-02T03:04:05Z"}
spec:
  database:
    engine: mysql
    version: "8.4"
    image: registry.example.com/mysql:8.4.5
    replicas: 3
    storage: 20Gi
    storageClassName: fast
    credentialsSecretRef: {name: shop-credentials}
    resources: {requests: {cpu: "1", memory: 4Gi}, limits: {memory: 4Gi}}
    imagePullSecrets: [{name: registry}]
    nodeSelector: {disk: ssd}
    tolerations: [{key: dedicated, operator: Exists, effect: NoSchedule}]
    affinity:
      nodeAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
          nodeSelectorTerms: [{matchExpressions: [{key: kubernetes.io/arch, operator: In, values: [amd64]}]}]
        preferredDuringSchedulingIgnoredDuringExecution:
        - {weight: 10, preference: {matchFields: [{key: metadata.name, operator: NotIn, values: [old]}]}}
      podAntiAffinity:
        preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 20
          podAffinityTerm: {topologyKey: kubernetes.io/hostname, namespaces: [other], labelSelector: {matchLabels: {app: batch}}}
    priorityClassName: database-critical
    serviceAccountAnnotations: {eks.amazonaws.com/role-arn: "arn:aws:iam::1:role/database"}
    podLabels: {azure.workload.identity/use: "true", team: data}
    podAnnotations: {sidecar.istio.io/inject: "false"}
    backup: {enabled: true, schedule: "30 1 * * *", timeZone: Europe/Berlin, retention: {keepLast: 3, keepDays: 14}}
  backend:
    image: registry.example.com:5000/backend@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa
    port: 9000
    imagePullSecrets: [{name: registry}, {name: mirror}]
    probes: {readinessPath: "/ready?deep=1", livenessPath: /live}
    affinity:
      podAffinity:
        requiredDuringSchedulingIgnoredDuringExecution:
        - {topologyKey: topology.kubernetes.io/zone, labelSelector: {matchExpressions: [{key: tier, operator: Exists}]}}
    env: [{name: DB_USER, value: mine}, {name: LOG_LEVEL, value: debug}]
    envFrom: [{secretRef: {name: payment}}]
    autoscaling: {minReplicas: 2, maxReplicas: 10, targetCPUUtilizationPercent: 60}
  frontend:
    image: "frontend:v2"
    replicas: 4
    port: 80
    imagePullSecrets: [{name: registry}]
    nodeSelector: {pool: web}
    tolerations: [{key: spot, value: "true", effect: NoExecute, tolerationSeconds: 60}]
    priorityClassName: web
    serviceAccountAnnotations: {example.com/identity: web}
    podLabels: {team: web}
    podAnnotations: {example.com/inject: "true", prometheus.io/port: "9100"}
  networkPolicy:
    egress: Restricted
    databaseClients: [{podSelector: {matchLabels: {app: reports}}}]
    backendClients: [{podSelector: {matchExpressions: [{key: tier, operator: In, values: [erp]}]}, namespaces: [back-office]}]
  ingress: {host: shop.example.com, className: nginx, annotations: {example.com/a: b}}
  monitoring: {enabled: true, prometheus: true, grafana: true, labels: {release: prometheus}}
  security:
    tls: {enabled: true, issuerRef: {name: letsencrypt}}
    authentication:
      enabled: true
      provider: oauth2
      secretRef: {name: login}
      emailDomains: [example.com, .example.org]
      allowedGroups: [buyers, Team A]
      image: registry.example.com/oauth2-proxy:v7.15.6
      trustedProxies: [10.244.0.0/16, "fd00:10:244::/48"]
`

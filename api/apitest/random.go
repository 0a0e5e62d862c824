package apitest

import (
	"fmt"
	"math/rand/v2"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// RandomApp draws an application that the schema accepts, with components of all sizes.
// Its name may be long and have dots.
func RandomApp(r *rand.Rand) *v1.EcommerceApp {
	chance := func() bool { return r.IntN(2) == 0 }
	app := App(randomName(r)).Obj()
	if chance() {
		app.Annotations = map[string]string{v1.RestartedAtAnnotation: "2026-01-02T03:04:05Z"}
	}
	app.Spec.Image = "frontend:v1"
	if chance() {
		app.Spec.Database = randomDatabase(r)
	}
	if chance() {
		app.Spec.Backend = randomWorkload(r)
		app.Spec.Backend.Image = "registry.example.com/backend:v" + fmt.Sprint(r.IntN(100))
	}
	app.Spec.Frontend = randomWorkload(r)
	if chance() {
		app.Spec.Ingress = v1.Ingress{Host: "shop.example.com", ClassName: new("nginx"), Annotations: map[string]string{"a": "b"}}
	}
	app.Spec.Monitoring = v1.Monitoring{Enabled: chance(), Prometheus: chance(), Grafana: chance()}
	app.Spec.Security.TLS.Enabled = chance()
	if app.Spec.Ingress.Host != "" && chance() {
		app.Spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: "issuer"}
	}
	app.Spec.Security.Authentication.Enabled = chance()
	if chance() {
		app.Spec.Security.Authentication.SecretRef = &v1.LocalSecretReference{Name: "login"}
	}
	return app
}

// RandomFullApp draws an application as RandomApp does, and sets the fields that RandomApp
// leaves out.
func RandomFullApp(r *rand.Rand) *v1.EcommerceApp {
	app := RandomApp(r)
	complete(r, app)
	return app
}

func complete(r *rand.Rand, app *v1.EcommerceApp) {
	chance := func() bool { return r.IntN(2) == 0 }
	spec := &app.Spec
	spec.Image = fmt.Sprintf("frontend:v%d", r.IntN(9))
	spec.ImageRegistry = []string{"", "mirror.example.com", "mirror.example.com:5000/hub"}[r.IntN(3)]
	spec.Replicas = new(r.Int32N(5))
	spec.Ingress.Host = fmt.Sprintf("shop-%d.example.com", r.IntN(3))
	spec.Ingress.ClassName = new([]string{"nginx", "traefik"}[r.IntN(2)])
	spec.Ingress.Annotations = map[string]string{"a": fmt.Sprint(r.IntN(9))}
	if chance() {
		spec.Ingress.GatewayRef = &v1.GatewayReference{
			Name: fmt.Sprintf("gateway-%d", r.IntN(3)), Namespace: []string{"", "gateways"}[r.IntN(2)], SectionName: []string{"", "https"}[r.IntN(2)],
			Protocol: []v1.GatewayProtocol{"", v1.GatewayHTTP, v1.GatewayHTTPS}[r.IntN(3)],
		}
	}
	if chance() {
		spec.Ingress.ExternalDNS = &v1.ExternalDNS{SharedHost: []v1.SharedHost{"", v1.SharedHostNone, v1.SharedHostRoute53}[r.IntN(3)]}
	}
	spec.Security.Authentication.Provider = []string{"", "oauth2"}[r.IntN(2)]
	if chance() {
		spec.Security.TLS.IssuerRef = &v1.IssuerReference{Name: fmt.Sprintf("issuer-%d", r.IntN(3)), Kind: []string{"", "Issuer"}[r.IntN(2)]}
	} else if chance() {
		spec.Security.TLS.SecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("tls-%d", r.IntN(3))}
	}
	if chance() {
		spec.Security.Authentication.SecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("login-%d", r.IntN(3))}
	}
	login := &spec.Security.Authentication
	login.EmailDomains = []string{fmt.Sprintf("shop-%d.com", r.IntN(3))}
	group := r.IntN(3)
	login.AllowedGroups, login.TrustedProxies = []string{fmt.Sprintf("group-%d", group)}, []string{fmt.Sprintf("10.%d.0.0/16", group)}
	login.Image = fmt.Sprintf("proxy:v%d", r.IntN(9))
	spec.NetworkPolicy = v1.NetworkPolicy{Egress: []v1.EgressPolicy{"", v1.EgressOpen, v1.EgressRestricted}[r.IntN(3)]}
	for _, clients := range []*[]v1.ClientPods{&spec.NetworkPolicy.DatabaseClients, &spec.NetworkPolicy.BackendClients} {
		*clients = []v1.ClientPods{{PodSelector: &v1.PodSelector{MatchLabels: map[string]string{"app": fmt.Sprint(r.IntN(3))}}}}
	}
	spec.Monitoring.Labels = map[string]string{"release": fmt.Sprint(r.IntN(9))}
	for _, w := range []*v1.Workload{&spec.Backend, &spec.Frontend} {
		completeWorkload(r, w)
	}
	if spec.Database != nil {
		completeDatabase(r, spec.Database)
	}
	repair(spec)
}

func completeWorkload(r *rand.Rand, w *v1.Workload) {
	if r.IntN(2) == 0 {
		w.Image = fmt.Sprintf("own:v%d", r.IntN(9))
	}
	w.Strategy = v1.StrategyRollingUpdate
	if w.Autoscaling != nil {
		w.Autoscaling.MaxReplicas = 5 + r.Int32N(5)
		w.Autoscaling.TargetCPUUtilizationPercent = new(50 + r.Int32N(40))
	} else if r.IntN(2) == 0 {
		w.Strategy = v1.StrategyBlueGreen
	}
	w.EnvFrom = []v1.EnvFromSource{{ConfigMapRef: &v1.EnvFromReference{
		Name: fmt.Sprintf("settings-%d", r.IntN(3)),
	}}}
	w.PodSettings = randomPods(r)
	w.Probes = v1.Probes{ReadinessPath: fmt.Sprintf("/ready/%d", r.IntN(9)), LivenessPath: fmt.Sprintf("/live/%d", r.IntN(9))}
	w.Resources.Limits = v1.Amounts{v1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", 2+r.IntN(4)))}
}

// randomPods draws settings of pods that some node of each cluster meets.
func randomPods(r *rand.Rand) v1.PodSettings {
	return v1.PodSettings{
		ImagePullSecrets:          []v1.LocalSecretReference{{Name: fmt.Sprintf("registry-%d", r.IntN(9))}},
		NodeSelector:              []map[string]string{nil, {corev1.LabelOSStable: "linux"}}[r.IntN(2)],
		Tolerations:               []v1.Toleration{{Key: fmt.Sprintf("dedicated-%d", r.IntN(9)), Operator: v1.TolerationExists}},
		PriorityClassName:         []string{"", "system-cluster-critical", "system-node-critical"}[r.IntN(3)],
		ServiceAccountAnnotations: map[string]string{"example.com/role": fmt.Sprint(r.IntN(9))},
		PodLabels:                 map[string]string{"example.com/team": fmt.Sprint(r.IntN(9))},
		PodAnnotations:            map[string]string{"example.com/inject": fmt.Sprint(r.IntN(9))},
		Affinity: &v1.Affinity{PodAntiAffinity: &v1.PodAffinity{PreferredDuringSchedulingIgnoredDuringExecution: []v1.PreferredPods{{
			Weight: 1 + r.Int32N(100), PodAffinityTerm: v1.PodAffinityTerm{TopologyKey: corev1.LabelHostname},
		}}}},
	}
}

func completeDatabase(r *rand.Rand, db *v1.Database) {
	db.PodSettings = randomPods(r)
	db.Resources = v1.Resources{
		Requests: v1.Amounts{v1.ResourceCPU: resource.MustParse(fmt.Sprintf("%dm", 1+r.IntN(90)))},
		Limits:   v1.Amounts{v1.ResourceMemory: resource.MustParse(fmt.Sprintf("%dGi", 1+r.IntN(4)))},
	}
	if r.IntN(2) == 0 {
		db.Image = fmt.Sprintf("registry.example.com/database:v%d", r.IntN(9))
	}
	if r.IntN(2) == 0 {
		db.CredentialsSecretRef = &v1.LocalSecretReference{Name: fmt.Sprintf("credentials-%d", r.IntN(3))}
	}
	db.Backup = v1.BackupPolicy{
		Enabled: r.IntN(2) == 0, Schedule: v1.CronSchedule(fmt.Sprintf("%d 2 * * *", r.IntN(60))), TimeZone: []v1.TimeZone{"", "UTC", "Europe/Dublin"}[r.IntN(3)],
		Method:        []v1.BackupMethod{"", v1.BackupAuto, v1.BackupDump, v1.BackupSnapshot}[r.IntN(4)],
		CopyToRegions: []string{fmt.Sprintf("region-%d", r.IntN(3))},
		MaxRPO:        &metav1.Duration{Duration: time.Duration(1+r.IntN(9)) * time.Hour},
		Verify:        v1.VerifyPolicy{Schedule: v1.CronSchedule(fmt.Sprintf("%d 4 * * *", r.IntN(60)))},
		Retention:     v1.Retention{KeepLast: new(1 + r.Int32N(9)), KeepDays: new(1 + r.Int32N(9))},
	}
}

func randomName(r *rand.Rand) string {
	const letters = "abcdefghijklmnopqrstuvwxyz0123456789-."
	b := make([]byte, 1+r.IntN(120))
	for i := range b {
		b[i] = letters[r.IntN(len(letters))]
		if i == 0 || i == len(b)-1 || b[i-1] == '.' || b[i-1] == '-' {
			b[i] = letters[r.IntN(36)]
		}
	}
	return string(b)
}

func randomDatabase(r *rand.Rand) *v1.Database {
	db := &v1.Database{Engine: v1.EnginePostgreSQL, Version: fmt.Sprintf("%d.%d", 10+r.IntN(9), r.IntN(20))}
	if r.IntN(2) == 0 {
		db.Engine, db.Version = v1.EngineMySQL, fmt.Sprintf("8.%d.1", r.IntN(5))
	}
	db.Storage = fmt.Sprintf("%dGi", 1+r.IntN(1000))
	if r.IntN(2) == 0 {
		db.Replicas = new(1 + r.Int32N(9))
	}
	if r.IntN(2) == 0 {
		db.StorageClassName = new("fast")
	}
	if r.IntN(3) == 0 {
		db.CredentialsSecretRef = &v1.LocalSecretReference{Name: "credentials"}
	}
	if r.IntN(2) == 0 {
		db.Backup = v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *", Retention: v1.Retention{KeepLast: new(1 + r.Int32N(10))}}
	}
	return db
}

func randomWorkload(r *rand.Rand) v1.Workload {
	w := v1.Workload{Port: r.Int32N(10000)}
	switch r.IntN(3) {
	case 0:
		w.Replicas = new(r.Int32N(10))
	case 1:
		w.Autoscaling = &v1.Autoscaling{MinReplicas: 1 + r.Int32N(3), MaxReplicas: 10}
	}
	for _, name := range []string{"DB_USER", "DATABASE_URL", "PORT", "OWN"} {
		if r.IntN(3) == 0 {
			w.Env = append(w.Env, v1.EnvVar{Name: name, Value: "x"})
		}
	}
	if r.IntN(2) == 0 {
		w.Resources.Requests = v1.Amounts{v1.ResourceCPU: resource.MustParse("250m"), v1.ResourceMemory: resource.MustParse("1Gi")}
	}
	return w
}

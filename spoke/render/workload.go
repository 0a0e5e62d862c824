package render

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	httpPort = "http"
	// servicePort is the port of every Service.
	servicePort = 80

	defaultCPUTarget = 80
)

// workload is a backend or a frontend.
type workload struct {
	part     objectparts.Part
	name     string
	spec     v1.Workload
	image    string
	replicas int32
	port     int32
	userIDs  v1.PodUserIDs
	// loading is the name of the Restore that scales the workload to zero; usually empty.
	loading string

	// settings are the environment variables that the application sets, secrets those with
	// values from Secrets.
	settings map[string]string
	secrets  []corev1.EnvVar
	// cluster are the variables that name the cluster, if they are known. Pods that run get them when
	// they are started again, and none is started for them.
	cluster map[string]string
	// annotations are the annotations of the pods, scraping those of the Service.
	annotations, scraping map[string]string
	// inputs are the facts that the pods depend on beside the spec of the workload and its image.
	inputs []any
	// peers may connect; empty allows all. With restricted egress the pods may connect to dependencies.
	peers, dependencies []networkingv1.NetworkPolicyPeer
	egress              v1.EgressPolicy
}

func (s *shop) newWorkload(role, image string, spec v1.Workload, replicas int32) workload {
	port := cmp.Or(spec.Port, defaultPort)
	w := workload{
		part:        objectparts.Part{Owner: s.owner, Component: role, App: role, Version: objectparts.ImageVersion(image)},
		name:        s.owner.ChildName("-"+role, objectparts.MaxName),
		spec:        spec,
		image:       objectparts.Image(s.app.Spec.ImageRegistry, image),
		replicas:    replicas,
		port:        port,
		userIDs:     s.app.Spec.Security.PodUserIDs,
		egress:      s.app.Spec.NetworkPolicy.Egress,
		loading:     cmp.Or(s.app.Annotations[v1.LoadingAnnotation], s.cluster.PendingLoad),
		settings:    map[string]string{"PORT": strconv.Itoa(int(port))},
		cluster:     s.clusterSettings(),
		annotations: map[string]string{},
		scraping:    s.scrapeAnnotations(port),
		// Version 1 had the annotations of scraping in the pods: without the second the hash of all would change.
		inputs: []any{s.app.Annotations[v1.RestartedAtAnnotation], s.scraped()},
	}
	if at := s.app.Annotations[v1.RestartedAtAnnotation]; at != "" {
		w.annotations[v1.RestartedAtAnnotation] = at
	}
	return w
}

// clusterSettings returns the environment variables that name the cluster, as far as it is known.
func (s *shop) clusterSettings() map[string]string {
	settings := map[string]string{"CLUSTER": s.cluster.Name, "REGION": s.cluster.Region, "PROVIDER": string(s.cluster.Provider)}
	maps.DeleteFunc(settings, func(_, value string) bool { return value == "" })
	return settings
}

func (s *shop) newBackend() workload {
	spec := s.app.Spec.Backend
	w := s.newWorkload(Backend, spec.Image, spec, valueOr(spec.Replicas, 1))
	w.peers = append(s.scrapers(), objectparts.PeerOf(s.part(Frontend)))
	w.peers = append(w.peers, objectparts.Clients(s.app.Spec.NetworkPolicy.BackendClients)...)
	if s.database == nil {
		return w
	}
	if s.cluster.LoginRotation > 0 {
		w.annotations[database.RotationAnnotation] = strconv.Itoa(s.cluster.LoginRotation)
	}
	w.dependencies = []networkingv1.NetworkPolicyPeer{objectparts.PeerOf(s.part(database.Component))}
	db := s.database
	w.inputs = append(w.inputs, db.Engine, s.cluster.LoginRotation)
	w.settings["DB_ENGINE"] = string(db.Engine)
	w.settings["DB_HOST"] = db.Host()
	w.settings["DB_PORT"] = strconv.Itoa(int(db.Port()))
	w.secrets = []corev1.EnvVar{
		objectparts.SecretEnv("DB_NAME", db.ClientSecret(), database.DatabaseKey),
		objectparts.SecretEnv("DB_USER", db.ClientSecret(), database.UsernameKey),
		objectparts.SecretEnv("DB_PASSWORD", db.ClientSecret(), database.PasswordKey),
		databaseURL(spec.Env, db),
	}
	return w
}

// databaseURL returns the variable with the URL of the database. One for a login of the user is composed of its variables.
func databaseURL(users []v1.EnvVar, db *database.Spec) corev1.EnvVar {
	const name = "DATABASE_URL"
	if slices.ContainsFunc(users, func(e v1.EnvVar) bool { return e.Name == "DB_NAME" || e.Name == "DB_USER" || e.Name == "DB_PASSWORD" }) {
		return corev1.EnvVar{Name: name, Value: fmt.Sprintf("%s://$(DB_USER):$(DB_PASSWORD)@$(DB_HOST):$(DB_PORT)/$(DB_NAME)", db.Engine)}
	}
	return objectparts.SecretEnv(name, db.ClientSecret(), database.URLKey)
}

func (s *shop) newFrontend(image string) workload {
	spec := s.app.Spec.Frontend
	w := s.newWorkload(Frontend, image, spec, valueOr(spec.Replicas, valueOr(s.app.Spec.Replicas, 1)))
	w.inputs = append(w.inputs, s.backend != nil)
	if s.backend != nil {
		w.settings["BACKEND_URL"] = "http://" + s.backend.name
		w.dependencies = []networkingv1.NetworkPolicyPeer{objectparts.PeerOf(s.part(Backend))}
	}
	if s.app.Spec.Security.Authentication.Enabled {
		w.peers = append(s.scrapers(), objectparts.PeerOf(s.part(Ingress)))
	}
	return w
}

// part returns the Part of a component, for selectors.
func (s *shop) part(name string) objectparts.Part {
	return objectparts.Part{Owner: s.owner, Component: name}
}

// component returns the objects of a workload: first the dependencies of its pods, and
// the Deployment before the Service.
func (w workload) component() (component.Component, error) {
	deployment := w.deployment()
	service := objectparts.Service(w.part, w.name, corev1.ServicePort{Name: httpPort, Port: servicePort})
	service.Annotations = w.scraping
	budget := statelessBudget(w.part, w.name)
	if w.spec.Strategy == v1.StrategyBlueGreen {
		if err := separate(deployment, budget, service); err != nil {
			return component.Component{}, err
		}
	}
	pods := component.Object{Resource: deployment, Inputs: w.inputsHash()}
	if w.spec.Autoscaling != nil {
		pods.StartReplicas = w.leastReplicas()
	}
	objects := []component.Object{
		{Resource: objectparts.ServiceAccount(w.part, w.name, w.spec.ServiceAccountAnnotations)},
		{Resource: w.config()},
		{Resource: w.networkPolicy()},
		pods,
		{Resource: service},
	}
	if w.spec.Autoscaling != nil {
		objects = append(objects, component.Object{Resource: w.autoscaler()})
	}
	// It allows the eviction of one pod of one, and is needed as soon as an autoscaler adds others.
	if w.mostReplicas() > 1 {
		objects = append(objects, component.Object{Resource: budget})
	}
	refs := objectparts.NewReferences(w.part.Owner.Namespace, w.spec.PodSettings)
	refs.AddEnv(w.spec.Env, w.spec.EnvFrom)
	c := component.Component{Name: w.part.Component, Objects: objects, References: refs.Keys()}
	if w.loading != "" {
		c.Stopped = true
		c.Note = "stopped while restore " + w.loading + " loads the database"
	}
	return c, nil
}

// separate adds the hash of the pod template to name and selector of a Deployment and of the disruption
// budget of its pods, so that they exist beside the objects of other pods. The Service selects one of them.
func separate(d *appsv1.Deployment, budget *policyv1.PodDisruptionBudget, service *corev1.Service) error {
	template, err := json.Marshal(d.Spec.Template)
	if err != nil {
		return fmt.Errorf("encoding the pods of Deployment %q: %w", d.Name, err)
	}
	hash := objectparts.Hash(string(template))
	d.Name, budget.Name = objectparts.Name(d.Name, "-"+hash, objectparts.MaxName), objectparts.Name(budget.Name, "-"+hash, objectparts.MaxName)
	for _, labels := range []map[string]string{
		d.Labels, d.Spec.Selector.MatchLabels, d.Spec.Template.Labels, budget.Labels, budget.Spec.Selector.MatchLabels,
		service.Labels, service.Spec.Selector,
	} {
		labels[v1.PodTemplateLabel] = hash
	}
	return nil
}

// leastReplicas returns the minimum number of replicas, mostReplicas the maximum.
func (w workload) leastReplicas() int32 {
	if w.spec.Autoscaling != nil {
		return w.spec.Autoscaling.MinReplicas
	}
	return w.replicas
}

func (w workload) mostReplicas() int32 {
	if w.spec.Autoscaling != nil {
		return w.spec.Autoscaling.MaxReplicas
	}
	return w.replicas
}

// inputsHash returns the hash of what the pods are rendered from. With another strategy the workload has another name.
func (w workload) inputsHash() string {
	spec := w.spec
	spec.Replicas, spec.Autoscaling, spec.Strategy, spec.PodSettings = nil, nil, "", v1.PodSettings{}
	return objectparts.Inputs(w.spec.PodSettings, append([]any{w.image, w.userIDs, spec}, w.inputs...)...)
}

func (w workload) config() *corev1.ConfigMap {
	return objectparts.VersionedConfigMap(w.part, "-"+w.part.Component, w.settings, w.cluster)
}

func (w workload) networkPolicy() *networkingv1.NetworkPolicy {
	policy := objectparts.NetworkPolicy(w.part, w.name, intstr.FromString(httpPort), w.peers...)
	if w.egress == v1.EgressRestricted {
		objectparts.RestrictEgress(policy, w.dependencies...)
	}
	return policy
}

func (w workload) deployment() *appsv1.Deployment {
	pod := statelessPod(w.container(), w.userIDs)
	pod.ServiceAccountName = w.name
	objectparts.Configure(&pod, w.spec.PodSettings)
	d := statelessDeployment(w.part, w.name, pod)
	d.Spec.Template.Annotations = maps.Clone(w.annotations)
	objectparts.Describe(&d.Spec.Template.ObjectMeta, w.spec.PodSettings)
	switch {
	case w.loading != "":
		// An autoscaler does not scale a workload with zero replicas.
		d.Spec.Replicas = new(int32(0))
	case w.spec.Autoscaling == nil:
		d.Spec.Replicas = new(w.replicas)
	}
	return d
}

func (w workload) container() corev1.Container {
	c := statelessContainer(w.part.Component, w.image, w.port)
	c.Env = w.env()
	c.EnvFrom = append([]corev1.EnvFromSource{{
		ConfigMapRef: &corev1.ConfigMapEnvSource{LocalObjectReference: corev1.LocalObjectReference{Name: w.config().Name}},
	}}, objectparts.EnvFrom(w.spec.EnvFrom)...)
	c.Resources = objectparts.Resources(w.spec.Resources)
	probeHTTP(w.spec.Probes.ReadinessPath, c.ReadinessProbe)
	probeHTTP(w.spec.Probes.LivenessPath, c.StartupProbe, c.LivenessProbe)
	return c
}

// env returns the variables of the application and of the user. The user's take
// precedence in place; the application's come first, so that the user's can refer to
// them.
func (w workload) env() []corev1.EnvVar {
	users := objectparts.EnvVars(w.spec.Env)
	given := make(map[string]corev1.EnvVar, len(users))
	for _, e := range users {
		given[e.Name] = e
	}
	env := make([]corev1.EnvVar, 0, len(w.secrets)+len(users))
	placed := make(map[string]bool, len(w.secrets))
	for _, e := range w.secrets {
		if own, ok := given[e.Name]; ok {
			e = own
		}
		env = append(env, e)
		placed[e.Name] = true
	}
	for _, e := range users {
		if !placed[e.Name] {
			env = append(env, e)
		}
	}
	return env
}

func (w workload) autoscaler() *autoscalingv2.HorizontalPodAutoscaler {
	a := w.spec.Autoscaling
	return &autoscalingv2.HorizontalPodAutoscaler{
		TypeMeta:   objectparts.Type("autoscaling/v2", "HorizontalPodAutoscaler"),
		ObjectMeta: w.part.Meta(w.name),
		Spec: autoscalingv2.HorizontalPodAutoscalerSpec{
			ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: w.name},
			MinReplicas:    new(a.MinReplicas),
			MaxReplicas:    a.MaxReplicas,
			// The default, without which another policy could turn scaling off.
			Behavior: &autoscalingv2.HorizontalPodAutoscalerBehavior{
				ScaleUp:   &autoscalingv2.HPAScalingRules{SelectPolicy: new(autoscalingv2.MaxChangePolicySelect)},
				ScaleDown: &autoscalingv2.HPAScalingRules{SelectPolicy: new(autoscalingv2.MaxChangePolicySelect)},
			},
			Metrics: []autoscalingv2.MetricSpec{{
				Type: autoscalingv2.ResourceMetricSourceType,
				Resource: &autoscalingv2.ResourceMetricSource{
					Name: corev1.ResourceCPU,
					Target: autoscalingv2.MetricTarget{
						Type:               autoscalingv2.UtilizationMetricType,
						AverageUtilization: new(valueOr(a.TargetCPUUtilizationPercent, defaultCPUTarget)),
					},
				},
			}},
		},
	}
}

// statelessBudget allows the eviction of a quarter of the pods at a time, at least one.
func statelessBudget(p objectparts.Part, name string) *policyv1.PodDisruptionBudget {
	return objectparts.DisruptionBudget(p, name, intstr.FromString("25%"))
}

// statelessDeployment returns a Deployment that is updated without falling below its
// number of replicas, a quarter at a time, at least one.
func statelessDeployment(p objectparts.Part, name string, pod corev1.PodSpec) *appsv1.Deployment {
	pod.TopologySpreadConstraints = p.Spread()
	return &appsv1.Deployment{
		TypeMeta:   objectparts.Type("apps/v1", "Deployment"),
		ObjectMeta: p.Meta(name),
		Spec: appsv1.DeploymentSpec{
			Selector: &metav1.LabelSelector{MatchLabels: p.Selector()},
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxUnavailable: new(intstr.FromInt32(0)),
					MaxSurge:       new(intstr.FromString("25%")),
				},
			},
			RevisionHistoryLimit:    new(int32(5)),
			ProgressDeadlineSeconds: new(int32(component.ProgressDeadline / time.Second)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: p.PodLabels()},
				Spec:       pod,
			},
		},
	}
}

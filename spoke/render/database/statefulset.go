package database

import (
	"slices"
	"strconv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

// Container is the name of the server's container, and DataVolume that of the volume with the data in its pod.
const (
	Container  = "database"
	DataVolume = "data"
)

const (
	// userID is the user and group of the official images of both engines, unless the cluster gives others.
	userID = 999
	// stopSeconds is the termination grace period of a server. It is long because an interrupted
	// checkpoint prolongs the next start.
	stopSeconds = 180

	configVolume = "config"
	// scriptsPath is the mount path of the ConfigMap.
	scriptsPath = "/etc/shopfleet"

	// endsAtSignal is prepended to scripts that run as process 1, which ignores signals by
	// default: a waiting pod would take stopSeconds to end. The image defines the stop
	// signal: the PostgreSQL image uses SIGINT.
	endsAtSignal = "trap 'exit 143' INT TERM\n\n"
)

// StatefulSetName returns the name of the StatefulSet.
func (s Spec) StatefulSetName() string {
	return s.name("", objectparts.MaxStatefulSetName)
}

// PrimaryPod returns the name of the primary's pod.
func (s Spec) PrimaryPod() string {
	return s.StatefulSetName() + "-0"
}

// PrimaryClaim returns the name of the claim of the primary, which holds the complete
// database.
func (s Spec) PrimaryClaim() string {
	return DataVolume + "-" + s.PrimaryPod()
}

// maxPods is the maximum of spec.database.replicas.
const maxPods = 9

// PodNames returns the names of the pods that there may be, the primary first.
func (s Spec) PodNames() []string {
	names := make([]string, 0, maxPods)
	for i := range maxPods {
		names = append(names, s.StatefulSetName()+"-"+strconv.Itoa(i))
	}
	return names
}

// OtherClaims returns the names of the claims that the other pods have or had: a StatefulSet keeps them when there are
// fewer pods.
func (s Spec) OtherClaims() []string {
	names := s.PodNames()[1:]
	for i := range names {
		names[i] = DataVolume + "-" + names[i]
	}
	return names
}

// statefulSet returns the StatefulSet. All pods are started in parallel, and replaced one at a time:
// with ordered start, a StatefulSet waits for a pod that never becomes ready, as with a wrong image,
// and does not replace it after the spec was corrected. The replicas ensure the order, by waiting for
// the primary. If several pods were created from a wrong spec and none ever started, the StatefulSet
// waits for the replica that it replaced first, and that replica for the primary: a user then has to
// delete pod 0.
func (r renderer) statefulSet() *appsv1.StatefulSet {
	return &appsv1.StatefulSet{
		TypeMeta:   objectparts.Type("apps/v1", "StatefulSet"),
		ObjectMeta: r.part.Meta(r.StatefulSetName()),
		Spec: appsv1.StatefulSetSpec{
			Replicas:            new(r.Replicas),
			ServiceName:         r.name("", objectparts.MaxName),
			Selector:            &metav1.LabelSelector{MatchLabels: r.part.Selector()},
			PodManagementPolicy: appsv1.ParallelPodManagement,
			// These are defaults: another partition stops updates, and other ordinals replace the primary.
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{
				Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: new(int32(0))},
			},
			Ordinals:             &appsv1.StatefulSetOrdinals{Start: 0},
			RevisionHistoryLimit: new(int32(5)),
			PersistentVolumeClaimRetentionPolicy: &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
				WhenDeleted: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				WhenScaled:  appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
			},
			Template:             r.podTemplate(),
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{r.claimTemplate()},
		},
	}
}

// claimTemplate returns the claim template of the volume. It has immutable labels only, because claim
// templates are immutable.
func (r renderer) claimTemplate() corev1.PersistentVolumeClaim {
	return corev1.PersistentVolumeClaim{
		TypeMeta:   objectparts.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: metav1.ObjectMeta{Name: DataVolume, Labels: r.part.ClaimLabels()},
		Spec:       r.claimSpec(),
	}
}

func (r renderer) claimSpec() corev1.PersistentVolumeClaimSpec {
	spec := corev1.PersistentVolumeClaimSpec{
		AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
		Resources: corev1.VolumeResourceRequirements{
			Requests: corev1.ResourceList{corev1.ResourceStorage: r.Storage.DeepCopy()},
		},
	}
	if r.StorageClass != nil {
		spec.StorageClassName = new(*r.StorageClass)
	}
	return spec
}

func (r renderer) podTemplate() corev1.PodTemplateSpec {
	volumes, mounts := r.volumes()
	spec := corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(int64(stopSeconds)),
		SecurityContext:               objectparts.PodSecurity(userID, r.UserIDs),
		TopologySpreadConstraints:     r.part.Spread(),
		InitContainers: []corev1.Container{{
			Name:            component.PrepareContainer,
			Image:           r.engine.image,
			Command:         []string{"sh", scriptsPath + "/" + prepareScript},
			Env:             slices.Concat(r.env(), r.systemEnv(), r.loginEnv(), r.markEnv()),
			Resources:       r.resources(),
			SecurityContext: objectparts.ContainerSecurity(),
			VolumeMounts:    mounts,
		}},
		Containers: []corev1.Container{r.server(mounts)},
		Volumes:    volumes,
	}
	if r.NodeAffinity != nil {
		spec.Affinity = &corev1.Affinity{NodeAffinity: r.NodeAffinity.DeepCopy()}
	}
	spec.ServiceAccountName = r.StatefulSetName()
	objectparts.Configure(&spec, r.Pods)
	return r.described(r.part, spec)
}

// described returns a template of pods of a part, with the user's labels and annotations.
func (r renderer) described(p objectparts.Part, pod corev1.PodSpec) corev1.PodTemplateSpec {
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: p.PodLabels()}, Spec: pod}
	objectparts.Describe(&template.ObjectMeta, r.Pods)
	return template
}

func (r renderer) server(mounts []corev1.VolumeMount) corev1.Container {
	c := corev1.Container{
		Name:    Container,
		Image:   r.engine.image,
		Command: r.engine.serve,
		Env:     r.env(),
		Ports: []corev1.ContainerPort{
			{Name: portName, ContainerPort: r.Port(), Protocol: corev1.ProtocolTCP},
		},
		Resources:       r.resources(),
		SecurityContext: objectparts.ContainerSecurity(),
		VolumeMounts:    mounts,
		// Crash recovery may take half an hour.
		StartupProbe:   probe(r.engine.alive, 5, 360),
		LivenessProbe:  probe(r.engine.alive, 10, 6),
		ReadinessProbe: probe(r.engine.ready, 5, 3),
	}
	if r.engine.stop != "" {
		c.Lifecycle = &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{Exec: shell(r.engine.stop)}}
	}
	return c
}

// resources returns the resources of the spec, or small requests if it has none: enough that the pods are
// not the first to be evicted when a node runs out of memory. There is no default limit.
func (r renderer) resources() corev1.ResourceRequirements {
	if len(r.Resources.Requests) == 0 && len(r.Resources.Limits) == 0 {
		return objectparts.Requests(100, r.engine.mebibytes)
	}
	return objectparts.Resources(r.Resources)
}

// env returns the environment of the server and of its init container. It does not depend on the
// name of the credentials Secret: another one restarts no server.
func (r renderer) env() []corev1.EnvVar {
	user := UsernameKey
	if r.Rotated {
		user = OwnerKey
	}
	return slices.Concat([]corev1.EnvVar{
		objectparts.FieldEnv("POD_NAME", "metadata.name"),
		{Name: "PRIMARY_HOST", Value: r.Host()},
		secretOf(r, "APP_USER", user),
		secretOf(r, "APP_PASSWORD", PasswordKey),
		secretOf(r, "APP_DATABASE", DatabaseKey),
	}, r.engine.env)
}

// systemEnv returns the passwords that only the init container needs.
func (r renderer) systemEnv() []corev1.EnvVar {
	env := make([]corev1.EnvVar, 0, len(r.engine.systemKeys))
	for _, key := range r.engine.systemKeys {
		env = append(env, objectparts.SecretEnv(systemVariables()[key], r.systemSecretName(), key))
	}
	return env
}

// loginEnv returns the login that the init container of a primary sets in data of another time.
func (r renderer) loginEnv() []corev1.EnvVar {
	if !r.Rotated {
		return nil
	}
	return []corev1.EnvVar{
		secretOf(r, "LOGIN_USER", UsernameKey),
		secretOf(r, "LOGIN_OTHER", OtherKey),
		secretOf(r, "LOGIN_PHASE", PhaseKey),
		secretOf(r, "LOGIN_ROTATION", RotationKey),
		secretOf(r, "LOGIN_SALT", SaltKey),
	}
}

func (r renderer) volumes() ([]corev1.Volume, []corev1.VolumeMount) {
	scratches := slices.Concat([]scratch{{name: "tmp", path: "/tmp"}}, r.engine.scratch)
	volumes := make([]corev1.Volume, 0, 1+len(scratches))
	mounts := make([]corev1.VolumeMount, 0, 2+len(scratches))
	volumes = append(volumes, corev1.Volume{
		Name: configVolume,
		VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
			LocalObjectReference: corev1.LocalObjectReference{Name: r.config().Name},
		}},
	})
	mounts = append(mounts,
		corev1.VolumeMount{Name: DataVolume, MountPath: r.engine.dataMount},
		corev1.VolumeMount{Name: configVolume, MountPath: scriptsPath, ReadOnly: true},
	)
	for _, s := range scratches {
		volume, mount := objectparts.Scratch(s.name, s.path)
		if s.memory > 0 {
			volume.EmptyDir.Medium = corev1.StorageMediumMemory
			volume.EmptyDir.SizeLimit = resource.NewQuantity(s.memory<<20, resource.BinarySI)
		}
		volumes, mounts = append(volumes, volume), append(mounts, mount)
	}
	return volumes, mounts
}

func probe(command string, periodSeconds, failures int32) *corev1.Probe {
	return &corev1.Probe{
		ProbeHandler:     corev1.ProbeHandler{Exec: shell(command)},
		PeriodSeconds:    periodSeconds,
		TimeoutSeconds:   5,
		FailureThreshold: failures,
	}
}

func shell(command string) *corev1.ExecAction {
	return &corev1.ExecAction{Command: []string{"sh", "-c", command}}
}

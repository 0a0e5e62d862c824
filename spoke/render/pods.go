package render

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	// userID is the user and group of pods with an image of the user, unless the cluster gives others.
	userID = 65532

	// drainSeconds is how long a pod keeps serving after its deletion, while its endpoints
	// are removed; stopSeconds includes it.
	drainSeconds = 5
	stopSeconds  = 45

	// privilegedPorts is the first port that an unprivileged process may listen on by
	// default.
	privilegedPorts = 1024
)

// scratch is a writable directory of a pod.
type scratch struct {
	name, path string
}

// statelessPod returns a restricted pod with one container, and with writable
// directories: /tmp and further ones.
func statelessPod(c corev1.Container, ids v1.PodUserIDs, further ...scratch) corev1.PodSpec {
	pod := corev1.PodSpec{
		AutomountServiceAccountToken:  new(false),
		EnableServiceLinks:            new(false),
		TerminationGracePeriodSeconds: new(int64(stopSeconds)),
		SecurityContext:               objectparts.PodSecurity(userID, ids),
	}
	for _, s := range append([]scratch{{"tmp", "/tmp"}}, further...) {
		volume, mount := objectparts.Scratch(s.name, s.path)
		pod.Volumes = append(pod.Volumes, volume)
		c.VolumeMounts = append(c.VolumeMounts, mount)
	}
	if c.Ports[0].ContainerPort < privilegedPorts {
		pod.SecurityContext.Sysctls = []corev1.Sysctl{{Name: "net.ipv4.ip_unprivileged_port_start", Value: "0"}}
	}
	pod.Containers = []corev1.Container{c}
	return pod
}

// statelessContainer returns a container that serves HTTP on a port, and is ready when
// the port is open.
func statelessContainer(name, image string, port int32) corev1.Container {
	open := func(period, failures int32) *corev1.Probe {
		return &corev1.Probe{
			ProbeHandler: corev1.ProbeHandler{
				TCPSocket: &corev1.TCPSocketAction{Port: intstr.FromString(httpPort)},
			},
			PeriodSeconds:    period,
			TimeoutSeconds:   3,
			FailureThreshold: failures,
		}
	}
	return corev1.Container{
		Name:            name,
		Image:           image,
		Ports:           []corev1.ContainerPort{{Name: httpPort, ContainerPort: port, Protocol: corev1.ProtocolTCP}},
		SecurityContext: objectparts.ContainerSecurity(),
		// It has five minutes to start.
		StartupProbe:   open(2, 150),
		ReadinessProbe: open(5, 3),
		LivenessProbe:  open(10, 6),
		Lifecycle: &corev1.Lifecycle{PreStop: &corev1.LifecycleHandler{
			Sleep: &corev1.SleepAction{Seconds: drainSeconds},
		}},
	}
}

// probeHTTP makes probes request a path; they stay as they are if it is empty.
func probeHTTP(path string, probes ...*corev1.Probe) {
	if path == "" {
		return
	}
	for _, probe := range probes {
		probe.ProbeHandler = corev1.ProbeHandler{
			HTTPGet: &corev1.HTTPGetAction{Path: path, Port: intstr.FromString(httpPort)},
		}
	}
}

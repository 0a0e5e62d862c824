package render

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// restricted returns where a pod violates the restricted Pod Security Standard,
// https://kubernetes.io/docs/concepts/security/pod-security-standards.
func restricted(pod corev1.PodSpec) []string {
	var violations []string
	check := func(ok bool, format string, args ...any) {
		if !ok {
			violations = append(violations, fmt.Sprintf(format, args...))
		}
	}
	// Baseline.
	check(!pod.HostNetwork && !pod.HostPID && !pod.HostIPC, "a namespace of the host")
	safe := []string{
		"kernel.shm_rmid_forced", "net.ipv4.ip_local_port_range", "net.ipv4.ip_unprivileged_port_start",
		"net.ipv4.tcp_syncookies", "net.ipv4.ping_group_range",
	}
	security := pod.SecurityContext
	if security == nil {
		return append(violations, "no security context")
	}
	for _, s := range security.Sysctls {
		check(slices.Contains(safe, s.Name), "sysctl %s", s.Name)
	}
	// Restricted.
	for _, v := range pod.Volumes {
		check(v.ConfigMap != nil || v.CSI != nil || v.DownwardAPI != nil || v.EmptyDir != nil || v.Ephemeral != nil ||
			v.PersistentVolumeClaim != nil || v.Projected != nil || v.Secret != nil, "volume %s", v.Name)
	}
	check(security.RunAsUser == nil || *security.RunAsUser != 0, "runs as root")
	check(isTrue(security.RunAsNonRoot), "may run as root")
	check(security.SeccompProfile != nil && security.SeccompProfile.Type == corev1.SeccompProfileTypeRuntimeDefault, "no seccomp profile")
	for _, c := range slices.Concat(pod.InitContainers, pod.Containers) {
		violations = append(violations, restrictedContainer(c)...)
	}
	return violations
}

func restrictedContainer(c corev1.Container) []string {
	var violations []string
	check := func(ok bool, what string) {
		if !ok {
			violations = append(violations, "container "+c.Name+": "+what)
		}
	}
	for _, p := range c.Ports {
		check(p.HostPort == 0, "a port of the host")
	}
	s := c.SecurityContext
	if s == nil {
		return append(violations, "container "+c.Name+": no security context")
	}
	check(!isTrue(s.Privileged), "privileged")
	check(s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation, "may escalate privileges")
	check(s.RunAsNonRoot == nil || *s.RunAsNonRoot, "may run as root")
	check(s.RunAsUser == nil || *s.RunAsUser != 0, "runs as root")
	check(s.Capabilities != nil && slices.Contains(s.Capabilities.Drop, "ALL"), "keeps capabilities")
	check(s.Capabilities == nil || len(s.Capabilities.Add) == 0, "adds capabilities")
	// Beyond the standard, and a rule of this house.
	check(isTrue(s.ReadOnlyRootFilesystem), "can write to its image")
	return violations
}

func isTrue(b *bool) bool {
	return b != nil && *b
}

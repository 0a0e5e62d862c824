package spoke_test

import (
	"regexp"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// exclusion describes fields that no edit can change alone, or that a repair leaves.
type exclusion struct {
	kinds, path *regexp.Regexp
	reason      string
}

func exclude(kinds, path, reason string) exclusion {
	return exclusion{regexp.MustCompile("^(" + kinds + ")$"), regexp.MustCompile(path), reason}
}

// exclusions returns the fields that the API server does not let an edit change, alone at least.
func exclusions() []exclusion {
	const workloads, templates = "Deployment|StatefulSet", "Deployment|StatefulSet|CronJob"
	return []exclusion{
		exclude("Secret", `^type$`, "immutable"),
		exclude("PersistentVolumeClaim", `^spec\.`, "immutable, except for the size, which may only grow"),
		exclude("Service", `^spec\.clusterIP$`, "immutable"),
		exclude("Service", `^spec\.type$`, "a headless Service has no other; testStoppedByHand changes that of others"),
		exclude("Service", `^spec\.ports\[[^.]*\]$`, "a Service needs a port"),
		exclude("StatefulSet", `^spec\.(serviceName|podManagementPolicy|volumeClaimTemplates)$`, "immutable"),
		exclude(workloads, `^spec\.selector$`, "immutable"),
		exclude(workloads, `^spec\.template\.metadata\.labels\[app\.kubernetes\.io/(component|instance|part-of)\]$`, "the immutable selector needs it"),
		exclude("CronJob", `\.restartPolicy$`, "a Job with a podFailurePolicy has no other"),
		exclude("Deployment", `^spec\.strategy\.type$`, "the other type excludes rollingUpdate"),
		exclude("StatefulSet", `^spec\.updateStrategy\.type$`, "the other type excludes rollingUpdate"),
		exclude(templates, `\.containers\[[^.]*\]$`, "a pod needs a container"),
		exclude(templates, `\.volumeMounts\[[^\]]*\]\.name$`, "a mount needs a volume"),
		exclude(templates, `\.volumes\[[^\]]*\]$`, "a mount needs it"),
		exclude(templates, `\.emptyDir$`, "has no fields"),
	}
}

// exclusionOf returns why an edit of a field is not tried or may be rejected; empty if it must
// succeed.
func (d *drift) exclusionOf(path string) string {
	return reasonOf(d.original.GetKind(), path, exclusions())
}

// keptOf returns why a repair leaves a field of the object as it is; empty if it does not.
func (d *drift) keptOf(path string) string {
	if !controlled(d.original) && path == "metadata.labels["+v1.OwnerUIDLabel+"]" {
		return "a retained object keeps the UID of its first owner"
	}
	return reasonOf(d.original.GetKind(), path, []exclusion{
		exclude("Secret", `^data`, "generated data is never replaced"),
		exclude("Secret|PersistentVolumeClaim", `^metadata\.annotations\[ecommerce\.io/spec-hash\]$`, "only its absence matters for an object that is written once"),
	})
}

func reasonOf(kind, path string, all []exclusion) string {
	for _, x := range all {
		if x.kinds.MatchString(kind) && x.path.MatchString(path) {
			return x.reason
		}
	}
	return ""
}

package jobs

import (
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// The containers of the pods, in whose statuses it is told how a Job ended.
const (
	// SendContainer is the container of Send, FetchContainer the init container of Load.
	// Both end with a status of package order, and their message is a line for people.
	SendContainer  = "send"
	FetchContainer = "fetch"
	// LoadContainer is the container of Load. It ends with 0 or with one of the statuses
	// below, or with another where the client or the server failed, and is then worth
	// another attempt.
	LoadContainer = "load"
)

// How the load container ends when another attempt would end in the same way.
const (
	// ExitNotEmpty means that the database holds something and nobody allowed to replace it.
	ExitNotEmpty = 10
	// ExitChecksum means that the file is not the dump that was asked for.
	ExitChecksum = 11
	// ExitMissing means that there is no such file on the claim.
	ExitMissing = 12
)

const (
	// sendSeconds is the life of an order and some time to start.
	sendSeconds = 75 * 60
	// loadSeconds bounds how long a load may take, with the fetch and the wait for a node.
	loadSeconds = 20 * 60 * 60
	// keptSeconds is for how long a Job that ended stays, for people and for who counts.
	keptSeconds = 60 * 60

	backupsPath = "/backups"
	orderPath   = "/order"

	backupsVolume = "backups"
	orderVolume   = "order"
)

// Job is what every Job here has.
type Job struct {
	// Namespace and Name are the Job's, and those of the Secret that goes with it. The
	// name has at most 63 characters.
	Namespace, Name string
	// Labels are those of the Job, of its pods and of its Secret, Annotations those of the
	// Job and of the Secret. May be nil.
	Labels, Annotations map[string]string
	// Owners are those of the Job and of the Secret. May be nil.
	Owners []metav1.OwnerReference
}

func (j Job) meta(labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: j.Namespace, Name: j.Name,
		Labels: labels, Annotations: maps.Clone(j.Annotations), OwnerReferences: j.Owners,
	}
}

// labels returns the caller's, over which go those that decide who a pod may talk to.
func (j Job) labels(ours map[string]string) map[string]string {
	labels := maps.Clone(j.Labels)
	if labels == nil {
		labels = make(map[string]string, len(ours))
	}
	maps.Copy(labels, ours)
	return labels
}

// job returns a Job of one pod, which is made once: who made the Job counts the attempts.
func (j Job) job(labels map[string]string, seconds int64, pod corev1.PodSpec) *batchv1.Job {
	pod.RestartPolicy = corev1.RestartPolicyNever
	pod.AutomountServiceAccountToken = new(false)
	pod.EnableServiceLinks = new(false)
	pod.SecurityContext = manifest.PodSecurity(database.UserID)
	return &batchv1.Job{
		TypeMeta:   manifest.Type("batch/v1", "Job"),
		ObjectMeta: j.meta(labels),
		Spec: batchv1.JobSpec{
			BackoffLimit:            new(int32(0)),
			ActiveDeadlineSeconds:   new(seconds),
			TTLSecondsAfterFinished: new(int32(keptSeconds)),
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)},
				Spec:       pod,
			},
		},
	}
}

// secret holds an order. It is never changed: another attempt has another name.
func (j Job) secret(labels map[string]string, text []byte, direction order.Direction) (*corev1.Secret, error) {
	o, err := order.Read(text)
	if err != nil {
		return nil, fmt.Errorf("the order of Job %q: %w", j.Name, err)
	}
	if o.Direction != direction {
		return nil, fmt.Errorf("the order of Job %q: %w %s", j.Name, errDirection, direction)
	}
	return &corev1.Secret{
		TypeMeta:   manifest.Type("v1", "Secret"),
		ObjectMeta: j.meta(maps.Clone(labels)),
		Type:       corev1.SecretTypeOpaque,
		Immutable:  new(true),
		Data:       map[string][]byte{order.FileName: text},
	}, nil
}

func (j Job) check(claim string) error {
	switch {
	case j.Namespace == "" || j.Name == "" || len(j.Name) > manifest.MaxName:
		return fmt.Errorf("job %q in namespace %q: %w", j.Name, j.Namespace, errName)
	case claim == "":
		return fmt.Errorf("job %q: %w", j.Name, errClaim)
	}
	return nil
}

// transfer returns the container that carries out the order.
func transfer(name, image string, readOnly bool) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    image,
		Args:                     []string{"transfer", "--order=" + orderPath + "/" + order.FileName, "--dir=" + backupsPath},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                manifest.Requests(50, 64),
		SecurityContext:          manifest.ContainerSecurity(),
		VolumeMounts: []corev1.VolumeMount{
			{Name: backupsVolume, MountPath: backupsPath, ReadOnly: readOnly},
			{Name: orderVolume, MountPath: orderPath, ReadOnly: true},
		},
	}
}

func backups(claim string) corev1.Volume {
	return corev1.Volume{Name: backupsVolume, VolumeSource: corev1.VolumeSource{
		PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
	}}
}

func orders(secret string) corev1.Volume {
	return corev1.Volume{Name: orderVolume, VolumeSource: corev1.VolumeSource{
		Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))},
	}}
}

package jobs

import (
	"fmt"
	"maps"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/render/database"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// Names of the containers, whose statuses report the result of a Job.
const (
	// SendContainer is the container of Send, FetchContainer the init container of Load.
	// Both exit with a status of package order, and their termination message is a line
	// for users.
	SendContainer  = "send"
	FetchContainer = "fetch"
	// LoadContainer is the container of Load. It exits with 0, with one of the statuses
	// below, or with another one if the client or server failed and the load may be
	// retried.
	LoadContainer = "load"
)

// Exit statuses of the load container for which a retry cannot succeed.
const (
	// ExitNotEmpty means that the database is not empty and must not be replaced.
	ExitNotEmpty = 10
	// ExitChecksum means that the file is not the expected dump.
	ExitChecksum = 11
	// ExitMissing means that the file does not exist on the claim.
	ExitMissing = 12
)

const (
	// sendSeconds bounds the duration of all attempts to upload a dump. An upload that takes longer goes on
	// with the next Job: this bounds how long a pod stays whose Backup has been given up.
	sendSeconds = 6 * 60 * 60
	// loadSeconds bounds the duration of all attempts to load a dump, including the download and scheduling.
	loadSeconds = 20 * 60 * 60
	// transferRetries is how often a Job is tried again that transfers a dump: the network fails more often than
	// a database, and what was transferred is kept. loadRetries is how often one is that only loads it.
	transferRetries = 6
	loadRetries     = 2
	// keptSeconds is how long a finished Job is kept.
	keptSeconds = 60 * 60

	backupsPath = "/backups"
	orderPath   = "/order"

	backupsVolume = "backups"
	orderVolume   = "order"
)

// Job contains what all Jobs have in common.
type Job struct {
	// Namespace and Name identify the Job and its Secret. The name has at most 63 characters.
	Namespace, Name string
	// Labels are set on the Job, its pods and its Secret, Annotations on the Job and the
	// Secret. May be nil.
	Labels, Annotations map[string]string
	// Owners are the owner references of the Job and the Secret. May be nil.
	Owners []metav1.OwnerReference
	// UserIDs says who gives the pod its user, as with the pods of the database: they share a volume. Load and
	// Import take the value of their Database.
	UserIDs v1.PodUserIDs
}

func (j Job) meta(labels map[string]string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: j.Namespace, Name: j.Name,
		Labels: labels, Annotations: maps.Clone(j.Annotations), OwnerReferences: j.Owners,
	}
}

// labels returns the caller's labels, overridden by the labels that network policies depend
// on.
func (j Job) labels(ours map[string]string) map[string]string {
	labels := maps.Clone(j.Labels)
	if labels == nil {
		labels = make(map[string]string, len(ours))
	}
	maps.Copy(labels, ours)
	return labels
}

// limits bound the attempts of a Job.
type limits struct {
	retries int32
	// seconds bounds the duration of all attempts.
	seconds int64
	// final are the exit statuses that another attempt cannot change.
	final []batchv1.PodFailurePolicyRule
}

// final returns the rule that a container with one of some exit statuses, in ascending order, fails its Job.
func final(container string, statuses ...int32) batchv1.PodFailurePolicyRule {
	return batchv1.PodFailurePolicyRule{Action: batchv1.PodFailurePolicyActionFailJob, OnExitCodes: &batchv1.PodFailurePolicyOnExitCodesRequirement{
		ContainerName: &container, Operator: batchv1.PodFailurePolicyOnExitCodesOpIn, Values: statuses,
	}}
}

// job returns a Job, whose attempts Kubernetes counts: a pod that a drained node or the scheduler has ended is none.
// No pod begins before the last one has ended. The pods have the same settings as those of the database.
func (j Job) job(labels map[string]string, l limits, pod corev1.PodSpec, settings v1.PodSettings) *batchv1.Job {
	objectparts.Configure(&pod, settings)
	pod.AutomountServiceAccountToken = new(false)
	pod.EnableServiceLinks = new(false)
	pod.SecurityContext = objectparts.PodSecurity(database.UserID, j.UserIDs)
	return j.of(labels, l, pod, settings)
}

// of returns a Job as job does, whose pod has the settings already, but for the user's labels and annotations.
func (j Job) of(labels map[string]string, l limits, pod corev1.PodSpec, settings v1.PodSettings) *batchv1.Job {
	pod.RestartPolicy = corev1.RestartPolicyNever
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: maps.Clone(labels)}, Spec: pod}
	objectparts.Describe(&template.ObjectMeta, settings)
	return &batchv1.Job{
		TypeMeta:   objectparts.Type("batch/v1", "Job"),
		ObjectMeta: j.meta(labels),
		Spec: batchv1.JobSpec{
			BackoffLimit:            &l.retries,
			ActiveDeadlineSeconds:   &l.seconds,
			PodFailurePolicy:        objectparts.FailurePolicy(l.final...),
			PodReplacementPolicy:    new(batchv1.Failed),
			TTLSecondsAfterFinished: new(int32(keptSeconds)),
			Template:                template,
		},
	}
}

// secret returns the Secret with an order. It is not immutable, because it is renewed while the Job runs.
func (j Job) secret(labels map[string]string, text []byte, direction order.Direction) (*corev1.Secret, error) {
	o, err := order.Read(text)
	if err != nil {
		return nil, fmt.Errorf("the order of Job %q: %w", j.Name, err)
	}
	if o.Direction != direction {
		return nil, fmt.Errorf("the order of Job %q: %w %s", j.Name, errDirection, direction)
	}
	return &corev1.Secret{
		TypeMeta:   objectparts.Type("v1", "Secret"),
		ObjectMeta: j.meta(maps.Clone(labels)),
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{order.FileName: text},
	}, nil
}

func (j Job) check(claim string) error {
	switch {
	case j.Namespace == "" || j.Name == "" || len(j.Name) > objectparts.MaxName:
		return fmt.Errorf("job %q in namespace %q: %w", j.Name, j.Namespace, errName)
	case claim == "":
		return fmt.Errorf("job %q: %w", j.Name, errClaim)
	}
	return nil
}

// transfer returns the container that executes the order.
func transfer(name, image string, readOnly bool) corev1.Container {
	return corev1.Container{
		Name:                     name,
		Image:                    image,
		Args:                     []string{"transfer", "--order=" + orderPath + "/" + order.FileName, "--dir=" + backupsPath},
		TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		Resources:                objectparts.Requests(50, 64),
		SecurityContext:          objectparts.ContainerSecurity(),
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

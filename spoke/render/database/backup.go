package database

import (
	"strconv"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/spoke/component"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
)

const (
	// backupComponent is the component of backup pods, so that the Services of the
	// database do not select them.
	backupComponent = "database-backup"

	backupsPath = "/backups"
	// backupSeconds bounds the duration of a dump to less than a day, so that one that
	// hangs does not block the next.
	backupSeconds = 20 * 60 * 60
)

func (r renderer) backupPart() objectparts.Part {
	p := r.part
	p.Component = backupComponent
	return p
}

func (r renderer) backupName() string {
	return r.name("-backup", objectparts.MaxName)
}

// CronJobName returns the name of the CronJob that creates the dumps.
func (s Spec) CronJobName() string {
	return s.name("-backup", objectparts.MaxCronJobName)
}

func (r renderer) backup() []component.Object {
	return []component.Object{
		{Resource: r.backupClaim(), Once: true, Retain: true},
		{Resource: objectparts.ConfigMap(r.part, r.backupName(), map[string]string{
			"backup.sh": r.engine.dump,
			"prune.sh":  pruneBegin + r.engine.clock + pruneScript,
		})},
		{Resource: r.cronJob()},
	}
}

// backupClaim returns the claim of the dumps, which is as large as the database: dumps are
// compressed. It is written once, because nothing else of a claim can be changed, and
// expanded when the database grows (package spoke/component).
func (r renderer) backupClaim() *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		TypeMeta:   objectparts.Type("v1", "PersistentVolumeClaim"),
		ObjectMeta: r.part.Meta(r.backupName()),
		Spec:       r.claimSpec(),
	}
}

func (r renderer) cronJob() *batchv1.CronJob {
	timeZone := r.Backup.TimeZone
	if timeZone == "" {
		timeZone = "Etc/UTC"
	}
	return &batchv1.CronJob{
		TypeMeta:   objectparts.Type("batch/v1", "CronJob"),
		ObjectMeta: r.part.Meta(r.CronJobName()),
		Spec: batchv1.CronJobSpec{
			Schedule:          r.Backup.Schedule,
			TimeZone:          &timeZone,
			ConcurrencyPolicy: batchv1.ForbidConcurrent,
			// A dump that is up to an hour late is still useful; without a bound the
			// controller gives up after a hundred missed runs.
			StartingDeadlineSeconds:    new(int64(60 * 60)),
			SuccessfulJobsHistoryLimit: new(int32(3)),
			FailedJobsHistoryLimit:     new(int32(3)),
			// What others could stop dumps with is set, although the values are the defaults.
			Suspend: new(r.Backup.Suspended),
			JobTemplate: batchv1.JobTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: r.backupPart().PodLabels()},
				Spec: batchv1.JobSpec{
					BackoffLimit: new(int32(2)), Suspend: new(false), Parallelism: new(int32(1)), Completions: new(int32(1)),
					ActiveDeadlineSeconds: new(int64(backupSeconds)),
					PodFailurePolicy:      objectparts.FailurePolicy(),
					PodReplacementPolicy:  new(batchv1.Failed),
					Template:              r.described(r.backupPart(), r.backupPod()),
				},
			},
		},
	}
}

func (r renderer) backupPod() corev1.PodSpec {
	tmp, tmpMount := objectparts.Scratch("tmp", "/tmp")
	pod := corev1.PodSpec{
		RestartPolicy:                corev1.RestartPolicyNever,
		AutomountServiceAccountToken: new(false),
		EnableServiceLinks:           new(false),
		SecurityContext:              objectparts.PodSecurity(userID, r.UserIDs),
		Containers: []corev1.Container{{
			Name:    "backup",
			Image:   r.engine.image,
			Command: []string{"sh", scriptsPath + "/backup.sh"},
			Env: append(r.engine.clientEnv(r),
				corev1.EnvVar{Name: "BACKUPS", Value: backupsPath},
				corev1.EnvVar{Name: "CLAIM", Value: r.backupName()},
				corev1.EnvVar{Name: "KEEP_LAST", Value: strconv.Itoa(int(max(r.Backup.KeepLast, 1)))},
				corev1.EnvVar{Name: "KEEP_DAYS", Value: strconv.Itoa(int(max(r.Backup.KeepDays, 1)))},
				corev1.EnvVar{Name: "DB_VERSION", Value: r.Version},
			),
			// The message is the manifest of a complete dump, otherwise the last log lines.
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
			Resources:                objectparts.Requests(50, 128),
			SecurityContext:          objectparts.ContainerSecurity(),
			VolumeMounts: []corev1.VolumeMount{
				{Name: "backups", MountPath: backupsPath},
				{Name: "scripts", MountPath: scriptsPath, ReadOnly: true},
				tmpMount,
			},
		}},
		Volumes: []corev1.Volume{
			{Name: "backups", VolumeSource: corev1.VolumeSource{
				PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: r.backupName()},
			}},
			{Name: "scripts", VolumeSource: corev1.VolumeSource{ConfigMap: &corev1.ConfigMapVolumeSource{
				LocalObjectReference: corev1.LocalObjectReference{Name: r.backupName()},
			}}},
			tmp,
		},
	}
	objectparts.Configure(&pod, r.Pods)
	return pod
}

// secretOf returns a variable with a part of the login of clients.
func secretOf(r renderer, variable, key string) corev1.EnvVar {
	return objectparts.SecretEnv(variable, r.ClientSecret(), key)
}

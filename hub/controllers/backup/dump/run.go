package dump

import (
	"context"
	"strings"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/accounts/verdict"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/manifest"
)

const (
	// keepSeconds is for how long a Job stays after its end.
	keepSeconds = 60 * 60
	// instantiate tells, on a Job, that it was not the schedule that made it.
	instantiate = "cronjob.kubernetes.io/instantiate"
	// maxSaid bounds what is repeated of a pod's words, in bytes.
	maxSaid = 512
)

// Run is one look at the dump of a Backup.
type Run struct {
	// Backup is whose status is brought up to date. Required.
	Backup *v1.Backup
	// Reader asks the member's API server, and Writer writes there. Required.
	Reader client.Reader
	Writer client.Writer
	// Now is the time.
	Now time.Time
}

// Advance asks for the dump if that has not been done, and looks how far it is. The zero
// Verdict means that the dump is complete, and the status says what it is.
func (r Run) Advance(ctx context.Context) verdict.Verdict {
	job := &batchv1.Job{}
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Backup.Namespace, Name: r.jobName()}, job)
	switch {
	case apierrors.IsNotFound(err) && r.Backup.Status.Dump == nil:
		return r.begin(ctx)
	case apierrors.IsNotFound(err):
		return verdict.Fail(v1.ReasonDumpFailed, "the Job %s was gone before it was seen to end", r.jobName())
	case err != nil:
		return r.trouble(err)
	case job.Labels[v1.BackupLabel] != manifest.LabelValue(r.Backup.Name):
		return verdict.Fail(v1.ReasonDumpFailed, "the Job %s is not that of this Backup", r.jobName())
	}
	r.take(job)
	return r.follow(ctx, job)
}

// jobName is the same from whoever asks, and another for each Backup.
func (r Run) jobName() string {
	return render.DatabaseCronJob(r.Backup.Spec.AppName) + "-" + manifest.Hash(string(r.Backup.UID))
}

// begin makes the Job.
func (r Run) begin(ctx context.Context) verdict.Verdict {
	from := &batchv1.CronJob{}
	name := render.DatabaseCronJob(r.Backup.Spec.AppName)
	err := r.Reader.Get(ctx, client.ObjectKey{Namespace: r.Backup.Namespace, Name: name}, from)
	switch {
	case apierrors.IsNotFound(err):
		return verdict.Hold(verdict.Member, v1.ReasonCronJobNotFound, "%s does not have the CronJob %s yet", r.Backup.Spec.ClusterName, name)
	case err != nil:
		return r.trouble(err)
	case from.Labels[v1.ManagedByLabel] != v1.ManagedBy || from.Labels[v1.InstanceLabel] != manifest.LabelValue(r.Backup.Spec.AppName):
		return verdict.Fail(v1.ReasonCronJobNotFound, "the CronJob %s in %s is not the application's", name, r.Backup.Spec.ClusterName)
	}
	job := r.job(from)
	err = r.Writer.Create(ctx, job, client.FieldOwner(v1.HubFieldManager))
	switch {
	case apierrors.IsInvalid(err):
		return verdict.Fail(v1.ReasonDumpFailed, "%s does not accept the Job %s: %s", r.Backup.Spec.ClusterName, job.Name, said(err.Error()))
	case apierrors.IsAlreadyExists(err):
		return verdict.Hold(verdict.PollFirst, v1.ReasonDumping, "the Job %s is about to begin", job.Name)
	case err != nil:
		return r.trouble(err)
	}
	r.take(job)
	return r.dumping(job)
}

// job returns the Job that runs a CronJob once.
func (r Run) job(from *batchv1.CronJob) *batchv1.Job {
	template := from.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: from.Namespace, Name: r.jobName(),
			Labels: template.Labels, Annotations: template.Annotations, OwnerReferences: copyOf(from),
		},
		Spec: template.Spec,
	}
	if job.Labels == nil {
		job.Labels = map[string]string{}
	}
	if job.Annotations == nil {
		job.Annotations = map[string]string{}
	}
	job.Labels[v1.BackupLabel] = manifest.LabelValue(r.Backup.Name)
	job.Annotations[instantiate] = "manual"
	job.Spec.TTLSecondsAfterFinished = new(int32(keepSeconds))
	return job
}

// copyOf is the copy that a CronJob belongs to, with which the Job goes.
func copyOf(from *batchv1.CronJob) []metav1.OwnerReference {
	owners := make([]metav1.OwnerReference, 0, len(from.OwnerReferences))
	for _, o := range from.OwnerReferences {
		o.Controller, o.BlockOwnerDeletion = nil, nil
		owners = append(owners, o)
	}
	return owners
}

// take writes down that there is a Job, and where its dump goes.
func (r Run) take(job *batchv1.Job) {
	s := &r.Backup.Status
	s.Phase = v1.BackupInProgress
	if s.Dump != nil {
		return
	}
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			s.Dump = &v1.DumpFile{Claim: v.PersistentVolumeClaim.ClaimName}
			return
		}
	}
	s.Dump = &v1.DumpFile{Claim: "unknown"}
}

func (r Run) dumping(job *batchv1.Job) verdict.Verdict {
	age := time.Duration(0)
	if r.Backup.Status.StartTime != nil {
		age = r.Now.Sub(r.Backup.Status.StartTime.Time)
	}
	return verdict.Hold(verdict.Poll(age), v1.ReasonDumping, "the Job %s dumps the database", job.Name)
}

// follow looks how far a Job is.
func (r Run) follow(ctx context.Context, job *batchv1.Job) verdict.Verdict {
	ended, why := end(job)
	if !ended {
		return r.dumping(job)
	}
	pods := &corev1.PodList{}
	err := r.Reader.List(ctx, pods, client.InNamespace(job.Namespace), client.MatchingLabels{"job-name": job.Name})
	if err != nil {
		return r.trouble(err)
	}
	made, last := read(job, pods.Items)
	switch {
	case made != nil:
		made.record(&r.Backup.Status)
		return verdict.Verdict{}
	case why == "":
		return verdict.Fail(v1.ReasonDumpFailed, "the Job %s succeeded, but no pod of it says which file the dump is", job.Name)
	case last != "":
		return verdict.Fail(v1.ReasonDumpFailed, "the Job %s failed: %s: %s", job.Name, said(why), said(last))
	default:
		return verdict.Fail(v1.ReasonDumpFailed, "the Job %s failed: %s", job.Name, said(why))
	}
}

// end tells whether a Job has ended, and why it failed if it did.
func end(job *batchv1.Job) (ended bool, failure string) {
	for _, c := range job.Status.Conditions {
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobComplete:
			return true, ""
		case c.Type == batchv1.JobFailed:
			return true, c.Reason + ": " + c.Message
		}
	}
	return false, ""
}

// read returns the newest dump that the pods of a Job tell of, if any, and what was said
// by the pod that ended last.
func read(job *batchv1.Job, pods []corev1.Pod) (made *dumped, last string) {
	var lastEnd time.Time
	for i := range pods {
		if !metav1.IsControlledBy(&pods[i], job) {
			continue
		}
		for _, c := range pods[i].Status.ContainerStatuses {
			end := c.State.Terminated
			if end == nil {
				continue
			}
			if m, err := parse(end.Message); err == nil && (made == nil || made.CompletionTime.Before(m.CompletionTime)) {
				made = &m
			}
			if end.Message != "" && !end.FinishedAt.Time.Before(lastEnd) {
				lastEnd, last = end.FinishedAt.Time, end.Message
			}
		}
	}
	return made, last
}

// trouble is what an error of the member means.
func (r Run) trouble(err error) verdict.Verdict {
	if apierrors.IsForbidden(err) {
		return verdict.Hold(verdict.Refused, v1.ReasonForbidden, "the hub may not make or read Jobs in %s", r.Backup.Spec.ClusterName)
	}
	return verdict.Hold(verdict.Member, v1.ReasonClusterUnreachable, "%s does not answer", r.Backup.Spec.ClusterName)
}

// said makes one line of bounded length of what others wrote.
func said(text string) string {
	text = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(text, ""), func(r rune) bool { return r <= ' ' || r == 0x7f }), " ")
	if len(text) > maxSaid {
		return strings.ToValidUTF8(text[:maxSaid-3], "") + "..."
	}
	return text
}

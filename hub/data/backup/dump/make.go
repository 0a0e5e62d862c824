package dump

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"time"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/data/memberjob"
	"github.com/shopfleet/shopfleet/hub/data/steps"
	"github.com/shopfleet/shopfleet/spoke/render"
	"github.com/shopfleet/shopfleet/spoke/render/objectparts"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

const (
	// keepSeconds is for how long a Job stays after its end.
	keepSeconds = 60 * 60
	// instantiate marks a Job that the schedule of the CronJob did not create.
	instantiate = "cronjob.kubernetes.io/instantiate"
)

// Maker follows the Job that makes the dump of a Backup, for one pass.
type Maker struct {
	// Backup is dumped, and its status updated. Required.
	Backup *v1.Backup
	// Reader reads from the member's API server, and Writer writes to it. Required.
	Reader client.Reader
	Writer client.Writer
	// Now is the time.
	Now time.Time
}

// Advance creates the Job if there is none, and observes it. The zero Result means that the
// dump is complete and described in the status.
func (m Maker) Advance(ctx context.Context) steps.Result {
	job := &batchv1.Job{}
	err := m.Reader.Get(ctx, client.ObjectKey{Namespace: m.Backup.Namespace, Name: m.jobName()}, job)
	switch {
	case apierrors.IsNotFound(err) && m.Backup.Status.Dump == nil:
		return m.createJob(ctx)
	case apierrors.IsNotFound(err):
		return steps.Fail(v1.ReasonDumpFailed, "the Job %s was gone before it was seen to end", m.jobName())
	case err != nil:
		return m.memberError(err)
	case !m.isOurs(job):
		return steps.Fail(v1.ReasonDumpFailed, "the Job %s belongs to another Backup", m.jobName())
	}
	m.recordJob(job)
	return m.observe(ctx, job)
}

// jobName returns a name that is unique to the Backup and the same in each pass. For a scheduled
// time it is the name that the CronJob's controller gives its Job, so that only one is created.
func (m Maker) jobName() string {
	cronJob := render.DatabaseCronJob(m.Backup.Spec.AppRef.Name)
	if scheduledTime := m.Backup.Spec.ScheduledTime; scheduledTime != nil {
		return cronJob + "-" + strconv.FormatInt(scheduledTime.Unix()/60, 10)
	}
	return cronJob + "-" + objectparts.Hash(string(m.Backup.UID))
}

// isOurs reports whether a Job of that name is one that was made for this Backup, or by the
// CronJob for its scheduled time.
func (m Maker) isOurs(job *batchv1.Job) bool {
	if job.Labels[v1.BackupLabel] == objectparts.LabelValue(m.Backup.Name) {
		return true
	}
	owner := metav1.GetControllerOf(job)
	return m.Backup.Spec.ScheduledTime != nil && owner != nil &&
		owner.Kind == "CronJob" && owner.Name == render.DatabaseCronJob(m.Backup.Spec.AppRef.Name)
}

// createJob creates the Job.
func (m Maker) createJob(ctx context.Context) steps.Result {
	from := &batchv1.CronJob{}
	name := render.DatabaseCronJob(m.Backup.Spec.AppRef.Name)
	err := m.Reader.Get(ctx, client.ObjectKey{Namespace: m.Backup.Namespace, Name: name}, from)
	switch {
	case apierrors.IsNotFound(err):
		return steps.RetryAfter(steps.Member, v1.ReasonCronJobNotFound, "%s does not have the CronJob %s yet", m.Backup.Spec.ClusterRef.Name, name)
	case err != nil:
		return m.memberError(err)
	case from.Labels[v1.ManagedByLabel] != v1.ManagedBy || from.Labels[v1.InstanceLabel] != objectparts.LabelValue(m.Backup.Spec.AppRef.Name):
		return steps.Fail(v1.ReasonCronJobNotFound, "the CronJob %s in %s does not belong to the application: delete it, and the application creates its own", name, m.Backup.Spec.ClusterRef.Name)
	}
	if result := m.serves(ctx); result.Stops() {
		return result
	}
	job := m.job(from)
	err = m.Writer.Create(ctx, job, client.FieldOwner(v1.HubFieldManager))
	switch {
	case apierror.Classify(err) == apierror.Invalid:
		result := m.memberError(err)
		result.Message = fmt.Sprintf("%s rejects the Job %s: %s", m.Backup.Spec.ClusterRef.Name, job.Name, memberjob.Sanitize(apierror.Message(err)))
		return result
	case apierrors.IsAlreadyExists(err):
		return steps.RetryAfter(steps.PollFirst, v1.ReasonDumping, "the Job %s is about to begin", job.Name)
	case err != nil:
		return m.memberError(err)
	}
	m.recordJob(job)
	return m.dumping(job, "")
}

// serves reports whether there is a database to dump: one that was just placed, or that is
// being restored, is waited for instead of being dumped in vain.
func (m Maker) serves(ctx context.Context) steps.Result {
	copied := &v1.EcommerceApp{}
	err := m.Reader.Get(ctx, client.ObjectKey{Namespace: m.Backup.Namespace, Name: m.Backup.Spec.AppRef.Name}, copied)
	if client.IgnoreNotFound(err) != nil {
		return m.memberError(err)
	}
	if result := Available(m.Backup, copied); result.Stops() {
		return result
	}
	pod := &corev1.Pod{}
	err = m.Reader.Get(ctx, client.ObjectKey{Namespace: m.Backup.Namespace, Name: render.DatabasePod(m.Backup.Spec.AppRef.Name)}, pod)
	if client.IgnoreNotFound(err) != nil {
		return m.memberError(err)
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue {
			return steps.Result{}
		}
	}
	return steps.RetryAfter(steps.Member, v1.ReasonStartingDatabase, "waiting for the database in %s to be ready", m.Backup.Spec.ClusterRef.Name)
}

// Available reports whether the database of a copy has data to back up: no Restore works on it, until
// whose end it has neither the old nor the new data, and it is not lost.
func Available(b *v1.Backup, copied *v1.EcommerceApp) steps.Result {
	if name := cmp.Or(copied.Annotations[v1.LoadingAnnotation], copied.Annotations[v1.RestoringAnnotation]); name != "" {
		return steps.RetryAfter(steps.Member, v1.ReasonInUse, "the Restore %s works on the database in %s", name, b.Spec.ClusterRef.Name)
	}
	if meta.IsStatusConditionTrue(copied.Status.Conditions, v1.ConditionDatabaseLost) {
		return Lost(b)
	}
	return steps.Result{}
}

// Lost returns the result for a Backup of a database that is lost.
func Lost(b *v1.Backup) steps.Result {
	return steps.RetryAfter(steps.Member, v1.ReasonDatabaseLost, "the database in %s is lost, and there is nothing to back up: "+
		"restore a Backup with kubectl shopfleet restore BACKUP -n %s --overwrite", b.Spec.ClusterRef.Name, b.Namespace)
}

// job returns the Job that runs a CronJob once.
func (m Maker) job(from *batchv1.CronJob) *batchv1.Job {
	template := from.Spec.JobTemplate.DeepCopy()
	job := &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: from.Namespace, Name: m.jobName(),
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
	job.Labels[v1.BackupLabel] = objectparts.LabelValue(m.Backup.Name)
	if scheduledTime := m.Backup.Spec.ScheduledTime; scheduledTime != nil {
		// As the CronJob's controller makes it, which takes it for its own when it comes second:
		// one that is not would have it wait for longer than until the next scheduled time.
		job.OwnerReferences = []metav1.OwnerReference{{
			APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "CronJob", Name: from.Name, UID: from.UID, Controller: new(true),
		}}
		job.Annotations[batchv1.CronJobScheduledTimestampAnnotation] = scheduledTime.UTC().Format(time.RFC3339)
	} else {
		job.Annotations[instantiate] = "manual"
	}
	job.Spec.TTLSecondsAfterFinished = new(int32(keepSeconds))
	return job
}

// copyOf returns owner references to the copy that a CronJob belongs to. The Job is deleted with it.
func copyOf(from *batchv1.CronJob) []metav1.OwnerReference {
	owners := make([]metav1.OwnerReference, 0, len(from.OwnerReferences))
	for _, o := range from.OwnerReferences {
		o.Controller, o.BlockOwnerDeletion = nil, nil
		owners = append(owners, o)
	}
	return owners
}

// recordJob sets the names of the Job and of the claim of its dump in the status.
func (m Maker) recordJob(job *batchv1.Job) {
	s := &m.Backup.Status
	s.Phase = v1.BackupInProgress
	if s.Dump == nil {
		s.Dump = &v1.DumpFile{Claim: claimOf(job)}
	}
	s.Dump.Job = job.Name
}

// claimOf returns the name of the claim that a Job writes to.
func claimOf(job *batchv1.Job) string {
	for _, v := range job.Spec.Template.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			return v.PersistentVolumeClaim.ClaimName
		}
	}
	return "unknown"
}

func (m Maker) dumping(job *batchv1.Job, why string) steps.Result {
	age := time.Duration(0)
	if m.Backup.Status.StartTime != nil {
		age = m.Now.Sub(m.Backup.Status.StartTime.Time)
	}
	if why != "" {
		return steps.RetryAfter(steps.Poll(age), v1.ReasonDumping, "the Job %s is to dump the database, and waits: %s", job.Name, why)
	}
	return steps.RetryAfter(steps.Poll(age), v1.ReasonDumping, "the Job %s dumps the database", job.Name)
}

// observe returns the result of a Job, or waits for its end.
func (m Maker) observe(ctx context.Context, job *batchv1.Job) steps.Result {
	out, err := memberjob.ReadResult(ctx, m.Reader, job)
	if err != nil {
		return m.memberError(err)
	}
	if !out.Ended {
		return m.dumping(job, out.Why)
	}
	ends, err := memberjob.Ends(ctx, m.Reader, job)
	if err != nil {
		return m.memberError(err)
	}
	m.Backup.Status.Dump.RemovedUpToTime = removedUpTo(ends)
	made := newest(ends)
	switch {
	case made != nil:
		made.record(&m.Backup.Status, m.Now)
		return steps.Result{}
	case out.Succeeded:
		return steps.Fail(v1.ReasonDumpFailed, "the Job %s succeeded, but no pod of it says which file the dump is", job.Name)
	case out.Message != "":
		return steps.Fail(v1.ReasonDumpFailed, "the Job %s failed: %s: %s", job.Name, out.Why, out.Message)
	default:
		return steps.Fail(v1.ReasonDumpFailed, "the Job %s failed: %s", job.Name, out.Why)
	}
}

func (m Maker) memberError(err error) steps.Result {
	return memberError(m.Backup.Spec.ClusterRef.Name, "Jobs", err)
}

// memberError returns the result for an error of a member's API server. The parameter what
// names the kind of the requested objects.
func memberError(member, what string, err error) steps.Result {
	return steps.FromMember(err, member, "create or read "+what)
}

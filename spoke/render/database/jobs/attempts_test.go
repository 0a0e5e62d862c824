package jobs

import (
	"fmt"
	"slices"
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// counted stands for no rule: the failure counts as an attempt.
const counted = batchv1.PodFailurePolicyAction("Count")

// afterwards returns what a Job's policy does about a pod with a container that ended with a status, as the Job
// controller decides it: by the first rule that fits.
func afterwards(job *batchv1.Job, container string, status int32, disrupted bool) batchv1.PodFailurePolicyAction {
	for _, rule := range job.Spec.PodFailurePolicy.Rules {
		exit := rule.OnExitCodes
		switch {
		case exit == nil && disrupted && rule.OnPodConditions[0].Type == corev1.DisruptionTarget && rule.OnPodConditions[0].Status == corev1.ConditionTrue:
			return rule.Action
		case exit != nil && *exit.ContainerName == container && exit.Operator == batchv1.PodFailurePolicyOnExitCodesOpIn && slices.Contains(exit.Values, status):
			return rule.Action
		}
	}
	return counted
}

// attempting returns the Jobs that are tried again.
func attempting(t *testing.T) map[string]*batchv1.Job {
	t.Helper()
	jobs := map[string]*batchv1.Job{}
	var err error
	if jobs["send"], _, err = Send(SendSpec{Job: testJob(), Image: "spoke:v1", Order: testOrder(t, order.Send), Claim: "dumps"}); err != nil {
		t.Fatal(err)
	}
	load := testLoad(v1.EngineMySQL)
	if jobs["load"], _, err = Load(load); err != nil {
		t.Fatal(err)
	}
	load.Fetch = &Fetch{Image: "spoke:v1", Order: testOrder(t, order.Fetch)}
	if jobs["fetch and load"], _, err = Load(load); err != nil {
		t.Fatal(err)
	}
	return jobs
}

// TestAttempts checks how often a Job is tried again, and for how long.
func TestAttempts(t *testing.T) {
	t.Parallel()
	jobs := attempting(t)
	for name, want := range map[string]struct {
		retries int32
		seconds int64
	}{"send": {6, 6 * 3600}, "load": {2, 20 * 3600}, "fetch and load": {6, 20 * 3600}} {
		if spec := jobs[name].Spec; *spec.BackoffLimit != want.retries || *spec.ActiveDeadlineSeconds != want.seconds {
			t.Errorf("%s: %d retries in %d s, want %+v", name, *spec.BackoffLimit, *spec.ActiveDeadlineSeconds, want)
		}
	}
}

// TestPodFailurePolicy checks which exit status of which container ends a Job, and which one counts as an attempt.
func TestPodFailurePolicy(t *testing.T) {
	t.Parallel()
	jobs := attempting(t)
	const fails, ignored = batchv1.PodFailurePolicyActionFailJob, batchv1.PodFailurePolicyActionIgnore
	for _, tt := range []struct {
		job, container string
		status         int32
		want           batchv1.PodFailurePolicyAction
	}{
		{"send", SendContainer, order.ExitRetry, counted},
		{"send", SendContainer, order.ExitFinal, fails},
		{"send", SendContainer, order.ExitRefused, counted},
		{"send", SendContainer, order.ExitGone, fails},
		{"send", SendContainer, order.ExitChecksums, fails},
		{"send", SendContainer, 137, counted},
		{"load", LoadContainer, 1, counted},
		{"load", LoadContainer, order.ExitFinal, counted}, // Also of psql.
		{"load", LoadContainer, ExitNotEmpty, fails},
		{"load", LoadContainer, ExitChecksum, fails},
		{"load", LoadContainer, ExitMissing, fails},
		{"load", LoadContainer, 143, counted},
		{"fetch and load", FetchContainer, order.ExitRetry, counted},
		{"fetch and load", FetchContainer, order.ExitFinal, fails},
		{"fetch and load", FetchContainer, order.ExitRefused, counted},
		{"fetch and load", FetchContainer, order.ExitGone, fails},
		{"fetch and load", FetchContainer, ExitNotEmpty, counted}, // Not one of its own.
		{"fetch and load", LoadContainer, order.ExitFinal, counted},
		{"fetch and load", LoadContainer, ExitNotEmpty, fails},
		{"fetch and load", LoadContainer, ExitMissing, fails},
	} {
		t.Run(fmt.Sprintf("%s/%s ends with %d", tt.job, tt.container, tt.status), func(t *testing.T) {
			t.Parallel()
			if got := afterwards(jobs[tt.job], tt.container, tt.status, false); got != tt.want {
				t.Errorf("%s, want %s", got, tt.want)
			}
			if got := afterwards(jobs[tt.job], tt.container, tt.status, true); got != ignored {
				t.Errorf("on a node that is drained: %s, want %s", got, ignored)
			}
		})
	}
	for name, job := range jobs {
		for _, rule := range job.Spec.PodFailurePolicy.Rules {
			if rule.OnExitCodes != nil && (!slices.IsSorted(rule.OnExitCodes.Values) || slices.Contains(rule.OnExitCodes.Values, 0)) {
				t.Errorf("%s: the API server rejects the exit statuses %v", name, rule.OnExitCodes.Values)
			}
		}
	}
}

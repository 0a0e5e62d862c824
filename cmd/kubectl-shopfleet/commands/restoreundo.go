package commands

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
)

// errNotUndone means that there is nothing to put back, or that it is not the time for it.
var errNotUndone = errors.New("it cannot be undone")

// restoreUndo is the command that puts back the volumes that a Restore has replaced.
type restoreUndo struct {
	*Program
	output       *output
	confirmation confirmation
	wait         waitFlags
	dryRun       dryRun
}

func (p *Program) restoreUndoCommand() *cobra.Command {
	c := &restoreUndo{Program: p}
	cmd := &cobra.Command{
		Use:   "undo RESTORE",
		Short: "Put back the volumes of a database that a Restore has replaced",
		Long: `Put back the volumes of a database that a Restore has replaced.

A Restore of snapshots keeps the volumes that it replaces, as PersistentVolumes. Use the
command when it is Stalled, when the database does not start on the restored volumes, or
when it was the wrong Backup. The hub stops the database, binds its claims to the volumes
that they had before, and starts it again. The Restore is then Failed with the reason
PutBack.

What was written since the Restore is on the restored volumes. These stay, as
PersistentVolumes, and the database has nothing of it. A restored volume that no claim of
the database got yet is deleted.

Nothing is put back of a dump, whose previous data is not kept. A Restore that has
replaced nothing yet is taken back when you delete it. One that you have deleted since
goes on until the claims are bound, and can be undone until then.

The hub does the work: if you interrupt the command, it goes on. To follow it, run the
command again.

List Restores with the step at which they stand: kubectl get restores -A -o wide`,
		Example: `  kubectl shopfleet restore undo shop-eu-1-20261121-0200-r261121093000 -n production
  kubectl shopfleet restore undo shop-eu-1-20261121-0200-r261121093000 -n production --dry-run=server`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: first(p.inNamespace(&v1.RestoreList{})),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.output = newOutput(cmd)
	c.confirmation.add(cmd, "")
	c.wait.add(cmd, backupTimeout, "the database runs on the volumes that it had before")
	c.dryRun.add(cmd)
	return cmd
}

func (u *restoreUndo) run(ctx context.Context, name string) error {
	if err := errors.Join(u.output.check(), u.wait.check()); err != nil {
		return err
	}
	namespace, err := u.namespaceFlag()
	if err != nil {
		return err
	}
	hub, err := u.hub()
	if err != nil {
		return err
	}
	r, err := u.find(ctx, hub, client.ObjectKey{Namespace: namespace, Name: name})
	switch {
	case err != nil:
		return err
	case r.Status.IsPutBack():
		return u.output.printDone(u.Program, r, hub.scheme, "already put back")
	case r.PutsBack():
		err = u.output.printDone(u.Program, r, hub.scheme, "already putting back")
	default:
		var confirmed bool
		if r, confirmed, err = u.request(ctx, hub, r); !confirmed {
			return err
		}
	}
	if err != nil || !u.wait.enabled || u.dryRun != dryRunNone {
		return err
	}
	if r.DeletionTimestamp != nil {
		u.say("The hub removes Restore %q, which is being deleted, once the volumes are put back. Follow it: kubectl get restore %s -n %s -w", name, name, namespace)
		return nil
	}
	err = u.await(ctx, hub, awaiting{
		resource: "restore", list: &v1.RestoreList{}, namespace: namespace, names: []string{name}, wait: u.wait, progress: undoProgress(r),
	})
	if ctx.Err() != nil {
		u.say("The hub goes on. To follow it, run the command again.")
	}
	return err
}

// find returns a Restore, and an error if it cannot be undone.
func (u *restoreUndo) find(ctx context.Context, hub *cluster, key client.ObjectKey) (*v1.Restore, error) {
	r := &v1.Restore{}
	if err := hub.client.Get(ctx, key, r); err != nil {
		return nil, hint.IfNotFound(fmt.Errorf("getting Restore %q: %w", key.Name, err), "List all: kubectl get restores -A")
	}
	if err := refusal(r); err != nil || r.Status.IsPutBack() || r.PutsBack() {
		return r, err
	}
	others := &v1.RestoreList{}
	if err := hub.client.List(ctx, others, client.InNamespace(key.Namespace)); err != nil {
		return nil, fmt.Errorf("listing Restores: %w", err)
	}
	if last := replacedBy(r, others.Items); last != "" {
		return nil, hint.With(fmt.Errorf("undoing Restore %q: %w: Restore %q has replaced its volumes since", r.Name, errNotUndone, last),
			fmt.Sprintf("Nothing was changed. Undo that one first: kubectl shopfleet restore undo %s -n %s", last, r.Namespace))
	}
	return r, nil
}

// refusal returns an error that says where a Restore stands if it cannot be undone. What is put back already, or is to be, is
// none.
func refusal(r *v1.Restore) error {
	because := func(why, next string) error {
		return hint.With(fmt.Errorf("undoing Restore %q: %w: %s", r.Name, errNotUndone, why), strings.TrimSpace("Nothing was changed. "+next))
	}
	ended := r.Status.Phase == v1.RestoreCompleted || r.Status.Phase == v1.RestoreFailed
	again := "To restore another Backup: kubectl shopfleet backup list -n " + r.Namespace
	switch {
	case r.Status.IsPutBack(), r.PutsBack():
		return nil
	case r.DeletionTimestamp != nil && (ended || len(r.Status.Replaced()) == 0):
		return because("it is being deleted", "")
	case r.Spec.Verify:
		return because("it verifies a Backup, and replaces nothing", "")
	case r.Status.Dump != nil:
		return because("it loads a dump, and what that replaces is not kept; it "+standing(r), again)
	case r.Status.Step(v1.RestoreStepRetire) == nil && !ended:
		return because("it has replaced nothing yet, and "+standing(r), "To take it back: kubectl delete restore "+r.Name+" -n "+r.Namespace)
	case len(r.Status.Replaced()) == 0:
		return because("it has replaced no volume, and "+standing(r), again)
	case r.Status.Phase == v1.RestoreFailed:
		return because("it "+standing(r), again)
	}
	return nil
}

// standing says where a Restore stands.
func standing(r *v1.Restore) string {
	text := "is " + string(cmp.Or(r.Status.Phase, v1.RestorePending))
	if step := printers.Step(r.Status.Steps); step != "" {
		text += ", at the step " + step
	}
	if r.Status.Message != "" {
		text += ": " + r.Status.Message
	}
	return text
}

// replacedBy returns the name of another Restore that has replaced a volume of this one, and was not undone; empty if none has.
func replacedBy(r *v1.Restore, others []v1.Restore) string {
	for i := range others {
		o := &others[i]
		if o.Name == r.Name || o.Status.IsPutBack() {
			continue
		}
		for _, v := range o.Status.Replaced() {
			if slices.ContainsFunc(r.Status.Replaced(), func(ours v1.RestoredVolume) bool { return ours.PersistentVolume == v.Replaced }) {
				return o.Name
			}
		}
	}
	return ""
}

// request asks the user, and has the hub put back what a Restore has replaced.
func (u *restoreUndo) request(ctx context.Context, hub *cluster, r *v1.Restore) (requested *v1.Restore, confirmed bool, err error) {
	backup := &v1.Backup{}
	if err := hub.client.Get(ctx, client.ObjectKey{Namespace: r.Namespace, Name: r.Spec.BackupRef.Name}, backup); err != nil {
		return nil, false, hint.IfNotFound(fmt.Errorf("getting Backup %q, which names the database: %w", r.Spec.BackupRef.Name, err),
			"Nothing was changed. Recover the Backup first: kubectl shopfleet backup rediscover")
	}
	action := undoAction(r, backup)
	if u.dryRun != dryRunNone {
		u.say("This would %s", action)
	}
	if confirmed, err := u.confirmation.confirm(ctx, u.Program, question{"undo", action, true, u.dryRun}); err != nil || !confirmed {
		return nil, false, err
	}
	requested, err = u.annotate(ctx, hub, r)
	if err == nil {
		err = u.output.printDone(u.Program, requested, hub.scheme, "putting back"+u.dryRun.suffix())
	}
	return requested, true, err
}

// undoAction describes what is put back, and what the database is without afterwards.
func undoAction(r *v1.Restore, backup *v1.Backup) string {
	volumes := r.Status.Replaced()
	back, restored := make([]string, 0, len(volumes)), make([]string, 0, len(volumes))
	for _, v := range volumes {
		back = append(back, fmt.Sprintf("PersistentVolume %s as claim %s", v.Replaced, v.Claim))
		restored = append(restored, v.PersistentVolume)
	}
	data := "its data"
	if stop := r.Status.Step(v1.RestoreStepStop); stop != nil && stop.EndTime != nil {
		data += " of " + stop.EndTime.UTC().Format(time.RFC3339)
	}
	lost := "It has not run since"
	if r.Status.Step(v1.RestoreStepStart) != nil {
		lost = fmt.Sprintf("It loses what was written since: that stays in PersistentVolume %s", strings.Join(restored, ", "))
	}
	return fmt.Sprintf("stop the database of EcommerceApp %s/%s in member %s, and put back %s, with %s, which replicas copy again. %s",
		r.Namespace, backup.Spec.AppRef.Name, cmp.Or(r.Spec.ClusterRef.Name, backup.Spec.ClusterRef.Name), strings.Join(back, ", "), data, lost)
}

// annotate asks the hub to put back what a Restore has replaced, if it is still the one that the user has seen.
func (u *restoreUndo) annotate(ctx context.Context, hub *cluster, seen *v1.Restore) (*v1.Restore, error) {
	r := &v1.Restore{}
	// The hub writes the status at the same time.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() error {
		r = &v1.Restore{}
		if err := hub.client.Get(ctx, client.ObjectKeyFromObject(seen), r); err != nil {
			return err
		}
		if r.UID != seen.UID {
			return errCreatedAgain
		}
		if err := refusal(r); err != nil {
			return err
		}
		before := r.DeepCopy()
		metav1.SetMetaDataAnnotation(&r.ObjectMeta, v1.PutBackAnnotation, "true")
		if u.dryRun == dryRunClient {
			return nil
		}
		return u.dryRun.client(hub.client).Patch(ctx, r, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{}))
	})
	if err != nil {
		return nil, fmt.Errorf("annotating Restore %q: %w", seen.Name, err)
	}
	return r, nil
}

// restoreProgress describes a Restore. One that is Stalled needs a user.
func restoreProgress(o client.Object) progress {
	r, ok := o.(*v1.Restore)
	if !ok {
		return progress{}
	}
	now := phase(string(r.Status.Phase), r.Status.Message, string(v1.RestoreCompleted), string(v1.RestoreFailed))
	if stalled := stalledMessage(r); stalled != "" {
		return progress{text: v1.ConditionStalled + ": " + stalled, done: true, failed: true, message: stalled}
	}
	if step := printers.Step(r.Status.Steps); step != "" && !now.done {
		now.text = strings.Replace(now.text, string(r.Status.Phase), string(r.Status.Phase)+", step "+step, 1)
	}
	return now
}

// undoProgress describes a Restore that is being undone. What it said when the undo was requested is not about that.
func undoProgress(requested *v1.Restore) func(client.Object) progress {
	before := stalledMessage(requested)
	if requested.Status.Step(v1.RestoreStepHalt) != nil {
		before = ""
	}
	return func(o client.Object) progress {
		r, ok := o.(*v1.Restore)
		stalled := ""
		if ok {
			stalled = stalledMessage(r)
		}
		switch {
		case !ok:
			return progress{}
		case r.Status.IsPutBack():
			return progress{text: "PutBack: " + r.Status.Message, done: true}
		case stalled != "" && stalled != before:
			return restoreProgress(r)
		case r.Status.Step(v1.RestoreStepHalt) == nil:
			text := "Requested"
			if stalled != "" {
				text += ", and still Stalled: " + stalled
			}
			return progress{text: text, message: stalled}
		}
		return progress{text: fmt.Sprintf("Step %s: %s", printers.Step(r.Status.Steps), r.Status.Message), message: r.Status.Message}
	}
}

// stalledMessage returns why a Restore is Stalled; empty if it is not.
func stalledMessage(r *v1.Restore) string {
	if c := meta.FindStatusCondition(r.Status.Conditions, v1.ConditionStalled); c != nil && c.Status == metav1.ConditionTrue {
		return c.Message
	}
	return ""
}

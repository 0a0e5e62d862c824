package commands

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/members/ownership"
)

// overwrite is the command that lets the hub overwrite what it found.
type overwrite struct {
	settlement
	members []string
}

func (p *Program) recoverOverwriteCommand() *cobra.Command {
	c := &overwrite{settlement: settlement{Program: p}}
	cmd := &cobra.Command{
		Use:   "overwrite APP",
		Short: "Let the hub's spec of an EcommerceApp replace what the hub found",
		Long: `Let the hub's spec of an EcommerceApp replace what the hub found.

What "kubectl shopfleet recover list" shows of the EcommerceApp is stored in its annotation
` + v1.RecoverAnnotation + `. The hub then updates the clusters, or creates the EcommerceApp
there again. An approval is for one generation or deletion, or for having left a cluster by
one generation: it counts in each cluster that has this one.`,
		Example: `  kubectl shopfleet recover overwrite shop -n production
  kubectl shopfleet recover overwrite shop -n production --member eu-1`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	cmd.Flags().StringSliceVar(&c.members, "member", nil, "Overwrite in this `MEMBER`; repeat it for more; default: all that wait")
	return cmd
}

func (o *overwrite) run(ctx context.Context, name string) error {
	hub, err := o.start()
	if err != nil {
		return err
	}
	app, err := o.app(ctx, hub, name)
	if err != nil {
		return err
	}
	clusters, origins, err := o.found(app)
	if err != nil {
		return fmt.Errorf("overwriting EcommerceApp %q: %w", name, err)
	}
	where := strings.Join(clusters, ", ")
	if confirmed, err := o.confirm(ctx, fmt.Sprintf("overwrite EcommerceApp %s/%s in %s", app.Namespace, name, where)); err != nil || !confirmed {
		return err
	}
	if app, err = o.approve(ctx, hub, app, origins); err != nil {
		return fmt.Errorf("overwriting EcommerceApp %q: %w", name, err)
	}
	return o.done(hub, app, "overwrite approved in "+where)
}

// approve adds origins to the annotation of an application, and returns its latest version.
func (o *overwrite) approve(ctx context.Context, hub *cluster, app *v1.EcommerceApp, origins []string) (*v1.EcommerceApp, error) {
	var latest *v1.EcommerceApp
	// The hub writes the status at the same time, and other users approve what they found.
	err := retry.RetryOnConflict(retry.DefaultRetry, func() (err error) {
		if latest, err = o.app(ctx, hub, app.Name); err != nil {
			return err
		}
		if latest.UID != app.UID {
			return errCreatedAgain
		}
		return o.annotate(ctx, hub, latest, o.approvals(latest, origins))
	})
	return latest, err
}

// found returns the origins that wait in the clusters that the user chose, and all clusters that
// wait for one of these.
func (o *overwrite) found(app *v1.EcommerceApp) (clusters, origins []string, err error) {
	for _, name := range o.members {
		if !slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return entry.Name == name }) {
			return nil, nil, hint.With(fmt.Errorf("finding member %q of the EcommerceApp: %w", name, errNotFound), listHint)
		}
	}
	for i := range app.Status.Clusters {
		entry := &app.Status.Clusters[i]
		chosen := len(o.members) == 0 || slices.Contains(o.members, entry.Name)
		if chosen && entry.UnknownOrigin != "" && !slices.Contains(origins, entry.UnknownOrigin) {
			origins = append(origins, entry.UnknownOrigin)
		}
	}
	for i := range app.Status.Clusters {
		if entry := &app.Status.Clusters[i]; slices.Contains(origins, entry.UnknownOrigin) {
			clusters = append(clusters, entry.Name)
		}
	}
	if len(clusters) == 0 {
		return nil, nil, hint.With(errNothingWaits, listHint)
	}
	return clusters, origins, nil
}

// approvals returns the value of the annotation that also accepts origins. Former approvals are
// dropped, except for those that clusters wait for, and of deletions that a member's record may
// still have.
func (o *overwrite) approvals(app *v1.EcommerceApp, origins []string) string {
	var kept []string
	for former := range strings.SplitSeq(app.Annotations[v1.RecoverAnnotation], ",") {
		former = strings.TrimSpace(former)
		waits := slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return entry.UnknownOrigin == former })
		_, at, deletion := v1.ParseDeletionOrigin(former)
		recorded := deletion && o.clock.Since(at) <= ownership.MaxAge
		if former != "" && !slices.Contains(origins, former) && (waits || recorded) {
			kept = append(kept, former)
		}
	}
	return strings.Join(append(kept, origins...), ",")
}

// errCreatedAgain means that the user did not see the object that has the name now.
var errCreatedAgain = errors.New("it was deleted and created again meanwhile")

// annotate sets the annotation by which the user settles what the hub found. If the object was
// changed since it was read, the error is a conflict: it may have got another approval.
func (s *settlement) annotate(ctx context.Context, hub *cluster, object client.Object, value string) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{
		"uid": object.GetUID(), "resourceVersion": object.GetResourceVersion(),
		"annotations": map[string]string{v1.RecoverAnnotation: value},
	}})
	if err != nil {
		return fmt.Errorf("encoding the annotation: %w", err)
	}
	if s.dryRun == dryRunClient {
		annotations := maps.Clone(object.GetAnnotations())
		if annotations == nil {
			annotations = map[string]string{}
		}
		annotations[v1.RecoverAnnotation] = value
		object.SetAnnotations(annotations)
		return nil
	}
	err = s.dryRun.client(hub.client).Patch(ctx, object, client.RawPatch(types.MergePatchType, patch))
	if apierrors.IsConflict(err) {
		return hint.With(err, "It is being changed at the same time. Run the command again.")
	}
	return err
}

// recoverImport is the command that takes the spec of a copy over.
type recoverImport struct {
	settlement
	member string
}

func (p *Program) recoverImportCommand() *cobra.Command {
	c := &recoverImport{settlement: settlement{Program: p}}
	cmd := &cobra.Command{
		Use:   "import APP --member MEMBER",
		Short: "Replace the spec of an EcommerceApp on the hub by that in a cluster",
		Long: `Replace the spec of an EcommerceApp on the hub by that in a cluster.

What runs in the cluster does not change; the other clusters of the EcommerceApp get the
spec, too. The hub keeps the placement and what else it does not write to clusters: check
these, and the manifest that you apply.`,
		Example: `  kubectl shopfleet recover import shop -n production --member eu-1
  kubectl shopfleet recover import shop -n production --member eu-1 --dry-run=server -o yaml`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: p.completeApps,
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	cmd.Flags().StringVar(&c.member, "member", "", "`MEMBER` with the spec; required")
	return cmd
}

func (r *recoverImport) run(ctx context.Context, name string) error {
	if r.member == "" {
		return usagef("--member is required")
	}
	hub, err := r.start()
	if err != nil {
		return err
	}
	app, err := r.app(ctx, hub, name)
	if err != nil {
		return err
	}
	copied, err := r.find(ctx, hub, app)
	if err != nil {
		return fmt.Errorf("importing EcommerceApp %q from %s: %w", name, r.member, err)
	}
	if confirmed, err := r.confirm(ctx, fmt.Sprintf("replace the spec of EcommerceApp %s/%s by that in %s", app.Namespace, name, r.member)); err != nil || !confirmed {
		return err
	}
	// The hub writes the status at the same time.
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		latest := &v1.EcommerceApp{}
		if err := hub.client.Get(ctx, client.ObjectKeyFromObject(app), latest); err != nil {
			return err
		}
		if latest.UID != app.UID || latest.Generation != app.Generation {
			return fmt.Errorf("another user changed it meanwhile: %w", errFailed)
		}
		app = latest.WithSpecOf(copied)
		if r.dryRun == dryRunClient {
			return nil
		}
		return r.dryRun.client(hub.client).Update(ctx, app)
	})
	if err != nil {
		return fmt.Errorf("importing EcommerceApp %q from %s: %w", name, r.member, err)
	}
	return r.done(hub, app, "imported from "+r.member)
}

// find returns the copy in the cluster that the application waits for. The hub lists it beside
// the orphans.
func (r *recoverImport) find(ctx context.Context, hub *cluster, app *v1.EcommerceApp) (*v1.EcommerceApp, error) {
	if !slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool { return entry.UnknownOrigin != "" }) {
		return nil, hint.With(errNothingWaits, listHint)
	}
	list := &corev1.ConfigMap{}
	err := hub.client.Get(ctx, client.ObjectKey{Namespace: r.namespace, Name: recovery.OrphansName(r.member)}, list)
	if client.IgnoreNotFound(err) != nil {
		return nil, err
	}
	if apierrors.IsNotFound(err) {
		// The hub lists nothing in it, or there is no such cluster.
		if _, err := r.memberCluster(ctx, hub, r.member); apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	listed := recovery.DecodeOrphans(list.Data)
	for _, copied := range slices.Concat(listed.Waiting, listed.Orphans) {
		waits := slices.ContainsFunc(app.Status.Clusters, func(entry v1.ClusterStatus) bool {
			return entry.UnknownOrigin == v1.OriginOf(copied.Annotations).String()
		})
		if copied.Namespace == app.Namespace && copied.Name == app.Name && waits {
			return &copied, nil
		}
	}
	return nil, hint.With(fmt.Errorf("a copy that the hub does not know: %w", errNotFound),
		"The hub lists such copies a second after it found them, while their cluster is connected. "+listHint)
}

// takeOver is the command that takes a member over from another hub.
type takeOver struct{ settlement }

func (p *Program) recoverTakeOverCommand() *cobra.Command {
	c := &takeOver{settlement: settlement{Program: p}}
	cmd := &cobra.Command{
		Use:   "take-over MEMBER",
		Short: "Let this hub manage a member that another hub manages",
		Long: `Let this hub manage a member that another hub manages.

Use it when the other hub is gone and this one has its MemberClusters and EcommerceApps,
for example from a backup with Velero. A copy in the member that has the same spec as the
EcommerceApp on this hub is adopted as it is; others wait for you as after any restore.

The approval names the other hub and its last start. If that hub still runs, it reports
ManagedByAnotherHub within about a minute, and writes nothing more from then on.`,
		Example:           `  kubectl shopfleet recover take-over eu-1`,
		Args:              usage(cobra.ExactArgs(1)),
		ValidArgsFunction: first(p.completeClusters),
		RunE:              func(cmd *cobra.Command, args []string) error { return c.run(cmd.Context(), args[0]) },
	}
	c.add(cmd)
	return cmd
}

func (t *takeOver) run(ctx context.Context, name string) error {
	hub, err := t.start()
	if err != nil {
		return err
	}
	member, err := t.memberCluster(ctx, hub, name)
	if err != nil {
		return err
	}
	found := member.Status.OtherHub
	if found == "" {
		return hint.With(fmt.Errorf("taking %q over: %w", name, errNothingWaits), listHint)
	}
	other, _, _ := strings.Cut(found, "/")
	if confirmed, err := t.confirm(ctx, fmt.Sprintf("take %s over from the hub with the UID %s", name, cmp.Or(other, "unknown"))); err != nil || !confirmed {
		return err
	}
	uid := member.UID
	err = retry.RetryOnConflict(retry.DefaultRetry, func() error {
		if member, err = t.memberCluster(ctx, hub, name); err != nil {
			return err
		}
		if member.UID != uid {
			return errCreatedAgain
		}
		return t.annotate(ctx, hub, member, found)
	})
	if err != nil {
		return fmt.Errorf("taking %q over: %w", name, err)
	}
	return t.done(hub, member, "take-over approved")
}

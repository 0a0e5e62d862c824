package commands

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/hint"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/printers"
	"github.com/shopfleet/shopfleet/config"
	"github.com/shopfleet/shopfleet/hub/members/crds"
)

// diagnosis is the output of the command doctor.
type diagnosis struct {
	Healthy bool           `json:"healthy"`
	Checks  []doctor.Check `json:"checks"`
}

func (p *Program) doctorCommand() *cobra.Command {
	c := &supportArchive{Program: p}
	cmd := &cobra.Command{
		Use:   "doctor [MEMBER...]",
		Short: "Check the hub and its fleet, and show what to do about each problem",
		Long: `Check the hub and its fleet, and show what to do about each problem.

The checks of a member are its conditions, which the hub observes, and the version of its
agent. Those of the hub are its Deployment, its leader, CRDs, admission policies and
version. Without names of members, EcommerceApps that are degraded, stalled or not available,
or lack a backup, newest Backups that failed, and CloudAccounts that do not work are checks
as well. -o wide shows all checks with their messages, and explain REASON what a reason means.

Some checks are named and do not fail: what only takes time, what you may not read, what a
hub of an earlier release than this program does not have yet, and an EcommerceApp whose
/scale cannot answer for lack of spec.frontend.replicas.

With --archive it writes a file for a support request instead, without secrets: the objects
of Shopfleet on the hub, the events of their namespaces, the Deployment, pods, logs and
metrics of the hub, all versions, and the checks. Secrets are listed with their names and
keys only, and those with kubeconfigs are not read. Values of environment variables and of
annotations with documents are replaced, and so is what looks like a credential, in objects,
events and logs. A password that stands alone in a line cannot be recognized: look at the
archive before you publish it. What you may not read, or what does not answer, is in the
index of the archive with the reason, and does not fail the command.

The exit code is 1 if a check fails.`,
		Example: `  kubectl shopfleet doctor
  kubectl shopfleet doctor eu-1 us-1
  kubectl shopfleet doctor --archive case-4711.tar.gz
  kubectl shopfleet doctor -o jsonpath='{.checks[?(@.failed==true)].remedy}'`,
		ValidArgsFunction: p.completeClusters,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := c.output.check(); err != nil {
				return err
			}
			switch {
			case c.file == "":
				return p.runDoctor(cmd.Context(), c.output, args)
			case len(args) > 0:
				return usagef("--archive has the checks of all members: omit %s", strings.Join(args, ", "))
			}
			return c.run(cmd.Context())
		},
	}
	c.output = newTableOutput(cmd)
	cmd.Flags().StringVar(&c.file, "archive", "", "Write an archive for a support request to this `FILE`, which must not exist; - is the standard output")
	return cmd
}

func (p *Program) runDoctor(ctx context.Context, out *output, names []string) error {
	hub, err := p.hub()
	if err != nil {
		return err
	}
	var found diagnosis
	if err := p.during("checking the hub at "+hub.config.Host, func() (err error) {
		found, err = p.diagnose(ctx, hub, names)
		return err
	}); err != nil {
		return err
	}
	if out.text() {
		err = out.printTable(p, printers.Checks(found.Checks, out.wide()), false)
	} else {
		err = out.printReport(p, "Diagnosis", &found)
	}
	if err != nil {
		return fmt.Errorf("printing the checks: %w", err)
	}
	return failure(found.Checks, names, out)
}

// failure returns an error if a check failed. Its hint is for a table without the messages.
func failure(checks []doctor.Check, names []string, out *output) error {
	failures := doctor.Failures(checks)
	if len(failures) == 0 {
		return nil
	}
	err := fmt.Errorf("%d of %d %w, the first is %s of %s: %s",
		len(failures), len(checks), errChecks, failures[0].Check, failures[0].Object, failures[0].Reason)
	if !out.text() || out.wide() {
		return err
	}
	again := append([]string{"kubectl shopfleet doctor"}, names...)
	return hint.With(err, "See the messages: "+strings.Join(again, " ")+" -o wide")
}

// diagnose checks the hub and the named members, or all. It returns an error if the hub does
// not answer, or does not have a named member.
func (p *Program) diagnose(ctx context.Context, hub *cluster, names []string) (diagnosis, error) {
	version, err := p.hubVersion(ctx, hub)
	if err != nil {
		return diagnosis{}, err
	}
	facts := doctor.HubFacts{
		Namespace: p.namespace, Name: deploymentName(config.Hub), Hub: version.Version, Plugin: p.version, Unreadable: map[string]error{},
	}
	members := &v1.MemberClusterList{}
	facts.Unreadable[doctor.CheckMembers] = hub.client.List(ctx, members)
	apps := &v1.EcommerceAppList{}
	facts.Unreadable[doctor.CheckScale] = hub.client.List(ctx, apps)
	fleet := readFleet(ctx, hub, apps, facts.Unreadable[doctor.CheckScale])
	facts.Unscalable = doctor.Unscalable(apps.Items)
	facts.Unreadable[doctor.CheckDeployment] = readHub(ctx, hub, &facts)
	facts.Unreadable[doctor.CheckLeader] = readLease(ctx, hub, &facts)
	objects, err := config.Hub.Install(config.Installation{})
	if err != nil {
		return diagnosis{}, fmt.Errorf("reading the manifests of the hub: %w", err)
	}
	facts.Definitions, err = crds.Definitions(ofKind(objects, "CustomResourceDefinition")).Verify(ctx, hub.client)
	facts.Unreadable[doctor.CheckDefinitions] = err
	facts.MissingPolicies, err = absent(ctx, hub, ofKind(objects, "ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding"))
	facts.Unreadable[doctor.CheckPolicies] = err

	found := diagnosis{Checks: doctor.Hub(facts, p.clock.Now())}
	var problems []doctor.Check
	if len(names) == 0 {
		var kinds []doctor.Check
		kinds, problems = doctor.Fleet(fleet)
		found.Checks = append(found.Checks, kinds...)
	}
	for _, name := range names {
		if facts.Unreadable[doctor.CheckMembers] == nil && !slices.ContainsFunc(members.Items, func(m v1.MemberCluster) bool { return m.Name == name }) {
			return found, hint.With(fmt.Errorf("finding MemberCluster %q: %w", name, errNotFound), "List all: kubectl get memberclusters")
		}
	}
	for i := range members.Items {
		if m := &members.Items[i]; len(names) == 0 || slices.Contains(names, m.Name) {
			found.Checks = append(found.Checks, doctor.Member(m, version.Version)...)
		}
	}
	found.Checks = append(found.Checks, problems...)
	found.Healthy = len(doctor.Failures(found.Checks)) == 0
	return found, nil
}

// readFleet reads what the hub manages besides members. The applications were read already.
func readFleet(ctx context.Context, hub *cluster, apps *v1.EcommerceAppList, err error) doctor.FleetFacts {
	backups, restores, accounts := &v1.BackupList{}, &v1.RestoreList{}, &v1.CloudAccountList{}
	facts := doctor.FleetFacts{Unreadable: map[string]error{
		doctor.CheckApplications: err, doctor.CheckBackups: hub.client.List(ctx, backups),
		doctor.CheckRestores: hub.client.List(ctx, restores), doctor.CheckAccounts: hub.client.List(ctx, accounts),
	}}
	facts.Apps, facts.Backups, facts.Restores, facts.Accounts = apps.Items, backups.Items, restores.Items, accounts.Items
	return facts
}

func readHub(ctx context.Context, hub *cluster, facts *doctor.HubFacts) error {
	deployment := &appsv1.Deployment{}
	err := hub.client.Get(ctx, client.ObjectKey{Namespace: facts.Namespace, Name: facts.Name}, deployment)
	if err == nil {
		facts.Deployment = deployment
	}
	return client.IgnoreNotFound(err)
}

func readLease(ctx context.Context, hub *cluster, facts *doctor.HubFacts) error {
	lease := &coordinationv1.Lease{}
	err := hub.client.Get(ctx, client.ObjectKey{Namespace: facts.Namespace, Name: facts.Name}, lease)
	if err == nil {
		facts.Lease = lease
	}
	return client.IgnoreNotFound(err)
}

// ofKind returns the objects of some kinds.
func ofKind(objects []*unstructured.Unstructured, kinds ...string) []*unstructured.Unstructured {
	return slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !slices.Contains(kinds, o.GetKind()) })
}

// absent returns the names of the objects that the cluster does not have.
func absent(ctx context.Context, hub *cluster, objects []*unstructured.Unstructured) ([]string, error) {
	var missing []string
	for _, object := range objects {
		live := &unstructured.Unstructured{}
		live.SetGroupVersionKind(object.GroupVersionKind())
		err := hub.client.Get(ctx, client.ObjectKeyFromObject(object), live)
		switch {
		case apierrors.IsNotFound(err):
			missing = append(missing, object.GetName())
		case err != nil:
			return nil, fmt.Errorf("reading %s %q: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return missing, nil
}

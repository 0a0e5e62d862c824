package backup

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// auditedHub has an account and a Backup, whose status it takes.
type auditedHub struct {
	client.Client

	account v1.CloudAccount
	backup  v1.Backup
	others  []v1.Backup
	// writes are those of the Backup.
	writes, accountWrites int
}

func (h *auditedHub) Get(_ context.Context, key client.ObjectKey, o client.Object, _ ...client.GetOption) error {
	switch o := o.(type) {
	case *v1.CloudAccount:
		h.account.DeepCopyInto(o)
	case *v1.Backup:
		if key != client.ObjectKeyFromObject(&h.backup) {
			return apierrors.NewNotFound(schema.GroupResource{Resource: "backups"}, key.Name)
		}
		h.backup.DeepCopyInto(o)
	}
	return nil
}

func (h *auditedHub) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	backups, is := list.(*v1.BackupList)
	if !is {
		return nil // There are no members.
	}
	backups.Items = append([]v1.Backup{*h.backup.DeepCopy()}, h.others...)
	return nil
}

func (h *auditedHub) Status() client.SubResourceWriter { return auditedStatus{hub: h} }

// auditedStatus takes the status of the Backup.
type auditedStatus struct {
	client.SubResourceWriter

	hub *auditedHub
}

func (s auditedStatus) Patch(_ context.Context, o client.Object, _ client.Patch, _ ...client.SubResourcePatchOption) error {
	switch o := o.(type) {
	case *v1.CloudAccount:
		s.hub.accountWrites++
		s.hub.account = *o.DeepCopy()
	case *v1.Backup:
		s.hub.writes++
		s.hub.backup = *o.DeepCopy()
	}
	return nil
}

// auditedCloud has snapshots by region. It lists some, and looks at others.
type auditedCloud struct {
	cloud.Snapshots

	region             string
	identity           string // "hub" if it is empty, none if it is "-".
	listed, unlisted   []string
	byHub              map[string][]string // Listed too.
	strays             []cloud.Snapshot    // Listed first, where they are.
	tags               cloud.Tags
	listErr, lookErr   error
	deadlines, missing *int
}

func (c auditedCloud) ListSnapshots(ctx context.Context, owner cloud.Owner) iter.Seq2[cloud.Snapshot, error] {
	return func(yield func(cloud.Snapshot, error) bool) {
		c.count(ctx)
		for _, stray := range c.strays {
			if stray.Ref.Region == c.region && owner.Hub == "hub-1" && !yield(stray, nil) {
				return
			}
		}
		for _, id := range c.listed {
			found := stray(id, func(s *cloud.Snapshot) { s.Ref.Region = c.region })
			if owner.Hub == "hub-1" && strings.HasSuffix(id, c.region) && !yield(found, nil) {
				return
			}
		}
		for _, id := range c.byHub[owner.Hub] {
			if strings.HasSuffix(id, c.region) && !yield(cloud.Snapshot{Ref: cloud.SnapshotRef{Region: c.region, ID: id}}, nil) {
				return
			}
		}
		if c.listErr != nil {
			yield(cloud.Snapshot{}, c.listErr)
		}
	}
}

func (c auditedCloud) GetSnapshot(ctx context.Context, ref cloud.SnapshotRef) (cloud.Snapshot, error) {
	c.count(ctx)
	switch {
	case c.lookErr != nil:
		return cloud.Snapshot{}, c.lookErr
	case slices.Contains(c.unlisted, ref.ID):
		return cloud.Snapshot{Ref: ref, Tags: c.tags}, nil
	}
	return cloud.Snapshot{}, &cloud.Error{Class: cloud.ClassNotFound, Code: "InvalidSnapshot.NotFound"}
}

// auditedAccess has an identity.
type auditedAccess struct {
	cloud.Access

	name string
}

func (a auditedAccess) Identity(context.Context) (cloud.Identity, error) {
	if a.name == "" {
		return cloud.Identity{}, &cloud.Error{Class: cloud.ClassDenied, Code: "WrongAccount"}
	}
	return cloud.Identity{Name: a.name}, nil
}

func (c auditedCloud) count(ctx context.Context) {
	if _, limited := ctx.Deadline(); limited {
		*c.deadlines++
		return
	}
	*c.missing++
}

// newAudit returns an audit of a complete Backup with a copy in us-1.
func newAudit(c auditedCloud) (*auditor, *auditedHub) {
	h := &auditedHub{}
	h.account.Name, h.account.Generation, h.account.Status.Identity = "prod", 2, "hub"
	h.account.Status.Conditions = []metav1.Condition{
		{Type: v1.ConditionReady, Status: metav1.ConditionTrue, ObservedGeneration: 2},
		{Type: v1.ConditionObjectStorageReady, Status: metav1.ConditionTrue, ObservedGeneration: 2},
	}
	w := newWork(h, nil)
	w.options.Accounts = accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, config cloud.Config) (cloud.Session, error) {
		in := c
		in.region = config.Region
		return cloud.Session{Snapshots: in, Access: auditedAccess{name: strings.TrimPrefix(cmp.Or(c.identity, "hub"), "-")}}, nil
	}}})
	w.options.Accounts.Set("prod", v1.CloudAccountSpec{Provider: v1.ProviderAWS, Regions: []string{"eu-1", "us-1"}}, nil)
	w.backup.Spec.Method, w.backup.Spec.CopyToRegions = v1.BackupSnapshot, []string{"us-1"}
	s := &w.backup.Status
	s.Account, s.Provider, s.Dump, s.Phase, s.Message = "prod", v1.ProviderAWS, nil, v1.BackupCompleted, "The backup can be restored"
	s.CompletionTime = v1.Seconds(now().Add(-time.Hour))
	ready := string(cloud.StateReady)
	s.Snapshots = []v1.VolumeSnapshot{{
		Claim: "data", CloudSnapshot: v1.CloudSnapshot{Region: "eu-1", ID: "snap-eu-1", State: ready},
		Copies: []v1.CloudSnapshot{{Region: "us-1", ID: "snap-us-1", State: ready}},
	}}
	w.set(v1.ConditionReady, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: s.Message})
	w.set(v1.ConditionCopied, metav1.Condition{Status: metav1.ConditionTrue, Reason: v1.ReasonCompleted, Message: "All copies are made"})
	h.backup = *w.backup
	return &auditor{Reconciler: w.Reconciler}, h
}

func (a *auditor) pass(t *testing.T) {
	t.Helper()
	result, err := a.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "prod"}})
	if err != nil || result.RequeueAfter < time.Minute {
		t.Fatalf("%+v, %v", result, err)
	}
}

const (
	lostSnapshot = "The cloud does not have the snapshot of data in eu-1 any more"
	lostCopy     = "The cloud does not have the copy in us-1 any more"
)

// TestAudit checks that only what the cloud says not to have is missing, and that nothing is written otherwise.
func TestAudit(t *testing.T) {
	t.Parallel()
	denied := &cloud.Error{Class: cloud.ClassDenied, Code: "ec2:DescribeSnapshots"}
	all := []string{"snap-eu-1", "snap-us-1"}
	for name, tt := range map[string]struct {
		cloud         auditedCloud
		change        func(*auditedHub)
		ready, copied string
		asked         int
	}{
		"all are there":           {cloud: auditedCloud{listed: all}, asked: 2},
		"none is listed":          {cloud: auditedCloud{unlisted: all}, asked: 4},
		"the snapshot is gone":    {cloud: auditedCloud{listed: all[1:]}, ready: lostSnapshot + "; the copy in us-1 can be restored there", asked: 3},
		"the copy is gone":        {cloud: auditedCloud{listed: all[:1]}, copied: lostCopy, asked: 3},
		"both are gone":           {cloud: auditedCloud{}, ready: lostSnapshot, copied: lostCopy, asked: 4},
		"the list is denied":      {cloud: auditedCloud{listErr: denied}, asked: 2},
		"the list breaks off":     {cloud: auditedCloud{listed: all[:1], listErr: &cloud.Error{Class: cloud.ClassTransient}}, asked: 2},
		"the look is denied":      {cloud: auditedCloud{lookErr: denied}, asked: 4},
		"the region is excluded":  {cloud: auditedCloud{}, change: func(h *auditedHub) { h.backup.Status.Snapshots[0].Region = "ap-1" }, copied: lostCopy, asked: 2},
		"the account is not well": {cloud: auditedCloud{}, change: func(h *auditedHub) { h.account.Status.Conditions[0].Status = metav1.ConditionUnknown }},
		"of another account":      {cloud: auditedCloud{identity: "-"}},
		"of another identity":     {cloud: auditedCloud{identity: "other"}},
		"completed just now": {cloud: auditedCloud{}, change: func(h *auditedHub) {
			h.backup.Status.CompletionTime = v1.Seconds(now().Add(time.Second - duplicateWindow))
		}},
		"the account is changed": {cloud: auditedCloud{}, change: func(h *auditedHub) { h.account.Generation = 3 }},
		"the copy was never made": {cloud: auditedCloud{listed: all[:1]}, change: func(h *auditedHub) {
			h.backup.Status.Snapshots[0].Copies[0].State = string(cloud.StateFailed)
		}, asked: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			bounded, unbounded := 0, 0
			tt.cloud.deadlines, tt.cloud.missing = &bounded, &unbounded
			a, h := newAudit(tt.cloud)
			if tt.change != nil {
				tt.change(h)
			}
			before := h.backup.Status.DeepCopy()
			a.pass(t)
			if bounded != tt.asked || unbounded > 0 {
				t.Errorf("%d requests, and %d without a deadline; want %d", bounded, unbounded, tt.asked)
			}
			if tt.ready == "" && tt.copied == "" {
				h.unchanged(t, before)
				return
			}
			h.expectLoss(t, tt.ready, tt.copied)
			a.pass(t)
			if h.writes != 1 {
				t.Errorf("%d writes for one change", h.writes)
			}
		})
	}
}

// unchanged checks that nothing was written.
func (h *auditedHub) unchanged(t *testing.T, before *v1.BackupStatus) {
	t.Helper()
	if diff := gocmp.Diff(before, &h.backup.Status); diff != "" || h.writes > 0 {
		t.Errorf("%d writes (-want +got):\n%s", h.writes, diff)
	}
}

// expectLoss checks what is written of a snapshot or a copy that is lost.
func (h *auditedHub) expectLoss(t *testing.T, ready, copied string) {
	t.Helper()
	h.expect(t, v1.ConditionReady, ready)
	h.expect(t, v1.ConditionCopied, copied)
	if h.backup.IsMissing() != (ready != "") || h.backup.Status.Phase != v1.BackupCompleted || ready != "" && h.backup.Status.Message != ready {
		t.Errorf("phase %s, message %q", h.backup.Status.Phase, h.backup.Status.Message)
	}
}

// expect checks that a condition is False with a message, or True if that is empty.
func (h *auditedHub) expect(t *testing.T, kind, message string) {
	t.Helper()
	c := meta.FindStatusCondition(h.backup.Status.Conditions, kind)
	if message == "" && c.Status == metav1.ConditionTrue {
		return
	}
	if c.Status != metav1.ConditionFalse || c.Reason != v1.ReasonSnapshotMissing || c.Message != message {
		t.Errorf("condition %+v, want %q", c, message)
	}
}

// TestAuditFindsAgain checks that a snapshot that was missing is good again once the cloud has it, as after a
// recovery from the provider's recycle bin, and that a loss is an event.
func TestAuditFindsAgain(t *testing.T) {
	t.Parallel()
	n := 0
	a, h := newAudit(auditedCloud{deadlines: &n, missing: &n})
	want := h.backup.Status.DeepCopy()
	a.pass(t)
	if recorded := a.options.Recorder.(*events.FakeRecorder).Events; len(recorded) != 1 {
		t.Errorf("%d events", len(recorded))
	}
	found, h2 := newAudit(auditedCloud{listed: []string{"snap-eu-1", "snap-us-1"}, deadlines: &n, missing: &n})
	h2.backup = h.backup
	found.pass(t)
	if diff := gocmp.Diff(want, &h2.backup.Status); diff != "" {
		t.Errorf("found again (-want +got):\n%s", diff)
	}
}

// TestAuditGoesOn checks that an audit with more to look at goes on soon, and that an error ends the looks in a region.
func TestAuditGoesOn(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		lookErr error
		lost    int
		asked   int
	}{
		"many are gone":        {nil, maxLooks, maxLooks + 1},
		"the first look fails": {&cloud.Error{Class: cloud.ClassThrottled}, 0, 2},
	} {
		asked, unbounded := 0, 0
		a, h := newAudit(auditedCloud{lookErr: tt.lookErr, deadlines: &asked, missing: &unbounded})
		h.backup.Status.Snapshots[0].Copies = nil
		for i := range maxLooks + 1 {
			more := h.backup.Status.Snapshots[0]
			more.Claim, more.ID = fmt.Sprint("data-", i), fmt.Sprint("snap-", i)
			h.backup.Status.Snapshots = append(h.backup.Status.Snapshots, more)
		}
		result, err := a.Reconcile(t.Context(), reconcile.Request{NamespacedName: client.ObjectKey{Name: "prod"}})
		if err != nil || result.RequeueAfter < auditAgain || result.RequeueAfter > 2*auditAgain {
			t.Errorf("%s: %+v, %v", name, result, err)
		}
		lost := 0
		for _, s := range h.backup.Status.Snapshots {
			if s.State == v1.SnapshotMissing {
				lost++
			}
		}
		if lost != tt.lost || asked != tt.asked || unbounded > 0 {
			t.Errorf("%s: %d are lost after %d requests, want %d after %d", name, lost, asked, tt.lost, tt.asked)
		}
	}
}

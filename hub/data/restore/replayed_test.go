package restore

import (
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework/backupenv"
)

// replayed checks that a hub from an older backup, in which a Restore had not begun or was replacing the claim, does
// not replace the volume of a later Restore.
func (c *crashes) replayed(t *testing.T) {
	s := strategy{target: c.Env, spec: func(s *v1.RestoreSpec) { s.Overwrite = true }, prepare: func(*testing.T) {}}
	p := c.NewProcess(t, backupenv.Crash{})
	complete := func() (*v1.Restore, []v1.RestoreStatus) {
		t.Helper()
		r := &v1.Restore{}
		key, former := c.create(t, s), []v1.RestoreStatus{{}}
		p.Run(t, c.reconciler(p), key, func() bool {
			ended := c.complete(t, key)
			if err := c.Get(t.Context(), key, r); err != nil {
				t.Fatal(err)
			}
			if replaced(r) && !bound(r) {
				former = append(former, r.Status)
			}
			return ended
		})
		return r, former
	}
	first, former := complete()
	if len(former) < 2 {
		t.Fatal("the Restore was not seen replacing the claim")
	}
	last, _ := complete()
	for _, status := range former {
		before := len(p.Sent())
		first.Status = status
		c.replay(t, p, first)
		if writes := slices.DeleteFunc(p.Sent()[before:], func(s string) bool { return s == "patch restores.ecommerce.io/status" }); len(writes) > 0 {
			t.Errorf("it was repeated: %q", writes)
		}
		c.bound(t, c.Env, last)
	}
}

// replay gives a Restore a former status, and expects that it fails for that.
func (c *crashes) replay(t *testing.T, p *backupenv.Process, r *v1.Restore) {
	t.Helper()
	if err := c.Status().Update(t.Context(), r); err != nil {
		t.Fatal(err)
	}
	key := client.ObjectKeyFromObject(r)
	p.Run(t, c.reconciler(p), key, func() bool {
		if err := c.Get(t.Context(), key, r); err != nil {
			t.Fatal(err)
		}
		return done(r)
	})
	if r.Status.Phase != v1.RestoreFailed || reasonOf(r) != v1.ReasonAlreadyRestored {
		t.Errorf("the Restore is %s: %s", r.Status.Phase, r.Status.Message)
	}
}

// replayed checks that a dump is not loaded again over later data.
func (d *dumpTest) replayed(t *testing.T) {
	d.reset(t)
	d.createRestore(t, func(s *v1.RestoreSpec) { s.Overwrite = true })
	former := []v1.RestoreStatus{d.restore(t).Status}
	d.until(t, v1.ReasonLoading)
	former = append(former, d.restore(t).Status)
	d.endLoad(t, 0)
	ended := func() bool { return done(d.restore(t)) }
	d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, ended)
	before := d.changes()
	for _, status := range former {
		r := d.restore(t)
		r.Status = status
		if err := d.Status().Update(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		d.process.Run(t, NewReconciler(d.process.Client, d.options), d.key, ended)
		if r := d.restore(t); r.Status.Phase != v1.RestoreFailed || reasonOf(r) != v1.ReasonAlreadyRestored {
			t.Errorf("the Restore is %s: %s", r.Status.Phase, r.Status.Message)
		}
		d.expectChanges(t, before...)
	}
	d.expectNothingLeft(t)
}

package hubstate

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/api/apitest"
	query "github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/watchuntil"
)

func start() time.Time { return time.Date(2026, time.November, 29, 3, 0, 0, 0, time.UTC) }

func forbidden(resource string) error {
	return apierrors.NewForbidden(schema.GroupResource{Resource: resource}, "", errors.New("not for you"))
}

// unused implements watch.Lister and watch.Watcher, which these tests do not run.
type unused struct{}

func (unused) List(context.Context, client.ObjectList, ...client.ListOption) error { return nil }

func (unused) Watch(context.Context, client.ObjectList, ...client.ListOption) (watch.Interface, error) {
	return watch.NewFake(), nil
}

// newObserver returns an Observer whose informers do not run.
func newObserver(t *testing.T, clock *clocktesting.FakeClock, lease func(context.Context) (*coordinationv1.Lease, error)) *Observer {
	t.Helper()
	o, err := NewObserver(Options{Query: query.Query{Lister: unused{}, Watcher: unused{}}, Lease: lease, Clock: clock})
	if err != nil {
		t.Fatal(err)
	}
	return o
}

// request is a list or a watch, with its result.
type request struct {
	isWatch bool
	err     error
}

// TestSource: objects are shown while they may be listed. What may not be watched is said as long as that is so.
func TestSource(t *testing.T) {
	const name = "ecommerceapps"
	const lists, watches = false, true
	lost := errors.New("connection refused")
	read := Source{Kind: Apps, Read: true}
	later := start().Add(time.Minute)
	unwatched := Source{Kind: Apps, Read: true, Unwatched: true, Problem: forbidden(name).Error(), Since: start()}
	listedAgain, outdated := unwatched, unwatched
	listedAgain.Since = later
	outdated.Unwatched, outdated.Problem = false, lost.Error()
	for title, tt := range map[string]struct {
		requests []request
		// last comes a minute later.
		last request
		want Source
	}{
		"never allowed":   {nil, request{lists, forbidden(name)}, Source{Kind: Apps, Forbidden: true, Problem: forbidden(name).Error(), Since: later}},
		"live":            {[]request{{lists, nil}}, request{watches, nil}, read},
		"revoked":         {[]request{{lists, nil}, {watches, nil}}, request{lists, forbidden(name)}, Source{Kind: Apps, Forbidden: true, Problem: forbidden(name).Error(), Since: later}},
		"revoked, lost":   {[]request{{lists, nil}, {lists, forbidden(name)}}, request{lists, lost}, Source{Kind: Apps, Problem: lost.Error(), Since: start()}},
		"granted":         {[]request{{lists, forbidden(name)}}, request{lists, nil}, read},
		"lost":            {[]request{{lists, nil}, {watches, lost}}, request{lists, lost}, Source{Kind: Apps, Read: true, Problem: lost.Error(), Since: start()}},
		"not to watch":    {[]request{{lists, nil}, {watches, forbidden(name)}}, request{watches, forbidden(name)}, unwatched},
		"listed again":    {[]request{{lists, nil}, {watches, forbidden(name)}}, request{lists, nil}, listedAgain},
		"then to watch":   {[]request{{lists, nil}, {watches, forbidden(name)}}, request{watches, nil}, read},
		"unwatched, lost": {[]request{{lists, nil}, {watches, forbidden(name)}}, request{lists, lost}, outdated},
	} {
		t.Run(title, func(t *testing.T) {
			clock := clocktesting.NewFakeClock(start())
			o := newObserver(t, clock, nil)
			k := o.kinds[0]
			if err := k.informer.GetStore().Add(apitest.App("shop").Obj()); err != nil {
				t.Fatal(err)
			}
			answer := func(r request) {
				if r.isWatch {
					k.watched(t.Context(), r.err)
				} else {
					k.listed(t.Context(), r.err)
				}
				o.replace()
			}
			for _, r := range tt.requests {
				answer(r)
			}
			clock.Step(time.Minute)
			answer(tt.last)
			s := o.Snapshot()
			if diff := cmp.Diff(tt.want, s.Source(Apps)); diff != "" {
				t.Errorf("source (-want +got):\n%s", diff)
			}
			if shown := len(s.Apps) == 1; shown != tt.want.Read || (k.problem() == nil) != tt.want.Read {
				t.Errorf("the object is shown: %t, want %t; the problem is %v", shown, tt.want.Read, k.problem())
			}
		})
	}
}

// TestLease: the Lease is read every ten seconds. What was known of it stays after an error, with the error.
func TestLease(t *testing.T) {
	clock := clocktesting.NewFakeClock(start())
	renewed := metav1.NewMicroTime(start())
	held := &coordinationv1.Lease{Spec: coordinationv1.LeaseSpec{HolderIdentity: new("pod-1"), RenewTime: &renewed, LeaseDurationSeconds: new(int32(15))}}
	released := held.DeepCopy()
	released.Spec.HolderIdentity = new("")
	type answer struct {
		lease *coordinationv1.Lease
		err   error
	}
	answers := make(chan answer)
	o := newObserver(t, clock, func(context.Context) (*coordinationv1.Lease, error) {
		next := <-answers
		return next.lease, next.err
	})
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		o.lease.run(ctx)
	}()
	for _, tt := range []struct {
		answer    answer
		isRenewed bool
		want      Lease
	}{
		{answer{lease: held}, true, Lease{Source: Source{Kind: "Lease", Read: true}, Renewed: start(), Until: start().Add(time.Minute)}},
		{answer{err: errNoList}, false, Lease{Source: Source{Kind: "Lease", Read: true, Problem: errNoList.Error(), Since: start().Add(10 * time.Second)},
			Renewed: start(), Until: start().Add(time.Minute)}},
		{answer{lease: released}, false, Lease{Source: Source{Kind: "Lease", Read: true}, Renewed: start()}},
		{answer{lease: &coordinationv1.Lease{}}, false, Lease{Source: Source{Kind: "Lease", Read: true}}},
		{answer{err: forbidden("leases")}, false, Lease{Source: Source{Kind: "Lease", Read: true, Forbidden: true, Problem: forbidden("leases").Error(),
			Since: start().Add(40 * time.Second)}}},
	} {
		answers <- tt.answer
		<-o.dirty
		o.replace()
		if got := o.Snapshot().Hub.Lease; got != tt.want || got.IsRenewed(clock.Now()) != tt.isRenewed {
			t.Errorf("after %+v it is %+v, want %+v", tt.answer, got, tt.want)
		}
		<-o.lease.first
		clock.Step(leasePeriod)
	}
	cancel()
	answers <- answer{lease: held}
	<-ended
}

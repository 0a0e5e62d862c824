package controller

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/hub/data/accounts"
)

// regional is the Access of a region that may hang.
type regional struct {
	hangs  bool
	region string
	denied bool
	asked  func(string)
}

func (r regional) hang(ctx context.Context) error {
	if !r.hangs {
		return nil
	}
	<-ctx.Done()
	return &cloud.Error{Class: cloud.ClassTransient, Op: "x", Err: ctx.Err()}
}

// Identity implements cloud.Access.
func (r regional) Identity(ctx context.Context) (cloud.Identity, error) {
	r.asked(r.region)
	if r.denied {
		return cloud.Identity{}, &cloud.Error{Class: cloud.ClassAuthExpired, Op: "Identity"}
	}
	return cloud.Identity{Name: "me"}, r.hang(ctx)
}

// Preflight implements cloud.Access.
func (r regional) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	return []cloud.PermissionCheck{{Permission: "of " + r.region, Granted: true, By: "request"}}, r.hang(ctx)
}

// checkRegions checks a provider that hangs in one region, or denies the identity everywhere. It returns the
// regions that were asked for the identity.
func checkRegions(t *testing.T, hang string, denied bool) (f facts, asked []string) {
	t.Helper()
	var mu sync.Mutex
	known := accounts.New(accounts.Options{Registry: cloud.Registry{v1.ProviderAWS: func(_ context.Context, c cloud.Config) (cloud.Session, error) {
		return cloud.Session{Access: regional{hangs: c.Region == hang, region: c.Region, denied: denied, asked: func(region string) {
			mu.Lock()
			defer mu.Unlock()
			asked = append(asked, region)
		}}}, nil
	}}})
	f = facts{account: account()}
	known.Set(f.account.Name, f.account.Spec, nil)
	r := &Reconciler{options: Options{Accounts: known}}
	r.checkProvider(t.Context(), []string{"a", "b", "c"}, &f)
	return f, asked
}

// providerTest holds how a provider answers in three regions, and what is wanted of a check.
type providerTest struct {
	hang   string
	denied bool
	// asked is the regions that are asked for the identity.
	asked []string
	// want is the number of checks by region, and whether there is an error.
	want []string
	// longer is the least time that the check takes.
	longer time.Duration
}

// check checks the provider in a bubble of synctest.
func (p providerTest) check(t *testing.T) {
	t.Helper()
	began := clock.RealClock{}.Now()
	f, asked := checkRegions(t, p.hang, p.denied)
	var got []string
	for _, region := range f.regions {
		got = append(got, fmt.Sprintf("%s: %d, %t", region.region, len(region.checks), region.err != nil))
	}
	if diff := cmp.Diff(p.want, got); diff != "" {
		t.Errorf("regions (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(p.asked, asked); diff != "" {
		t.Errorf("asked for the identity (-want +got):\n%s", diff)
	}
	if took := (clock.RealClock{}).Since(began); took < p.longer || took > verifyTimeout {
		t.Errorf("it took %s, want %s to %s", took, p.longer, verifyTimeout)
	}
	if (f.err != nil) != p.denied {
		t.Errorf("error %v, want one: %t", f.err, p.denied)
	}
}

// TestCheckProvider checks that a region that hangs hides neither the identity nor the permissions of others, and
// everything ends in time. Credentials that are rejected are tried once.
func TestCheckProvider(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]providerTest{
		"all answer":          {"", false, []string{"a"}, []string{"a: 1, false", "b: 1, false", "c: 1, false"}, 0},
		"the first hangs":     {"a", false, []string{"a", "b"}, []string{"a: 1, true", "b: 1, false", "c: 1, false"}, time.Minute},
		"another hangs":       {"c", false, []string{"a"}, []string{"a: 1, false", "b: 1, false", "c: 1, true"}, time.Minute},
		"rejected everywhere": {"", true, []string{"a"}, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, tt.check)
		})
	}
}

package copies

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestPrecedence: the objects of applications wait for decisions and for copies of their own member, not
// for those of others, and not for ever.
func TestPrecedence(t *testing.T) {
	t.Parallel()
	a, b := types.NamespacedName{Name: "a"}, types.NamespacedName{Name: "b"}
	for name, tt := range map[string]struct {
		before, after func(*precedence)
		// want is how long what is made from copies in eu-1 waits; after comes after a second.
		want time.Duration
	}{
		"nothing is due":              {func(*precedence) {}, func(*precedence) {}, 0},
		"a decision":                  {func(p *precedence) { p.decide(a) }, func(p *precedence) { p.decided(a) }, time.Second},
		"a decision that is late":     {func(p *precedence) { p.decide(a) }, func(*precedence) {}, longestPrecedence},
		"a copy":                      {func(p *precedence) { p.expect("eu-1", a) }, func(p *precedence) { p.done("eu-1", a) }, time.Second},
		"a copy that is late":         {func(p *precedence) { p.expect("eu-1", a) }, func(*precedence) {}, longestPrecedence},
		"a copy of another member":    {func(p *precedence) { p.expect("us-1", a) }, func(*precedence) {}, 0},
		"two copies":                  {func(p *precedence) { p.expect("eu-1", a); p.expect("eu-1", b) }, func(p *precedence) { p.done("eu-1", b) }, longestPrecedence},
		"a copy of a queue that ends": {func(p *precedence) { p.expect("eu-1", a) }, func(p *precedence) { p.leave("eu-1") }, time.Second},
		"seen again":                  {func(p *precedence) { p.decide(a); p.decide(a) }, func(p *precedence) { p.decided(a) }, time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				p := newPrecedence()
				tt.before(p)
				time.AfterFunc(time.Second, func() { tt.after(p) })
				p.expectFree(t, tt.want)
			})
		})
	}
	t.Run("canceled", func(t *testing.T) {
		t.Parallel()
		p := newPrecedence()
		p.decide(a)
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		p.await(ctx, "eu-1")
	})
}

// expectFree checks after how long nothing precedes the objects of applications in eu-1.
func (p *precedence) expectFree(t *testing.T, want time.Duration) {
	t.Helper()
	free := make(chan struct{})
	go func() {
		defer close(free)
		p.await(t.Context(), "eu-1")
	}()
	for elapsed := time.Duration(0); elapsed <= longestPrecedence; elapsed += time.Second {
		synctest.Wait()
		isFree := false
		select {
		case <-free:
			isFree = true
		default:
		}
		if isFree != (elapsed >= want) {
			t.Errorf("free after %s: %t, want it after %s", elapsed, isFree, want)
		}
		<-time.After(time.Second)
	}
}

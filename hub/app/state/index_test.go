package state

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestIndex compares what Concerned finds with a look at all applications, after each of many changes.
func TestIndex(t *testing.T) {
	t.Parallel()
	const seed = 7
	random := rand.New(rand.NewPCG(seed, seed))
	s := New(clock.RealClock{})
	members := []string{"a", "b", "c"}
	for range 3000 {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(random.IntN(5)), UID: types.UID(fmt.Sprint(random.IntN(2))), Generation: 1}}
		key := types.NamespacedName{Namespace: app.Namespace, Name: app.Name}
		switch random.IntN(7) {
		case 0:
			s.Deliver(nil, app)
		case 1:
			s.Withdraw(key)
		case 2:
			s.ForgetDecision(key)
		case 3:
			s.Forget(key)
		case 4:
			s.Await(key, members[random.IntN(len(members))], random.IntN(2) == 0)
		default:
			d := &Decision{App: app, Orders: map[string]*Order{}}
			for _, member := range members {
				if random.IntN(2) == 0 {
					d.Orders[member] = &Order{Applied: random.Int64N(2)}
				}
			}
			s.HandOver(d)
		}
		for _, member := range members {
			if diff := cmp.Diff(walk(s, member), found(s, member)); diff != "" {
				t.Fatalf("member %s (-all +found):\n%s", member, diff)
			}
		}
	}
}

// walk returns what concerns a member, by a look at all applications.
func walk(s *State, member string) [3][]types.NamespacedName {
	var pending, others, open []types.NamespacedName
	for key, a := range s.apps {
		switch {
		case a.decision.IsPending(member):
			pending = append(pending, key)
		case a.decision.Order(member) != nil:
			others = append(others, key)
		case a.decision == nil && a.delivered != nil || len(a.waiting) > 0:
			open = append(open, key)
		}
	}
	return sorted(pending, others, open)
}

func sorted(all ...[]types.NamespacedName) (out [3][]types.NamespacedName) {
	for i, keys := range all {
		out[i] = slices.SortedFunc(slices.Values(keys), compare)
	}
	return out
}

// BenchmarkConcerned asks for the ten applications of one member among 10,000 of others.
func BenchmarkConcerned(b *testing.B) {
	s := New(clock.RealClock{})
	for i := range 10_000 {
		app := &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: fmt.Sprint(i), UID: "u"}}
		member := "other"
		if i%1000 == 0 {
			member = "a"
		}
		s.Deliver(nil, app)
		s.HandOver(&Decision{App: app, Orders: map[string]*Order{member: {}}})
	}
	for b.Loop() {
		if _, others, _ := s.Concerned("a"); len(others) != 10 {
			b.Fatalf("%d applications", len(others))
		}
	}
}

// found returns what Concerned finds.
func found(s *State, member string) [3][]types.NamespacedName {
	pending, others, open := s.Concerned(member)
	return sorted(pending, others, open)
}

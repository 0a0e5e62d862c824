package watch

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	testclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// server answers lists and watches from a script, one entry each.
type server struct {
	t       *testing.T
	clock   *testclock.FakeClock
	lists   []any // names, or an error
	watches []any // events, or an error
	from    []string
}

func (s *server) List(_ context.Context, list client.ObjectList, _ ...client.ListOption) error {
	if len(s.lists) == 0 {
		s.t.Fatal("one list more than expected")
	}
	next := s.lists[0]
	s.lists = s.lists[1:]
	if err, ok := next.(error); ok {
		return err
	}
	members, ok := list.(*v1.MemberClusterList)
	if !ok {
		s.t.Fatalf("list of %T", list)
	}
	members.ResourceVersion = "7"
	for _, name := range next.([]string) {
		members.Items = append(members.Items, *member(name))
	}
	return nil
}

func (s *server) Watch(_ context.Context, _ client.ObjectList, opts ...client.ListOption) (watch.Interface, error) {
	options := &client.ListOptions{}
	options.ApplyOptions(opts)
	s.from = append(s.from, options.Raw.ResourceVersion)
	if len(s.watches) == 0 {
		s.t.Fatal("one watch more than expected")
	}
	next := s.watches[0]
	s.watches = s.watches[1:]
	if err, ok := next.(error); ok {
		return nil, err
	}
	events := next.([]watch.Event)
	w := watch.NewFakeWithChanSize(len(events), false)
	for _, e := range events {
		w.Action(e.Type, e.Object)
	}
	w.Stop()
	return w, nil
}

func member(name string) *v1.MemberCluster {
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
}

func event(kind watch.EventType, name string) watch.Event {
	return watch.Event{Type: kind, Object: member(name)}
}

// run follows until the script is told, and returns the pictures and the troubles.
func run(t *testing.T, s *server, pictures int) (seen [][]string, troubles []error, err error) {
	t.Helper()
	s.t, s.clock = t, testclock.NewFakeClock(time.Unix(0, 0))
	// Rests end at once: time is not what is tested.
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		for ctx.Err() == nil {
			if s.clock.HasWaiters() {
				s.clock.Step(pause)
			}
		}
	}()
	query := Query{
		Lister: s, Watcher: s, Clock: s.clock, List: &v1.MemberClusterList{},
		Trouble: func(err error) { troubles = append(troubles, err) },
	}
	err = query.Run(ctx, func(objects []client.Object) (bool, error) {
		names := []string{}
		for _, o := range objects {
			names = append(names, o.GetName())
		}
		seen = append(seen, names)
		return len(seen) == pictures, nil
	})
	return seen, troubles, err
}

func TestRun(t *testing.T) {
	errBoom := errors.New("boom")
	expired := apierrors.NewResourceExpired("too old").Status()
	tests := map[string]struct {
		server   server
		seen     [][]string
		troubles []error
	}{
		"events": {
			server: server{
				lists: []any{[]string{"b", "a"}},
				watches: []any{[]watch.Event{
					event(watch.Added, "c"), {Type: watch.Bookmark, Object: member("")}, event(watch.Deleted, "a"), event(watch.Modified, "b"),
				}},
			},
			seen: [][]string{{"a", "b"}, {"a", "b", "c"}, {"b", "c"}, {"b", "c"}},
		},
		"a watch that ends is begun anew, without trouble": {
			server: server{
				lists:   []any{[]string{"a"}, []string{"a", "b"}},
				watches: []any{[]watch.Event{}},
			},
			seen:     [][]string{{"a"}, {"a", "b"}},
			troubles: []error{nil},
		},
		"an expired watch too": {
			server: server{
				lists:   []any{[]string{"a"}, []string{}},
				watches: []any{[]watch.Event{{Type: watch.Error, Object: &expired}}},
			},
			seen:     [][]string{{"a"}, {}},
			troubles: []error{nil},
		},
		"trouble is told and overcome": {
			server: server{
				lists:   []any{[]string{"a"}, errBoom, errBoom, []string{"b"}},
				watches: []any{errBoom},
			},
			seen:     [][]string{{"a"}, {"b"}},
			troubles: []error{errBoom, errBoom, errBoom, nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen, troubles, err := run(t, &test.server, len(test.seen))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("pictures (-want +got):\n%s", diff)
			}
			if !slices.EqualFunc(troubles, test.troubles, errors.Is) {
				t.Errorf("troubles %v, want %v", troubles, test.troubles)
			}
			if slices.ContainsFunc(test.server.from, func(from string) bool { return from != "7" }) {
				t.Errorf("watches from %q, want the version of the list", test.server.from)
			}
		})
	}
}

func TestRunEnds(t *testing.T) {
	errBoom := errors.New("boom")
	t.Run("with the first list's failure", func(t *testing.T) {
		if _, _, err := run(t, &server{lists: []any{errBoom}}, 1); !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
	})
	t.Run("with the failure of who looks", func(t *testing.T) {
		s := &server{t: t, clock: testclock.NewFakeClock(time.Unix(0, 0)), lists: []any{[]string{"a"}}}
		query := Query{Lister: s, Watcher: s, Clock: s.clock, List: &v1.MemberClusterList{}, Trouble: func(err error) { t.Error(err) }}
		err := query.Run(t.Context(), func([]client.Object) (bool, error) { return false, errBoom })
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
	})
	t.Run("with the cause of the context", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &server{t: t, clock: testclock.NewFakeClock(time.Unix(0, 0)), lists: []any{[]string{"a"}}, watches: []any{[]watch.Event{}}}
		query := Query{Lister: s, Watcher: s, Clock: s.clock, List: &v1.MemberClusterList{}, Trouble: func(err error) { t.Error(err) }}
		err := query.Run(ctx, func([]client.Object) (bool, error) { cancel(errBoom); return false, nil })
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
	})
}

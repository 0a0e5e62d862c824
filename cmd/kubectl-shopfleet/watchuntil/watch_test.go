package watchuntil

import (
	"context"
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// server answers lists and watches from a script, one entry each.
type server struct {
	t       *testing.T
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
	return &v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name, ResourceVersion: "7"}}
}

func event(kind watch.EventType, name string) watch.Event {
	return watch.Event{Type: kind, Object: member(name)}
}

// run watches until it has seen a number of states, and returns them and the reports.
// Time is that of a bubble, in which waits for a retry end at once.
func run(t *testing.T, s *server, states int) (seen [][]string, reports []error, err error) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		s.t = t
		query := Query{Lister: s, Watcher: s, List: &v1.MemberClusterList{}, Report: func(err error) { reports = append(reports, err) }}
		err = query.Run(t.Context(), func(objects []client.Object) (bool, error) {
			names := []string{}
			for _, o := range objects {
				names = append(names, o.GetName())
			}
			seen = append(seen, names)
			return len(seen) == states, nil
		})
	})
	return seen, reports, err
}

func TestRun(t *testing.T) {
	errBoom := errors.New("boom")
	expired := apierrors.NewResourceExpired("too old").Status()
	tests := map[string]struct {
		server  server
		seen    [][]string
		reports []error
	}{
		"events": {
			server: server{
				lists: []any{[]string{"b", "a"}},
				watches: []any{[]watch.Event{
					event(watch.Added, "c"), {Type: watch.Bookmark, Object: member("")}, event(watch.Deleted, "a"), event(watch.Modified, "b"),
				}},
			},
			seen:    [][]string{{"a", "b"}, {"a", "b", "c"}, {"b", "c"}, {"b", "c"}},
			reports: []error{nil},
		},
		"a closed watch is started again": {
			server: server{
				lists:   []any{[]string{"a"}},
				watches: []any{[]watch.Event{event(watch.Added, "b")}, []watch.Event{event(watch.Deleted, "a")}},
			},
			seen:    [][]string{{"a"}, {"a", "b"}, {"b"}},
			reports: []error{nil, nil},
		},
		"an expired watch lists again": {
			server: server{
				lists:   []any{[]string{"a"}, []string{}},
				watches: []any{[]watch.Event{{Type: watch.Error, Object: &expired}}},
			},
			seen:    [][]string{{"a"}, {}},
			reports: []error{nil},
		},
		"errors are reported and retried": {
			server: server{
				lists:   []any{[]string{"a"}, errBoom, errBoom, []string{"b"}},
				watches: []any{errBoom, []watch.Event{event(watch.Deleted, "b")}},
			},
			seen:    [][]string{{"a"}, {"b"}, {}},
			reports: []error{errBoom, errBoom, errBoom, nil},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			seen, reports, err := run(t, &test.server, len(test.seen))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.seen, seen); diff != "" {
				t.Errorf("states (-want +got):\n%s", diff)
			}
			if !slices.EqualFunc(reports, test.reports, errors.Is) {
				t.Errorf("reports %v, want %v", reports, test.reports)
			}
			if slices.ContainsFunc(test.server.from, func(from string) bool { return from != "7" }) {
				t.Errorf("watches from %q, want the version of the list", test.server.from)
			}
		})
	}
}

func TestRunEnds(t *testing.T) {
	errBoom := errors.New("boom")
	t.Run("with the error of the first list", func(t *testing.T) {
		if _, reports, err := run(t, &server{lists: []any{errBoom}}, 1); !errors.Is(err, errBoom) || len(reports) > 0 {
			t.Errorf("got %v and reports %v, want %v and none", err, reports, errBoom)
		}
	})
	t.Run("with the error of the function", func(t *testing.T) {
		s := &server{t: t, lists: []any{[]string{"a"}}, watches: []any{[]watch.Event{}}}
		query := Query{Lister: s, Watcher: s, List: &v1.MemberClusterList{}, Report: func(err error) { t.Error(err) }}
		err := query.Run(t.Context(), func([]client.Object) (bool, error) { return false, errBoom })
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
	})
	t.Run("with the cause of the context", func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		s := &server{t: t, lists: []any{[]string{"a"}}, watches: []any{[]watch.Event{}}}
		query := Query{Lister: s, Watcher: s, List: &v1.MemberClusterList{}, Report: func(err error) { t.Error(err) }}
		err := query.Run(ctx, func([]client.Object) (bool, error) { cancel(errBoom); return false, nil })
		if !errors.Is(err, errBoom) {
			t.Errorf("got %v, want %v", err, errBoom)
		}
	})
}

package commands

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestSelection: objects are chosen by names, by a selector or all, and not by two of these.
func TestSelection(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		chosen selection
		given  []string
		want   []string
		wrong  bool
		says   string
	}{
		"by names":      {selection{}, []string{"b", "x"}, []string{"b", "x"}, false, ""},
		"by a selector": {selection{selector: "tier=prod"}, nil, []string{"a"}, false, ""},
		"all":           {selection{all: true}, nil, []string{"a", "b"}, false, ""},
		"nothing":       {selection{}, nil, nil, true, ""},
		"of two kinds":  {selection{all: true}, []string{"a"}, nil, true, ""},
		"none selected": {selection{selector: "tier=none"}, nil, []string{}, false, "No resources found."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := tt.chosen.check(tt.given); (err != nil) != tt.wrong {
				t.Fatalf("error %v, want one: %t", err, tt.wrong)
			}
			if tt.wrong {
				return
			}
			streams, _, _, errOut := genericiooptions.NewTestIOStreams()
			of := &list{Program: &Program{streams: streams}, hub: &cluster{client: twoMembers()}, kind: &v1.MemberClusterList{}}
			got, err := tt.chosen.names(t.Context(), of, tt.given)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("names (-want +got):\n%s", diff)
			}
			if !strings.Contains(errOut.String(), tt.says) {
				t.Errorf("it says %q, want %q in it", errOut, tt.says)
			}
		})
	}
}

// twoMembers returns a client of a hub with two members, of which one is labelled.
func twoMembers() client.Client {
	return interceptor.NewClient(nil, interceptor.Funcs{
		List: func(_ context.Context, _ client.WithWatch, into client.ObjectList, options ...client.ListOption) error {
			chosen := (&client.ListOptions{}).ApplyOptions(options)
			for i, own := range []labels.Set{{"tier": "prod"}, nil} {
				if chosen.LabelSelector == nil || chosen.LabelSelector.Matches(own) {
					members := into.(*v1.MemberClusterList)
					members.Items = append(members.Items, v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: []string{"a", "b"}[i]}})
				}
			}
			return nil
		},
	})
}

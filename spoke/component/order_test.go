package component_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/spoke/component"
)

func names(components []component.Component) []string {
	list := make([]string, 0, len(components))
	for _, c := range components {
		list = append(list, c.Name)
	}
	return list
}

func TestOrder(t *testing.T) {
	tests := map[string]struct {
		in   []component.Component
		want []string
		err  *component.OrderError
	}{
		"none":             {nil, []string{}, nil},
		"as given":         {[]component.Component{{Name: "b"}, {Name: "a"}}, []string{"b", "a"}, nil},
		"dependency first": {[]component.Component{{Name: "a", DependsOn: []string{"b"}}, {Name: "b"}}, []string{"b", "a"}, nil},
		"unknown name":     {[]component.Component{{Name: "a", DependsOn: []string{"unknown"}}}, []string{"a"}, nil},
		"cycle": {
			[]component.Component{{Name: "c"}, {Name: "b", DependsOn: []string{"a"}}, {Name: "a", DependsOn: []string{"b"}}},
			nil, &component.OrderError{Names: []string{"a", "b"}},
		},
		"itself":     {[]component.Component{{Name: "a", DependsOn: []string{"a"}}}, nil, &component.OrderError{Names: []string{"a"}}},
		"same names": {[]component.Component{{Name: "a"}, {Name: "a"}}, nil, &component.OrderError{Names: []string{"a"}, Duplicate: true}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := component.Order(tt.in)
			var order *component.OrderError
			if errors.As(err, &order) != (tt.err != nil) || tt.err != nil && !cmp.Equal(order, tt.err) {
				t.Fatalf("error is %v, want %v", err, tt.err)
			}
			if err == nil {
				if diff := cmp.Diff(tt.want, names(got)); diff != "" {
					t.Errorf("order (-want +got):\n%s", diff)
				}
			}
		})
	}
}

func TestOrderOfShuffledShops(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 200 {
		components := shop()
		random.Shuffle(len(components), func(i, j int) { components[i], components[j] = components[j], components[i] })
		ordered, err := component.Order(components)
		if err != nil {
			t.Fatal(err)
		}
		list := names(ordered)
		for i, c := range ordered {
			for _, dependency := range c.DependsOn {
				if slices.Index(list, dependency) > i {
					t.Fatalf("%s comes before %s in %v", c.Name, dependency, list)
				}
			}
		}
	}
}

package apply_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/apply"
	"github.com/shopfleet/shopfleet/spoke/component"
)

func TestDifferences(t *testing.T) {
	t.Parallel()
	type object = map[string]any
	live := object{
		"apiVersion": "v1", "kind": "Service", "metadata": object{"name": "a"},
		"data": object{"tls.crt": "secret", "user": "a"},
		"spec": object{
			"type": "ClusterIP", "clusterIP": "10.0.0.1", "selector": object{"app": "theirs", "tier": "web"},
			"ports": []any{object{"port": int64(80), "protocol": "TCP", "name": "http"}},
		},
		"other": object{"ports": "80"},
	}
	for name, tt := range map[string]struct {
		intent object
		want   []string
	}{
		"contained":       {object{"spec": object{"type": "ClusterIP"}}, nil},
		"metadata":        {object{"kind": "Other", "metadata": object{"labels": object{"a": "b"}}}, nil},
		"scalar":          {object{"spec": object{"type": "NodePort", "clusterIP": "10.0.0.1"}}, []string{"spec.type"}},
		"missing":         {object{"spec": object{"externalName": "x"}}, []string{"spec.externalName"}},
		"missing section": {object{"status": object{"a": object{"b": "c"}}}, []string{"status"}},
		"selector":        {object{"spec": object{"selector": object{"app": "theirs"}}}, []string{"spec.selector"}},
		"list":            {object{"spec": object{"ports": []any{object{"port": int64(443), "protocol": "TCP"}}}}, []string{"spec.ports[443]"}},
		"item of a list":  {object{"spec": object{"ports": []any{object{"port": int64(80), "protocol": "TCP", "name": "web"}}}}, []string{"spec.ports[80].name"}},
		"list, not one":   {object{"spec": object{"type": []any{object{"port": int64(80)}}}}, []string{"spec.type"}},
		"a list for one":  {object{"other": object{"ports": []any{object{"port": int64(80)}}}}, []string{"other.ports"}},
		"one, not a list": {object{"spec": object{"ports": "80"}}, []string{"spec.ports"}},
		"key with a dot":  {object{"data": object{"tls.crt": "another", "user": "b"}}, []string{"data.user", "data[tls.crt]"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, apply.Differences(live, tt.intent)); diff != "" {
				t.Errorf("differences (-want +got):\n%s", diff)
			}
		})
	}
}

func TestConflictMessage(t *testing.T) {
	t.Parallel()
	key := component.KeyOf(&corev1.Service{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: metav1.ObjectMeta{Name: "web"}})
	for name, tt := range map[string]struct {
		conflict apply.ConflictError
		want     string
	}{
		"controlled": {apply.ConflictError{Controller: "Pod"}, `Service "web" exists and is controlled by a Pod: rename one of them`},
		"equal": {apply.ConflictError{}, `annotate Service "web" with ecommerce.io/adopt=IfNoDiff to adopt it, or delete it: ` +
			`it exists, is not owned by this application and has the desired content`},
		"different": {apply.ConflictError{Differences: []string{"spec.ports", "spec.type"}}, `annotate Service "web" with ecommerce.io/adopt=Always to adopt it, or delete it: ` +
			`it exists, is not owned by this application and differs in spec.ports, spec.type`},
		"as different as is listed": {apply.ConflictError{Differences: []string{"a", "b", "c", "d", "e"}}, `annotate Service "web" with ecommerce.io/adopt=Always to adopt it, or delete it: ` +
			`it exists, is not owned by this application and differs in a, b, c, d, e`},
		"very different": {apply.ConflictError{Differences: []string{"a", "b", "c", "d", "e", "f", "g"}}, `annotate Service "web" with ecommerce.io/adopt=Always to adopt it, or delete it: ` +
			`it exists, is not owned by this application and differs in a, b, c, d, e and 2 more fields`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.conflict.Key = key
			if diff := cmp.Diff(tt.want, tt.conflict.Error()); diff != "" {
				t.Errorf("message (-want +got):\n%s", diff)
			}
		})
	}
}

// testIfNoDiff offers objects of others for adoption if nothing but metadata changes.
func testIfNoDiff(s *server) func(*testing.T) {
	return func(t *testing.T) {
		for name, tt := range map[string]struct {
			x    string
			want []string
		}{
			"equal":     {"1", nil},
			"different": {"theirs", []string{"data.x"}},
		} {
			t.Run(name, func(t *testing.T) {
				theirs := configMap()
				theirs.Name, theirs.Labels = "offered-"+name, nil
				theirs.Annotations = map[string]string{v1.AdoptAnnotation: string(v1.AdoptIfNoDiff)}
				theirs.Data["x"] = tt.x
				if err := s.Create(t.Context(), theirs); err != nil {
					t.Fatal(err)
				}
				intent := configMap()
				intent.Name = theirs.Name
				result, err := s.applier().Apply(t.Context(), apply.Request{Intent: intent, Owned: labelled})
				conflict, refused := errors.AsType[*apply.ConflictError](err)
				if adopted := result.Outcome == apply.Updated; adopted == refused || refused != (tt.want != nil) {
					t.Fatalf("the outcome is %q with the error %v", result.Outcome, err)
				}
				if refused {
					if diff := cmp.Diff(tt.want, conflict.Differences); diff != "" {
						t.Errorf("differences (-want +got):\n%s", diff)
					}
				}
			})
		}
	}
}

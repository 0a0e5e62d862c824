package api_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
)

// edits are changes to an object: values by dotted path. The value absent removes a field.
// A path that ends in [] is a list of one item.
type edits map[string]any

type removal struct{}

// absent removes a field.
func absent() removal { return removal{} }

func split(path string) []string { return strings.Split(path, ".") }

// join returns edits together; later ones win.
func join(all ...edits) edits {
	joined := edits{}
	for _, e := range all {
		maps.Copy(joined, e)
	}
	return joined
}

func (e edits) apply(t *testing.T, object *unstructured.Unstructured) {
	t.Helper()
	for path, value := range e {
		if _, remove := value.(removal); remove {
			unstructured.RemoveNestedField(object.Object, split(path)...)
			continue
		}
		if list, is := strings.CutSuffix(path, "[]"); is {
			path, value = list, []any{value}
		}
		if err := unstructured.SetNestedField(object.Object, runtime.DeepCopyJSONValue(value), split(path)...); err != nil {
			t.Fatalf("setting %s: %v", path, err)
		}
	}
}

// testCase is an object to send: the kind's sample with edits.
type testCase struct {
	name  string
	edits edits

	// field and says are the only fault that is expected: the path of the field and a part
	// of the message. Without a field the object must be accepted.
	field string
	says  string

	// also is the path of a second fault that the first one causes.
	also string

	// among is true if other rules may refuse the same value.
	among bool
}

// check sends each case as a new object, as a dry run under strict validation.
func (s *server) check(t *testing.T, k kind, cases []testCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			object := k.object(t, edits{"metadata.namespace": "default", "metadata.name": "case"}, tc.edits)
			if k.clusterScoped {
				object.SetNamespace("")
			}
			_, err := s.resource(k, "default").Create(t.Context(), object, metav1.CreateOptions{
				DryRun:          []string{metav1.DryRunAll},
				FieldValidation: metav1.FieldValidationStrict,
			})
			s.checkAnswer(t, k, tc, err)
		})
	}
}

// checkUpdates sends each case as an update of the stored object, as a dry run.
func (s *server) checkUpdates(t *testing.T, k kind, stored *unstructured.Unstructured, cases []testCase) {
	t.Helper()
	for _, tc := range cases {
		t.Run(tc.name, func(t *testing.T) {
			object := stored.DeepCopy()
			tc.edits.apply(t, object)
			_, err := s.resource(k, object.GetNamespace()).Update(t.Context(), object, metav1.UpdateOptions{
				DryRun:          []string{metav1.DryRunAll},
				FieldValidation: metav1.FieldValidationStrict,
			})
			s.checkAnswer(t, k, tc, err)
		})
	}
}

// create stores the kind's sample with changes.
func (s *server) create(ctx context.Context, t *testing.T, k kind, changes ...edits) *unstructured.Unstructured {
	t.Helper()
	object := k.object(t, changes...)
	stored, err := s.resource(k, object.GetNamespace()).Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
	if err != nil {
		t.Fatal(err)
	}
	return stored
}

// checkAnswer compares the API server's answer with the expectation of the case.
func (s *server) checkAnswer(t *testing.T, k kind, tc testCase, err error) {
	t.Helper()
	if tc.field == "" {
		if err != nil {
			t.Errorf("refused: %v", err)
		}
		return
	}
	if err == nil {
		t.Fatalf("accepted; want a refusal of %s that says %q", tc.field, tc.says)
	}
	faults, err := faultsIn(err)
	if err != nil {
		t.Fatal(err)
	}
	expected := slices.IndexFunc(faults, func(fault metav1.StatusCause) bool {
		return fault.Field == tc.field && strings.Contains(fault.Message, tc.says)
	})
	if expected < 0 {
		t.Fatalf("refused for\n%s\nwant %s to be refused, saying %q", describe(faults), tc.field, tc.says)
	}
	if s.refused[k.name] == nil {
		s.refused[k.name] = map[string]bool{}
	}
	s.refused[k.name][tc.field+": "+faults[expected].Message] = true
	others := slices.Delete(faults, expected, expected+1)
	if tc.among {
		return
	}
	if len(others) > 1 || (len(others) == 1 && others[0].Field != tc.also) || (len(others) == 0 && tc.also != "") {
		t.Errorf("besides %s refused for\n%s\nwant %q", tc.field, describe(others), tc.also)
	}
}

// faultsIn returns the faults that the API server reports, without the note that rules were
// not checked because of a schema fault.
func faultsIn(err error) ([]metav1.StatusCause, error) {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || !apierrors.IsInvalid(err) {
		return nil, fmt.Errorf("refused, but not as invalid: %w", err)
	}
	if status.Status().Details == nil {
		return nil, fmt.Errorf("refused without details: %w", err)
	}
	return slices.DeleteFunc(slices.Clone(status.Status().Details.Causes), func(cause metav1.StatusCause) bool {
		return strings.Contains(cause.Message, "some validation rules were not checked")
	}), nil
}

func describe(faults []metav1.StatusCause) string {
	lines := make([]string, 0, len(faults))
	for _, fault := range faults {
		lines = append(lines, fmt.Sprintf("  %s: %s", fault.Field, fault.Message))
	}
	return strings.Join(lines, "\n")
}

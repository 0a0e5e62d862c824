package propagate

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/app/state"
)

func TestSourceOf(t *testing.T) {
	t.Parallel()
	object := v1.PropagatedObject{Kind: v1.PropagatedSecret, Name: "registry"}
	secrets := corev1.Resource("secrets")
	for name, tt := range map[string]struct {
		secret corev1.Secret
		err    error
		want   state.Source
	}{
		"missing":     {err: apierrors.NewNotFound(secrets, "registry"), want: state.Source{Reason: v1.ReasonMissing}},
		"forbidden":   {err: apierrors.NewForbidden(secrets, "registry", errors.New("no")), want: state.Source{Reason: v1.ReasonForbidden}},
		"no response": {err: errors.New("no route"), want: state.Source{Reason: v1.ReasonNotChecked}},
		"a token of a ServiceAccount": {
			secret: corev1.Secret{Type: corev1.SecretTypeServiceAccountToken},
			want:   state.Source{Reason: v1.ReasonInvalidSpec, Message: "Secrets of type kubernetes.io/service-account-token are not copied"},
		},
		"a password": {secret: corev1.Secret{Data: map[string][]byte{"password": []byte("hunter2")}}, want: state.Source{Version: "version"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.want.PropagatedObject = object
			got := sourceOf(object, &tt.secret, tt.err)
			if len(got.Version) == 64 {
				got.Version = "version"
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("the source (-want +got):\n%s", diff)
			}
			if strings.Contains(got.Message+got.Version, "hunter2") {
				t.Error("the source has a value of the Secret")
			}
		})
	}
}

package join

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/shopfleet/shopfleet/config"
)

// TestAgentIsKept: joining again keeps the image, the pull Secrets and the runbook of an agent, unless the user names others.
func TestAgentIsKept(t *testing.T) {
	t.Parallel()
	agent := &appsv1.Deployment{ObjectMeta: metav1.ObjectMeta{Namespace: config.Namespace, Name: config.SpokeServiceAccount}}
	agent.Spec.Template.Spec.Containers = []corev1.Container{{Image: "current", Args: []string{"--safe-mode=false", "--runbook-url=https://wiki/alerts"}}}
	agent.Spec.Template.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "a"}, {Name: "b"}}
	scheme := runtime.NewScheme()
	if err := appsv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	none := fake.NewClientBuilder().WithScheme(scheme).Build()
	there := fake.NewClientBuilder().WithScheme(scheme).WithObjects(agent).Build()
	for name, tt := range map[string]struct {
		agent Agent
		in    client.Client
		want  config.Installation
	}{
		"the first time":       {Agent{Default: "default"}, none, config.Installation{Image: "default"}},
		"the first, by choice": {Agent{Image: "given", PullSecrets: []string{"c"}, RunbookURL: "https://docs"}, none, config.Installation{Image: "given", PullSecrets: []string{"c"}, RunbookURL: "https://docs"}},
		"again":                {Agent{Default: "default"}, there, config.Installation{Image: "current", PullSecrets: []string{"a", "b"}, RunbookURL: "https://wiki/alerts"}},
		"again, an image":      {Agent{Image: "given"}, there, config.Installation{Image: "given", PullSecrets: []string{"a", "b"}, RunbookURL: "https://wiki/alerts"}},
		"again, a pull Secret": {Agent{PullSecrets: []string{"c"}}, there, config.Installation{Image: "current", PullSecrets: []string{"c"}, RunbookURL: "https://wiki/alerts"}},
		"again, a runbook":     {Agent{RunbookURL: "https://docs"}, there, config.Installation{Image: "current", PullSecrets: []string{"a", "b"}, RunbookURL: "https://docs"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tt.agent.Member.Client = tt.in
			got, err := tt.agent.wanted(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("installation (-want +got):\n%s", diff)
			}
		})
	}
}

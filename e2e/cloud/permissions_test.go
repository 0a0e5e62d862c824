package cloud_test

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/shopfleet/shopfleet/cloud/fake/iam"
)

// granted reads a document of cloud/README.md.
func granted[T any](t *testing.T, read func(*iam.Documents) (T, error)) T {
	t.Helper()
	page, err := iam.Read("../../cloud/README.md")
	if err != nil {
		t.Fatal(err)
	}
	document, err := read(page)
	if err != nil {
		t.Fatal(err)
	}
	return document
}

// restrict gives the hub the documented permissions in each cloud, and lets the test fail if it
// needs others.
func (s *suite) restrict(t *testing.T) {
	t.Helper()
	system := &corev1.Namespace{}
	if err := s.Hub.Get(t.Context(), client.ObjectKey{Name: "kube-system"}, system); err != nil {
		t.Fatal(err)
	}
	for _, p := range s.providers {
		if p.restrict != nil {
			p.restrict(t, string(system.UID))
		}
		t.Cleanup(func() {
			for _, permission := range p.refused() {
				t.Errorf("%s: the permissions of cloud/README.md do not include %s", p.account(), permission)
			}
		})
	}
}

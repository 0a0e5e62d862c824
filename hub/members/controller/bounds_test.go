package controller

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/shopfleet/shopfleet/e2e/framework/crdschema"
	"github.com/shopfleet/shopfleet/hub/members"
)

// TestBounded checks that whatever a cluster says of itself, the API server takes its status.
func TestBounded(t *testing.T) {
	t.Parallel()
	schema := crdschema.OfStatus(t, "../../../config/crd/bases/ecommerce.io_memberclusters.yaml")
	long := strings.Repeat("x\xff ", 40000)
	many := slices.Repeat([]string{"zone", "zone", long, "not a zone", ""}, 100)
	for i := range 200 {
		many = append(many, "z"+strings.Repeat("z", i))
	}
	for name, change := range map[string]func(*members.State){
		"nothing":      func(*members.State) {},
		"versions":     func(s *members.State) { s.Info.Version, s.Info.AgentVersion, s.Info.UID = long, long, long },
		"region":       func(s *members.State) { s.Info.Region = long },
		"zones":        func(s *members.State) { s.Info.Zones = many },
		"capabilities": func(s *members.State) { s.Info.Capabilities = many },
		"nodes":        func(s *members.State) { s.Info.Nodes, s.Info.ReadyNodes = -1, -1 },
		"resources": func(s *members.State) {
			s.Info.Allocatable = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("-9e999"), corev1.ResourceMemory: resource.MustParse("9E")}
		},
		"expiry": func(s *members.State) { s.Info.CredentialsExpireAt = time.Unix(1<<40, 0) },
		"conditions": func(s *members.State) {
			s.Connected = members.Condition{Status: metav1.ConditionFalse, Reason: "no reason", Message: long}
			s.Authorized = members.Condition{Status: metav1.ConditionFalse, Message: long}
		},
		"other hub": func(s *members.State) { s.OtherHub = long },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := connected()
			change(&s)
			if err := schema.Validate(t, after(s)); err != nil {
				t.Error(err)
			}
		})
	}
	if diff := cmp.Diff(connected().Info, bounded(connected().Info)); diff != "" {
		t.Errorf("what is valid was changed (-was +is):\n%s", diff)
	}
	if is := bounded(members.Info{Zones: []string{"a", "a", "-", "b"}}); !slices.Equal(is.Zones, []string{"a", "b"}) {
		t.Errorf("zones %v", is.Zones)
	}
}

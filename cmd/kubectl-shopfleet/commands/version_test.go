package commands

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/doctor"
)

func TestTag(t *testing.T) {
	t.Parallel()
	for image, want := range map[string]string{
		"shopfleet-hub:v1.2.3":                          "v1.2.3",
		"registry.example.com:5000/shopfleet-hub:v1":    "v1",
		"registry.example.com:5000/shopfleet-hub":       "",
		"shopfleet-hub:v1@sha256:0123456789abcdef":      "v1",
		"registry.example.com/shopfleet-hub@sha256:012": "",
	} {
		if got := tag(image); got != want {
			t.Errorf("tag of %q is %q, want %q", image, got, want)
		}
	}
}

// TestShowVersions: members without an agent say so, and an agent that is too old is seen.
func TestShowVersions(t *testing.T) {
	t.Parallel()
	member := func(name string, mode v1.Mode, agent string) v1.MemberCluster {
		m := v1.MemberCluster{ObjectMeta: metav1.ObjectMeta{Name: name}}
		m.Spec.Mode, m.Status.AgentVersion, m.Status.KubernetesVersion = mode, agent, "v1.36.3"
		return m
	}
	found := versions{
		Client: clientVersion{Version: "v1.3.0"},
		Hub:    &hubVersion{Version: "v1.3.1", Kubernetes: "v1.36.3", Server: "https://hub", Image: "hub:v1.3.1", Skew: doctor.SkewSupported},
		Members: memberVersions([]v1.MemberCluster{
			member("eu-1", v1.ModeAgent, "v1.3.0"), member("us-1", v1.ModeAgent, "v1.1.0"), member("us-2", v1.ModeAgent, ""), member("asia-1", "", ""),
		}, "v1.3.1"),
	}
	for args, want := range map[string]string{
		"": `COMPONENT           VERSION     KUBERNETES   SKEW
kubectl-shopfleet   v1.3.0      -            -
hub                 v1.3.1      v1.36.3      Supported
eu-1                v1.3.0      v1.36.3      Supported
us-1                v1.1.0      v1.36.3      Unsupported
us-2                unknown     v1.36.3      Unknown
asia-1              agentless   v1.36.3      -
`,
		"--no-headers": `kubectl-shopfleet   v1.3.0      -         -
hub                 v1.3.1      v1.36.3   Supported
eu-1                v1.3.0      v1.36.3   Supported
us-1                v1.1.0      v1.36.3   Unsupported
us-2                unknown     v1.36.3   Unknown
asia-1              agentless   v1.36.3   -
`,
		"-o=jsonpath={.kind} {.hub.version} {.members[1].skew}":         "Versions v1.3.1 Unsupported",
		"-o=custom-columns=HUB:.hub.version,AGENTS:.members[0:2].agent": "HUB      AGENTS\nv1.3.1   v1.3.0,v1.1.0\n",
	} {
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		p := New(Invocation{Args: []string{program}, Streams: streams})
		o := newTableOutput(p.root)
		if args != "" {
			if err := p.root.ParseFlags([]string{args}); err != nil {
				t.Fatal(err)
			}
		}
		if err := o.check(); err != nil {
			t.Fatal(err)
		}
		if err := p.showVersions(o, found); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, strings.ReplaceAll(out.String(), " \n", "\n")); diff != "" {
			t.Errorf("%q (-want +got):\n%s", args, diff)
		}
	}
}

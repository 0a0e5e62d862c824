package commands

import (
	"slices"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/hub/runbook"
)

// TestExplain: reasons and alerts are explained without a hub, whatever the case of their letters.
func TestExplain(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		args []string
		code int
		says []string
	}{
		"a reason":          {[]string{v1.ReasonUnauthorized}, exitDone, []string{"Unauthorized\n\n", "What to do:\n  kubectl shopfleet renew MEMBER"}},
		"in lower case":     {[]string{"datastays"}, exitDone, []string{"DataStays\n\n", "To see more:\n  kubectl shopfleet why APP"}},
		"an alert":          {[]string{"ShopfleetHubDown"}, exitDone, []string{"To see more:\n  kubectl get pods"}},
		"nothing to do":     {[]string{v1.ReasonConnected}, exitDone, []string{"There is nothing to do."}},
		"as JSON":           {[]string{v1.ReasonDataStays, "-o", "jsonpath={.kind} {.name}"}, exitDone, []string{"RunbookEntry DataStays"}},
		"a part of a name":  {[]string{"unreach"}, exitFailed, []string{`finding "unreach" in the runbook: not found`, "Did you mean ClusterUnreachable"}},
		"an unknown reason": {[]string{"xyz"}, exitFailed, []string{"kubectl shopfleet completion --help"}},
		"no reason":         {nil, exitUsage, []string{"See: kubectl shopfleet explain --help"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			code, out, errOut := run(t, append([]string{"explain"}, tt.args...)...)
			if code != tt.code {
				t.Errorf("exit code %d, want %d", code, tt.code)
			}
			for _, part := range tt.says {
				if !strings.Contains(out+errOut, part) {
					t.Errorf("it says %q, want %q in it", out+errOut, part)
				}
			}
		})
	}
}

// TestRemediesThatAsk: a command that loses something, or hands it over, is not a remedy by itself: the line says when it
// is the right one, because doctor and the page show the first line alone.
func TestRemediesThatAsk(t *testing.T) {
	t.Parallel()
	p := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()})
	for _, e := range slices.Concat(runbook.Alerts(), runbook.Entries()) {
		remedy, _, _ := strings.Cut(e.Remedy, "\n")
		if strings.Contains(remedy, v1.DeletionProtectionAnnotation+"-") && strings.HasPrefix(remedy, "kubectl ") {
			t.Errorf("%s: %q deletes an EcommerceApp", e.Reason, remedy)
		}
		words, ok := strings.CutPrefix(remedy, "kubectl shopfleet ")
		if !ok {
			continue
		}
		cmd, _, err := p.root.Find(strings.Fields(words))
		if err != nil {
			t.Fatalf("%s: %v", e.Reason, err)
		}
		if asks := askedWhen(cmd); asks == "always" || strings.Contains(words, "--overwrite") {
			t.Errorf("%s: %q asks for a confirmation", e.Reason, remedy)
		}
	}
}

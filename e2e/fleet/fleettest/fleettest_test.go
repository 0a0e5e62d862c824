package fleettest_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/fleet"
	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
	"github.com/shopfleet/shopfleet/e2e/fleet/internal/process"
)

// failing is a test that fails, and records its messages.
type failing struct {
	testing.TB
	log      strings.Builder
	cleanups []func()
}

func (f *failing) Failed() bool         { return true }
func (f *failing) Cleanup(clean func()) { f.cleanups = append(f.cleanups, clean) }
func (f *failing) Log(text ...any)      { _, _ = fmt.Fprintln(&f.log, text...) }

func (f *failing) Logf(format string, arguments ...any) {
	_, _ = fmt.Fprintf(&f.log, format+"\n", arguments...)
}

func TestAFailedTestShowsWhatIsWrong(t *testing.T) {
	t.Setenv(fleettest.KeepVariable, "")
	test := &failing{TB: t}
	f := fleettest.Start(test, fleet.Options{Members: []fleet.ClusterSpec{{Name: "bare", APIServerOnly: true}}})
	bare := f.Member("bare")
	crash(t, f.Dir(), fleet.APIServer)
	const warning = "E0102 15:04:05.000000 the server has a reason\n"
	log, err := os.OpenFile(bare.LogFile(fleet.APIServer), os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := log.WriteString(warning); err != nil {
		t.Fatal(err)
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}

	for _, clean := range slices.Backward(test.cleanups) {
		clean()
	}
	report := test.log.String()
	for _, want := range []string{`cluster "bare" is partly running`, "kube-apiserver ended by itself", warning, fleettest.KeepVariable} {
		if !strings.Contains(report, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(report, "etcd ended by itself") {
		t.Error("etcd did not end")
	}
	if t.Failed() {
		t.Log(report)
	}
}

// crash ends a process without the fleet's doing.
func crash(t *testing.T, dir string, component fleet.Component) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(dir, "state.json"))
	if err != nil {
		t.Fatal(err)
	}
	var state struct {
		Members []struct {
			Processes map[fleet.Component]process.ID `json:"processes"`
		} `json:"members"`
	}
	if err := json.Unmarshal(raw, &state); err != nil {
		t.Fatal(err)
	}
	id := state.Members[0].Processes[component]
	if id.State() != process.Running {
		t.Fatalf("%s does not run", component)
	}
	if err := id.Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
}

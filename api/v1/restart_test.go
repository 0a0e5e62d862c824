package v1

import (
	"strings"
	"testing"
	"time"
)

func TestRequestedRestart(t *testing.T) {
	t.Parallel()
	const now = "2026-01-02T03:04:05Z"
	long := strings.Repeat("long", 30)
	for name, tt := range map[string]struct {
		request, restarted, handled string
		want                        string
	}{
		"none":                           {"", "then", "", ""},
		"now":                            {"true", "then", "v1", now},
		"a token":                        {"v2", "then", "v1", "v2"},
		"the first token":                {"v1", "", "", "v1"},
		"a token that was handled":       {"v2", "v2", "v2", ""},
		"handled, and restarted since":   {"v2", "then", "v2", ""},
		"handled, and the value is gone": {"v2", "", "v2", "v2"},
		"not remembered after a crash":   {"v2", "v2", "v1", ""},
		"the status was lost":            {"v2", "v2", "", ""},
		"a long token":                   {long, "then", "", shortToken(long)},
		"a long token that was handled":  {long, shortToken(long), "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			annotations := map[string]string{ImageUpdatedAnnotation: tt.request, RestartedAtAnnotation: tt.restarted}
			at, err := time.Parse(time.RFC3339, now)
			if err != nil {
				t.Fatal(err)
			}
			got := RequestedRestart(annotations, tt.handled, at)
			if got != tt.want || len(got) > maxRestartToken {
				t.Errorf("got %q, want %q", got, tt.want)
			}
			if tt.want != "" && tt.request != RestartNow {
				checkHandled(t, annotations, tt.handled, tt.want)
			}
		})
	}
}

// checkHandled restarts by a token: it counts as handled only afterwards, and is not repeated
// when it is not remembered.
func checkHandled(t *testing.T, annotations map[string]string, handled, restart string) {
	t.Helper()
	if got := HandledImageUpdate(annotations, handled); got != handled {
		t.Errorf("%q is handled before the restart", got)
	}
	annotations[RestartedAtAnnotation] = restart
	if got := HandledImageUpdate(annotations, handled); got != annotations[ImageUpdatedAnnotation] {
		t.Errorf("handled is %q", got)
	}
	if again := RequestedRestart(annotations, handled, time.Time{}); again != "" {
		t.Errorf("a restart that is not remembered is repeated as %q", again)
	}
}

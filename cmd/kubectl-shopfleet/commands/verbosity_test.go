package commands

import (
	"bytes"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

// TestVerbosity: -v=6 shows the requests, as with kubectl, and without it none is shown. The log is one of the whole process,
// so that no other test runs meanwhile.
func TestVerbosity(t *testing.T) {
	var log bytes.Buffer
	klog.LogToStderr(false)
	klog.SetOutput(&log)
	t.Cleanup(func() {
		run(t, "version", "--client", "-v=0")
		klog.LogToStderr(true)
	})
	hub := nowhere(t)
	for flag, want := range map[string]bool{"-v=6": true, "-v=0": false} {
		log.Reset()
		run(t, "status", "--kubeconfig", hub, "--request-timeout", "1s", flag)
		klog.Flush()
		if shown := strings.Contains(log.String(), "https://127.0.0.1:1/"); shown != want {
			t.Errorf("%s: requests are shown: %t, want %t; the log:\n%s", flag, shown, want, log.String())
		}
		if strings.Contains(log.String(), "hush") {
			t.Errorf("%s shows the token", flag)
		}
	}
}

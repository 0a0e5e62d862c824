package commands

import (
	"errors"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// TestConfirmRestore: data is replaced after a confirmation only.
func TestConfirmRestore(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		command  restore
		method   v1.BackupMethod
		terminal bool
		answer   string
		want     bool
		usage    bool
		says     string
	}{
		"nothing is replaced":    {restore{}, v1.BackupDump, false, "", true, false, ""},
		"with --yes":             {overwriting(func(c *restore) { c.confirmation = true }), v1.BackupDump, false, "", true, false, ""},
		"a dry run":              {overwriting(func(c *restore) { c.dryRun = dryRunServer }), v1.BackupDump, false, "", true, false, ""},
		"without a terminal":     {overwriting(nil), v1.BackupDump, false, "y\n", false, true, "confirm it with --yes"},
		"confirmed":              {overwriting(nil), v1.BackupDump, true, "y\n", true, false, "shops/shop in member eu-1 by Backup monday: its data is lost"},
		"declined":               {overwriting(nil), v1.BackupSnapshot, true, "n\n", false, false, "its volumes are replaced, and retained"},
		"not answered":           {overwriting(nil), v1.BackupSnapshot, true, "", false, false, "restore is cancelled"},
		"in another member":      {overwriting(func(c *restore) { c.spec.ClusterRef.Name = "us-1" }), v1.BackupDump, true, "y\n", true, false, "in member us-1"},
		"another member, no tty": {overwriting(func(c *restore) { c.spec.ClusterRef.Name = "us-1" }), v1.BackupDump, false, "", false, true, "in member us-1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			streams, in, _, errOut := genericiooptions.NewTestIOStreams()
			in.WriteString(tt.answer)
			c := tt.command
			c.Program = New(Invocation{Args: []string{program}, Streams: streams})
			c.terminal = tt.terminal
			backup := &v1.Backup{ObjectMeta: metav1.ObjectMeta{Namespace: "shops", Name: "monday"}}
			backup.Spec.Method, backup.Spec.AppRef.Name, backup.Spec.ClusterRef.Name = tt.method, "shop", "eu-1"
			got, err := c.confirm(t.Context(), backup)
			var wrong *usageError
			if got != tt.want || errors.As(err, &wrong) != tt.usage {
				t.Errorf("confirmed %t, %v; want %t, wrong usage %t", got, err, tt.want, tt.usage)
			}
			text := errOut.String()
			if err != nil {
				text += err.Error()
			}
			if !strings.Contains(text, tt.says) {
				t.Errorf("it says %q, want %q in it", text, tt.says)
			}
		})
	}
}

func overwriting(change func(*restore)) restore {
	c := restore{spec: v1.RestoreSpec{Overwrite: true}}
	if change != nil {
		change(&c)
	}
	return c
}

package transfer

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/spoke/transfer/order"
)

// TestProcess checks that Main reads the order, and writes its error to the termination log.
func TestProcess(t *testing.T) {
	t.Parallel()
	b := newBucket(t)
	m := newMove(t, order.Send, b.URL)
	text, err := m.order.Write()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	p := Process{
		Order: filepath.Join(dir, order.FileName), Dir: m.dir, TerminationLog: filepath.Join(dir, "log"), Out: io.Discard,
	}
	expect := func(status int, want string) {
		t.Helper()
		err := Main(t.Context(), p)
		if Status(err) != status {
			t.Errorf("it ended with %d, %v; want %d", Status(err), err, status)
		}
		said, _ := os.ReadFile(p.TerminationLog)
		if string(said) != want {
			t.Errorf("the log says %q, want %q", said, want)
		}
	}
	write := func(path, content string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := Main(t.Context(), p); Status(err) != order.ExitRetry {
		t.Errorf("without an order: %v", err)
	}
	if _, err := os.Stat(p.TerminationLog); err == nil {
		t.Error("a log was made")
	}
	write(p.TerminationLog, strings.Repeat("x", 99))
	write(p.Order, `{"direction":"`+token+`"}`)
	expect(order.ExitFinal, "the order: the direction: not an order\n")
	write(p.Order, string(text))
	expect(order.ExitGone, name+": file does not exist\n")
	m.file(t, shop)
	b.answers = []http.HandlerFunc{status(400, "<Code>InvalidRequest</Code>")}
	expect(order.ExitChecksums, "ksgKMXT9MdRLEMxlfH9Egg==\n")
	write(p.TerminationLog, "")
	expect(order.ExitDone, "")
	b.expect(t, stored())
}

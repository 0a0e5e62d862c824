package stranger

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"

	"github.com/shopfleet/shopfleet/e2e/fleet/fleettest"
)

// testPage serves the page with this release's plugin, and looks at it in a browser.
func (s *stranger) testPage(t *testing.T) {
	t.Helper()
	program, err := exec.LookPath("chromium-headless-shell")
	if err != nil {
		t.Fatalf("there is no browser: apt-get install chromium-headless-shell: %v", err)
	}
	cmd := s.env.Command(t.Context(), s.plugins[now], "ui")
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = cmd.Cancel()
		_ = cmd.Wait()
	}()
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("waiting for the address of the page: %v", err)
	}
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(program))...)
	defer cancel()
	browser, cancel := chromedp.NewContext(allocator)
	defer cancel()
	if _, err := chromedp.Run(browser, chromedp.Navigate(strings.TrimSpace(url))); err != nil {
		t.Fatal(err)
	}
	fleettest.Within(t, patience, "the page to show the shop and its cluster", func(context.Context) error {
		text, err := chromedp.Run(browser, chromedp.Evaluate[string]("document.body.innerText"))
		if err != nil {
			return err
		}
		for _, want := range []string{"1 of 1 EcommerceApps serve customers", "1 of 1 clusters answer"} {
			if !strings.Contains(text, want) {
				return fmt.Errorf("%w: %s", errWaiting, text)
			}
		}
		return nil
	})
}

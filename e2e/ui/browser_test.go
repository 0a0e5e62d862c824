package ui

import (
	"context"
	"fmt"
	"math"
	"os"
	"os/exec"
	"strconv"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/chromedp"

	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// browserVariable is the environment variable with the path of the browser.
	browserVariable = "SHOPFLEET_BROWSER"
	// patience is how long the browser waits for what is to appear. A frozen member is noticed within half a minute.
	patience = 90 * time.Second
	width    = 1280
	height   = 800
)

// browser is one tab of a headless browser. It calls a function with the context that actions for the tab need.
type browser func(act func(context.Context) error) error

// findBrowser returns the path of a headless Chromium, or skips the test.
func findBrowser(t testing.TB) string {
	t.Helper()
	for _, name := range []string{os.Getenv(browserVariable), "chromium-headless-shell", "chromium", "google-chrome"} {
		if path, err := exec.LookPath(name); name != "" && err == nil {
			return path
		}
	}
	t.Skipf("there is no Chromium: apt-get install chromium-headless-shell, or set %s to one", browserVariable)
	return ""
}

// openBrowser starts a browser that ends with the test.
func openBrowser(t testing.TB) browser {
	t.Helper()
	path := findBrowser(t)
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.WindowSize(width, height))
	allocator, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel := chromedp.NewContext(allocator)
	t.Cleanup(cancel)
	// The first action starts the browser, which must not end with the deadline of that action.
	if err := chromedp.Do(ctx); err != nil {
		t.Fatalf("starting the browser: %v", err)
	}
	if err := chromedp.Listen(ctx, func(event any) {
		if e, ok := event.(*log.EventEntryAdded); ok && e.Entry.Source == log.EntrySourceSecurity {
			t.Errorf("the browser says: %s", e.Entry.Text)
		}
	}); err != nil {
		t.Fatal(err)
	}
	return func(act func(context.Context) error) error { return act(ctx) }
}

// run runs an action, and fails the test if it does not succeed in time.
func run[T any](t testing.TB, b browser, action chromedp.Action[T]) (value T) {
	t.Helper()
	err := b(func(ctx context.Context) (err error) {
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		value, err = chromedp.Run(ctx, action)
		return err
	})
	if err != nil {
		t.Fatalf("%v; the page is:\n%s", err, b.shown())
	}
	return value
}

// shown returns the text of the page, for a message.
func (b browser) shown() string {
	var text string
	err := b(func(ctx context.Context) (err error) {
		text, err = chromedp.Run(ctx, chromedp.Evaluate[string]("document.body.innerText"))
		return err
	})
	if err != nil {
		return err.Error()
	}
	return text
}

// open opens an address, and blocks until the page of it is there.
func (b browser) open(t testing.TB, url string) {
	t.Helper()
	run(t, b, chromedp.Navigate(url))
	b.await(t, "the page of "+url, `document.querySelector("#view h1") !== null && document.readyState === "complete"`)
}

// await blocks until an expression is true in the page, which may be another one meanwhile.
func (b browser) await(t testing.TB, what, expression string) {
	t.Helper()
	for end := time.Now().Add(patience); ; {
		var yes bool
		err := b(func(ctx context.Context) (err error) {
			yes, err = chromedp.Run(ctx, chromedp.Evaluate[bool](expression))
			return err
		})
		switch {
		case err == nil && yes:
			return
		case time.Now().After(end):
			t.Fatalf("waiting for %s: %v; the page is:\n%s", what, err, b.shown())
		}
		framework.Pause(t, 50*time.Millisecond)
	}
}

// text returns the text of the first element that a selector names.
func (b browser) text(t testing.TB, selector string) string {
	t.Helper()
	return b.evaluate(t, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

// press presses keys.
func (b browser) press(t testing.TB, keys string) {
	t.Helper()
	// What listens to keys is run when the document can be read already.
	b.await(t, "the scripts of the page", `document.readyState === "complete"`)
	run(t, b, chromedp.KeyEvent(keys))
}

// evaluate returns the value of an expression as a text.
func (b browser) evaluate(t testing.TB, expression string) string {
	t.Helper()
	return run(t, b, chromedp.Evaluate[string](fmt.Sprintf("String(%s)", expression)))
}

// prefer sets the user's choice of light or dark.
func (b browser) prefer(t testing.TB, scheme string) {
	t.Helper()
	run(t, b, chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		features := []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}
		_, err := cdp.Call(ctx, to, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features})
		return err
	}))
}

// onNew runs a script in each document before its own.
func (b browser) onNew(t testing.TB, script string) {
	t.Helper()
	run(t, b, chromedp.Func(func(ctx context.Context, to *chromedp.Target) error {
		_, err := cdp.Call(ctx, to, page.AddScriptToEvaluateOnNewDocument, page.AddScriptToEvaluateOnNewDocumentParams{Source: script})
		return err
	}))
}

// picture returns a picture of the page, from its top to its end or as far as a window shows it.
func (b browser) picture(t testing.TB) []byte {
	t.Helper()
	end, err := strconv.ParseFloat(b.evaluate(t, `document.querySelector("body > footer").getBoundingClientRect().bottom`), 64)
	if err != nil {
		t.Fatal(err)
	}
	run(t, b, chromedp.EmulateViewport(width, min(height, int64(math.Ceil(end)))))
	defer run(t, b, chromedp.EmulateViewport(width, height))
	return run(t, b, chromedp.CaptureScreenshot())
}

package page

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"io/fs"
	"time"

	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/hubstate"
	"github.com/shopfleet/shopfleet/cmd/kubectl-shopfleet/ui/view"
)

// styles are the files that a document without a server contains.
func styles() []string { return []string{"assets/pico.classless.min.css", "assets/style.css"} }

// File writes all screens as one document that refers to nothing else and runs no script.
func (p *Page) File(w io.Writer, s *hubstate.Snapshot, now time.Time) error {
	policy, inline := "default-src 'none'; base-uri 'none'; form-action 'none'; style-src", ""
	for _, name := range styles() {
		style, err := fs.ReadFile(assets, name)
		if err != nil {
			return fmt.Errorf("reading a style: %w", err)
		}
		sum := sha256.Sum256(style)
		policy += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
		inline += "<style>" + string(style) + "</style>\n"
	}
	const head = "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" +
		"<meta http-equiv=\"Content-Security-Policy\" content=\"%s\">\n<meta name=\"color-scheme\" content=\"light dark\">\n" +
		"<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<title>Shopfleet at %s</title>\n%s</head>\n"
	if _, err := fmt.Fprintf(w, head, policy, now.UTC().Format("2006-01-02 15:04:05 UTC"), inline); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	var parts []document
	for _, screen := range Screens() {
		d, err := documentOf(Request{Screen: screen.Name, Snapshot: s, Now: now, Query: view.Query{Whole: true}})
		if err != nil {
			return err
		}
		d.Static = true
		parts = append(parts, d)
	}
	return p.execute(w, "file", parts)
}

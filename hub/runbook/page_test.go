package runbook_test

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/hub/runbook"
)

// TestPage compares the pages with the entries, and writes them when UPDATE_GOLDEN is set.
func TestPage(t *testing.T) {
	for path, got := range map[string]string{
		"../RUNBOOK.md": markdown(alertsPreamble, []runbook.Section{{Title: "Alerts", Entries: runbook.Alerts()}}, "REASONS.md"),
		"../REASONS.md": markdown(reasonsPreamble, toDo(runbook.Sections()), ""),
	} {
		if os.Getenv("UPDATE_GOLDEN") != "" {
			if err := os.WriteFile(path, []byte(got), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got); run make generate:\n%s", path, diff)
		}
	}
}

const generated = "<!-- Generated from hub/runbook by make generate. DO NOT EDIT. -->\n\n"

const placeholders = `Names in capitals are yours to fill in: MEMBER, NAMESPACE, APP, ACCOUNT, BACKUP, RESTORE and FILE, the kubeconfig of an
administrator of the member. Commands run on the hub, in the namespace shopfleet-system where they name it, unless they end
with ` + "`# in the member`" + `.`

const alertsPreamble = generated + `# Runbook

One entry for each alert. Each begins with a command that shows more, then says what to do. The reasons of conditions, to which some lead, are in
[REASONS.md](REASONS.md). ` + "`kubectl shopfleet explain ALERT`" + ` prints an entry.

` + placeholders + `

`

const reasonsPreamble = generated + `# Reasons

One entry for each reason of a condition or of a check of doctor, and for each state of a replica of a database, that may need a user. Each begins with a command that shows
more, then says what to do. ` + "`kubectl shopfleet explain REASON`" + ` prints an entry, also of the reasons that need no user. Alerts are in [RUNBOOK.md](RUNBOOK.md).

` + placeholders + ` To find the reason, start here:

    kubectl get memberclusters
    kubectl shopfleet status -A
    kubectl get backups,restores -A -o wide

`

// toDo returns the sections with those entries that a user has to do something about.
func toDo(sections []runbook.Section) []runbook.Section {
	var all []runbook.Section
	for _, s := range sections {
		s.Entries = slices.DeleteFunc(slices.Clone(s.Entries), func(e runbook.Entry) bool { return e.Remedy == "" })
		if len(s.Entries) > 0 {
			all = append(all, s)
		}
	}
	return all
}

// markdown returns a page. Reasons are in the file that is named, or in the page.
func markdown(preamble string, sections []runbook.Section, reasons string) string {
	var b strings.Builder
	b.WriteString(preamble)
	b.WriteString("<!-- contents -->\n") // Package archtest checks what is between this line and the next like it.
	for _, s := range sections {
		var links []string
		for _, e := range s.Entries {
			links = append(links, fmt.Sprintf("[%s](#%s)", e.Reason, strings.ToLower(e.Reason)))
		}
		anchor := strings.NewReplacer(" ", "-", ":", "").Replace(strings.ToLower(s.Title))
		fmt.Fprintf(&b, "- [%s](#%s): %s\n", s.Title, anchor, strings.Join(links, ", "))
	}
	b.WriteString("<!-- /contents -->\n")
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		for _, e := range s.Entries {
			text := e.Meaning + "\n" + steps(e)
			fmt.Fprintf(&b, "\n### %s\n\n%s", e.Reason, strings.ReplaceAll(text, "](#", "]("+reasons+"#"))
		}
	}
	return b.String()
}

// steps returns the commands and sentences of an entry.
func steps(e runbook.Entry) string {
	var b strings.Builder
	if e.Check != "" {
		fmt.Fprintf(&b, "\n    %s\n", e.Check)
	}
	first, rest, _ := strings.Cut(e.Remedy, "\n")
	if strings.HasPrefix(first, "kubectl ") {
		fmt.Fprintf(&b, "\nThen:\n\n    %s\n", first)
	} else {
		fmt.Fprintf(&b, "\n%s\n", first)
	}
	if rest != "" {
		fmt.Fprintf(&b, "\n%s\n", rest)
	}
	return b.String()
}

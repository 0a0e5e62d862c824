package runbook_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/hub/runbook"
)

// page is the file that TestPage compares, and writes when UPDATE_GOLDEN is set.
const page = "../RUNBOOK.md"

func TestPage(t *testing.T) {
	got := markdown()
	if os.Getenv("UPDATE_GOLDEN") != "" {
		if err := os.WriteFile(page, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("hub/RUNBOOK.md (-want +got); run make generate:\n%s", diff)
	}
}

const preamble = `<!-- Generated from hub/runbook by make generate. DO NOT EDIT. -->

# Runbook

One entry for each alert, for each reason of a condition, and for each state of a replica of a database. Each begins with a command that shows more, then says what to do.

Names in capitals are yours to fill in: MEMBER, NAMESPACE, APP, ACCOUNT, BACKUP, RESTORE and FILE, the kubeconfig of an
administrator of the member. Commands run on the hub, in the namespace shopfleet-system where they name it, unless they end
with ` + "`# in the member`" + `. To find the reason, start here:

    kubectl shopfleet clusters
    kubectl shopfleet status -A
    kubectl get backups,restores -A -o wide

`

// markdown returns the page.
func markdown() string {
	var b strings.Builder
	b.WriteString(preamble)
	sections := append([]runbook.Section{{Title: "Alerts", Entries: runbook.Alerts()}}, runbook.Sections()...)
	for _, s := range sections {
		var links []string
		for _, e := range s.Entries {
			links = append(links, fmt.Sprintf("[%s](#%s)", e.Reason, strings.ToLower(e.Reason)))
		}
		fmt.Fprintf(&b, "- %s: %s\n", s.Title, strings.Join(links, ", "))
	}
	for _, s := range sections {
		fmt.Fprintf(&b, "\n## %s\n", s.Title)
		for _, e := range s.Entries {
			fmt.Fprintf(&b, "\n### %s\n\n%s\n", e.Reason, e.Meaning)
			b.WriteString(steps(e))
		}
	}
	return b.String()
}

// steps returns the commands and sentences of an entry.
func steps(e runbook.Entry) string {
	if e.Check == "" && e.Remedy == "" {
		return "There is nothing to do.\n"
	}
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

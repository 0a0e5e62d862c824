package commands

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// TestPage compares the page of the plugin with its commands, and writes it when UPDATE_GOLDEN is set.
func TestPage(t *testing.T) {
	t.Parallel()
	const path = "../README.md"
	p := New(Invocation{Args: []string{program}, Version: "v9", Streams: genericiooptions.NewTestIOStreamsDiscard()})
	got := manual(p)
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

const pagePreamble = `<!-- Generated from cmd/kubectl-shopfleet/commands by make generate. DO NOT EDIT. -->

# The plugin

` + "`make build` creates `bin/kubectl-shopfleet`. kubectl finds it in your `PATH` as `kubectl shopfleet`, and its completion as `kubectl_complete-shopfleet`,\n" +
	"a link to the same file. `--help` of each command has examples." + `

- [Commands](#commands)
- [Conventions](#conventions)
- [Exit codes](#exit-codes)

## Commands

A command that *asks* loses, or hands over, what no command brings back: data, an EcommerceApp, a registration, the definitions. Without a terminal it needs
` + "`--yes`. All that change something, but for `renew`, have `--dry-run=client|server`, which asks nothing." + `
`

const pageConventions = `
## Conventions

Flags and output are those of kubectl, from its own packages.

- **Which hub.** ` + "`--kubeconfig`, `--context` and `--cluster` choose the cluster of the hub. Its namespace is that of `--hub-namespace`." + `
- **Which objects.** ` + "`NAME...` is any number of names; in their place `-l` selects by labels, and `--all` all. `-n` is the namespace of EcommerceApps, Backups and orphans, and\n" +
	"  `-A` lists those of all. `--member` names a member where that is not the object." + `
- **Output.** ` + "`-o` takes `json`, `yaml`, `jsonpath=`, `go-template=` and, for objects, `name`; tables also `wide` and `custom-columns=`, with `--no-headers`. Lists have `--sort-by`,\n" +
	"  `--show-labels`, `-L`, `-l` and `-w`; `status` and `backup list` also `--field-selector`. Results go to the standard output, progress and hints to the standard error; `-v=6` shows the requests." + `
- **Waiting.** ` + "What waits has `--wait=false` and a `--timeout`. The hub goes on if you interrupt a command." + `

## Exit codes

The same for all commands. As with ` + "`kubectl diff`" + `, an error is greater than 1.

| code | meaning |
|---|---|
`

// manual returns the page of the plugin.
func manual(p *Program) string {
	var b strings.Builder
	b.WriteString(pagePreamble)
	for _, g := range p.commandGroups() {
		fmt.Fprintf(&b, "\n### %s\n\n| command | what it does | asks |\n|---|---|---|\n", strings.TrimSuffix(g.Message, ":"))
		for _, cmd := range g.Commands {
			writeCommand(&b, "", cmd)
		}
	}
	b.WriteString(pageConventions)
	for _, line := range exitMeanings() {
		code, meaning, _ := strings.Cut(line, " ")
		fmt.Fprintf(&b, "| %s | %s |\n", code, meaning)
	}
	return b.String()
}

// writeCommand writes a row for a command that is no group, and for each one below it.
func writeCommand(b *strings.Builder, above string, cmd *cobra.Command) {
	if !isGroup(cmd) {
		fmt.Fprintf(b, "| `%s%s` | %s | %s |\n", above, strings.ReplaceAll(cmd.Use, "|", "\\|"), cmd.Short, askedWhen(cmd))
	}
	for _, below := range cmd.Commands() {
		writeCommand(b, above+cmd.Name()+" ", below)
	}
}

// askedWhen returns when a command asks for a confirmation: always, with some of its flags, or never, which is empty.
func askedWhen(cmd *cobra.Command) string {
	yes := cmd.Flag("yes")
	if yes == nil {
		return ""
	}
	if flags := regexp.MustCompile(`--[-a-z]+`).FindAllString(yes.Usage, -1); len(flags) > 0 {
		return "with `" + strings.Join(flags, "`, `") + "`"
	}
	return "always"
}

package invariants_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
	"github.com/shopfleet/shopfleet/e2e/framework/invariants"
)

func TestUnknownReasons(t *testing.T) {
	const (
		fine    = `{"status":{"conditions":[{"type":"Ready","reason":"Running"}],"components":[{"reason":"WaitingForStorage"}],"clusters":[{"reason":""}]}}`
		ready   = `{"status":{"conditions":[{"type":"Ready","reason":"MadeUp"}]}}`
		theirs  = `{"status":{"conditions":[{"type":"Theirs","reason":"MadeUp"},{"type":"Ready","reason":"Running"}]}}`
		part    = `{"status":{"components":[{"reason":"MadeUp"}]}}`
		cluster = `{"status":{"clusters":[{"reason":"MadeUp"}]}}`
	)
	type write struct{ who, object string }
	for name, test := range map[string]struct {
		writes []write
		want   int
	}{
		"known":              {[]write{{hub, fine}}, 0},
		"of a condition":     {[]write{{hub, ready}, {spoke, ready}}, 1},
		"of a component":     {[]write{{spoke, part}}, 1},
		"of a cluster":       {[]write{{hub, cluster}}, 1},
		"a user's":           {[]write{{user, theirs}, {hub, theirs}}, 0},
		"beside a user's":    {[]write{{user, theirs}, {hub, ready}}, 1},
		"of nobody else yet": {[]write{{hub, theirs}, {user, theirs}}, 1},
		"unreadable":         {[]write{{hub, "{"}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			var log audit.Log
			for i, w := range test.writes {
				e := event(i, w.who, "patch ecommerceapps/status shop/web")
				e.Object = w.object
				log = append(log, e)
			}
			got := invariants.UnknownReasons(invariants.Logs{"hub": log})
			if len(got) != test.want || slices.ContainsFunc(got, func(line string) bool { return !strings.Contains(line, "MadeUp") }) {
				t.Errorf("got %q, want %d", got, test.want)
			}
		})
	}
}

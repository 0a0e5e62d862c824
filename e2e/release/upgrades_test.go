package main

import (
	"slices"
	"testing"

	"github.com/blang/semver/v4"
)

// TestUpgrades checks which versions OLM upgrades: those that agents and plugins may be apart, by the library that reads the range in OLM.
func TestUpgrades(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		version, want string
		from, not     []string
	}{
		{version: "v0.1.0", want: ""},
		{version: "v0.1.0-check", want: ""},
		{version: "v0.1.2", want: ">=0.1.0 <0.1.2", from: []string{"0.1.0", "0.1.1"}, not: []string{"0.0.9", "0.1.2"}},
		{version: "v0.2.0", want: ">=0.1.0 <0.2.0", from: []string{"0.1.0", "0.1.9"}, not: []string{"0.2.0", "0.3.0"}},
		{version: "v0.3.0-rc.1", want: ">=0.2.0 <0.3.0-rc.1", from: []string{"0.2.7"}, not: []string{"0.1.9", "0.3.0"}},
		{version: "v0.12.3", want: ">=0.11.0 <0.12.3", from: []string{"0.11.0", "0.12.2"}, not: []string{"0.10.9", "0.12.4"}},
		{version: "v1.0.0", want: "", not: []string{"0.9.0"}},
		{version: "v1.0.1", want: ">=1.0.0 <1.0.1", from: []string{"1.0.0"}, not: []string{"0.9.0"}},
	} {
		got, has := release{version: c.version}.channelEntry()["skipRange"]
		if !has {
			got = ""
		}
		if got != c.want {
			t.Errorf("%s is upgraded to from %q, want %q", c.version, got, c.want)
		}
		if c.want == "" {
			continue
		}
		upgraded, err := semver.ParseRange(c.want)
		if err != nil {
			t.Fatal(err)
		}
		for _, v := range slices.Concat(c.from, c.not) {
			if is := upgraded(semver.MustParse(v)); is != slices.Contains(c.from, v) {
				t.Errorf("%s is upgraded to %s: %t", v, c.version, is)
			}
		}
	}
}

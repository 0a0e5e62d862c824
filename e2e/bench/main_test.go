package bench_test

import (
	"os"
	"strconv"
	"testing"

	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// figuresVariable is the environment variable with a regular expression that selects figures of
	// BenchmarkHub, faultsVariable the one for BenchmarkIsolation.
	figuresVariable = "SHOPFLEET_BENCH"
	faultsVariable  = "SHOPFLEET_ISOLATION"
	// samplesVariable is the environment variable with the least number of samples in a phase of BenchmarkIsolation.
	samplesVariable = "SHOPFLEET_ISOLATION_SAMPLES"
	// pairsVariable is the environment variable with the number of interleaved pairs of the figures
	// that have some, shopsVariable with the number of shops in a burst, and membersVariable with that of
	// the members.
	pairsVariable   = "SHOPFLEET_BENCH_PAIRS"
	shopsVariable   = "SHOPFLEET_BENCH_SHOPS"
	membersVariable = "SHOPFLEET_BENCH_MEMBERS"
	defaultPairs    = 10
	defaultShops    = 50
	defaultMembers  = 3
	// warmups is how often a subject runs before it is measured.
	warmups = 2
)

func TestMain(m *testing.M) {
	framework.Silence()
	os.Exit(m.Run())
}

// BenchmarkHub runs the figures on one fleet, and prints them as a table. Each runs alone as well:
// those that need running shops create them.
func BenchmarkHub(b *testing.B) {
	chosen := choose(b, figuresVariable, []figure[*fixture]{
		{name: "create", measure: (*fixture).measureCreate},
		{name: "edit", measure: (*fixture).measureEdit},
		{name: "status", measure: (*fixture).measureStatus},
		{name: "drift", measure: (*fixture).measureDrift},
		{name: "burst", measure: (*fixture).measureBurst},
		{name: "restart", measure: (*fixture).measureRestart},
		{name: "freeze", measure: (*fixture).measureFreeze},
		{name: "deletion", measure: (*fixture).measureDeletion},
		{name: "memory", measure: (*fixture).measureMemory},
		{name: "members", measure: (*fixture).measureMembers},
	})
	f := newFixture(b)
	for _, each := range chosen {
		b.Run(each.name, func(b *testing.B) {
			for b.Loop() {
				each.measure(f, b)
			}
		})
	}
}

// number returns the number in an environment variable.
func number(b *testing.B, variable string, fallback int) int {
	b.Helper()
	text := os.Getenv(variable)
	if text == "" {
		return fallback
	}
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		b.Fatalf("%s=%s is not a number of at least 1", variable, text)
	}
	return n
}

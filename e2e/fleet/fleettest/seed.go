package fleettest

import (
	"os"
	"strconv"
	"testing"
	"time"
)

// Seed returns the seed that an environment variable sets for the samples of a suite. The
// default changes every day, so that one day's runs repeat each other.
func Seed(t testing.TB, variable string) uint64 {
	t.Helper()
	text := os.Getenv(variable)
	if text == "" {
		const day = 24 * time.Hour
		return uint64(time.Now().Unix()) / uint64(day.Seconds())
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("%s: %v", variable, err)
	}
	return seed
}

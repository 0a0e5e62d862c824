package v1

import (
	"testing"
	"time"
)

func TestSeconds(t *testing.T) {
	t.Parallel()
	noon := time.Date(2026, 11, 28, 12, 0, 0, 0, time.UTC)
	if got := Seconds(noon.Add(999 * time.Millisecond)); got == nil || !got.Time.Equal(noon) {
		t.Errorf("got %v, want %s", got, noon)
	}
	for name, none := range map[string]time.Time{"zero": {}, "before the first year": noon.AddDate(-2027, 0, 0), "five digits": noon.AddDate(8000, 0, 0)} {
		if got := Seconds(none); got != nil {
			t.Errorf("%s: got %s, want none", name, got)
		}
	}
}

package retry

import (
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// TestPace lets other objects make progress before one does.
func TestPace(t *testing.T) {
	t.Parallel()
	const usual = 5 * time.Second
	start := time.Unix(1000, 0)
	for name, tt := range map[string]struct {
		others int
		// before is how long before it they do.
		before time.Duration
		want   time.Duration
	}{
		"alone":                       {0, 0, usual},
		"with four others":            {4, 0, usual},
		"with five":                   {5, 0, usual * 6 / 5},
		"with fourteen":               {14, time.Second, 3 * usual},
		"with a thousand":             {1000, 0, 6 * usual},
		"others in the window before": {15, paceWindow, 3 * usual},
		"long ago":                    {1000, 2 * paceWindow, usual},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &Pace{}
			for i := range tt.others {
				p.Period(types.NamespacedName{Name: strconv.Itoa(i)}, usual, start)
			}
			for range 2 { // It counts once.
				if got := p.Period(types.NamespacedName{Name: "it"}, usual, start.Add(tt.before)); got != tt.want {
					t.Errorf("got %s, want %s", got, tt.want)
				}
			}
		})
	}
}

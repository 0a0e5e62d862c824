package bench_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// subject is one way to do what is measured. Its rounds have numbers, for names of their own.
type subject struct {
	name    string
	measure func(b *testing.B, round int) time.Duration
}

// row compares the hub with a baseline, or has one value if there is none.
type row struct {
	figure, hub, against, baseline, ratio string
}

// table holds the rows of a run.
type table struct {
	rows []row
}

// add adds a row and logs it, so that a run that is stopped has shown it.
func (t *table) add(b *testing.B, r row) {
	b.Helper()
	b.Log(r)
	t.rows = append(t.rows, r)
}

// value adds a row without a baseline.
func (t *table) value(b *testing.B, figure, format string, args ...any) {
	b.Helper()
	t.add(b, row{figure: figure, hub: fmt.Sprintf(format, args...)})
}

// once adds a row of one measurement each.
func (t *table) once(b *testing.B, figure string, hub time.Duration, against string, baseline time.Duration) {
	b.Helper()
	t.add(b, row{figure, seconds(hub), against, seconds(baseline), fmt.Sprintf("%.2f", float64(hub)/float64(baseline))})
}

// compare measures the hub and the baselines in turn, and adds a row for each baseline. The first
// ratio is the median of the ratios of all pairs, the second that of the 99th percentiles.
func (t *table) compare(b *testing.B, figure string, hub subject, baselines ...subject) {
	b.Helper()
	all := append(slices.Clone(baselines), hub)
	took := make([][]time.Duration, len(all))
	for round := range warmups + number(b, pairsVariable, defaultPairs) {
		for i, s := range all {
			if d := s.measure(b, round); round >= warmups {
				took[i] = append(took[i], d)
			}
		}
	}
	own := took[len(baselines)]
	for i, s := range baselines {
		ratios := make([]float64, len(own))
		for pair := range own {
			ratios[pair] = float64(own[pair]) / float64(took[i][pair])
		}
		slices.Sort(ratios)
		t.add(b, row{
			figure, percentiles(own), s.name, percentiles(took[i]),
			fmt.Sprintf("%.2f / %.2f", ratios[len(ratios)/2], float64(percentile(own, 99))/float64(percentile(took[i], 99))),
		})
	}
}

// String returns the table in Markdown.
func (t *table) String() string {
	var text strings.Builder
	text.WriteString("| figure | hub | against | baseline | ratio |\n|---|---|---|---|---|\n")
	for _, r := range t.rows {
		text.WriteString(r.String() + "\n")
	}
	return text.String()
}

// String returns the row in Markdown.
func (r row) String() string {
	return "| " + strings.Join([]string{r.figure, r.hub, r.against, r.baseline, r.ratio}, " | ") + " |"
}

func percentiles(all []time.Duration) string {
	return fmt.Sprintf("%.1f / %.1f ms", milliseconds(percentile(all, 50)), milliseconds(percentile(all, 99)))
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.2f s", d.Seconds()) }

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

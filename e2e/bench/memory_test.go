package bench_test

import (
	"fmt"
	"slices"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/e2e/framework"
)

const (
	// fewShopsVariable and manyShopsVariable are the environment variables with the numbers of shops
	// between which the growth of memory is measured.
	fewShopsVariable  = "SHOPFLEET_BENCH_FEW_SHOPS"
	manyShopsVariable = "SHOPFLEET_BENCH_MANY_SHOPS"
	defaultFewShops   = 50
	defaultManyShops  = 500
	// memoryMembers is the number of members, which are fake. All have all shops.
	memoryMembers = 3
)

// measureMemory measures the memory of a hub with few shops and again with many, and what each shop adds in
// each member. There is no baseline.
func (f *fixture) measureMemory(b *testing.B) {
	b.Helper()
	few, many := number(b, fewShopsVariable, defaultFewShops), number(b, manyShopsVariable, defaultManyShops)
	if few >= many {
		b.Fatalf("%d shops are not fewer than %d", few, many)
	}
	c := newCrowd(b, memoryMembers, many, framework.Options{})
	own := f.startCrowd(b, c)
	c.register(b, v1.Health{})
	var sizes []memory
	for _, shops := range []int{few, many} {
		placements := slices.Repeat([][]string{c.names}, shops-c.created)
		for some := range slices.Chunk(placements, createdAtOnce) {
			c.create(b, some)
		}
		c.settled(b)
		now := own.process.memory(b)
		f.value(b, fmt.Sprintf("%d shops × %d: live heap, resident memory", shops, len(c.names)), "%.1f MiB, %.0f MiB", now.live, now.rss)
		sizes = append(sizes, now)
	}
	each := func(before, after float64) float64 { return (after - before) * 1024 / float64((many-few)*len(c.names)) }
	f.value(b, "… growth for each copy: live heap, resident memory, with GOGC", "%.1f KiB, %.1f KiB, %d",
		each(sizes[0].live, sizes[1].live), each(sizes[0].rss, sizes[1].rss), own.process.gogc(b))
}

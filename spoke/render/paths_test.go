package render

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/shopfleet/shopfleet/api/apitest"
)

// pathSeed is the environment variable with the seed of another run of TestPaths.
const pathSeed = "SHOPFLEET_PATHS_SEED"

// TestPaths edits random shops step by step, in six hundred steps that reach each field of
// the schema, and compares what exists after each with what a new shop of the same spec has.
func TestPaths(t *testing.T) {
	const paths, steps = 30, 20
	seed := uint64(1)
	if given := os.Getenv(pathSeed); given != "" {
		var err error
		if seed, err = strconv.ParseUint(given, 10, 64); err != nil {
			t.Fatal(err)
		}
	}
	t.Logf("%s=%d", pathSeed, seed)
	changed := map[string]int{}
	for path := range uint64(paths) {
		t.Run(fmt.Sprint(path), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, path))
			app, cluster := randomShop(random)
			app.Spec = apitest.RandomFullApp(random).Spec
			lived := newShopState(t)
			lived.converge(app, cluster)
			for step := range steps {
				before := app.DeepCopy()
				field := apitest.RandomEdit(random, app)
				changed[field]++
				lived.converge(app, cluster)
				fresh := newShopState(t)
				fresh.converge(app, cluster)
				lived.compare(fresh)
				if t.Failed() {
					t.Fatalf("step %d changed %s, from %+v to %+v", step, field, before.Spec, app.Spec)
				}
			}
		})
	}
	for _, field := range apitest.EditedFields() {
		if changed[field] == 0 {
			t.Errorf("no step changed %s", field)
		}
	}
}

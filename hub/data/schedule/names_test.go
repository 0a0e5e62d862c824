package schedule

import (
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"
)

func TestNames(t *testing.T) {
	t.Parallel()
	scheduledTime := time.Date(2026, 11, 21, 3, 0, 0, 0, time.FixedZone("CET", 3600))
	long := strings.Repeat("x", 60)
	for name, tt := range map[string]struct{ app, cluster, want string }{
		"plain":                    {"shop", "eu-1", "shop-eu-1-20261121-0200"},
		"as long as it goes":       {"shop", strings.Repeat("y", 35), "shop-" + strings.Repeat("y", 35) + "-20261121-0200"},
		"an application with dash": {"web-shop", "eu-1", "web-shop-eu-1-a1lccbs4-20261121-0200"},
		"long":                     {long, "eu-1", strings.Repeat("x", 31) + "-s0af4ard-20261121-0200"},
		"cut at a dash":            {"shop", strings.Repeat("z", 25) + "-" + long, "shop-" + strings.Repeat("z", 25) + "-tdfgfdse-20261121-0200"},
		"with dots":                {"shop", "eu.example", "shop-eu-example-vcue6v9f-20261121-0200"},
		"upper case":               {"Shop", "eu", "shop-eu-a49ubcae-20261121-0200"},
		"first and last ones":      {"Za-Az", "z09a", "za-az-z09a-iks9ilkh-20261121-0200"},
		"no names":                 {"", "", "doq0n77v-20261121-0200"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := BackupName(tt.app, tt.cluster, scheduledTime); got != tt.want {
				t.Errorf("name %q, want %q", got, tt.want)
			}
			manual := strings.TrimSuffix(tt.want, "20261121-0200") + "manual-20261121-020000"
			if got := ManualName(tt.app, tt.cluster, scheduledTime); got != manual {
				t.Errorf("name %q, want %q", got, manual)
			}
		})
	}
}

// TestNamesDiffer names what would be easy to take for one another.
func TestNamesDiffer(t *testing.T) {
	t.Parallel()
	scheduledTime := time.Date(2026, 11, 21, 2, 0, 0, 0, time.UTC)
	long := strings.Repeat("x", 60)
	seen := map[string][2]string{}
	for _, pair := range [][2]string{
		{"shop", "eu-1"}, {"shop-eu", "1"}, {"shop.eu", "1"}, {"shop", "eu.1"}, {"shop", "eu"}, {"Shop", "eu"},
		{"a-b", "c-d"}, {"a", "b-c-d"}, {"a-b-c", "d"}, {"a--b", "c"}, {"a", "-b-c"}, {"a-", "b-c"}, {"", "a"}, {"a", ""},
		{long, "1"}, {long + "x", "1"}, {long, "2"}, {"shop", "manual"}, {"shop-manual", "1"},
	} {
		for _, name := range []string{BackupName(pair[0], pair[1], scheduledTime), ManualName(pair[0], pair[1], scheduledTime)} {
			if other, taken := seen[name]; taken {
				t.Errorf("%q names both %q and %q", name, other, pair)
			}
			seen[name] = pair
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("shop", "eu-1", "shop-eu", "1", int64(1795226400))
	f.Add("", "-", "ünï", strings.Repeat("-", 70), int64(0))
	f.Add(strings.Repeat("a", 40), "b", strings.Repeat("a", 40), "c", int64(253402300799))
	f.Fuzz(func(t *testing.T, app, cluster, otherApp, otherCluster string, seconds int64) {
		const year10000 = 253402300800
		scheduledTime := time.Unix((seconds%year10000+year10000)%year10000, 0)
		for _, name := range []string{BackupName(app, cluster, scheduledTime), ManualName(app, cluster, scheduledTime)} {
			if problems := validation.IsDNS1123Label(name); problems != nil {
				t.Fatalf("%q of %q in %q is no label: %v", name, app, cluster, problems)
			}
		}
		if BackupName(app, cluster, scheduledTime) != BackupName(app, cluster, scheduledTime.UTC().Truncate(time.Minute)) {
			t.Fatal("the same scheduledTime has two names")
		}
		if BackupName(app, cluster, scheduledTime) == BackupName(app, cluster, scheduledTime.Add(time.Minute)) {
			t.Fatal("two scheduledTimes have one name")
		}
		same := app == otherApp && cluster == otherCluster
		if (stem(app, cluster) == stem(otherApp, otherCluster)) != same {
			t.Fatalf("%q in %q and %q in %q share a name", app, cluster, otherApp, otherCluster)
		}
	})
}

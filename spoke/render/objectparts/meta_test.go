package objectparts

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"

	v1 "github.com/shopfleet/shopfleet/api/v1"
)

func TestName(t *testing.T) {
	long := strings.Repeat("a", 63)
	cases := map[string]struct {
		base, suffix string
		limit        int
		want         string
	}{
		"short":     {"shop", "-backend", 63, "shop-backend"},
		"just fits": {strings.Repeat("a", 55), "-backend", 63, strings.Repeat("a", 55) + "-backend"},
		"one too long": {
			strings.Repeat("a", 56), "-backend", 63,
			strings.Repeat("a", 46) + "-" + Hash(strings.Repeat("a", 56)) + "-backend",
		},
		"long":                    {long, "-database", 52, strings.Repeat("a", 34) + "-" + Hash(long) + "-database"},
		"cut at a dash":           {"aaa-" + long, "-x", 14, "aaa-" + Hash("aaa-" + long)[:8] + "-x"},
		"last letter":             {"zoo", "", 63, "zoo"},
		"dots":                    {"my.shop", "-backend", 63, "my-shop-" + Hash("my.shop") + "-backend"},
		"begins with a digit":     {"1shop", "", 63, "x1shop-" + Hash("1shop")},
		"without a suffix":        {"shop", "", 63, "shop"},
		"ends in dash when cut":   {strings.Repeat("a", 53) + "-" + strings.Repeat("b", 20), "", 63, strings.Repeat("a", 53) + "-" + Hash(strings.Repeat("a", 53)+"-"+strings.Repeat("b", 20))},
		"begins with a dot's 'x'": {"0.0", "-a", 63, "x0-0-" + Hash("0.0") + "-a"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := Name(c.base, c.suffix, c.limit)
			if got != c.want {
				t.Errorf("Name = %q, want %q", got, c.want)
			}
			if problems := validation.IsDNS1035Label(got); len(problems) > 0 || len(got) > c.limit {
				t.Errorf("%q is no name of at most %d characters: %v", got, c.limit, problems)
			}
		})
	}
}

// TestNamesDoNotMeet checks that names that were shortened, or cleaned, to the same letters are different.
func TestNamesDoNotMeet(t *testing.T) {
	bases := []string{"a.b", "a-b", "1a", "x1a", strings.Repeat("a", 63), strings.Repeat("a", 62) + "b"}
	seen := map[string]string{}
	for _, base := range bases {
		name := Name(base, "-database", 52)
		if other, taken := seen[name]; taken {
			t.Errorf("%q and %q are both called %q", base, other, name)
		}
		seen[name] = base
	}
}

func TestLabelValue(t *testing.T) {
	for _, s := range []string{"shop", "my.shop", strings.Repeat("a", 63), strings.Repeat("a", 64), strings.Repeat("a", 53) + "." + strings.Repeat("b", 199)} {
		got := LabelValue(s)
		if problems := validation.IsValidLabelValue(got); len(problems) > 0 {
			t.Errorf("LabelValue(%q) = %q: %v", s, got, problems)
		}
		if len(s) <= 63 && got != s {
			t.Errorf("LabelValue(%q) = %q, want it unchanged", s, got)
		}
	}
}

func TestImage(t *testing.T) {
	t.Parallel()
	const registry = "mirror.example.com:5000/hub"
	for image, want := range map[string]string{
		"postgres:17.2":                      "/library/postgres:17.2",
		"docker.io/mysql":                    "/library/mysql",
		"docker.io/library/mysql":            "/library/mysql",
		"bitnami/mysql:8.4":                  "/bitnami/mysql:8.4",
		"docker.io/bitnami/mysql:8.4":        "/bitnami/mysql:8.4",
		"quay.io/oauth2-proxy/oauth2-proxy":  "/oauth2-proxy/oauth2-proxy",
		"registry.example.com:5000/a/shop:v": "/a/shop:v",
		"localhost/shop":                     "/shop",
		"localhost:5000/shop@sha256:0a":      "/shop@sha256:0a",
	} {
		if got := Image(registry, image); got != registry+want {
			t.Errorf("Image(%q) = %q, want %q", image, got, registry+want)
		}
		if got := Image("", image); got != image {
			t.Errorf("without a registry Image(%q) = %q", image, got)
		}
		if got := Image(registry, registry+want); got != registry+want {
			t.Errorf("Image(%q) = %q, which has the registry twice", registry+want, got)
		}
	}
}

func TestImageVersion(t *testing.T) {
	for image, want := range map[string]string{
		"nginx:1.25":                       "1.25",
		"nginx":                            "",
		"registry.example.com:5000/a/b":    "",
		"registry.example.com:5000/a/b:v1": "v1",
		"shop:v1@sha256:0123":              "v1",
		"shop@sha256:0123":                 "",
		"shop:" + strings.Repeat("1", 64):  "",
		"shop:v1_":                         "",
		"shop:" + strings.Repeat("1", 63):  strings.Repeat("1", 63),
	} {
		if got := ImageVersion(image); got != want {
			t.Errorf("ImageVersion(%q) = %q, want %q", image, got, want)
		}
	}
}

func TestDataHash(t *testing.T) {
	a := DataHash(map[string]string{"a": "1", "b": "2"})
	for _, other := range []map[string]string{{"a": "1", "b": "3"}, {"a": "1"}, {"a": "1b", "": "2"}, {"a1": "", "b": "2"}} {
		if DataHash(other) == a {
			t.Errorf("%v has the hash of other data", other)
		}
	}
	if DataHash(map[string]string{"b": "2", "a": "1"}) != a {
		t.Error("the same data have two hashes")
	}
}

// TestSelectorIsStable checks that selectors have no labels that may change or are not known at first.
func TestSelectorIsStable(t *testing.T) {
	one := Part{Owner: Owner{Kind: "k", Name: "shop", UID: "1", Cluster: "eu-1"}, Component: "backend", App: "backend", Version: "v1"}
	two := one
	two.Owner.UID, two.Owner.Cluster, two.Version, two.App = "2", "us-1", "v2", "other"
	for key, value := range one.Selector() {
		if two.Selector()[key] != value {
			t.Errorf("%s changes", key)
		}
		if one.PodLabels()[key] != value || one.Labels()[key] != value {
			t.Errorf("%s is selected, but is not a label", key)
		}
	}
	if got := two.Labels()[v1.ClusterLabel]; got != "us-1" {
		t.Errorf("the cluster's label is %q", got)
	}
}

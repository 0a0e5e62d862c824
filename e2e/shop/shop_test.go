package shop

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDraft(t *testing.T) {
	two := func(id string) Item { return Item{ProductID: id, Quantity: 2} }
	cases := map[string]struct {
		draft Draft
		want  string // The error; empty: none.
	}{
		"plain":                {Draft{Customer: "Ada", Items: []Item{two("a")}}, ""},
		"longest name":         {Draft{Customer: strings.Repeat("ø", MaxCustomer), Items: []Item{two("a")}}, ""},
		"no name":              {Draft{Customer: " \t", Items: []Item{two("a")}}, "invalid: customer: is required"},
		"name too long":        {Draft{Customer: strings.Repeat("ø", MaxCustomer+1), Items: []Item{two("a")}}, "invalid: customer: is longer than 80 characters"},
		"name not text":        {Draft{Customer: "A\xff", Items: []Item{two("a")}}, "invalid: customer: is not valid UTF-8"},
		"name with a zero":     {Draft{Customer: "A\x00a", Items: []Item{two("a")}}, "invalid: customer: contains control characters"},
		"note too long":        {Draft{Customer: "Ada", Note: strings.Repeat("n", 201), Items: []Item{two("a")}}, "invalid: note: is longer than 200 characters"},
		"nothing":              {Draft{Customer: "Ada"}, "invalid: items: choose at least one product"},
		"no product":           {Draft{Customer: "Ada", Items: []Item{two("")}}, "invalid: items[0].productId: is not the id of a product"},
		"none of it":           {Draft{Customer: "Ada", Items: []Item{{"a", 0}}}, "invalid: items[0].quantity: must be between 1 and 99"},
		"none of it, twice":    {Draft{Customer: "Ada", Items: []Item{{"a", 3}, {"a", -2}}}, "invalid: items[1].quantity: must be between 1 and 99"},
		"too many":             {Draft{Customer: "Ada", Items: []Item{{"a", 100}}}, "invalid: items[0].quantity: must be between 1 and 99"},
		"too many, in sum":     {Draft{Customer: "Ada", Items: []Item{{"a", 98}, two("a")}}, "invalid: items[0].quantity: must be between 1 and 99"},
		"two problems, sorted": {Draft{Items: []Item{{"a", 100}}}, "invalid: customer: is required; items[0].quantity: must be between 1 and 99"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := c.draft.Clean().Check(); err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestClean(t *testing.T) {
	given := Draft{Customer: " Ada ", Note: "\thi ", Items: []Item{{"b", 1}, {"a", 2}, {"b", 3}}}
	got := given.Clean()
	want := Draft{Customer: "Ada", Note: "hi", Items: []Item{{"a", 2}, {"b", 4}}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]Item{{"b", 1}, {"a", 2}, {"b", 3}}, given.Items); diff != "" {
		t.Errorf("the given items were changed (-want +got):\n%s", diff)
	}
}

func TestFingerprint(t *testing.T) {
	base := Draft{Customer: "Ada", Items: []Item{{"a", 1}, {"b", 2}}}
	cases := map[string]struct {
		draft Draft
		same  bool
	}{
		"note":     {Draft{Customer: "Ada", Note: "x", Items: base.Items}, true},
		"customer": {Draft{Customer: "Bob", Items: base.Items}, false},
		"quantity": {Draft{Customer: "Ada", Items: []Item{{"a", 1}, {"b", 3}}}, false},
		"product":  {Draft{Customer: "Ada", Items: []Item{{"a", 1}, {"c", 2}}}, false},
		"quotes":   {Draft{Customer: `Ada""a`, Items: base.Items}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			if got := c.draft.Fingerprint() == base.Fingerprint(); got != c.same {
				t.Errorf("same: %v, want %v", got, c.same)
			}
		})
	}
}

func TestCheckKey(t *testing.T) {
	for key, want := range map[string]bool{
		"":                      false,
		"1234567":               false,
		"12345678":              true,
		"Az09-_xy":              true,
		"with space":            false,
		"line\nbreak":           false,
		"ünïcödé-key":           false,
		strings.Repeat("k", 64): true,
		strings.Repeat("k", 65): false,
	} {
		if got := CheckKey(key) == nil; got != want {
			t.Errorf("CheckKey(%q) is fine: %v, want %v", key, got, want)
		}
	}
}

func TestNewRelease(t *testing.T) {
	for version, want := range map[string]bool{
		"v2.0.0": false, "v2.0.17": false, "v1.9.0": false, "2.0": false,
		"v2.1.0": true, "v2.10.0": true, "v3.0.0": true, "v2.1.0-3-gabc": true, "dev": true, "": true, "v2": true, "v2.x.1": true,
	} {
		if got := NewRelease(version); got.GiftNotes != want || got.Version != version {
			t.Errorf("NewRelease(%q) = %+v, want gift notes %v", version, got, want)
		}
	}
}

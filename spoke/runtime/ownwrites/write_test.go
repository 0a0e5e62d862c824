package ownwrites_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/spoke/runtime/ownwrites"
)

func at(version string) *v1.EcommerceApp {
	return &v1.EcommerceApp{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "app", UID: "a", ResourceVersion: version}}
}

func TestNewest(t *testing.T) {
	t.Parallel()
	type writes = ownwrites.Write[*v1.EcommerceApp]
	one := writes{}.Next("1", at("2"))
	two := one.Next("2", at("3"))
	for name, tt := range map[string]struct {
		write        writes
		cached, want string
	}{
		"nothing was written":                         {writes{}, "1", "1"},
		"the cache has what was replaced":             {one, "1", "2"},
		"the cache has what was written":              {one, "2", "2"},
		"the cache has the write of another client":   {one, "7", "7"},
		"of two writes it has none":                   {two, "1", "3"},
		"of two writes it has the first":              {two, "2", "3"},
		"of two writes it has both":                   {two, "3", "3"},
		"another client wrote between":                {one.Next("5", at("6")), "1", "6"},
		"a write that changed nothing":                {writes{}.Next("4", at("4")), "4", "4"},
		"a write that changed nothing follows others": {one.Next("2", at("2")), "1", "2"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			newest, ahead := tt.write.Newest(at(tt.cached))
			if newest.ResourceVersion != tt.want || ahead != (tt.cached != tt.want) {
				t.Errorf("got version %s, ahead %t; want %s", newest.ResourceVersion, ahead, tt.want)
			}
		})
	}
	// Writes are values: what follows one does not change it.
	one.Next("5", at("6"))
	if newest, _ := one.Next("2", at("3")).Newest(at("5")); newest.ResourceVersion != "5" {
		t.Errorf("a write knows the version %s, which followed another one", newest.ResourceVersion)
	}
}

// TestNewestOfAnother checks that an object that was created again under its name is another one.
func TestNewestOfAnother(t *testing.T) {
	t.Parallel()
	other := at("1")
	other.UID = types.UID("b")
	write := ownwrites.Write[*v1.EcommerceApp]{}.Next("1", at("2"))
	if newest, ahead := write.Newest(other); ahead || newest != other {
		t.Errorf("got %v, ahead %t", newest, ahead)
	}
}

// TestWriteKeepsItsObject checks that the caller goes on with the object that it wrote.
func TestWriteKeepsItsObject(t *testing.T) {
	t.Parallel()
	app := at("2")
	write := ownwrites.Write[*v1.EcommerceApp]{}.Next("1", app)
	app.Status.Message = "changed later"
	if newest, _ := write.Newest(at("1")); newest.Status.Message != "" {
		t.Error("a change of the object that was written is in what is remembered")
	}
}

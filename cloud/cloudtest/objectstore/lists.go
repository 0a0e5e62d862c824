package objectstore

import (
	"fmt"
	"strings"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

func listCases() []Case {
	return []Case{
		{Number: 57, Name: "a list of several pages is complete and sorted by key", Run: severalPages},
		{Number: 58, Name: "a list contains its prefix only, and may be empty", Run: listOfPrefix},
		{Number: 59, Name: "an incomplete list is an error, and ends with it", Run: incompleteList},
		{Number: 60, Name: "keys are below the prefix of the account", Run: prefixes},
		{Number: 61, Name: "malformed keys are Invalid, and no request is sent", Run: badKeys},
	}
}

func severalPages(f *Fixture) {
	f.PageSize(2)
	objects := f.Default()
	want := []string{"a", "a-b", "a.b", "a/b", "aB", "a_b", "ab", "b/part-00000", "b/part-00001", "b/part-00010", "c"}
	for i := range want {
		f.Put(objects, want[(i*7+3)%len(want)], strings.Repeat("x", i))
	}
	f.WantList(objects, "", want...)
	f.WantList(objects, "b/", want[7:10]...)

	before := f.Script.Count(faults.OpListObjects)
	for o, err := range objects.ListObjects(f.Context(), "") {
		if err != nil || o.Key != want[0] {
			f.Fatalf("the first is %q, %v; want %q", o.Key, err, want[0])
		}
		break
	}
	if n := f.Script.Count(faults.OpListObjects) - before; n != 1 {
		f.Errorf("%d pages were asked for though one was enough", n)
	}
}

func listOfPrefix(f *Fixture) {
	objects := f.Default()
	f.WantList(objects, "")
	for _, key := range []string{"app/one/part-00000", "app/one-more/part-00000", "app/one", "apps"} {
		f.Put(objects, key, "x")
	}
	f.WantList(objects, "app/one/", "app/one/part-00000")
	f.WantList(objects, "app/one", "app/one", "app/one-more/part-00000", "app/one/part-00000")
	f.WantList(objects, "app/two")
	f.WantList(objects, "pp")
	f.Store.Remove(prefix + "/app/one/part-00000")
	f.WantList(objects, "app/one/")
}

func incompleteList(f *Fixture) {
	f.PageSize(2)
	objects := f.Default()
	for i := range 5 {
		f.Put(objects, fmt.Sprintf("part-%d", i), "x")
	}
	for _, skip := range []int{0, 1} {
		for _, fault := range []faults.Fault{
			{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
			{Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassTransient, faults.OpListObjects, 0)},
		} {
			fault.Op, fault.Skip = faults.OpListObjects, skip
			f.Script.Add(fault)
			before, err := f.List(objects, "")
			f.WantClass(err, cloud.ClassTransient)
			if len(before) != 2*skip {
				f.Errorf("%s: %d objects before the error, want %d", fault.Kind, len(before), 2*skip)
			}
			f.Script.Clear()
		}
	}
	f.WantList(objects, "", "part-0", "part-1", "part-2", "part-3", "part-4")
}

func prefixes(f *Fixture) {
	short, long, none := f.Objects(Options{Prefix: "eu"}), f.Objects(Options{Prefix: "eu/shopfleet/west"}), f.Objects(Options{})
	near := f.Objects(Options{Prefix: "eu-2"})
	f.Put(short, "shopfleet/manifest", "of eu")
	f.Put(long, "shopfleet/manifest", "of west")
	f.Put(none, "shopfleet/manifest", "of none")
	f.WantKeys("eu/shopfleet/manifest", "eu/shopfleet/west/shopfleet/manifest", "shopfleet/manifest")
	f.WantList(short, "shopfleet/", "shopfleet/manifest", "shopfleet/west/shopfleet/manifest")
	f.WantList(long, "shopfleet/", "shopfleet/manifest")
	f.WantList(none, "shopfleet/", "shopfleet/manifest")
	f.WantList(near, "shopfleet/")
	if err := near.DeleteObject(f.Context(), "shopfleet/manifest"); err != nil {
		f.Errorf("deleting what is not there: %v", err)
	}
	_, err := near.GetObject(f.Context(), "shopfleet/manifest", mib)
	f.WantClass(err, cloud.ClassNotFound)
	if strings.Contains(err.Error(), "of eu") {
		f.Errorf("an error contains the content of an object: %v", err)
	}
	if got, err := short.GetObject(f.Context(), "shopfleet/west/shopfleet/manifest", mib); err != nil || string(got) != "of west" {
		f.Errorf("%q, %v; want what is under the whole key", got, err)
	}
	f.WantDone(f.Sign(long, "PUT", "shopfleet/part"), "by a signed request")
	f.WantContent("eu/shopfleet/west/shopfleet/part", "by a signed request")
	f.WantKeys("eu/shopfleet/manifest", "eu/shopfleet/west/shopfleet/manifest", "eu/shopfleet/west/shopfleet/part", "shopfleet/manifest")
}

func badKeys(f *Fixture) {
	objects := f.Default()
	wrong := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../b", "a/./b", "a b", "a+b", "a%2fb", "a?b", "a#b", "a\\b", "ä", "a\n", "\x00",
		strings.Repeat("k", cloud.MaxKey+1),
	}
	if n := f.Sent(func() {
		for _, key := range wrong {
			_, err := objects.GetObject(f.Context(), key, mib)
			f.WantClass(err, cloud.ClassInvalid)
			f.WantClass(objects.PutObject(f.Context(), key, []byte("x")), cloud.ClassInvalid)
			f.WantClass(objects.DeleteObject(f.Context(), key), cloud.ClassInvalid)
			for _, method := range []string{"PUT", "GET"} {
				signed, err := objects.SignRequests(f.Context(), []cloud.ObjectRequest{{Method: "GET", Key: "good"}, {Method: method, Key: key}}, cloud.MaxLife)
				f.WantClass(err, cloud.ClassInvalid)
				if diff := cmp.Diff(0, len(signed)); diff != "" {
					f.Errorf("requests in spite of an error (-want +got):\n%s", diff)
				}
			}
		}
	}); n > 0 {
		f.Errorf("%d requests with bad keys", n)
	}
	f.WantKeys()
}

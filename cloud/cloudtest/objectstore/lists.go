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

func severalPages(s *Fixture) {
	s.PageSize(2)
	objects := s.Default()
	want := []string{"a", "a-b", "a.b", "a/b", "aB", "a_b", "ab", "b/part-00000", "b/part-00001", "b/part-00010", "c"}
	for i := range want {
		s.Put(objects, want[(i*7+3)%len(want)], strings.Repeat("x", i))
	}
	s.WantList(objects, "", want...)
	s.WantList(objects, "b/", want[7:10]...)

	before := s.Script.Count(faults.OpListObjects)
	for o, err := range objects.ListObjects(s.Context(), "") {
		if err != nil || o.Key != want[0] {
			s.Fatalf("the first is %q, %v; want %q", o.Key, err, want[0])
		}
		break
	}
	if n := s.Script.Count(faults.OpListObjects) - before; n != 1 {
		s.Errorf("%d pages were asked for though one was enough", n)
	}
}

func listOfPrefix(s *Fixture) {
	objects := s.Default()
	s.WantList(objects, "")
	for _, key := range []string{"app/one/part-00000", "app/one-more/part-00000", "app/one", "apps"} {
		s.Put(objects, key, "x")
	}
	s.WantList(objects, "app/one/", "app/one/part-00000")
	s.WantList(objects, "app/one", "app/one", "app/one-more/part-00000", "app/one/part-00000")
	s.WantList(objects, "app/two")
	s.WantList(objects, "pp")
	s.Store.Remove(prefix + "/app/one/part-00000")
	s.WantList(objects, "app/one/")
}

func incompleteList(s *Fixture) {
	s.PageSize(2)
	objects := s.Default()
	for i := range 5 {
		s.Put(objects, fmt.Sprintf("part-%d", i), "x")
	}
	for _, skip := range []int{0, 1} {
		for _, fault := range []faults.Fault{
			{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble},
			{Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassTransient, faults.OpListObjects, 0)},
		} {
			fault.Op, fault.Skip = faults.OpListObjects, skip
			s.Script.Add(fault)
			before, err := s.List(objects, "")
			s.WantClass(err, cloud.ClassTransient)
			if len(before) != 2*skip {
				s.Errorf("%s: %d objects before the error, want %d", fault.Kind, len(before), 2*skip)
			}
			s.Script.Clear()
		}
	}
	s.WantList(objects, "", "part-0", "part-1", "part-2", "part-3", "part-4")
}

func prefixes(s *Fixture) {
	short, long, none := s.Objects(Options{Prefix: "eu"}), s.Objects(Options{Prefix: "eu/shopfleet/west"}), s.Objects(Options{})
	near := s.Objects(Options{Prefix: "eu-2"})
	s.Put(short, "shopfleet/manifest", "of eu")
	s.Put(long, "shopfleet/manifest", "of west")
	s.Put(none, "shopfleet/manifest", "of none")
	s.WantKeys("eu/shopfleet/manifest", "eu/shopfleet/west/shopfleet/manifest", "shopfleet/manifest")
	s.WantList(short, "shopfleet/", "shopfleet/manifest", "shopfleet/west/shopfleet/manifest")
	s.WantList(long, "shopfleet/", "shopfleet/manifest")
	s.WantList(none, "shopfleet/", "shopfleet/manifest")
	s.WantList(near, "shopfleet/")
	if err := near.DeleteObject(s.Context(), "shopfleet/manifest"); err != nil {
		s.Errorf("deleting what is not there: %v", err)
	}
	_, err := near.GetObject(s.Context(), "shopfleet/manifest", mib)
	s.WantClass(err, cloud.ClassNotFound)
	if strings.Contains(err.Error(), "of eu") {
		s.Errorf("an error contains the content of an object: %v", err)
	}
	if got, err := short.GetObject(s.Context(), "shopfleet/west/shopfleet/manifest", mib); err != nil || string(got) != "of west" {
		s.Errorf("%q, %v; want what is under the whole key", got, err)
	}
	s.WantDone(s.Sign(long, "PUT", "shopfleet/part"), "by a signed request")
	s.WantContent("eu/shopfleet/west/shopfleet/part", "by a signed request")
	s.WantKeys("eu/shopfleet/manifest", "eu/shopfleet/west/shopfleet/manifest", "eu/shopfleet/west/shopfleet/part", "shopfleet/manifest")
}

func badKeys(s *Fixture) {
	objects := s.Default()
	wrong := []string{
		"", "/", "/a", "a/", "a//b", ".", "..", "a/../b", "../b", "a/./b", "a b", "a+b", "a%2fb", "a?b", "a#b", "a\\b", "ä", "a\n", "\x00",
		strings.Repeat("k", cloud.MaxKey+1),
	}
	if n := s.Sent(func() {
		for _, key := range wrong {
			_, err := objects.GetObject(s.Context(), key, mib)
			s.WantClass(err, cloud.ClassInvalid)
			s.WantClass(objects.PutObject(s.Context(), key, []byte("x")), cloud.ClassInvalid)
			s.WantClass(objects.DeleteObject(s.Context(), key), cloud.ClassInvalid)
			for _, method := range []string{"PUT", "GET"} {
				signed, err := objects.SignRequests(s.Context(), []cloud.ObjectRequest{{Method: "GET", Key: "good"}, {Method: method, Key: key}}, cloud.MaxLife)
				s.WantClass(err, cloud.ClassInvalid)
				if diff := cmp.Diff(0, len(signed)); diff != "" {
					s.Errorf("requests in spite of an error (-want +got):\n%s", diff)
				}
			}
		}
	}); n > 0 {
		s.Errorf("%d requests with bad keys", n)
	}
	s.WantKeys()
}

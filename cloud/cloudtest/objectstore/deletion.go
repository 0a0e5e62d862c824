package objectstore

import (
	"github.com/shopfleet/shopfleet/cloud"
)

func deletionCases() []Case {
	return []Case{
		{Number: 62, Name: "deleting twice succeeds", Run: deleteTwice},
		{Number: 63, Name: "a locked object is not deleted", Run: deleteLocked},
	}
}

func deleteTwice(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "one", "x")
	s.Put(objects, "two", "x")
	s.Put(objects, "one/more", "x")
	s.Store.Remove(prefix + "/two")
	for range 2 {
		for _, key := range []string{"one", "two", "three"} {
			if err := objects.DeleteObject(s.Context(), key); err != nil {
				s.Fatalf("deleting %q: %v", key, err)
			}
		}
	}
	s.WantKeys(prefix + "/one/more")
}

func deleteLocked(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "held", "x")
	s.Store.Lock(prefix+"/held", true)
	if n := s.Sent(func() {
		s.WantClass(objects.DeleteObject(s.Context(), "held"), cloud.ClassLocked)
	}); n > 2 {
		s.Errorf("%d requests", n)
	}
	s.WantContent(prefix+"/held", "x")
	s.Store.Lock(prefix+"/held", false)
	if err := objects.DeleteObject(s.Context(), "held"); err != nil {
		s.Errorf("deleting what is locked no more: %v", err)
	}
	s.WantKeys()
}

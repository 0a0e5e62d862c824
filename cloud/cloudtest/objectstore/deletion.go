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

func deleteTwice(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "one", "x")
	f.Put(objects, "two", "x")
	f.Put(objects, "one/more", "x")
	f.Store.Remove(prefix + "/two")
	for range 2 {
		for _, key := range []string{"one", "two", "three"} {
			if err := objects.DeleteObject(f.Context(), key); err != nil {
				f.Fatalf("deleting %q: %v", key, err)
			}
		}
	}
	f.WantKeys(prefix + "/one/more")
}

func deleteLocked(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "held", "x")
	f.Store.Lock(prefix+"/held", true)
	if n := f.Sent(func() {
		f.WantClass(objects.DeleteObject(f.Context(), "held"), cloud.ClassLocked)
	}); n > 3 {
		f.Errorf("%d requests", n)
	}
	f.WantContent(prefix+"/held", "x")
	f.Store.Lock(prefix+"/held", false)
	if err := objects.DeleteObject(f.Context(), "held"); err != nil {
		f.Errorf("deleting what is locked no more: %v", err)
	}
	f.WantKeys()
}

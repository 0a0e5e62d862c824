package objectstore

import (
	"bytes"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

// mib is the largest content that PutObject and GetObject accept.
const mib = 1 << 20

func contentCases() []Case {
	return []Case{
		{Number: 51, Name: "an object is put, read, listed and deleted", Run: putAndRead},
		{Number: 52, Name: "putting the same content again succeeds", Run: putSame},
		{Number: 53, Name: "an existing object is not overwritten", Run: putOther},
		{Number: 54, Name: "one of eight concurrent puts succeeds", Run: putAtOnce},
		{Number: 55, Name: "a missing object is NotFound", Run: getMissing},
		{Number: 56, Name: "an object above the limit is Invalid", Run: tooLarge},
	}
}

// oddContent contains bytes that text processing would change.
const oddContent = "\x00\xff\r\n<xml>&amp; \xe5\xba\x97\x1a"

func putAndRead(s *Fixture) {
	objects := s.Default()
	keys := map[string]string{
		"manifest.json": `{"a": 1}`, "shopfleet/0f5e/7be1/eu-1-20260301-0200-1a2b3c/part-00000": oddContent, "empty": "",
		"A-Z_a.z.0/..b/-/_": "x", strings.Repeat("long/", 102) + "k": "y",
	}
	for key, content := range keys {
		s.Put(objects, key, content)
		s.WantContent(prefix+"/"+key, content)
		got, err := s.Default().GetObject(s.Context(), key, mib)
		if err != nil || string(got) != content {
			s.Fatalf("%q has %q, %v; want %q", key, got, err, content)
		}
		all, err := s.List(objects, key)
		if err != nil || len(all) != 1 {
			s.Fatalf("%d objects listed of %q, %v; want one", len(all), key, err)
		}
		if o := all[0]; o.Key != key || o.Bytes != int64(len(content)) || s.Clock.Since(o.ModifiedAt).Abs() > 5*time.Minute {
			s.Errorf("listed as %q of %d bytes at %s; want %q of %d at %s", o.Key, o.Bytes, o.ModifiedAt, key, len(content), s.Clock.Now())
		}
		if err := objects.DeleteObject(s.Context(), key); err != nil {
			s.Errorf("deleting %q: %v", key, err)
		}
	}
	s.WantKeys()
}

func putSame(s *Fixture) {
	for _, content := range []string{"the same", "", strings.Repeat("m", mib)} {
		key := fmt.Sprintf("of-%d", len(content))
		for range 3 {
			s.Put(s.Default(), key, content)
		}
		s.WantContent(prefix+"/"+key, content)
	}
}

func putOther(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "manifest", "first")
	s.Store.Put(prefix+"/theirs", []byte("by hand"))
	s.Store.Put(prefix+"/large", bytes.Repeat([]byte("first"), mib))
	for key, other := range map[string]string{"manifest": "other", "theirs": "", "large": strings.Repeat("first", mib/5)} {
		before, _ := s.Store.Content(prefix + "/" + key)
		s.WantClass(objects.PutObject(s.Context(), key, []byte(other)), cloud.ClassConflict)
		s.WantContent(prefix+"/"+key, string(before))
	}
	// A deleted object's key can be used again.
	if err := objects.DeleteObject(s.Context(), "manifest"); err != nil {
		s.Fatalf("deleting: %v", err)
	}
	s.Put(objects, "manifest", "other")
	s.WantContent(prefix+"/manifest", "other")
}

func putAtOnce(s *Fixture) {
	objects := s.Default()
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			switch err := objects.PutObject(s.Context(), "manifest", fmt.Appendf(nil, "of %d", i)); {
			case err == nil:
				won.Add(i + 100)
			case cloud.ClassOf(err) != cloud.ClassConflict:
				s.Errorf("putting at once: %v", err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n < 100 || n > 107 {
		s.Fatalf("not one of eight has won: %d", n/100)
	}
	s.WantContent(prefix+"/manifest", fmt.Sprintf("of %d", won.Load()-100))
}

func getMissing(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "there/manifest", "x")
	for _, key := range []string{"manifest", "there", "there/manifest/more", "there/manifes"} {
		_, err := objects.GetObject(s.Context(), key, mib)
		s.WantClass(err, cloud.ClassNotFound)
	}
}

func tooLarge(s *Fixture) {
	objects := s.Default()
	whole := strings.Repeat("0123456789abcdef", mib/16)
	s.Put(objects, "whole", whole)
	if got, err := objects.GetObject(s.Context(), "whole", mib); err != nil || string(got) != whole {
		s.Errorf("%d bytes, %v; want all of %d", len(got), err, mib)
	}
	s.Put(objects, "empty", "")
	if got, err := objects.GetObject(s.Context(), "empty", 0); err != nil || len(got) != 0 {
		s.Errorf("%d bytes, %v; want none", len(got), err)
	}
	s.Store.Put(prefix+"/theirs", bytes.Repeat([]byte("x"), mib+1))
	for key, limit := range map[string]int64{"whole": mib - 1, "theirs": mib} {
		_, err := objects.GetObject(s.Context(), key, limit)
		s.WantClass(err, cloud.ClassInvalid)
	}
	if n := s.Sent(func() {
		for _, limit := range []int64{-1, mib + 1} {
			_, err := objects.GetObject(s.Context(), "empty", limit)
			s.WantClass(err, cloud.ClassInvalid)
		}
		s.WantClass(objects.PutObject(s.Context(), "new", []byte(whole+"!")), cloud.ClassInvalid)
	}); n > 0 {
		s.Errorf("%d requests for what is never allowed", n)
	}
}

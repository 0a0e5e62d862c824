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

func putAndRead(f *Fixture) {
	objects := f.Default()
	keys := map[string]string{
		"manifest.json": `{"a": 1}`, "shopfleet/0f5e/7be1/eu-1-20260301-0200-1a2b3c/part-00000": oddContent, "empty": "",
		"A-Z_a.z.0/..b/-/_": "x", strings.Repeat("long/", 102) + "k": "y",
	}
	for key, content := range keys {
		f.Put(objects, key, content)
		f.WantContent(prefix+"/"+key, content)
		got, err := f.Default().GetObject(f.Context(), key, mib)
		if err != nil || string(got) != content {
			f.Fatalf("%q has %q, %v; want %q", key, got, err, content)
		}
		all, err := f.List(objects, key)
		if err != nil || len(all) != 1 {
			f.Fatalf("%d objects listed of %q, %v; want one", len(all), key, err)
		}
		if o := all[0]; o.Key != key || o.Bytes != int64(len(content)) || f.Clock.Since(o.ModifiedAt).Abs() > 5*time.Minute {
			f.Errorf("listed as %q of %d bytes at %s; want %q of %d at %s", o.Key, o.Bytes, o.ModifiedAt, key, len(content), f.Clock.Now())
		}
		if err := objects.DeleteObject(f.Context(), key); err != nil {
			f.Errorf("deleting %q: %v", key, err)
		}
	}
	f.WantKeys()
}

func putSame(f *Fixture) {
	for _, content := range []string{"the same", "", strings.Repeat("m", mib)} {
		key := fmt.Sprintf("of-%d", len(content))
		for range 3 {
			f.Put(f.Default(), key, content)
		}
		f.WantContent(prefix+"/"+key, content)
	}
}

func putOther(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "manifest", "first")
	f.Store.Put(prefix+"/theirs", []byte("by hand"))
	f.Store.Put(prefix+"/large", bytes.Repeat([]byte("first"), mib))
	for key, other := range map[string]string{"manifest": "other", "theirs": "", "large": strings.Repeat("first", mib/5)} {
		before, _ := f.Store.Content(prefix + "/" + key)
		f.WantClass(objects.PutObject(f.Context(), key, []byte(other)), cloud.ClassConflict)
		f.WantContent(prefix+"/"+key, string(before))
	}
	// A deleted object's key can be used again.
	if err := objects.DeleteObject(f.Context(), "manifest"); err != nil {
		f.Fatalf("deleting: %v", err)
	}
	f.Put(objects, "manifest", "other")
	f.WantContent(prefix+"/manifest", "other")
}

func putAtOnce(f *Fixture) {
	objects := f.Default()
	var won atomic.Int64
	var wg sync.WaitGroup
	for i := range int64(8) {
		wg.Go(func() {
			switch err := objects.PutObject(f.Context(), "manifest", fmt.Appendf(nil, "of %d", i)); {
			case err == nil:
				won.Add(i + 100)
			case cloud.ClassOf(err) != cloud.ClassConflict:
				f.Errorf("putting at once: %v", err)
			}
		})
	}
	wg.Wait()
	if n := won.Load(); n < 100 || n > 107 {
		f.Fatalf("not one of eight has won: %d", n/100)
	}
	f.WantContent(prefix+"/manifest", fmt.Sprintf("of %d", won.Load()-100))
}

func getMissing(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there/manifest", "x")
	for _, key := range []string{"manifest", "there", "there/manifest/more", "there/manifes"} {
		_, err := objects.GetObject(f.Context(), key, mib)
		f.WantClass(err, cloud.ClassNotFound)
	}
}

func tooLarge(f *Fixture) {
	objects := f.Default()
	whole := strings.Repeat("0123456789abcdef", mib/16)
	f.Put(objects, "whole", whole)
	if got, err := objects.GetObject(f.Context(), "whole", mib); err != nil || string(got) != whole {
		f.Errorf("%d bytes, %v; want all of %d", len(got), err, mib)
	}
	f.Put(objects, "empty", "")
	if got, err := objects.GetObject(f.Context(), "empty", 0); err != nil || len(got) != 0 {
		f.Errorf("%d bytes, %v; want none", len(got), err)
	}
	f.Store.Put(prefix+"/theirs", bytes.Repeat([]byte("x"), mib+1))
	for key, limit := range map[string]int64{"whole": mib - 1, "theirs": mib} {
		_, err := objects.GetObject(f.Context(), key, limit)
		f.WantClass(err, cloud.ClassInvalid)
	}
	if n := f.Sent(func() {
		for _, limit := range []int64{-1, mib + 1} {
			_, err := objects.GetObject(f.Context(), "empty", limit)
			f.WantClass(err, cloud.ClassInvalid)
		}
		f.WantClass(objects.PutObject(f.Context(), "new", []byte(whole+"!")), cloud.ClassInvalid)
	}); n > 0 {
		f.Errorf("%d requests for what is never allowed", n)
	}
}

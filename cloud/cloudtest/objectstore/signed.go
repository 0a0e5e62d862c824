package objectstore

import (
	"fmt"
	"maps"
	"net/http"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
)

func signedCases() []Case {
	return []Case{
		{Number: 64, Name: "a client without credentials puts with a signed request", Run: signedPut},
		{Number: 65, Name: "a signed request cannot overwrite, with any header omitted", Run: signedOver},
		{Number: 66, Name: "a signed request is valid for its key and method only", Run: signedElse},
		{Number: 67, Name: "a signed request reads, and a missing object is 404", Run: signedGet},
		{Number: 68, Name: "an expired request is refused", Run: expired},
		{Number: 69, Name: "a signed request is valid for a minute to an hour", Run: lives},
		{Number: 70, Name: "signing sends at most one request besides the signatures", Run: signingCosts},
	}
}

func signedPut(f *Fixture) {
	objects := f.Default()
	for key, content := range map[string]string{
		"dump/part-00000": strings.Repeat(oddContent, 300_000), "dump/part-00001": "x", "empty": "",
	} {
		f.WantDone(f.Sign(objects, http.MethodPut, key), content)
		f.WantContent(prefix+"/"+key, content)
	}
	f.WantList(objects, "", "dump/part-00000", "dump/part-00001", "empty")
}

func signedOver(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "part", "first")
	signed := f.Sign(objects, http.MethodPut, "part")
	f.WantRefused(signed, "other", "over what is there")
	f.WantRefused(signed, "first", "the same again")
	for name := range signed.Header {
		less := signed
		less.Header = maps.Clone(signed.Header)
		delete(less.Header, name)
		f.WantRefused(less, "other", "without "+name)
		less.Header[name] = "something-else"
		f.WantRefused(less, "other", "with another "+name)
	}
	signed.Header = nil
	f.WantRefused(signed, "other", "without any header")
	f.WantContent(prefix+"/part", "first")
	f.WantKeys(prefix + "/part")

	// A request that is valid for longer than its object exists must not overwrite
	// either.
	again := f.Sign(objects, http.MethodPut, "again")
	f.WantDone(again, "first")
	f.WantRefused(again, "other", "a second time")
	f.WantContent(prefix+"/again", "first")
}

func signedElse(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there", "first")
	f.Put(objects, "other", "other")
	put, get := f.Sign(objects, http.MethodPut, "mine"), f.Sign(objects, http.MethodGet, "there")
	for _, key := range []string{"other", "new", "mine-too", "mine/more"} {
		changed := put
		changed.URL = strings.Replace(put.URL, "/mine", "/"+key, 1)
		f.WantRefused(changed, "changed", "the key is "+key)
	}
	changed := get
	changed.URL = strings.Replace(get.URL, "/there", "/other", 1)
	f.WantRefused(changed, "", "the key is other")
	for _, method := range []string{http.MethodPut, http.MethodDelete} {
		changed = get
		changed.Method = method
		f.WantRefused(changed, "changed", "signed for GET")
	}
	changed = f.Sign(objects, http.MethodPut, "there")
	for _, method := range []string{http.MethodGet, http.MethodDelete} {
		changed.Method = method
		f.WantRefused(changed, "changed", "signed for PUT")
	}
	bare := get
	bare.URL, _, _ = strings.Cut(get.URL, "?")
	bare.Header = nil
	// A request without a signature is refused with any client error.
	if status, _ := f.Do(bare, ""); status/100 != 4 {
		f.Errorf("status %d without a signature", status)
	}
	f.WantContent(prefix+"/there", "first")
	f.WantContent(prefix+"/other", "other")
	f.WantKeys(prefix+"/other", prefix+"/there")
}

func signedGet(f *Fixture) {
	objects := f.Default()
	content := strings.Repeat(oddContent, 300_000)
	f.Store.Put(prefix+"/dump/part-00000", []byte(content))
	signed := f.Sign(objects, http.MethodGet, "dump/part-00000")
	for range 2 {
		if got := f.WantDone(signed, ""); got != content {
			f.Errorf("%d bytes, want %d, or they differ", len(got), len(content))
		}
	}
	if status, answer := f.Do(f.Sign(objects, http.MethodGet, "dump/part-00001"), ""); status != http.StatusNotFound {
		f.Errorf("status %d for what is not there, want %d: %s", status, http.StatusNotFound, answer)
	}
}

func expired(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there", "first")
	signed, err := objects.SignRequests(f.Context(), []cloud.ObjectRequest{
		{Method: http.MethodGet, Key: "there"}, {Method: http.MethodPut, Key: "early"}, {Method: http.MethodPut, Key: "late"},
	}, 10*time.Minute)
	if err != nil {
		f.Fatalf("signing: %v", err)
	}
	f.Clock.Step(9 * time.Minute)
	f.WantDone(signed[0], "")
	f.WantDone(signed[1], "x")
	f.Clock.Step(time.Minute + time.Second)
	f.WantRefused(signed[0], "", "it has expired")
	f.WantRefused(signed[2], "x", "it has expired")
	f.WantKeys(prefix+"/early", prefix+"/there")
	// The refusals above were due to the time only.
	f.WantDone(f.Sign(objects, http.MethodPut, "late"), "x")
}

func lives(f *Fixture) {
	objects := f.Default()
	wanted := []cloud.ObjectRequest{{Method: http.MethodPut, Key: "b"}, {Method: http.MethodGet, Key: "a"}, {Method: http.MethodPut, Key: "a"}}
	for _, life := range []time.Duration{time.Minute, 17*time.Minute + 500*time.Millisecond, cloud.MaxLife} {
		began := f.Clock.Now()
		signed, err := objects.SignRequests(f.Context(), wanted, life)
		if err != nil || len(signed) != len(wanted) {
			f.Fatalf("%d requests for %s, %v; want %d", len(signed), life, err, len(wanted))
		}
		for i, r := range signed {
			lives := r.ExpiresAt.Sub(began)
			if r.Method != wanted[i].Method || !strings.Contains(r.URL, prefix+"/"+wanted[i].Key) || lives > life || lives < life-time.Minute || lives <= 0 {
				f.Errorf("request %d is a %s that lives for %s; want the %s of %s for %s", i, r.Method, lives, wanted[i].Method, wanted[i].Key, life)
			}
		}
	}
	for _, life := range []time.Duration{0, -time.Hour, time.Minute - 1, cloud.MaxLife + 1} {
		_, err := objects.SignRequests(f.Context(), wanted, life)
		f.WantClass(err, cloud.ClassInvalid)
	}
	for _, method := range []string{"", "put", http.MethodDelete, http.MethodPost} {
		_, err := objects.SignRequests(f.Context(), []cloud.ObjectRequest{{Method: method, Key: "a"}}, time.Minute)
		f.WantClass(err, cloud.ClassInvalid)
	}
	if none, err := objects.SignRequests(f.Context(), nil, time.Minute); err != nil || len(none) > 0 {
		f.Errorf("%d requests of none wanted, %v", len(none), err)
	}
}

func signingCosts(f *Fixture) {
	objects := f.Default()
	f.WantList(objects, "") // It has credentials now.
	wanted := make([]cloud.ObjectRequest, 20)
	for i := range wanted {
		wanted[i] = cloud.ObjectRequest{Method: http.MethodPut, Key: fmt.Sprintf("part-%05d", i)}
	}
	for range 2 {
		n := f.Sent(func() {
			if _, err := objects.SignRequests(f.Context(), wanted, cloud.MaxLife); err != nil {
				f.Fatalf("signing: %v", err)
			}
		})
		if most := 1 + len(wanted)*f.SigningRequests; n > most {
			f.Errorf("%d requests to sign %d, want at most %d", n, len(wanted), most)
		}
	}
	f.WantKeys()
}

package objectstore

import (
	"errors"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/fixture"
)

func refusalCases() []Case {
	return []Case{
		{Number: 76, Name: "wrong credentials are refused with one request", Run: wrongCredentials},
		{Number: 77, Name: "the error names the missing permission", Run: permissionMissing},
		{Number: 78, Name: "a missing bucket is NotFound, unlike a missing object", Run: bucketMissing},
		{Number: 79, Name: "another region or endpoint is Invalid", Run: wrongRegion},
		{Number: 80, Name: "malformed responses are Transient, or Ambiguous after a change", Run: malformedResponses},
		{Number: 81, Name: "a private certificate authority is trusted with caBundle only", Run: authority},
		{Number: 82, Name: "requests are valid, and errors contain no secret", Run: requestsAndSecrets},
		{Number: 83, Name: "the provider denies what the documented permissions exclude", Run: excluded},
	}
}

func wrongCredentials(s *Fixture) {
	s.Put(s.Default(), "there", "first")
	bad := Options{Prefix: prefix, BadCredentials: true}
	for _, op := range []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject} {
		n := s.Sent(func() {
			s.WantClass(calls(s.Objects(bad), "there")[op](s.Context()), cloud.ClassAuthExpired, cloud.ClassDenied)
		})
		if n != 1 {
			s.Errorf("%s: %d requests with wrong credentials, want one", op, n)
		}
	}
	// An adapter that signs locally does not notice wrong credentials.
	signed, err := s.Objects(bad).SignRequests(s.Context(), []cloud.ObjectRequest{
		{Method: http.MethodGet, Key: "there"}, {Method: http.MethodPut, Key: "new"},
	}, 10*time.Minute)
	if err != nil {
		s.WantClass(err, cloud.ClassAuthExpired, cloud.ClassDenied)
	}
	for _, r := range signed {
		s.WantRefused(r, "x", "signed with wrong credentials")
	}
	s.WantContent(prefix+"/there", "first")
	s.WantKeys(prefix + "/there")
}

func permissionMissing(s *Fixture) {
	objects := s.Default()
	s.Put(objects, "there", "first")
	// The name of the permission is the provider's, but refers to the operation.
	words := map[faults.Op][]string{
		faults.OpPutObject: {"put", "create", "write", "add"}, faults.OpGetObject: {"get", "read"},
		faults.OpListObjects: {"list", "read"}, faults.OpDeleteObject: {"delete"},
	}
	for op, call := range calls(objects, "there") {
		s.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: s.Refusal(cloud.ClassDenied, op, 0)})
		n := s.Sent(func() {
			err := call(s.Context())
			s.WantClass(err, cloud.ClassDenied)
			var e *cloud.Error
			errors.As(err, &e)
			text := strings.ToLower(e.Code + " " + e.Message)
			if e.Code == "" || !slices.ContainsFunc(words[op], func(word string) bool { return strings.Contains(text, word) }) {
				s.Errorf("neither code nor message name the permission for %s: %v", op, err)
			}
		})
		if n != 1 {
			s.Errorf("%s: %d requests, want one", op, n)
		}
		s.Script.Clear()
	}
	s.WantContent(prefix+"/there", "first")
}

func bucketMissing(s *Fixture) {
	_, err := s.Default().GetObject(s.Context(), "there", mib)
	object := fixture.CodeOf(err)
	s.WantClass(err, cloud.ClassNotFound)
	for op, call := range calls(s.Objects(Options{Prefix: prefix, Missing: true}), "there") {
		err := call(s.Context())
		s.WantClass(err, cloud.ClassNotFound)
		if code := fixture.CodeOf(err); code == "" || code == object {
			s.Errorf("%s: code %q of a missing bucket, and %q of a missing object", op, code, object)
		}
	}
	s.WantKeys()
}

func wrongRegion(s *Fixture) {
	s.Put(s.Default(), "there", "first")
	opened, err := s.Open(s, Options{Prefix: prefix, Elsewhere: true})
	if err != nil {
		_ = s.recorder.Record(err)
		s.WantClass(err, cloud.ClassInvalid)
		return
	}
	for op, call := range calls(recorded{opened, s}, "there") {
		n := s.Sent(func() { s.WantClass(call(s.Context()), cloud.ClassInvalid) })
		if n != 1 {
			s.Errorf("%s: %d requests elsewhere, want one", op, n)
		}
	}
	s.WantContent(prefix+"/there", "first")
}

func malformedResponses(s *Fixture) {
	objects := s.Default()
	for _, kind := range []faults.Kind{faults.Garble, faults.Truncate} {
		s.Store.Put(prefix+"/there", []byte(oddContent))
		for _, op := range []faults.Op{faults.OpGetObject, faults.OpListObjects} {
			s.Script.Add(faults.Fault{Op: op, Kind: kind})
			s.WantClass(calls(objects, "there")[op](s.Context()), cloud.ClassTransient)
			s.Script.Clear()
		}
		s.Store.Remove(prefix + "/there")
		for _, op := range []faults.Op{faults.OpPutObject, faults.OpDeleteObject} {
			s.Script.Add(faults.Fault{Op: op, Kind: kind})
			// A response without a body cannot be malformed.
			if err := calls(objects, "there")[op](s.Context()); err != nil || kind == faults.Garble {
				s.WantClass(err, cloud.ClassAmbiguous)
			}
			s.Script.Clear()
			if err := calls(objects, "there")[op](s.Context()); err != nil {
				s.Errorf("%s again after %s: %v", op, kind, err)
			}
		}
	}
	s.WantKeys()
}

func authority(s *Fixture) {
	trusted := s.Objects(Options{Prefix: prefix, TLS: true, Trusted: true})
	s.Put(trusted, "there", "first")
	s.WantContent(prefix+"/there", "first")
	s.WantList(trusted, "", "there")

	distrusted := s.Objects(Options{Prefix: prefix, TLS: true})
	for op, call := range calls(distrusted, "there") {
		err := call(s.Context())
		s.WantClass(err, cloud.ClassTransient, cloud.ClassInvalid, lost(op))
		var e *cloud.Error
		if errors.As(err, &e); !strings.Contains(e.Message, "certificate") {
			s.Errorf("%s: the message does not name the certificate: %v", op, err)
		}
	}
	s.WantContent(prefix+"/there", "first")
}

// excluded uses a bucket and, if permissions end at a prefix, a prefix that the permissions do
// not include.
func excluded(s *Fixture) {
	s.Unauthorized = true
	const theirs = "theirs/" + below
	s.Store.Put(theirs+"/there", []byte("first"))
	beyond := map[string]Options{"another bucket": {Prefix: prefix, Foreign: true}}
	if s.Prefixed {
		beyond["another prefix"] = Options{Prefix: theirs, Beyond: true}
		signed := s.Sign(s.Objects(beyond["another prefix"]), http.MethodPut, "new")
		s.WantRefused(signed, "x", "signed by an identity without the permission")
	}
	for name, options := range beyond {
		for op, call := range calls(s.Objects(options), "there") {
			if err := call(s.Context()); cloud.ClassOf(err) != cloud.ClassDenied {
				s.Errorf("%s of %s: %v, want class %q", op, name, err, cloud.ClassDenied)
			}
		}
	}
	s.WantContent(theirs+"/there", "first")
	s.WantKeys(theirs + "/there")
}

// requestsAndSecrets calls every method, with and without faults. The fixture checks
// requests and errors after every case, and after this one.
func requestsAndSecrets(s *Fixture) {
	ops := []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject, faults.OpOther}
	kinds := []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble}, {Kind: faults.Refuse},
	}
	for _, fault := range kinds {
		for _, op := range ops {
			fault.Op, fault.Times = op, -1
			if fault.Kind == faults.Refuse {
				fault.Answer = s.Refusal(cloud.ClassDenied, op, 0)
			}
			s.Script.Add(fault)
		}
		everything(s, s.Default(), string(fault.Kind))
		s.Script.Clear()
	}
	everything(s, s.Default(), "good")
	everything(s, s.Objects(Options{Prefix: prefix, BadCredentials: true}), "bad")
	everything(s, s.Objects(Options{Prefix: prefix, Missing: true}), "missing")
	if s.Script.Count(faults.OpAny) == 0 {
		s.Fatal("no request was recorded")
	}
	if s.Validate == nil {
		if s.NoOracle == "" {
			s.Fatal("Backend.Validate and Backend.NoOracle are not set")
		}
		s.Skip("spare: " + s.NoOracle)
	}
}

// everything calls all methods and ignores the results.
func everything(s *Fixture, objects cloud.ObjectStore, name string) {
	s.Helper()
	ctx, key := s.Context(), "everything/"+name
	_ = objects.PutObject(ctx, key, []byte(name))
	_ = objects.PutObject(ctx, key, []byte("other"))
	_, _ = objects.GetObject(ctx, key, mib)
	_, _ = objects.GetObject(ctx, key, 1)
	_, _ = objects.GetObject(ctx, key+"/none", mib)
	_, _ = s.List(objects, "everything/")
	_, _ = objects.SignRequests(ctx, []cloud.ObjectRequest{{Method: http.MethodPut, Key: key}, {Method: http.MethodGet, Key: key}}, cloud.MaxLife)
	_ = objects.DeleteObject(ctx, key)
	_ = objects.DeleteObject(ctx, key)
}

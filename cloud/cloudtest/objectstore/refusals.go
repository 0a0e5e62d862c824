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

func wrongCredentials(f *Fixture) {
	f.Put(f.Default(), "there", "first")
	bad := Options{Prefix: prefix, BadCredentials: true}
	for _, op := range []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject} {
		n := f.Sent(func() {
			f.WantClass(calls(f.Objects(bad), "there")[op](f.Context()), cloud.ClassAuthExpired, cloud.ClassDenied)
		})
		if n != 1 {
			f.Errorf("%s: %d requests with wrong credentials, want one", op, n)
		}
	}
	// An adapter that signs locally does not notice wrong credentials.
	signed, err := f.Objects(bad).SignRequests(f.Context(), []cloud.ObjectRequest{
		{Method: http.MethodGet, Key: "there"}, {Method: http.MethodPut, Key: "new"},
	}, 10*time.Minute)
	if err != nil {
		f.WantClass(err, cloud.ClassAuthExpired, cloud.ClassDenied)
	}
	for _, r := range signed {
		f.WantRefused(r, "x", "signed with wrong credentials")
	}
	f.WantContent(prefix+"/there", "first")
	f.WantKeys(prefix + "/there")
}

func permissionMissing(f *Fixture) {
	objects := f.Default()
	f.Put(objects, "there", "first")
	// The name of the permission is the provider's, but refers to the operation.
	words := map[faults.Op][]string{
		faults.OpPutObject: {"put", "create", "write", "add"}, faults.OpGetObject: {"get", "read"},
		faults.OpListObjects: {"list", "read"}, faults.OpDeleteObject: {"delete"},
	}
	for op, call := range calls(objects, "there") {
		f.Script.Add(faults.Fault{Op: op, Times: -1, Kind: faults.Refuse, Answer: f.Refusal(cloud.ClassDenied, op, 0)})
		n := f.Sent(func() {
			err := call(f.Context())
			f.WantClass(err, cloud.ClassDenied)
			var e *cloud.Error
			errors.As(err, &e)
			text := strings.ToLower(e.Code + " " + e.Message)
			if e.Code == "" || !slices.ContainsFunc(words[op], func(word string) bool { return strings.Contains(text, word) }) {
				f.Errorf("neither code nor message name the permission for %s: %v", op, err)
			}
		})
		if n != f.requestsOf(op) {
			f.Errorf("%s: %d requests, want %d", op, n, f.requestsOf(op))
		}
		f.Script.Clear()
	}
	f.WantContent(prefix+"/there", "first")
}

func bucketMissing(f *Fixture) {
	_, err := f.Default().GetObject(f.Context(), "there", mib)
	object := fixture.CodeOf(err)
	f.WantClass(err, cloud.ClassNotFound)
	for op, call := range calls(f.Objects(Options{Prefix: prefix, Missing: true}), "there") {
		err := call(f.Context())
		f.WantClass(err, cloud.ClassNotFound)
		if code := fixture.CodeOf(err); code == "" || code == object {
			f.Errorf("%s: code %q of a missing bucket, and %q of a missing object", op, code, object)
		}
	}
	f.WantKeys()
}

func wrongRegion(f *Fixture) {
	f.Put(f.Default(), "there", "first")
	opened, err := f.Open(f, Options{Prefix: prefix, Elsewhere: true})
	if err != nil {
		_ = f.recorder.Record(err)
		f.WantClass(err, cloud.ClassInvalid)
		return
	}
	for op, call := range calls(recorded{opened, f}, "there") {
		n := f.Sent(func() { f.WantClass(call(f.Context()), cloud.ClassInvalid) })
		if n != 1 {
			f.Errorf("%s: %d requests elsewhere, want one", op, n)
		}
	}
	f.WantContent(prefix+"/there", "first")
}

func malformedResponses(f *Fixture) {
	objects := f.Default()
	for _, kind := range []faults.Kind{faults.Garble, faults.Truncate} {
		f.Store.Put(prefix+"/there", []byte(oddContent))
		for _, op := range []faults.Op{faults.OpGetObject, faults.OpListObjects} {
			f.Script.Add(faults.Fault{Op: op, Kind: kind})
			f.WantClass(calls(objects, "there")[op](f.Context()), cloud.ClassTransient)
			f.Script.Clear()
		}
		f.Store.Remove(prefix + "/there")
		for _, op := range []faults.Op{faults.OpPutObject, faults.OpDeleteObject} {
			f.Script.Add(faults.Fault{Op: op, Kind: kind})
			// A response without a body cannot be malformed.
			if err := calls(objects, "there")[op](f.Context()); err != nil || kind == faults.Garble {
				f.WantClass(err, cloud.ClassAmbiguous)
			}
			f.Script.Clear()
			if err := calls(objects, "there")[op](f.Context()); err != nil {
				f.Errorf("%s again after %s: %v", op, kind, err)
			}
		}
	}
	f.WantKeys()
}

func authority(f *Fixture) {
	trusted := f.Objects(Options{Prefix: prefix, TLS: true, Trusted: true})
	f.Put(trusted, "there", "first")
	f.WantContent(prefix+"/there", "first")
	f.WantList(trusted, "", "there")

	distrusted := f.Objects(Options{Prefix: prefix, TLS: true})
	for op, call := range calls(distrusted, "there") {
		err := call(f.Context())
		f.WantClass(err, cloud.ClassTransient, cloud.ClassInvalid, lost(op))
		var e *cloud.Error
		if errors.As(err, &e); !strings.Contains(e.Message, "certificate") {
			f.Errorf("%s: the message does not name the certificate: %v", op, err)
		}
	}
	f.WantContent(prefix+"/there", "first")
}

// excluded uses a bucket and, if permissions end at a prefix, a prefix that the permissions do
// not include.
func excluded(f *Fixture) {
	f.Unauthorized = true
	const theirs = "theirs/" + below
	f.Store.Put(theirs+"/there", []byte("first"))
	beyond := map[string]Options{"another bucket": {Prefix: prefix, Foreign: true}}
	if f.Prefixed {
		beyond["another prefix"] = Options{Prefix: theirs, Beyond: true}
		signed := f.Sign(f.Objects(beyond["another prefix"]), http.MethodPut, "new")
		f.WantRefused(signed, "x", "signed by an identity without the permission")
	}
	for name, options := range beyond {
		for op, call := range calls(f.Objects(options), "there") {
			if err := call(f.Context()); cloud.ClassOf(err) != cloud.ClassDenied {
				f.Errorf("%s of %s: %v, want class %q", op, name, err, cloud.ClassDenied)
			}
		}
	}
	f.WantContent(theirs+"/there", "first")
	f.WantKeys(theirs + "/there")
}

// requestsAndSecrets calls every method, with and without faults. The fixture checks
// requests and errors after every case, and after this one.
func requestsAndSecrets(f *Fixture) {
	ops := []faults.Op{faults.OpPutObject, faults.OpGetObject, faults.OpListObjects, faults.OpDeleteObject, faults.OpOther}
	kinds := []faults.Fault{
		{Kind: faults.DropBefore}, {Kind: faults.DropAfter}, {Kind: faults.Truncate}, {Kind: faults.Garble}, {Kind: faults.Refuse},
	}
	for _, fault := range kinds {
		for _, op := range ops {
			fault.Op, fault.Times = op, -1
			if fault.Kind == faults.Refuse {
				fault.Answer = f.Refusal(cloud.ClassDenied, op, 0)
			}
			f.Script.Add(fault)
		}
		everything(f, f.Default(), string(fault.Kind))
		f.Script.Clear()
	}
	everything(f, f.Default(), "good")
	everything(f, f.Objects(Options{Prefix: prefix, BadCredentials: true}), "bad")
	everything(f, f.Objects(Options{Prefix: prefix, Missing: true}), "missing")
	if f.Script.Count(faults.OpAny) == 0 {
		f.Fatal("no request was recorded")
	}
	if f.Validate == nil {
		if f.ValidateSkipReason == "" {
			f.Fatal("Backend.Validate and Backend.ValidateSkipReason are not set")
		}
		f.Skip("unsupported: " + f.ValidateSkipReason)
	}
}

// everything calls all methods and ignores the results.
func everything(f *Fixture, objects cloud.ObjectStore, name string) {
	f.Helper()
	ctx, key := f.Context(), "everything/"+name
	_ = objects.PutObject(ctx, key, []byte(name))
	_ = objects.PutObject(ctx, key, []byte("other"))
	_, _ = objects.GetObject(ctx, key, mib)
	_, _ = objects.GetObject(ctx, key, 1)
	_, _ = objects.GetObject(ctx, key+"/none", mib)
	_, _ = f.List(objects, "everything/")
	_, _ = objects.SignRequests(ctx, []cloud.ObjectRequest{{Method: http.MethodPut, Key: key}, {Method: http.MethodGet, Key: key}}, cloud.MaxLife)
	_ = objects.DeleteObject(ctx, key)
	_ = objects.DeleteObject(ctx, key)
}

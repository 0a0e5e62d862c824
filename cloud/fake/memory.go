package fake

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// ProviderMemory is the provider that sends no HTTP requests, in errors and handles.
const ProviderMemory v1.Provider = "memory"

// Rules are the differences between providers. The sessions of a cloud share them; tests
// change them only while no call is running.
type Rules struct {
	// UniqueNames makes the name of a snapshot its ID, as in Google Cloud and Azure.
	// Otherwise names are tags and a repeated request creates a duplicate, as in EC2.
	UniqueNames bool
	// Locations makes snapshots global, stored in the requested locations, and never
	// copied, as in Google Cloud.
	Locations bool
	// PageSize is the number of snapshots in a page of a list; 0 means all.
	PageSize int
}

// Options configures a session.
type Options struct {
	Account, Region string
	// BadCredentials makes the cloud refuse all requests.
	BadCredentials bool
	Rules          *Rules
}

// Connect opens a session on a cloud, with the faults of a script.
func Connect(fakeCloud *Cloud, script *faults.Script, o Options) cloud.Session {
	if o.Rules == nil {
		o.Rules = &Rules{}
	}
	m := &memory{cloud: fakeCloud, script: script, Options: o}
	return cloud.Session{Snapshots: snapshots{m}, Volumes: volumes{m}, Access: access{m}}
}

// memory holds the state that the parts of a session share.
type memory struct {
	Options
	cloud  *Cloud
	script *faults.Script
}

// The headers of a refusal.
const (
	headerClass = "Class"
	headerCode  = "Code"
	headerAfter = "Retry-After"
)

// Refusal returns this provider's response of a class to an operation.
func Refusal(class cloud.Class, op faults.Op, after time.Duration) faults.Answer {
	header := http.Header{headerClass: {string(class)}, headerCode: {"Refused" + string(class)}}
	if after > 0 {
		header.Set(headerAfter, strconv.Itoa(int(after/time.Second)))
	}
	return faults.Answer{Status: http.StatusBadRequest, Header: header, Body: fmt.Sprintf("%s is refused: permission memory.%s", op, op)}
}

// UnknownState returns a successful response about a snapshot in another state.
func UnknownState(state string) faults.Answer {
	return faults.Answer{Status: http.StatusOK, Body: state}
}

// errLost is the cause of an error without a response.
var errLost = errors.New("connection lost")

// request is one request to the cloud.
type request struct {
	// method is the session's method, op the operation, and what the object's name or ID.
	method string
	op     faults.Op
	what   string
}

// send runs one request against the cloud, unless the script injects a fault.
func send[T any](ctx context.Context, m *memory, r request, do func() (T, *cloud.Error)) (T, error) {
	var none T
	if ctx.Err() != nil {
		return none, m.lost(r, ctx.Err())
	}
	fault, wrong := faults.Fault{}, false
	if m.script != nil {
		fault, wrong = m.script.Next(r.op, string(r.op)+" "+r.what)
	}
	switch {
	case !wrong && m.BadCredentials:
		return none, m.fail(r, &cloud.Error{Class: cloud.ClassAuthExpired, Code: "BadCredentials", Message: "the credentials are not accepted"})
	case !wrong:
		return respond(m, r, do)
	case fault.Kind == faults.Refuse && fault.Answer.Status == http.StatusOK:
		got, err := respond(m, r, do)
		if snapshot, ok := any(&got).(*Snapshot); ok {
			snapshot.State = cloud.State(fault.Answer.Body)
		}
		return got, err
	case fault.Kind == faults.Refuse:
		return none, m.refused(r, fault.Answer)
	case fault.Kind == faults.Hang:
		<-ctx.Done()
		return none, m.lost(r, ctx.Err())
	case fault.Kind == faults.DropAfter || fault.Kind == faults.Truncate:
		_, _ = do() // The request takes effect, and the response is lost.
	}
	return none, m.lost(r, errLost)
}

// respond returns the response of the cloud, without any scripted fault.
func respond[T any](m *memory, r request, do func() (T, *cloud.Error)) (T, error) {
	got, e := do()
	if e != nil {
		var none T
		return none, m.fail(r, e)
	}
	return got, nil
}

// fail adds the provider and the method to an error.
func (m *memory) fail(r request, e *cloud.Error) error {
	e.Provider, e.Op = ProviderMemory, r.method
	return e
}

// lost returns the error of a request without a response.
func (m *memory) lost(r request, cause error) error {
	class := cloud.ClassTransient
	if r.op.Mutates() {
		class = cloud.ClassAmbiguous
	}
	return m.fail(r, &cloud.Error{Class: class, Message: cause.Error(), Err: cause})
}

// refused returns the error of a scripted response.
func (m *memory) refused(r request, a faults.Answer) error {
	e := &cloud.Error{Class: cloud.Class(a.Header.Get(headerClass)), Code: a.Header.Get(headerCode), Message: a.Body}
	if seconds, err := strconv.Atoi(a.Header.Get(headerAfter)); err == nil {
		e.RetryAfter = time.Duration(seconds) * time.Second
	}
	if e.Class == cloud.ClassThrottled && e.RetryAfter == 0 {
		e.RetryAfter = 5 * time.Second
	}
	if e.Class == cloud.ClassTransient && r.op.Mutates() {
		e.Class = cloud.ClassAmbiguous // As with any 5xx.
	}
	return m.fail(r, e)
}

func notFound(what string) *cloud.Error {
	return &cloud.Error{Class: cloud.ClassNotFound, Code: "NotFound", Message: what + " does not exist"}
}

func conflict(name, why string) *cloud.Error {
	return &cloud.Error{Class: cloud.ClassConflict, Code: "NameTaken", Message: fmt.Sprintf("%q %s", name, why)}
}

func notVisible(name string) *cloud.Error {
	return &cloud.Error{Class: cloud.ClassAmbiguous, Code: "NotVisible", Message: fmt.Sprintf("%q is not visible, but may have been requested", name)}
}

func foreign(id string) *cloud.Error {
	return &cloud.Error{Class: cloud.ClassDenied, Code: cloud.CodeForeign, Message: fmt.Sprintf("%q has another owner", id)}
}

// access implements cloud.Access.
type access struct{ *memory }

// Identity implements cloud.Access.
func (a access) Identity(ctx context.Context) (cloud.Identity, error) {
	return send(ctx, a.memory, request{"Identity", faults.OpIdentity, a.Account}, func() (cloud.Identity, *cloud.Error) {
		return cloud.Identity{Name: "memory:" + a.Account, Account: a.Account}, nil
	})
}

// byRequest is the means of all checks.
const byRequest = "request"

// Preflight implements cloud.Access.
func (a access) Preflight(ctx context.Context, _ cloud.Owner) ([]cloud.PermissionCheck, error) {
	return send(ctx, a.memory, request{"Preflight", faults.OpOther, a.Account}, func() ([]cloud.PermissionCheck, *cloud.Error) {
		return []cloud.PermissionCheck{
			{Permission: "memory." + string(faults.OpCreateSnapshot), Granted: true, By: byRequest},
			{Permission: "memory." + string(faults.OpDeleteSnapshot), Granted: true, By: byRequest},
		}, nil
	})
}

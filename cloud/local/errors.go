package local

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
)

// fail makes an error of this provider.
func (p *provider) fail(method string, e cloud.Error) error {
	e.Provider, e.Op = v1.ProviderLocal, method
	e.Message = strings.Join(strings.Fields(e.Message), " ")
	if len(e.Message) > 1024 {
		e.Message = strings.ToValidUTF8(e.Message[:1024], "")
	}
	return &e
}

func (p *provider) invalid(method, message string) error {
	return p.fail(method, cloud.Error{Class: cloud.ClassInvalid, Message: message})
}

func (p *provider) conflict(method, name string) error {
	return p.fail(method, cloud.Error{Class: cloud.ClassConflict, Code: "NameTaken", Message: fmt.Sprintf("%q is the name of something else", name)})
}

func (p *provider) notFound(method, what string) error {
	return p.fail(method, cloud.Error{Class: cloud.ClassNotFound, Code: "NotFound", Message: what + " does not exist"})
}

func (p *provider) foreign(method, what string) error {
	return p.fail(method, cloud.Error{Class: cloud.ClassDenied, Code: cloud.CodeForeign, Message: fmt.Sprintf("%q is not the owner's", what)})
}

// failed classes an error of the file system; those of this provider stay as they are.
// What was begun is not there unless it is whole: but for a cancelled call, which says
// of no provider what happened, nothing is Ambiguous.
func (p *provider) failed(r request, err error) error {
	if err == nil || cloud.ClassOf(err) != "" {
		return err
	}
	e := cloud.Error{Class: cloud.ClassTransient, Message: err.Error(), Err: err}
	if code, ok := errors.AsType[syscall.Errno](err); ok {
		e.Code = fmt.Sprintf("errno %d", int(code))
	}
	switch {
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		if r.op.changes() {
			e.Class = cloud.ClassAmbiguous
		}
	case errors.Is(err, os.ErrPermission), errors.Is(err, syscall.EROFS):
		e.Class = cloud.ClassDenied
		e.Message = string(r.op) + ": " + e.Message
	case errors.Is(err, syscall.ENOSPC), errors.Is(err, syscall.EDQUOT):
		e.Class = cloud.ClassQuota
	}
	return p.fail(r.method, e)
}

// changes tells whether an operation writes what others see.
func (o operation) changes() bool {
	switch o {
	case opCreateSnapshot, opCopySnapshot, opDeleteSnapshot, opCreateVolume, opDeleteVolume:
		return true
	default:
		return false
	}
}

package cloud_test

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// front stands before the fake of a cloud and lets requests go wrong by a script.
type front struct {
	next     http.Handler
	classify func(r *http.Request, body []byte) faults.Op
	script   *faults.Script
}

func (f *front) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fault, wrong := f.script.Next(f.classify(r, body), r.Method+" "+r.URL.RequestURI()+"\n"+string(body))
	switch {
	case !wrong:
		f.next.ServeHTTP(w, r)
	case fault.Kind == faults.Refuse:
		maps.Copy(w.Header(), fault.Answer.Header)
		w.WriteHeader(fault.Answer.Status)
		// Who does not wait for the answer does not get it.
		_, _ = io.WriteString(w, fault.Answer.Body)
	case fault.Kind == faults.DropAfter:
		f.next.ServeHTTP(httptest.NewRecorder(), r)
		panic(http.ErrAbortHandler)
	default:
		panic(http.ErrAbortHandler)
	}
}

// classifyEC2 says which operation a request to EC2 or STS is.
func classifyEC2(_ *http.Request, body []byte) faults.Op {
	form, err := url.ParseQuery(string(body))
	if err != nil || form.Get("DryRun") == "true" {
		return faults.OpOther
	}
	switch action := form.Get("Action"); action {
	case "CreateSnapshot", "CopySnapshot", "DeleteSnapshot":
		return faults.Op(action)
	default:
		return faults.OpOther
	}
}

// classifyREST says which operation a request to Google or Azure is, as far as it
// changes something.
func classifyREST(r *http.Request, body []byte) faults.Op {
	path := strings.ToLower(r.URL.Path)
	parts := strings.Split(path, "/")
	named, in := parts[len(parts)-1], parts[max(0, len(parts)-2)]
	makes := r.Method == http.MethodPost && named == "snapshots" || r.Method == http.MethodPut
	snapshots := named == "snapshots" || in == "snapshots"
	switch {
	case makes && snapshots && bytes.Contains(body, []byte(`"CopyStart"`)):
		return faults.OpCopySnapshot
	case makes && snapshots:
		return faults.OpCreateSnapshot
	case r.Method == http.MethodDelete && snapshots:
		return faults.OpDeleteSnapshot
	default:
		return faults.OpOther
	}
}

// classifyObjects says which operation a request to a bucket is, as far as it changes
// something.
func classifyObjects(r *http.Request, _ []byte) faults.Op {
	switch {
	case r.Method == http.MethodPut, strings.HasPrefix(r.URL.Path, "/upload/"):
		return faults.OpPutObject
	case r.Method == http.MethodDelete:
		return faults.OpDeleteObject
	default:
		return faults.OpOther
	}
}

package audit_test

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/e2e/fleet/audit"
)

const (
	patched = `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"a1","stage":"ResponseComplete",` +
		`"requestURI":"/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=hub","verb":"patch",` +
		`"user":{"username":"system:serviceaccount:hub:operator","groups":["system:authenticated"],"extra":{"authentication.kubernetes.io/credential-id":["JTI=1"]}},"userAgent":"operator/v1",` +
		`"objectRef":{"resource":"deployments","namespace":"shop","name":"web","apiGroup":"apps","apiVersion":"v1"},` +
		`"responseStatus":{"metadata":{},"code":200},"responseObject":{"kind":"Deployment"},"requestReceivedTimestamp":"2026-03-01T10:00:00.000001Z","stageTimestamp":"2026-03-01T10:00:00.004Z"}`
	dryRun = `{"kind":"Event","auditID":"a2","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/configmaps?dryRun=All","verb":"create",` +
		`"user":{"username":"ann"},"objectRef":{"resource":"configmaps","namespace":"shop","apiVersion":"v1"},"responseStatus":{"code":201}}`
	review = `{"kind":"Event","auditID":"a3","stage":"ResponseComplete","requestURI":"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews","verb":"create",` +
		`"user":{"username":"ann"},"objectRef":{"resource":"selfsubjectaccessreviews","apiGroup":"authorization.k8s.io"},"responseStatus":{"code":201}}`
	refused = `{"kind":"Event","auditID":"a4","stage":"ResponseComplete","requestURI":"/api/v1/namespaces/shop/secrets/key","verb":"delete",` +
		`"user":{"username":"ann"},"objectRef":{"resource":"secrets","namespace":"shop","name":"key","apiVersion":"v1"},"responseStatus":{"code":403}}`
	listed = `{"kind":"Event","auditID":"a5","stage":"ResponseComplete","requestURI":"/api/v1/pods","verb":"list",` +
		`"user":{"username":"ann"},"objectRef":{"resource":"pods","apiVersion":"v1"},"responseStatus":{"code":200}}`
)

func lines(texts ...string) []byte {
	var raw []byte
	for _, text := range texts {
		raw = append(raw, text+"\n"...)
	}
	return raw
}

func ids(log audit.Log) []string {
	var found []string
	for _, e := range log {
		found = append(found, e.ID)
	}
	return found
}

func TestParseFillsEveryField(t *testing.T) {
	log, err := audit.Parse(lines(patched))
	if err != nil {
		t.Fatal(err)
	}
	want := audit.Log{{
		ID:         "a1",
		Stage:      "ResponseComplete",
		Verb:       "patch",
		URI:        "/apis/apps/v1/namespaces/shop/deployments/web?fieldManager=hub",
		Group:      "apps",
		Version:    "v1",
		Resource:   "deployments",
		Namespace:  "shop",
		Name:       "web",
		User:       "system:serviceaccount:hub:operator",
		UserAgent:  "operator/v1",
		Credential: "JTI=1",
		Object:     `{"kind":"Deployment"}`,
		Code:       200,
		Received:   time.Date(2026, 3, 1, 10, 0, 0, 1000, time.UTC),
		Completed:  time.Date(2026, 3, 1, 10, 0, 0, 4000000, time.UTC),
	}}
	if diff := cmp.Diff(want, log); diff != "" {
		t.Error(diff)
	}
}

func TestFilters(t *testing.T) {
	log, err := audit.Parse(lines(patched, dryRun, review, refused, listed))
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		got  audit.Log
		want []string
	}{
		"writes leave out dry runs, reviews and reads": {got: log.Writes(), want: []string{"a1", "a4"}},
		"writes that succeeded":                        {got: log.Writes().Succeeded(), want: []string{"a1"}},
		"deletes":                                      {got: log.Deletes(), want: []string{"a4"}},
		"code":                                         {got: log.Code(403), want: []string{"a4"}},
		"verb":                                         {got: log.Verb("list", "patch"), want: []string{"a1", "a5"}},
		"user":                                         {got: log.ByUser("ann"), want: []string{"a2", "a3", "a4", "a5"}},
		"service account":                              {got: log.ByServiceAccount("hub", "operator"), want: []string{"a1"}},
		"agent":                                        {got: log.ByAgent("operator/"), want: []string{"a1"}},
		"resource in namespace":                        {got: log.Of("secrets").In("shop"), want: []string{"a4"}},
		"since is inclusive and keeps only what is new": {got: log.Since(log[0].Received), want: []string{"a1"}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, ids(test.got)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestByVerb(t *testing.T) {
	const (
		status = `{"auditID":"a6","verb":"patch","objectRef":{"resource":"ecommerceapps","subresource":"status","namespace":"shop","name":"s"},"responseStatus":{"code":200}}`
		event  = `{"auditID":"a7","verb":"create","objectRef":{"resource":"events","namespace":"shop"},"responseStatus":{"code":201}}`
		made   = `{"auditID":"a8","verb":"create","objectRef":{"resource":"namespaces","name":"shop"},"responseStatus":{"code":201}}`
		system = `{"auditID":"a10","verb":"get","objectRef":{"resource":"namespaces","namespace":"kube-system","name":"kube-system"},"responseStatus":{"code":200}}`
		other  = `{"auditID":"a9","verb":"get","objectRef":{"resource":"secrets","namespace":"other","name":"s"},"responseStatus":{"code":200}}`
	)
	log, err := audit.Parse(lines(patched, status, status, event, made, refused, system, other))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]int{"patch": 1, "patch status": 2, "create events → 201": 1, "create → 201": 1, "delete → 403": 1}
	if diff := cmp.Diff(want, log.About("shop").ByVerb()); diff != "" {
		t.Error(diff)
	}
}

func TestReadLeavesAnUnfinishedLine(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if log, mark, err := audit.Read(file, 0); err != nil || len(log) != 0 || mark != 0 {
		t.Fatalf("a missing file: got %v, mark %d, error %v", log, mark, err)
	}
	half := len(refused) / 2
	write(t, file, append(lines(patched), refused[:half]...))
	log, mark, err := audit.Read(file, 0)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a1"}, ids(log)); diff != "" {
		t.Error(diff)
	}
	write(t, file, lines(patched, refused))
	log, _, err = audit.Read(file, mark)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a4"}, ids(log)); diff != "" {
		t.Error(diff)
	}
}

func TestFind(t *testing.T) {
	file := filepath.Join(t.TempDir(), "audit.log")
	if found, end, err := audit.Find(file, 0, "a1"); err != nil || found || end != 0 {
		t.Fatalf("a missing file: got %t, end %d, error %v", found, end, err)
	}
	first := audit.Mark(len(lines(patched)))
	write(t, file, append(lines(patched), listed...))
	for name, test := range map[string]struct {
		after audit.Mark
		text  string
		want  bool
	}{
		"in the log":              {text: `"a1"`, want: true},
		"before the mark":         {after: first, text: `"a1"`},
		"in an unfinished line":   {text: `"a5"`},
		"no text is always there": {after: first, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			found, end, err := audit.Find(file, test.after, test.text)
			if err != nil || found != test.want || end != first {
				t.Errorf("got %t, end %d, error %v, want %t, end %d", found, end, err, test.want, first)
			}
		})
	}
}

func TestParseSurvivesAKilledServer(t *testing.T) {
	torn := patched[:len(patched)/2]
	log, err := audit.Parse(lines(torn+refused, listed, torn))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"a4", "a5"}, ids(log)); diff != "" {
		t.Error(diff)
	}
}

func TestParseRefusesWhatIsNoLog(t *testing.T) {
	if _, err := audit.Parse([]byte("no log\n")); err == nil {
		t.Error("want an error")
	}
}

func write(t *testing.T, file string, raw []byte) {
	t.Helper()
	if err := os.WriteFile(file, raw, 0o600); err != nil {
		t.Fatal(err)
	}
}

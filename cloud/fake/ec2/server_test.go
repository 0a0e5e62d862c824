package ec2_test

import (
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/shopfleet/shopfleet/cloud/fake/ec2"
)

// ask sends a request as it is, without the client that would have made it better.
func ask(t *testing.T, server http.Handler, authorization string, form url.Values) (status int, body string) {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "https://ec2.example/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	w := httptest.NewRecorder()
	server.ServeHTTP(w, r)
	return w.Code, w.Body.String()
}

func TestUnsigned(t *testing.T) {
	t.Parallel()
	const scope = "/20260301/eu-central-1/ec2/aws4_request, SignedHeaders=host, Signature=00"
	for name, test := range map[string]struct {
		authorization string
		status        int
		code          string
	}{
		"nothing":     {"", http.StatusForbidden, "MissingAuthenticationToken"},
		"bearer":      {"Bearer x", http.StatusForbidden, "MissingAuthenticationToken"},
		"half":        {"AWS4-HMAC-SHA256 Credential=x", http.StatusForbidden, "IncompleteSignature"},
		"nobody":      {"AWS4-HMAC-SHA256 Credential=AKIANOBODY" + scope, http.StatusUnauthorized, "AuthFailure"},
		"not by them": {"AWS4-HMAC-SHA256 Credential=" + keyID + scope, http.StatusUnauthorized, "AuthFailure"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, world, server := newServer()
			before := len(world.Snapshots())
			form := url.Values{"Action": {"DeleteSnapshot"}, "Version": {"2016-11-15"}, "SnapshotId": {strangerID}}
			status, body := ask(t, server, test.authorization, form)
			if status != test.status || !strings.Contains(body, "<Code>"+test.code+"</Code>") {
				t.Errorf("status %d, %s; want %d and %s", status, body, test.status, test.code)
			}
			if len(world.Snapshots()) != before {
				t.Error("it was deleted")
			}
		})
	}
}

func TestErrorBodies(t *testing.T) {
	t.Parallel()
	const want = "<Code>A&amp;B</Code><Message>&lt;no&gt;</Message>"
	if got := ec2.ErrorBody("A&B", "<no>"); !strings.HasPrefix(got, "<Response><Errors><Error>"+want) {
		t.Errorf("for EC2: %s", got)
	}
	if got := ec2.STSErrorBody("A&B", "<no>"); !strings.HasPrefix(got, "<ErrorResponse xmlns=") || !strings.Contains(got, want) {
		t.Errorf("for STS: %s", got)
	}
}

func TestProvision(t *testing.T) {
	t.Parallel()
	_, world, server := newServer()
	made := server.Provision(ec2.Disk{Account: mine, Zone: here + "b", Name: "pvc-1", SizeBytes: 20 * gib, Tags: map[string]string{"team": "shop"}})
	got, ok := world.Volume(made.ID)
	if !ok || got.Region != here || got.Zone != here+"b" || got.Type != "gp3" || got.IOPS != 3000 || got.Throughput != 125 || got.SizeBytes != 20*gib ||
		got.Tags["ebs.csi.aws.com/cluster"] != "true" || got.Tags["CSIVolumeName"] != "pvc-1" || got.Tags["team"] != "shop" || got.UID != got.ID {
		t.Errorf("%+v is not what the CSI driver makes", got)
	}
}

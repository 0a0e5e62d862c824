package azure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	azfake "github.com/Azure/azure-sdk-for-go/sdk/azcore/fake"
	"github.com/Azure/azure-sdk-for-go/sdk/azcore/runtime"
	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"
	armfake "github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8/fake"
	"github.com/google/go-cmp/cmp"

	"github.com/shopfleet/shopfleet/cloud/cloudtest/faults"
)

// understood holds a request as Microsoft's own fake server parsed it.
type understood struct {
	group, name string
	body        any
}

// validate gives a recorded request to Microsoft's fake server, which must find its way
// to the method, the names and the body, and leave no member of the body over.
func validate(ctx context.Context, call faults.Call) error {
	head, body, _ := strings.Cut(call.Request, "\n")
	verb, uri, _ := strings.Cut(head, " ")
	u, err := url.Parse(uri)
	if err != nil {
		return err
	}
	_, rest, compute := strings.Cut(u.Path, "/providers/Microsoft.Compute/")
	if !compute {
		return nil // Tokens, the group and its permissions are no part of that server.
	}
	if u.Query().Get("api-version") == "" {
		return errors.New("no api-version")
	}
	kind, name, _ := strings.Cut(rest, "/")
	got, err := route(ctx, question{verb, u, kind, body})
	if err != nil {
		return err
	}
	if !strings.HasPrefix(u.Path, "/subscriptions/"+accounts()[0].Subscription+"/resourceGroups/"+got.group+"/") || got.name != name {
		return fmt.Errorf("understood as group %q and name %q", got.group, got.name)
	}
	if body == "" {
		return nil
	}
	var sent, read any
	again, err := json.Marshal(got.body)
	if err == nil {
		err = errors.Join(json.Unmarshal([]byte(body), &sent), json.Unmarshal(again, &read))
	}
	if err != nil {
		return err
	}
	if diff := cmp.Diff(sent, read); diff != "" {
		return fmt.Errorf("the body that was sent differs from what was understood (-sent +understood):\n%s", diff)
	}
	return nil
}

// question is a request of ours.
type question struct {
	verb string
	url  *url.URL
	// kind is the kind of the resource: snapshots or disks.
	kind, body string
}

// route sends a request to Microsoft's fake server.
func route(ctx context.Context, q question) (understood, error) {
	var got understood
	var server interface {
		Do(*http.Request) (*http.Response, error)
	}
	client := map[string]string{typeSnapshots: "SnapshotsClient", typeDisks: "DisksClient", typeSets: "DiskEncryptionSetsClient"}[q.kind]
	method := map[string]string{http.MethodPut: "BeginCreateOrUpdate", http.MethodDelete: "BeginDelete", http.MethodGet: "Get"}[q.verb]
	if q.verb == http.MethodGet && strings.HasSuffix(q.url.Path, "/"+q.kind) {
		method = "NewListByResourceGroupPager"
	}
	switch q.kind {
	case typeSnapshots:
		server = armfake.NewSnapshotsServerTransport(snapshotsServer(&got))
	case typeDisks:
		server = armfake.NewDisksServerTransport(disksServer(&got))
	case typeSets:
		server = armfake.NewDiskEncryptionSetsServerTransport(setsServer(&got))
	default:
		return got, fmt.Errorf("nothing of ours is at %q", q.url.Path)
	}
	ctx = context.WithValue(ctx, runtime.CtxAPINameKey{}, client+"."+method)
	request, err := http.NewRequestWithContext(ctx, q.verb, "https://management.azure.com"+q.url.RequestURI(), bytes.NewReader([]byte(q.body)))
	if err != nil {
		return got, err
	}
	if q.body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := server.Do(request)
	if err != nil {
		return got, err
	}
	return got, response.Body.Close()
}

func snapshotsServer(got *understood) *armfake.SnapshotsServer {
	return &armfake.SnapshotsServer{
		Get: func(_ context.Context, group, name string, _ *armcompute.SnapshotsClientGetOptions) (out azfake.Responder[armcompute.SnapshotsClientGetResponse], _ azfake.ErrorResponder) {
			*got = understood{group, name, nil}
			out.SetResponse(http.StatusOK, armcompute.SnapshotsClientGetResponse{}, nil)
			return out, azfake.ErrorResponder{}
		},
		NewListByResourceGroupPager: func(group string, _ *armcompute.SnapshotsClientListByResourceGroupOptions) (out azfake.PagerResponder[armcompute.SnapshotsClientListByResourceGroupResponse]) {
			*got = understood{group, "", nil}
			out.AddPage(http.StatusOK, armcompute.SnapshotsClientListByResourceGroupResponse{}, nil)
			return out
		},
		BeginCreateOrUpdate: func(_ context.Context, group, name string, body armcompute.Snapshot, _ *armcompute.SnapshotsClientBeginCreateOrUpdateOptions) (out azfake.PollerResponder[armcompute.SnapshotsClientCreateOrUpdateResponse], _ azfake.ErrorResponder) {
			*got = understood{group, name, body}
			out.SetTerminalResponse(http.StatusOK, armcompute.SnapshotsClientCreateOrUpdateResponse{}, nil)
			return out, azfake.ErrorResponder{}
		},
		BeginDelete: func(_ context.Context, group, name string, _ *armcompute.SnapshotsClientBeginDeleteOptions) (out azfake.PollerResponder[armcompute.SnapshotsClientDeleteResponse], _ azfake.ErrorResponder) {
			*got = understood{group, name, nil}
			out.SetTerminalResponse(http.StatusNoContent, armcompute.SnapshotsClientDeleteResponse{}, nil)
			return out, azfake.ErrorResponder{}
		},
	}
}

func disksServer(got *understood) *armfake.DisksServer {
	return &armfake.DisksServer{
		Get: func(_ context.Context, group, name string, _ *armcompute.DisksClientGetOptions) (out azfake.Responder[armcompute.DisksClientGetResponse], _ azfake.ErrorResponder) {
			*got = understood{group, name, nil}
			out.SetResponse(http.StatusOK, armcompute.DisksClientGetResponse{}, nil)
			return out, azfake.ErrorResponder{}
		},
	}
}

func setsServer(got *understood) *armfake.DiskEncryptionSetsServer {
	return &armfake.DiskEncryptionSetsServer{
		Get: func(_ context.Context, group, name string, _ *armcompute.DiskEncryptionSetsClientGetOptions) (out azfake.Responder[armcompute.DiskEncryptionSetsClientGetResponse], _ azfake.ErrorResponder) {
			*got = understood{group, name, nil}
			out.SetResponse(http.StatusOK, armcompute.DiskEncryptionSetsClientGetResponse{}, nil)
			return out, azfake.ErrorResponder{}
		},
	}
}

// TestValidate shows that the check can fail.
func TestValidate(t *testing.T) {
	t.Parallel()
	path := "/subscriptions/" + accounts()[0].Subscription + "/resourceGroups/g/providers/Microsoft.Compute/"
	tests := map[string]struct {
		request string
		wrong   bool
	}{
		"a read":                     {"GET " + path + "snapshots/s?api-version=1\n", false},
		"a list":                     {"GET " + path + "snapshots?api-version=1\n", false},
		"a body":                     {"PUT " + path + "snapshots/s?api-version=1\n" + `{"location":"eastus"}`, false},
		"no version":                 {"GET " + path + "snapshots/s\n", true},
		"an unknown property":        {"PUT " + path + "snapshots/s?api-version=1\n" + `{"location":"eastus","zone":"1"}`, true},
		"a number for a text":        {"PUT " + path + "snapshots/s?api-version=1\n" + `{"location":1}`, true},
		"a method that is not there": {"POST " + path + "snapshots/s?api-version=1\n", true},
		"a kind that is not there":   {"GET " + path + "vms/s?api-version=1\n", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := validate(t.Context(), faults.Call{Request: tt.request}); (err != nil) != tt.wrong {
				t.Errorf("error %v, want one: %t", err, tt.wrong)
			}
		})
	}
}

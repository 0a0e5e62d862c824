package googleapi

import (
	"strings"
	"testing"
)

func load(t *testing.T, name string) *API {
	t.Helper()
	api, err := Load(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return api
}

func TestComputeFaults(t *testing.T) {
	t.Parallel()
	api := load(t, "compute")
	insert := "POST /compute/v1/projects/shop-prod/global/snapshots?requestId=x\n"
	tests := map[string]struct {
		request string
		fault   bool
	}{
		"good":                {insert + `{"name": "a", "snapshotType": "STANDARD", "labels": {"a": "b"}, "storageLocations": ["eu"]}`, false},
		"unknown path":        {"GET /compute/v1/projects/shop-prod/global/snapshot\n", true},
		"unknown method":      {"PUT /compute/v1/projects/shop-prod/global/snapshots/a\n", true},
		"unknown parameter":   {"GET /compute/v1/projects/shop-prod/global/snapshots?filters=x\n", true},
		"parameter's type":    {"GET /compute/v1/projects/shop-prod/global/snapshots?maxResults=many\n", true},
		"unknown field":       {insert + `{"name": "a", "disk": "b"}`, true},
		"missing field":       {insert + `{"snapshotType": "STANDARD"}`, true},
		"field's type":        {insert + `{"name": "a", "storageLocations": "eu"}`, true},
		"enum":                {insert + `{"name": "a", "snapshotType": "FAST"}`, true},
		"pattern":             {insert + `{"name": "Shop"}`, true},
		"read-only field":     {insert + `{"name": "a", "status": "READY"}`, true},
		"enum within a field": {insert + `{"name": "a", "snapshotEncryptionKey": {"key": "b"}}`, true},
		"body of a GET":       {"GET /compute/v1/projects/shop-prod\n{}", true},
		"somewhere else":      {"GET /latest/meta-data\n", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := api.Request(tt.request); (err != nil) != tt.fault {
				t.Errorf("error %v, want one: %t", err, tt.fault)
			}
		})
	}
	if api.Answer("GET", "/compute/v1/projects/shop-prod/global/snapshots/a", []byte(`{"status": "THINKING"}`)) == nil {
		t.Error("an answer with an unknown state has no fault")
	}
}

func TestStorageFaults(t *testing.T) {
	t.Parallel()
	api := load(t, "storage")
	const upload = "POST /upload/storage/v1/b/dumps/o?uploadType=multipart&ifGenerationMatch=0\n"
	parts := func(description string) string {
		return "--x\r\nContent-Type: application/json\r\n\r\n" + description + "\r\n--x\r\nContent-Type: text/plain\r\n\r\nabc\r\n--x--\r\n"
	}
	tests := map[string]struct {
		request string
		fault   bool
	}{
		"upload":               {upload + parts(`{"name": "a/b", "crc32c": "AAAAAA=="}`), false},
		"slash in a name":      {"GET /storage/v1/b/dumps/o/a%2Fb?alt=media&generation=7\n", false},
		"slash as it is":       {"GET /storage/v1/b/dumps/o/a/b\n", true},
		"unknown field":        {upload + parts(`{"name": "a", "colour": "red"}`), true},
		"field's type":         {upload + parts(`{"name": 1}`), true},
		"no parts":             {upload + `{"name": "a"}`, true},
		"cut":                  {upload + "--x\r\nContent-Type: a/b\r\n\r\n{}", true},
		"condition's type":     {strings.Replace(upload, "Match=0", "Match=none", 1) + parts(`{"name": "a"}`), true},
		"elsewhere":            {"POST /upload/storage/v1/b/dumps\n" + parts(`{}`), true},
		"parameter of another": {"DELETE /storage/v1/b/dumps/o/a?prefix=x\n", true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if err := api.Request(tt.request); (err != nil) != tt.fault {
				t.Errorf("error %v, want one: %t", err, tt.fault)
			}
		})
	}
	if err := api.Answer("GET", "/storage/v1/b/dumps/o", []byte(`{"items": [{"size": 7}]}`)); err == nil {
		t.Error("a size that is a number has no fault")
	}
}

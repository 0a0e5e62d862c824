package azure

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/resourcemanager/compute/armcompute/v8"

	"github.com/shopfleet/shopfleet/cloud"
)

func TestSnapshotStates(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		properties string
		want       cloud.State
		progress   int
		message    string
	}{
		"nothing":              {`{}`, cloud.StateCreating, -1, ""},
		"accepted":             {`{"provisioningState":"Updating"}`, cloud.StateCreating, -1, ""},
		"unknown":              {`{"provisioningState":"Levitating","completionPercent":100}`, cloud.StateCreating, 100, ""},
		"made":                 {`{"provisioningState":"Succeeded"}`, cloud.StateReady, 100, ""},
		"on its way":           {`{"provisioningState":"Succeeded","completionPercent":99.9}`, cloud.StateTaken, 99, ""},
		"there":                {`{"provisioningState":"succeeded","completionPercent":100}`, cloud.StateReady, 100, ""},
		"not accessible yet":   {`{"provisioningState":"Succeeded","completionPercent":100,"snapshotAccessState":"Pending"}`, cloud.StateTaken, 100, ""},
		"accessible":           {`{"provisioningState":"Succeeded","snapshotAccessState":"InstantAccess"}`, cloud.StateReady, 100, ""},
		"unknown access state": {`{"provisioningState":"Succeeded","snapshotAccessState":"Sometimes"}`, cloud.StateTaken, -1, ""},
		"going":                {`{"provisioningState":"Deleting"}`, cloud.StateDeleting, -1, ""},
		"failed":               {`{"provisioningState":"Failed"}`, cloud.StateFailed, -1, failedWhileMade},
		"canceled":             {`{"provisioningState":"Canceled"}`, cloud.StateFailed, -1, failedWhileMade},
		"source gone": {
			`{"provisioningState":"Succeeded","completionPercent":12,"copyCompletionError":{"errorCode":"CopySourceNotFound","errorMessage":"it is gone"}}`,
			cloud.StateFailed, 12, "CopySourceNotFound: it is gone",
		},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s armcompute.Snapshot
			if err := json.Unmarshal([]byte(`{"id":"i","properties":`+tt.properties+`}`), &s); err != nil {
				t.Fatal(err)
			}
			got := (&account{}).toSnapshot(s, time.Time{})
			if got.State != tt.want || got.Progress != tt.progress || got.Message != tt.message {
				t.Errorf("state %q, progress %d, message %q; want %q, %d, %q", got.State, got.Progress, got.Message, tt.want, tt.progress, tt.message)
			}
		})
	}
}

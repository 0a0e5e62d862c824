package restore

import (
	"strings"
	"testing"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud"
	"github.com/shopfleet/shopfleet/cloud/csi"
)

func TestWhatAnEngineCanWorkWith(t *testing.T) {
	t.Parallel()
	const pg, my = v1.EnginePostgreSQL, v1.EngineMySQL
	tests := map[string]struct {
		db, backup  v1.Engine
		to, from    string
		files, dump string
	}{
		"the same":            {pg, pg, "15.4", "15.4", "", ""},
		"a newer minor":       {pg, pg, "15.9", "15.4", "", ""},
		"an older minor":      {pg, pg, "15.1", "15.4", "", ""},
		"a newer major":       {pg, pg, "16.1", "15.4", "set spec.database.version to 15.4", ""},
		"an older major":      {pg, pg, "9.6", "15.4", "to 15.4", "set spec.database.version to 15.4 or a newer one"},
		"two digits":          {pg, pg, "10.1", "9.6", "to 9.6", ""},
		"newer MySQL":         {my, my, "9.1.0", "8.4.2", "to 8.4.2", ""},
		"older MySQL":         {my, my, "8.4.2", "9.1.0", "to 9.1.0", "or a newer one"},
		"files of 8.0 in 8.4": {my, my, "8.4.2", "8.0.39", "to 8.0.39", ""},
		"an older patch":      {my, my, "8.0.33", "8.0.36", "set spec.database.version to 8.0.36", ""},
		"a newer patch":       {my, my, "8.0.36-debian", "8.0.33", "", ""},
		"an older image":      {my, my, "8.4 mirror/mysql:8.4.2", "8.4.3", "the older version 8.4.2 cannot read", ""},
		"a newer image":       {my, my, "8.4 mirror/mysql:8.4.4", "8.4.3", "", ""},
		"any patch":           {my, my, "8.0", "8.0.36-debian", "", ""},
		"another engine":      {my, pg, "15.4", "15.4", "is of postgresql", "is of postgresql"},
		"version not known":   {pg, pg, "15.4", "", "version 15.4 cannot read", ""},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			to, image, _ := strings.Cut(tt.to, " ")
			db, b := &v1.Database{Engine: tt.db, Version: to, Image: image}, &v1.BackupStatus{Engine: tt.backup, Version: tt.from}
			for what, got := range map[string][2]string{"files": {filesMismatch(db, b), tt.files}, "dump": {dumpMismatch(db, b), tt.dump}} {
				if (got[0] == "") != (got[1] == "") || !strings.Contains(got[0], got[1]) {
					t.Errorf("%s: %q, want %q", what, got[0], got[1])
				}
			}
			if filesMismatch(nil, b)+dumpMismatch(nil, b) != "" {
				t.Error("no database at all cannot work with it")
			}
		})
	}
}

func TestWhichSnapshot(t *testing.T) {
	t.Parallel()
	check := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %q, want %q", what, got, want)
		}
	}
	b := &v1.BackupStatus{Provider: v1.ProviderAWS}
	s := &v1.VolumeSnapshot{
		CloudSnapshot: v1.CloudSnapshot{Region: "eu-west-1", ID: "snap-1", State: "Ready"},
		Copies:        []v1.CloudSnapshot{{Region: "us-east-1", ID: "snap-2", State: "Ready"}},
	}
	idIn := func(region string, b *v1.BackupStatus) string {
		id, _ := csi.SnapshotIn(region, b, s)
		return id
	}
	check("the copy of the region", idIn("us-east-1", b), "snap-2")
	s.Copies[0].State = string(cloud.StateTaken)
	check("a copy that is not ready", idIn("us-east-1", b), "")
	check("the snapshot itself", idIn("eu-west-1", b), "snap-1")
	check("a snapshot without a region", idIn("asia-east1", &v1.BackupStatus{Provider: v1.ProviderGCP}), "snap-1")
}

func TestSizes(t *testing.T) {
	t.Parallel()
	const gib = 1 << 30
	b := &v1.BackupStatus{Dump: &v1.DumpFile{Bytes: 3 * gib}}
	for name, tt := range map[string]struct {
		db   *v1.Database
		test int64
	}{
		"no database":      {nil, 12 * gib},
		"a smaller one":    {&v1.Database{Storage: "5Gi"}, 12 * gib},
		"a larger one":     {&v1.Database{Storage: "20Gi"}, 20 * gib},
		"one with no size": {&v1.Database{Storage: "many"}, 12 * gib},
	} {
		if got := verificationSize(tt.db, b); got != tt.test {
			t.Errorf("%s: the one to verify with has %d bytes, want %d", name, got, tt.test)
		}
	}
	if got := verificationSize(nil, &v1.BackupStatus{Dump: &v1.DumpFile{Bytes: 5}}); got != gib {
		t.Errorf("for a small dump %d bytes, want %d", got, gib)
	}
}

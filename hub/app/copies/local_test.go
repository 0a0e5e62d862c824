package copies

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	v1 "github.com/shopfleet/shopfleet/api/v1"
	"github.com/shopfleet/shopfleet/cloud/csi"
	"github.com/shopfleet/shopfleet/hub/app/aggregate"
	"github.com/shopfleet/shopfleet/hub/app/recovery"
	"github.com/shopfleet/shopfleet/hub/app/revisions"
	"github.com/shopfleet/shopfleet/spoke/runtime/apierror"
)

func awsMember(drivers ...string) *v1.MemberCluster {
	m := &v1.MemberCluster{Status: v1.MemberClusterStatus{Provider: v1.ProviderAWS, Region: "eu-west-1"}}
	for _, d := range drivers {
		m.Status.Capabilities = append(m.Status.Capabilities, csi.CapabilityDriver+d)
	}
	return m
}

func stored(change func(*v1.EcommerceAppSpec)) *v1.EcommerceApp {
	app := &v1.EcommerceApp{Spec: v1.EcommerceAppSpec{Image: "shop:v1", Database: &v1.Database{Engine: v1.EnginePostgreSQL}}}
	if change != nil {
		change(&app.Spec)
	}
	return app
}

// TestTheClassOfACopy checks which storage class a database gets in a member.
func TestTheClassOfACopy(t *testing.T) {
	t.Parallel()
	member := awsMember(csi.DriverEBS)
	fast := func(s *v1.EcommerceAppSpec) { s.Database.StorageProfile = v1.StorageFast }
	of := func(profile v1.StorageProfile, config v1.CloudConfig) *string {
		class, err := csi.ClassOf(csi.ClusterOf(member), profile, config)
		if err != nil || class == nil {
			t.Fatalf("class %v: %v", class, err)
		}
		return &class.Name
	}
	io2 := v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Type: "io2", IOPS: new(int32(8000))}}}
	live := func(class *string) *v1.EcommerceApp {
		return stored(func(s *v1.EcommerceAppSpec) { s.Database.StorageClassName = class })
	}
	tests := map[string]struct {
		app, live *v1.EcommerceApp
		want      *string
	}{
		"nothing is asked for":           {stored(nil), nil, nil},
		"a profile":                      {stored(fast), nil, of(v1.StorageFast, v1.CloudConfig{})},
		"a block for the provider":       {stored(func(s *v1.EcommerceAppSpec) { s.CloudConfig = io2 }), nil, of("", io2)},
		"a class by name":                {stored(func(s *v1.EcommerceAppSpec) { s.Database.StorageClassName = new("mine"); s.CloudConfig = io2 }), nil, new("mine")},
		"volumes that exist keep theirs": {stored(func(s *v1.EcommerceAppSpec) { s.CloudConfig = io2 }), live(new("older")), new("older")},
		"and those without a class":      {stored(fast), live(nil), nil},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := copyOf(tt.app, memberFacts{cluster: "eu-1", member: member}, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tt.want, got.Spec.Database.StorageClassName); diff != "" {
				t.Errorf("class (-want +got):\n%s", diff)
			}
			if got.Spec.Database.StorageProfile != "" || got.Spec.CloudConfig != (v1.CloudConfig{}) {
				t.Errorf("the copy still says %q and %+v", got.Spec.Database.StorageProfile, got.Spec.CloudConfig)
			}
		})
	}
}

// TestTheVersionOfACopy checks that a database keeps its version, and the image with it, until its backup is made.
func TestTheVersionOfACopy(t *testing.T) {
	t.Parallel()
	database := func(version, image string) func(*v1.EcommerceAppSpec) {
		return func(s *v1.EcommerceAppSpec) {
			s.Database.Version, s.Database.Image, s.Database.Backup.Enabled = version, image, true
		}
	}
	const before, after = "17.2", "17.3"
	next, live := database(after, "pg:17.3"), stored(database(before, "pg:17.2"))
	without := func(s *v1.EcommerceAppSpec) { next(s); s.Database.Backup.Enabled = false }
	override := func(s *v1.EcommerceAppSpec) {
		database(before, "pg:17.2")(s)
		s.Overrides = []v1.Override{{Database: v1.DatabaseOverride{ContainerOverride: v1.ContainerOverride{Image: "pg:17.9"}}}}
	}
	patch := func(s *v1.EcommerceAppSpec) {
		database(before, "pg:17.2")(s)
		s.Overrides = []v1.Override{{JSONPatches: []v1.JSONPatch{{Op: "replace", Path: "/database/image", Value: runtime.RawExtension{Raw: []byte(`"pg:17.9"`)}}}}}
	}
	for name, tt := range map[string]struct {
		spec           func(*v1.EcommerceAppSpec)
		recorded       string
		live           *v1.EcommerceApp
		version, image string
	}{
		"waits":                               {next, before, live, before, "pg:17.2"},
		"waits, and the copy is missing":      {next, before, nil, before, "pg:17.3"},
		"an image waits":                      {database(before, "pg:fixed"), before + " pg:17.2", live, before, "pg:17.2"},
		"waits, and only the hub knows":       {next, before + " pg:17.2", nil, before, "pg:17.2"},
		"waits for the official image":        {next, before + " postgres:17.2", nil, before, ""},
		"an override waits":                   {override, before + " pg:17.2", live, before, "pg:17.2"},
		"a JSON patch waits":                  {patch, before + " pg:17.2", live, before, "pg:17.2"},
		"an override whose backup is made":    {override, before + " pg:17.9", live, before, "pg:17.9"},
		"its backup is made":                  {next, after, live, after, "pg:17.3"},
		"backups are new":                     {next, "", live, before, "pg:17.2"},
		"backups are new, and so is the copy": {next, "", nil, after, "pg:17.3"},
		"without backups":                     {without, "", live, after, "pg:17.3"},
		"another image of the same version":   {database(before, "pg:fixed"), before, live, before, "pg:17.2"},
		"another image, and its backup":       {database(before, "pg:fixed"), before + " pg:fixed", live, before, "pg:fixed"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := stored(tt.spec)
			version, image, _ := strings.Cut(tt.recorded, " ")
			app.Status.Backups = []v1.ClusterBackups{{Name: "a", Version: version, Image: image}}
			app.Status.Clusters = []v1.ClusterStatus{{Name: "a"}}
			copied, err := copyOf(app, memberFacts{cluster: "a", member: awsMember()}, tt.live)
			if err != nil {
				t.Fatal(err)
			}
			if db := copied.Spec.Database; db.Version != tt.version || db.Image != tt.image {
				t.Errorf("version %s and image %s, want %s and %s", db.Version, db.Image, tt.version, tt.image)
			}
		})
	}
}

// withOverride adds an override to an application.
func withOverride(app *v1.EcommerceApp, override v1.Override) *v1.EcommerceApp {
	app.Spec.Overrides = []v1.Override{override}
	return app
}

// TestTheServerOfACopy checks that overrides, JSON patches and earlier revisions do not get past the rules of the
// schema.
func TestTheServerOfACopy(t *testing.T) {
	t.Parallel()
	mysql := func(version, image, consent string) *v1.EcommerceApp {
		return stored(func(s *v1.EcommerceAppSpec) {
			s.Database.Engine, s.Database.Version, s.Database.Image, s.Database.AllowUpgradeTo = v1.EngineMySQL, version, image, consent
		})
	}
	const image = "mirror/mysql:"
	to := func(image string) v1.Override {
		return v1.Override{Database: v1.DatabaseOverride{ContainerOverride: v1.ContainerOverride{Image: image}}}
	}
	patch := func(image string) v1.Override {
		return v1.Override{JSONPatches: []v1.JSONPatch{{Op: "add", Path: "/database/image", Value: runtime.RawExtension{Raw: []byte(`"` + image + `"`)}}}}
	}
	live := mysql("8.4.2", image+"8.4.2", "")
	stuck := mysql("8.4.2", "", "")
	stuck.Spec.Database.Version, stuck.Spec.Database.Image = "8.4", image+"8.4.99"
	stuck.Status.Components = []v1.ComponentStatus{{Name: "database", Reason: v1.ReasonImagePullBackOff, UpdatedReplicas: 1}}
	never := stuck.DeepCopy()
	never.Status.StartedServer = &v1.DatabaseServer{Version: "8.4", Image: image + "8.4.2-debian"}
	has := stuck.DeepCopy()
	has.Status.StartedServer = new(has.Spec.Database.Server())
	observed := never.DeepCopy()
	observed.Generation = 2 // Its status is about another spec.
	for name, tt := range map[string]struct {
		app, live *v1.EcommerceApp
		refused   bool
	}{
		"stays":                                            {mysql("8.4.2", image+"8.4.2", ""), live, false},
		"of another registry":                              {withOverride(mysql("8.4.2", image+"8.4.2", ""), to("eu/mysql:8.4.2")), live, false},
		"upgraded by an override":                          {withOverride(mysql("8.4.2", image+"8.4.2", ""), to(image+"9.1.0")), live, true},
		"upgraded by a JSON patch":                         {withOverride(mysql("8.4.2", image+"8.4.2", ""), patch(image+"9.1.0")), live, true},
		"lowered by an override":                           {withOverride(mysql("8.4.2", image+"8.4.2", ""), to(image+"8.4.1")), live, true},
		"by digest":                                        {withOverride(mysql("8.4.2", image+"8.4.2", ""), patch("mysql@sha256:aa")), live, true},
		"of Alpine, and new":                               {withOverride(mysql("8.4.2", "", ""), to("mysql:8.4.2-alpine")), nil, true},
		"floating, and new":                                {withOverride(mysql("8.4.2", "", ""), patch("mysql:8.4")), nil, true},
		"floating all along":                               {mysql("8.4", "", ""), mysql("8.4", "", ""), false},
		"a major one with consent":                         {withOverride(mysql("9.1.0", image+"9.1.0", "9"), to("eu/mysql:9.1.0")), live, false},
		"a major one without":                              {mysql("9.1.0", image+"9.1.0", ""), live, true},
		"instead of one that never started":                {mysql("8.4", image+"8.4.2-debian", ""), never, false},
		"instead of one that may have":                     {mysql("8.4", image+"8.4.2-debian", ""), observed, true},
		"instead of one that is not known to have started": {mysql("8.4", image+"8.4.2", ""), stuck, true},
		"instead of one that started, and cannot be pulled elsewhere":       {mysql("8.4", image+"8.4.2", ""), has, true},
		"never started, and stays":                                          {mysql("8.4", image+"8.4.99", ""), never, false},
		"never started: compared with the one before: raised":               {mysql("8.4", image+"8.4.3-debian", ""), never, false},
		"never started: compared with the one before: lowered":              {mysql("8.4", image+"8.4.1-debian", ""), never, true},
		"never started: compared with the one before: another distribution": {mysql("8.4", image+"8.4.2-oraclelinux9", ""), never, true},
		"never started: compared with the one before: major":                {mysql("9.1.0", image+"9.1.0-debian", ""), never, true},
		"never started: compared with the one before: major, with consent":  {mysql("9.1.0", image+"9.1.0-debian", "9"), never, false},
		"major, where the one before is not there yet":                      {mysql("9.1.0", "", "9"), mysql("8.0.36", "", ""), true},
		"of another one's major one":                                        {withOverride(mysql("8.4.2", image+"8.4.2", "9"), to(image+"9.1.0")), live, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := copyOf(tt.app, memberFacts{cluster: "a", member: awsMember()}, tt.live)
			if d := apierror.Decide(err); (err != nil) != tt.refused || tt.refused && d.Reason != v1.ReasonUpgradeRefused {
				t.Errorf("error %v, decision %+v, refused %t", err, d, tt.refused)
			}
		})
	}
}

// TestAServerBetween checks that the next major version waits until the one before, which a user gave the copy, has
// started.
func TestAServerBetween(t *testing.T) {
	t.Parallel()
	live := mySQL("8.4.2")
	live.Generation = 2 // Its status is about the spec before.
	for started, refused := range map[string]bool{"8.0.36": true, "8.4.2": false} {
		live.Status.StartedServer = &v1.DatabaseServer{Version: started, Image: "mysql:" + started}
		_, err := copyOf(mySQL("9.1.0"), memberFacts{cluster: "a", member: awsMember()}, live)
		if d := apierror.Decide(err); (d.Reason == v1.ReasonUpgradeRefused) != refused || (err != nil) != refused {
			t.Errorf("%s has started: error %v, refused %t", started, err, refused)
		}
		c := aggregate.Cluster{Database: mySQL("9.1.0").Spec.Database, Copy: &aggregate.Copy{}}
		if addRefusal(&c, live); c.Copy.UpgradeRefused != "" || c.Copy.Starting != refused {
			t.Errorf("%s has started: refused %q, starting %t; want %t", started, c.Copy.UpgradeRefused, c.Copy.Starting, refused)
		}
	}
}

// TestAServerThatWaits checks that a copy gets the server of the rollout in place of that of the spec, from the
// version that it has.
func TestAServerThatWaits(t *testing.T) {
	t.Parallel()
	mysql := func(version string) *v1.EcommerceApp {
		return stored(func(s *v1.EcommerceAppSpec) {
			s.Database.Engine, s.Database.Version, s.Database.AllowUpgradeTo, s.Rollout = v1.EngineMySQL, version, "9", &v1.Rollout{}
		})
	}
	app := mysql("9.1.0")
	app.Status.Rollout = &v1.RolloutStatus{Revision: 2, State: v1.RolloutProgressing, DatabaseServer: new(mysql("8.4.2").Spec.Database.Server())}
	for _, has := range []string{"8.0.36", "8.4.2"} {
		got, err := copyOf(app, memberFacts{cluster: "a", member: awsMember()}, mysql(has))
		if err != nil || got.Spec.Database.Version != "8.4.2" {
			t.Errorf("a cluster with %s: %v, error %v; want 8.4.2", has, got.Spec.Database, err)
		}
	}
}

// TestWhatAMemberCannotHave checks that a spec that a member cannot have is reported with the reason, and waits for a
// change.
func TestWhatAMemberCannotHave(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		app    *v1.EcommerceApp
		member *v1.MemberCluster
		reason string
	}{
		"no driver": {stored(func(s *v1.EcommerceAppSpec) { s.Database.StorageProfile = v1.StorageFast }), awsMember(), v1.ReasonDriverMissing},
		"out of range": {stored(func(s *v1.EcommerceAppSpec) {
			s.CloudConfig.AWS = &v1.AWSConfig{EBS: v1.EBSConfig{Type: "gp3", IOPS: new(int32(1))}}
		}), awsMember(csi.DriverEBS), v1.ReasonInvalidSpec},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := copyOf(tt.app, memberFacts{cluster: "eu-1", member: tt.member}, nil)
			if d := apierror.Decide(err); d.Class != apierror.InvalidSpec || d.Reason != tt.reason {
				t.Errorf("error %v, decision %+v, want the reason %s", err, d, tt.reason)
			}
		})
	}
}

// TestAVolumeTooSmall checks that each intent that is made from the facts about a member says that its class takes no volume
// so small.
func TestAVolumeTooSmall(t *testing.T) {
	t.Parallel()
	member := awsMember(csi.DriverEBS)
	app := stored(func(s *v1.EcommerceAppSpec) {
		s.Database.StorageProfile, s.Database.Storage = v1.StorageArchive, "10Gi"
	})
	effective, err := revisions.Target{Member: member}.Effective(&app.Spec)
	if err != nil {
		t.Fatal(err)
	}
	facts := memberFacts{cluster: "eu-1", member: member, effective: effective}
	for _, attempt := range []string{"first", "second"} {
		_, err := copyFor(app, facts, nil)
		if d := apierror.Decide(err); d.Class != apierror.InvalidSpec || d.Reason != v1.ReasonInvalidSpec {
			t.Errorf("the %s intent: error %v, decision %+v, want the reason %s", attempt, err, d, v1.ReasonInvalidSpec)
		}
	}
}

// TestTheMethodOfACopy checks that a database with snapshots is not dumped as well.
func TestTheMethodOfACopy(t *testing.T) {
	t.Parallel()
	withAccount := awsMember(csi.DriverEBS)
	withAccount.Spec.CloudAccountRef = &v1.ObjectReference{Name: "prod"}
	tests := map[string]struct {
		member       *v1.MemberCluster
		method, want v1.BackupMethod
	}{
		"with an account":              {withAccount, "", v1.BackupSnapshot},
		"with an account, auto":        {withAccount, v1.BackupAuto, v1.BackupSnapshot},
		"with an account, but a dump":  {withAccount, v1.BackupDump, v1.BackupDump},
		"without an account":           {awsMember(csi.DriverEBS), "", ""},
		"without an account, snapshot": {awsMember(csi.DriverEBS), v1.BackupSnapshot, v1.BackupSnapshot},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			app := stored(func(s *v1.EcommerceAppSpec) {
				s.Database.Backup = v1.BackupPolicy{
					Enabled: true, Schedule: "0 2 * * *", Method: tt.method,
					CopyToRegions: []string{"us-east-1"}, MaxRPO: &metav1.Duration{Duration: time.Hour},
				}
			})
			got, err := copyOf(app, memberFacts{cluster: "eu-1", member: tt.member}, nil)
			if err != nil {
				t.Fatal(err)
			}
			want := v1.BackupPolicy{Enabled: true, Schedule: "0 2 * * *", Method: tt.want}
			if diff := cmp.Diff(want, got.Spec.Database.Backup); diff != "" {
				t.Errorf("policy (-want +got):\n%s", diff)
			}
		})
	}
}

// checkKept checks that a hub that does not know a copy would change it by its own intent alone.
func checkKept(t *testing.T, copied, intent *v1.EcommerceApp) {
	t.Helper()
	copied.Annotations[v1.HubAppUIDAnnotation] = "another"
	found := recovery.Facts{App: &v1.EcommerceApp{}, Live: copied}
	if recovery.AssessCopy(found) == nil {
		t.Fatal("the copy is not one that the hub does not know")
	}
	if found.Intent = intent; recovery.AssessCopy(found) != nil {
		t.Errorf("the hub would change the copy (-copy +intent):\n%s", cmp.Diff(copied.Spec, intent.Spec))
	}
}

// TestImportedSpec takes the spec of a copy over, after which the hub would not change it.
func TestImportedSpec(t *testing.T) {
	t.Parallel()
	auto := func(s *v1.EcommerceAppSpec) {
		s.Database.StorageProfile = v1.StorageFast
		s.Database.Backup = v1.BackupPolicy{Enabled: true, Method: v1.BackupAuto, CopyToRegions: []string{"eu-west-2"}}
	}
	class := func(s *v1.EcommerceAppSpec) { s.Database.StorageClassName = new("mine") }
	for name, tt := range map[string]struct{ older, newer func(*v1.EcommerceAppSpec) }{
		"the same":                 {nil, nil},
		"derived from the member":  {auto, auto},
		"by dumps since":           {auto, func(s *v1.EcommerceAppSpec) { auto(s); s.Database.Backup.Method = v1.BackupDump }},
		"without backups since":    {auto, nil},
		"with a class since":       {nil, class},
		"without a database since": {auto, func(s *v1.EcommerceAppSpec) { s.Database = nil }},
		"with a database since":    {func(s *v1.EcommerceAppSpec) { s.Database = nil }, auto},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			member := awsMember(csi.DriverEBS)
			member.Spec.CloudAccountRef = &v1.ObjectReference{Name: "aws"}
			facts := memberFacts{cluster: "eu-1", member: member}
			newer, older := stored(tt.newer), stored(tt.older)
			newer.Spec.Image, newer.Annotations = "shop:v2", map[string]string{v1.RestartedAtAnnotation: "2026-11-23T12:00:00Z"}
			older.Spec.Placement.ClusterNames = []string{"eu-1"}
			older.Spec.Propagate = []v1.PropagatedObject{{Kind: v1.PropagatedSecret, Name: "registry"}}
			copied, err := copyOf(newer, facts, nil)
			if err != nil {
				t.Fatal(err)
			}
			imported := older.WithSpecOf(copied)
			intent, err := copyOf(imported, facts, copied)
			if err != nil {
				t.Fatal(err)
			}
			checkKept(t, copied, intent)
			if db := imported.Spec.Database; older.Spec.Database == nil && db != nil && (db.StorageClassName != nil || db.Backup.Method == v1.BackupSnapshot) {
				t.Errorf("what the hub derives from one cluster would go to all: %+v", db)
			}
			if diff := cmp.Diff(older.Spec.Placement, imported.Spec.Placement) + cmp.Diff(older.Spec.Propagate, imported.Spec.Propagate); diff != "" {
				t.Errorf("placement and propagate (-older +imported):\n%s", diff)
			}
		})
	}
}

package csi

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	storagev1 "k8s.io/api/storage/v1"
	"sigs.k8s.io/yaml"

	"github.com/shopfleet/shopfleet/api/apitest"
	v1 "github.com/shopfleet/shopfleet/api/v1"
)

// everything returns a configuration with each field of each block.
func everything() v1.CloudConfig {
	return v1.CloudConfig{
		AWS: &v1.AWSConfig{EBS: v1.EBSConfig{
			Type: "io2", IOPS: new(int32(16000)), Encrypted: new(true), KMSKeyID: "arn:aws:kms:eu-west-1:123456789012:key/1234abcd",
		}},
		GCP: &v1.GCPConfig{
			PDType: "hyperdisk-balanced", IOPS: new(int32(6000)), Throughput: new(int32(250)),
			KMSKeyID: "projects/p/locations/europe-west1/keyRings/r/cryptoKeys/k",
		},
		Azure: &v1.AzureConfig{
			DiskSKU: "PremiumV2_LRS", IOPS: new(int32(6000)), Throughput: new(int32(250)),
			DiskEncryptionSetID: "/subscriptions/s/resourceGroups/g/providers/Microsoft.Compute/diskEncryptionSets/d",
		},
	}
}

func clusters() map[string]Cluster {
	return map[string]Cluster{
		"aws":      {Provider: v1.ProviderAWS, Region: "eu-west-1", Drivers: []string{"efs.csi.aws.com", DriverEBS}},
		"aws-auto": {Provider: v1.ProviderAWS, Region: "eu-west-1", Drivers: []string{DriverEBSAuto}},
		"gcp":      {Provider: v1.ProviderGCP, Region: "europe-west1", Drivers: []string{DriverPD}},
		"azure":    {Provider: v1.ProviderAzure, Region: "westeurope", Drivers: []string{DriverAzureDisk, "file.csi.azure.com"}},
	}
}

// TestGolden compares all classes of each provider with a file below testdata, and
// writes the file anew when the environment says UPDATE_GOLDEN=1.
func TestGolden(t *testing.T) {
	t.Parallel()
	for name, cluster := range clusters() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := Classes(cluster)
			if err != nil {
				t.Fatal(err)
			}
			app, err := AppClass(cluster, everything())
			if err != nil {
				t.Fatal(err)
			}
			var all strings.Builder
			write := func(object any) {
				raw, err := yaml.Marshal(object)
				if err != nil {
					t.Fatal(err)
				}
				all.WriteString("---\n" + string(raw))
			}
			for _, p := range set.Profiles {
				write(p.Class)
			}
			write(app)
			write(set.Snapshots.Object)
			apitest.Golden(t, name+".golden.yaml", all.String())
		})
	}
}

// TestProfilesAreValid holds the profiles to the tables that cloudConfig is held to.
func TestProfilesAreValid(t *testing.T) {
	t.Parallel()
	for name, cluster := range clusters() {
		for _, profile := range []v1.StorageProfile{v1.StorageStandard, v1.StorageFast, v1.StorageArchive} {
			d, err := profiled(cluster.Provider, profile)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.check(cluster.Region); err != nil {
				t.Errorf("%s %s: %v", name, profile, err)
			}
		}
	}
}

func TestClassesWithoutOurs(t *testing.T) {
	t.Parallel()
	set, err := Classes(Cluster{Provider: v1.ProviderOther, Drivers: []string{DriverEBS}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(ClassSet{}, set); diff != "" {
		t.Errorf("classes of another provider (-want +got):\n%s", diff)
	}
	_, err = Classes(Cluster{Provider: v1.ProviderGCP, Drivers: []string{DriverEBS}})
	if !errors.Is(err, ErrDriverMissing) || !strings.Contains(err.Error(), DriverPD) {
		t.Errorf("without a driver: %v", err)
	}
	if _, err = Classes(Cluster{Provider: "oracle"}); err == nil || errors.Is(err, ErrDriverMissing) {
		t.Errorf("of an unknown provider: %v", err)
	}
}

func TestDriver(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		drivers []string
		want    string
	}{
		"the installed one": {[]string{DriverEBS}, DriverEBS},
		"that of Auto Mode": {[]string{"x", DriverEBSAuto}, DriverEBSAuto},
		"both":              {[]string{DriverEBSAuto, DriverEBS}, DriverEBS},
	} {
		if got, err := (Cluster{Provider: v1.ProviderAWS, Drivers: tt.drivers}).Driver(); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
	for provider, drivers := range map[v1.Provider][]string{
		v1.ProviderAWS: {DriverEBS, DriverEBSAuto}, v1.ProviderGCP: {DriverPD},
		v1.ProviderAzure: {DriverAzureDisk}, v1.ProviderOther: {""},
	} {
		for _, driver := range drivers {
			if got, known := ProviderOf(driver); !known || got != provider {
				t.Errorf("driver %q is %s's, %t; want %s's", driver, got, known, provider)
			}
		}
	}
	if got, known := ProviderOf("rancher.io/local-path"); known {
		t.Errorf("an unknown driver is %s's", got)
	}
}

func TestClassOf(t *testing.T) {
	t.Parallel()
	aws := clusters()["aws"]
	set, err := Classes(aws)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range set.Profiles {
		if got, err := className(aws, p.Profile, v1.CloudConfig{}); err != nil || got != p.Class.Name {
			t.Errorf("profile %s: %q, %v; want %q", p.Profile, got, err, p.Class.Name)
		}
	}
	app, err := AppClass(aws, everything())
	if err != nil {
		t.Fatal(err)
	}
	local, bare := Cluster{Provider: v1.ProviderOther}, Cluster{Provider: v1.ProviderAWS}
	gcpOnly := v1.CloudConfig{GCP: everything().GCP}
	for name, tt := range map[string]struct {
		cluster Cluster
		profile v1.StorageProfile
		config  v1.CloudConfig
		want    string
	}{
		"a block goes before the profile": {aws, v1.StorageFast, everything(), app.Name},
		"a block without a profile":       {aws, "", everything(), app.Name},
		"another provider's block":        {aws, v1.StorageStandard, gcpOnly, set.Profiles[0].Class.Name},
		"nothing asked for":               {aws, "", gcpOnly, ""},
		"nothing asked for, no driver":    {bare, "", v1.CloudConfig{}, ""},
		"another provider":                {local, v1.StorageFast, everything(), ""},
	} {
		if got, err := className(tt.cluster, tt.profile, tt.config); err != nil || got != tt.want {
			t.Errorf("%s: %q, %v; want %q", name, got, err, tt.want)
		}
	}
	if _, err := className(bare, v1.StorageFast, v1.CloudConfig{}); !errors.Is(err, ErrDriverMissing) {
		t.Errorf("a profile without a driver: %v", err)
	}
	if _, err := className(bare, "", everything()); !errors.Is(err, ErrDriverMissing) {
		t.Errorf("a block without a driver: %v", err)
	}
	if _, err := className(aws, "slow", v1.CloudConfig{}); err == nil || !strings.Contains(err.Error(), `"slow"`) {
		t.Errorf("an unknown profile: %v", err)
	}
}

// className returns the name of the class of volumes; empty for the default class.
func className(c Cluster, profile v1.StorageProfile, config v1.CloudConfig) (string, error) {
	class, err := ClassOf(c, profile, config)
	if err != nil || class == nil {
		return "", err
	}
	return class.Name, nil
}

// TestNames checks that the name of a class depends on its immutable fields only.
func TestNames(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	for name, cluster := range clusters() {
		set, err := Classes(cluster)
		if err != nil {
			t.Fatal(err)
		}
		names := []string{set.Snapshots.GetName()}
		for _, p := range set.Profiles {
			names = append(names, p.Class.Name)
		}
		app, err := AppClass(cluster, everything())
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range append(names, app.Name) {
			if seen[n] != "" {
				t.Errorf("%s is a class of %s and of %s", n, seen[n], name)
			}
			seen[n] = name
		}
	}
	aws := clusters()["aws"]
	a, b := everything(), everything()
	b.GCP, b.AWS.EBS.Encrypted = nil, nil
	nameOf := func(config v1.CloudConfig) string {
		name, err := className(aws, "", config)
		if err != nil {
			t.Fatal(err)
		}
		return name
	}
	if nameOf(a) != nameOf(b) {
		t.Error("the same class said in other words has another name")
	}
	b.AWS.EBS.IOPS = new(int32(16001))
	if nameOf(a) == nameOf(b) {
		t.Error("two classes have one name")
	}
}

func TestAppClassAbsent(t *testing.T) {
	t.Parallel()
	var none *storagev1.StorageClass
	for name, tt := range map[string]struct {
		cluster Cluster
		config  v1.CloudConfig
	}{
		"no block":           {clusters()["aws"], v1.CloudConfig{GCP: &v1.GCPConfig{}, Azure: &v1.AzureConfig{}}},
		"another provider":   {Cluster{Provider: v1.ProviderOther}, everything()},
		"no block or driver": {Cluster{Provider: v1.ProviderAzure}, v1.CloudConfig{}},
	} {
		if got, err := AppClass(tt.cluster, tt.config); err != nil || got != none {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestAppClassDefaults(t *testing.T) {
	t.Parallel()
	empty := v1.CloudConfig{AWS: &v1.AWSConfig{}, GCP: &v1.GCPConfig{}, Azure: &v1.AzureConfig{}}
	const fstype = "csi.storage.k8s.io/fstype"
	for name, want := range map[string]map[string]string{
		"aws":   {"type": "gp3", "encrypted": "true", fstype: "ext4"},
		"gcp":   {"type": "pd-balanced", fstype: "ext4"},
		"azure": {"skuName": "StandardSSD_LRS", fstype: "ext4"},
	} {
		class, err := AppClass(clusters()[name], empty)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, class.Parameters); diff != "" {
			t.Errorf("%s: parameters of an empty block (-want +got):\n%s", name, diff)
		}
	}
	class, err := AppClass(clusters()["aws"], v1.CloudConfig{AWS: &v1.AWSConfig{EBS: v1.EBSConfig{Encrypted: new(false)}}})
	if err != nil || class.Parameters["encrypted"] != "false" {
		t.Errorf("without encryption: %v, %v", class, err)
	}
}

func TestCapabilities(t *testing.T) {
	t.Parallel()
	for provider, way := range map[v1.Provider]CopyMode{
		v1.ProviderAWS: CopyByCopy, v1.ProviderGCP: CopyByLocation, v1.ProviderAzure: CopyByCopy,
	} {
		got := CapabilitiesOf(provider)
		if !got.Snapshots || got.Copy != way || got.MinInterval <= 0 {
			t.Errorf("%s can do %+v", provider, got)
		}
	}
	if diff := cmp.Diff(Capabilities{Copy: CopyNone}, CapabilitiesOf(v1.ProviderOther)); diff != "" {
		t.Errorf("local (-want +got):\n%s", diff)
	}
}

// TestCopyable checks that a snapshot is copied to the wanted regions except its own, and with CopyByLocation to one
// at most.
func TestCopyable(t *testing.T) {
	t.Parallel()
	wanted := []string{"eu-1", "us-1", "us-2"}
	for provider, want := range map[v1.Provider][]string{
		v1.ProviderAWS: {"us-1", "us-2"}, v1.ProviderAzure: {"us-1", "us-2"}, v1.ProviderGCP: {"us-1"},
		"": {"us-1", "us-2"}, // It is refused later, or known by then.
	} {
		if diff := cmp.Diff(want, Copyable(provider, "eu-1", wanted)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", provider, diff)
		}
	}
	if got := Copyable(v1.ProviderGCP, "eu-1", []string{"eu-1"}); len(got) != 1 {
		t.Errorf("%v on gcp, want the own region, which is where the snapshot is to be stored", got)
	}
	if got := Copyable(v1.ProviderGCP, "eu-1", nil); len(got) != 0 {
		t.Errorf("%v on gcp, and nothing is wanted", got)
	}
	if diff := cmp.Diff([]string{"eu-1", "us-1", "us-2"}, wanted); diff != "" {
		t.Errorf("the argument was changed (-want +got):\n%s", diff)
	}
}
